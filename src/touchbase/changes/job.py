"""The job that reverts a change: from its last event to its first, some records in each transaction, with a report of all."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from touchbase.changes.plans import (
    JOB_KIND,
    KEPT,
    OUTCOMES,
    Outcome,
    end_revert,
    find_renaming,
    no_such_change,
    reread_deliveries,
    revert_author,
    revert_deliveries,
    revert_page,
    revert_rename,
    revert_settings,
)
from touchbase.common.field_limits import LARGEST_ID
from touchbase.event_log.models import LoggedEvent
from touchbase.event_log.sql.changes import PARTLY, REVERTED, Change, end_of_change, find_change, jobs_that_revert, page_of_change
from touchbase.jobs.models import REPORT, Checkpoint
from touchbase.jobs.runner import JobRun, Postponed
from touchbase.mapping.job import SETTLED
from touchbase.mapping.plans import Remapping, find_remapping, mapped_deliveries
from touchbase.sql.operation import Command

SETTINGS, EVENTS, WEBHOOKS, DONE = "settings", "events", "webhooks", "done"
"""Stages of the revert of a mapping."""
PAGE = 50
"""Events in one transaction, for which all other writes of SQLite wait: a deletion takes some 20 statements."""
MOST_LISTED = 100
"""Records that stay which the progress lists; the report has all."""
COLUMNS = ("id", "outcome", "record", "reason")


class RevertSettings(msgspec.Struct):
    """Which change is reverted, as the job stores it."""

    change: str
    dry_run: bool = False
    is_admin: bool = False


class RevertPosition(msgspec.Struct):
    """How far a revert is: the sequence below which it goes on, and the one at which it began."""

    below: int = 0
    began: int = 0
    stage: str = SETTINGS
    """Of a mapping: what comes next."""
    since: int = 0
    """When the settings of a mapping were stored."""
    delivery: int = LARGEST_ID
    """Of a mapping: deliveries below this one are still to come."""


class RevertKind:
    """The job `changes.revert`."""

    name = JOB_KIND

    async def run(self, run: JobRun) -> None:
        """Undo the events below the last checkpoint."""
        settings, client = msgspec.convert(run.job.settings, RevertSettings), run.job.client
        change = await run.store.read(find_change(client, settings.change))
        if change is None:
            raise no_such_change(settings.change)
        at = msgspec.convert(run.job.position, RevertPosition)
        by, is_tried = revert_author(run.job), settings.dry_run
        if not at.began:
            end = await run.store.read(end_of_change(client, change.first_event, change.until_us))
            at = RevertPosition(end, end)
            if (renaming := await run.store.read(find_renaming(client, change.id))) is not None:
                at.below = change.first_event
                await _step(run, change, [revert_rename(renaming, run.clock(), by, dry_run=is_tried)], at)
        reverts = await run.store.read(jobs_that_revert(client, change.id))
        if (remapping := await run.store.read(find_remapping(client, change.id))) is not None:
            await _remap(run, remapping, reverts | {run.job.id})
            at.below = change.first_event
        while at.below > change.first_event:
            run.check()
            page = page_of_change(client, change.request_id, change.actor_id, change.first_event, at.below, PAGE)
            events, below = _whole(*await run.store.read(page))
            at = RevertPosition(below, at.began)
            own = reverts | {run.job.id}
            command = revert_page(client, change, events, own, run.client, run.clock(), by, dry_run=is_tried, is_admin=settings.is_admin)
            await _step(run, change, [command] if events else [], at)
        if not settings.dry_run:
            state = PARTLY if run.job.progress.get(KEPT) else REVERTED
            await run.step([end_revert(client, change.id, state)], lambda _: Checkpoint(msgspec.to_builtins(at), run.job.progress))


async def _remap(run: JobRun, of: Remapping, reverts: set[int]) -> None:
    """Restore the settings of a connection, withdraw what the mapping brought, then let the inbox read its deliveries again.

    In this order: all processes read with the restored settings, and nothing that is read again is taken for what the mapping brought.
    """
    client, by, is_tried = run.job.client, revert_author(run.job), RevertSettings(**run.job.settings).dry_run
    at = msgspec.convert(run.job.position, RevertPosition)
    at.below = at.began = of.change.first_event
    if at.stage == SETTINGS:
        at = msgspec.structs.replace(at, stage=EVENTS if of.is_back else WEBHOOKS, since=run.clock())
        await _step(run, of.change, [revert_settings(of, run.clock(), by, dry_run=is_tried)], at)
    if not is_tried and run.clock() < at.since + SETTLED:
        raise Postponed(at.since + SETTLED)
    while at.stage != DONE:
        run.check()
        deliveries = await run.store.read(mapped_deliveries(client, of.change.job_id or 0, at.delivery, PAGE))
        part = revert_deliveries if at.stage == EVENTS else reread_deliveries
        command = part(of, deliveries, reverts, run.client, run.clock(), by, dry_run=is_tried)
        more = len(deliveries) == PAGE
        stage = at.stage if more else WEBHOOKS if at.stage == EVENTS else DONE
        at = msgspec.structs.replace(at, stage=stage, delivery=deliveries[-1] if more else LARGEST_ID)
        await _step(run, of.change, [command] if deliveries else [], at)


async def _step(run: JobRun, change: Change, commands: Sequence[Command[list[Outcome]]], at: RevertPosition) -> None:
    """Execute a part of a revert, and count its outcomes in the same transaction."""
    progress = run.job.progress

    def checkpoint(results: list[Any]) -> Checkpoint:
        outcomes: list[Outcome] = results[0] if results else []
        counts = Counter(outcome.word for outcome in outcomes)
        reached: dict[str, Any] = {word: progress.get(word, 0) + counts[word] for word in OUTCOMES}
        kept = [{"record": line.record, "id": line.id, "reason": line.reason} for line in outcomes if line.word == KEPT]
        reached["listed"] = [*progress.get("listed", ()), *kept][:MOST_LISTED]
        reached["percent"] = (at.began - at.below) * 100 // max(1, at.began - change.first_event)
        return Checkpoint(msgspec.to_builtins(at), reached, [(REPORT, _csv(outcomes, with_header=not progress))])

    await run.step(commands, checkpoint)


def _whole(events: list[LoggedEvent], below: int) -> tuple[list[LoggedEvent], int]:
    """Return the events without the last ones if the next page may have more of the same record, which is undone and counted once."""
    if len(events) < PAGE:
        return events, below
    last = (events[-1].record_kind, events[-1].record_id)
    whole = events[:]
    while whole and (whole[-1].record_kind, whole[-1].record_id) == last:
        whole.pop()
    return (whole, whole[-1].sequence) if whole else (events, below)


def _csv(outcomes: Sequence[Outcome], *, with_header: bool) -> bytes:
    text = io.StringIO(newline="")
    lines = csv.writer(text)
    if with_header:
        lines.writerow(COLUMNS)
    lines.writerows([("" if line.id is None else line.id, line.word, line.record, line.reason) for line in outcomes])
    return text.getvalue().encode()


KINDS = (RevertKind(),)
