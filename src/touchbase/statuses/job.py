"""The jobs of renames, merges and new statuses: records are brought up to date page by page, each page with its checkpoint."""

from __future__ import annotations

from typing import Any

import msgspec

from touchbase.jobs.models import Checkpoint
from touchbase.jobs.runner import JobKind, JobRun, Postponed
from touchbase.statuses.models import RECHECK_JOBS, RECORD_KINDS, RENAME_JOBS, SETTLED, OutdatedPage
from touchbase.statuses.sql.refused import apply_refused
from touchbase.statuses.sql.renames import count_records, find_outdated, rewrite_statuses

PAGE = 1_000
"""Records of one step."""
DELIVERIES = 200
"""Deliveries of one step."""
EMPTY_PAGES = 20
"""Pages without such a record after which a checkpoint is stored all the same."""


class RenamePosition(msgspec.Struct):
    """How far a job is."""

    after: int = 0
    scanned: int = 0
    changed: int = 0
    total: int | None = None
    is_last_pass: bool = False
    """Whether this pass began late enough that no request from before the rename can write any more."""
    done: bool = False


class RenameKind:
    """The jobs `contacts.rename_status`, `contacts.merge_statuses`, and the same for companies."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._kind = RECORD_KINDS[name.partition(".")[0]]

    async def run(self, run: JobRun) -> None:
        """Rename the statuses of all records, from the last checkpoint on."""
        at = msgspec.convert(run.job.position, RenamePosition)
        if at.total is None:
            at.total = await run.store.read(count_records(run.job.client, self._kind))
        while not at.done:
            if at.after == 0:
                at.scanned = 0
            page = await self._find(run, at)
            if at.after == 0:
                at.is_last_pass = run.clock() >= page.renamed_us + SETTLED
            at.after, at.scanned = page.last or 0, at.scanned + page.scanned
            at.done = page.last is None and at.is_last_pass
            await self._step(run, at, page.ids)
            if page.last is None and not at.done:
                raise Postponed(page.renamed_us + SETTLED)

    async def _find(self, run: JobRun, at: RenamePosition) -> OutdatedPage:
        """Return the next page that has records to change, or the last of some pages without any."""
        after, scanned = at.after, 0
        for _ in range(EMPTY_PAGES):
            run.check()
            page = await run.store.read(find_outdated(run.job.client, self._kind, after, PAGE))
            scanned += page.scanned
            if page.ids or page.last is None:
                break
            after = page.last
        return OutdatedPage(page.ids, scanned, page.last, page.renamed_us)

    async def _step(self, run: JobRun, at: RenamePosition, ids: list[int]) -> None:
        def checkpoint(results: list[Any]) -> Checkpoint:
            reached = msgspec.structs.replace(at, changed=at.changed + results[0])
            total = max(at.total or 0, 1)
            percent = min(99, at.scanned * 100 // total)
            progress = {"records": at.total, "scanned": at.scanned, "changed": reached.changed, "percent": percent}
            return Checkpoint(msgspec.to_builtins(reached), progress)

        command = rewrite_statuses(run.job.client, self._kind, ids, run.clock())
        [changed] = await run.step([command], checkpoint)
        at.changed += changed


class RecheckPosition(msgspec.Struct):
    """How far a job is, and its counts."""

    after: int = 0
    deliveries: int = 0
    events: int = 0
    records: int = 0
    done: bool = False


class RecheckKind:
    """The jobs `contacts.recheck_statuses` and `companies.recheck_statuses`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._kind = RECORD_KINDS[name.partition(".")[0]]

    async def run(self, run: JobRun) -> None:
        """Apply the statuses that the declared set has now, delivery by delivery."""
        at = msgspec.convert(run.job.position, RecheckPosition)
        while not at.done:
            reached: list[RecheckPosition] = []

            def checkpoint(results: list[Any], at: RecheckPosition = at, reached: list[RecheckPosition] = reached) -> Checkpoint:
                [result] = results
                position = RecheckPosition(
                    result.last or 0,
                    at.deliveries + result.deliveries,
                    at.events + result.events,
                    at.records + result.records,
                    result.last is None,
                )
                reached[:] = [position]
                progress = {"deliveries": position.deliveries, "events": position.events, "changed": position.records}
                return Checkpoint(msgspec.to_builtins(position), progress)

            await run.step([apply_refused(run.job.client, self._kind, at.after, DELIVERIES, run.clock())], checkpoint)
            [at] = reached


KINDS: tuple[JobKind, ...] = (*(RenameKind(name) for name in RENAME_JOBS), *(RecheckKind(name) for name in RECHECK_JOBS))
