"""The job of a saved mapping: stored deliveries are read again, page by page, and it waits until the inbox has applied them."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from touchbase.common.field_limits import LARGEST_ID
from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.models import CACHE_TTL
from touchbase.deliveries.delivery import RECEIVED
from touchbase.jobs.models import Checkpoint
from touchbase.jobs.runner import JobRun, Postponed
from touchbase.mapping.plans import JOB_KIND, MappingJob, count_mapped, replay_mapped

PAGE = 250
"""Deliveries in one transaction."""
SETTLED: Micros = 2 * CACHE_TTL
"""After this time all processes read deliveries with the settings that were stored."""
LOOK: Micros = SECOND
LONGEST_WAIT: Micros = 600 * SECOND
"""How long the inbox may apply none of them before the job ends all the same: no server may be at work."""


class MappingPosition(msgspec.Struct):
    """How far it is: the id below which deliveries are still to be read again, 0: none; how many wait, and since when so many."""

    below: int = LARGEST_ID
    replayed: int = 0
    waiting: int = 0
    since: Micros = 0


class MappingKind:
    """The job `connections.mapping`."""

    name = JOB_KIND

    async def run(self, run: JobRun) -> None:
        """Go on from the last page."""
        job, settings = run.job, msgspec.convert(run.job.settings, MappingJob)
        if run.clock() < job.created_us + SETTLED:
            raise Postponed(job.created_us + SETTLED)
        while (at := msgspec.convert(job.position, MappingPosition)).below:
            await run.step([replay_mapped(job.client, job.id, settings, at.below, PAGE, run.clock())], partial(_replayed, at))
        counts = await run.store.read(count_mapped(job.client, job.id))
        waiting, now = counts.pop(RECEIVED, 0), run.clock()
        if waiting != at.waiting or not at.since:
            at = msgspec.structs.replace(at, waiting=waiting, since=now)
        total = sum(counts.values()) + waiting
        progress = {"webhooks": total, **counts, "percent": 100 - waiting * 100 // max(1, total)}
        await run.step([], lambda _: _checkpoint(at, progress))
        if waiting and now < at.since + LONGEST_WAIT:
            raise Postponed(now + LOOK)


def _replayed(at: MappingPosition, results: list[Any]) -> Checkpoint:
    count, below = results[0]
    replayed = at.replayed + count
    return _checkpoint(MappingPosition(below, replayed), {"webhooks": replayed, "percent": 0})


def _checkpoint(at: MappingPosition, progress: dict[str, Any]) -> Checkpoint:
    return Checkpoint(msgspec.to_builtins(at), progress)


KINDS = (MappingKind(),)
