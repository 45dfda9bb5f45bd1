"""The job that reverts a change: from its last event to its first, some records in each transaction, with a report of all."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from touchbase.changes.plans import JOB_KIND, KEPT, OUTCOMES, Outcome, end_revert, no_such_change, revert_author, revert_page
from touchbase.event_log.models import LoggedEvent
from touchbase.event_log.sql.changes import PARTLY, REVERTED, Change, end_of_change, find_change, jobs_that_revert, page_of_change
from touchbase.jobs.models import REPORT, Checkpoint
from touchbase.jobs.runner import JobRun

PAGE = 50
"""Events in one transaction, for which all other writes of SQLite wait: a deletion takes some 20 statements."""
MOST_LISTED = 100
"""Records that stay which the progress lists; the report has all."""
COLUMNS = ("id", "outcome", "record", "reason")


class RevertSettings(msgspec.Struct):
    """Which change is reverted, as the job stores it."""

    change: str
    dry_run: bool = False


class RevertPosition(msgspec.Struct):
    """How far a revert is: the sequence below which it goes on, and the one at which it began."""

    below: int = 0
    began: int = 0


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
        if not at.began:
            end = await run.store.read(end_of_change(client, change.first_event, change.until_us))
            at = RevertPosition(end, end)
        reverts = await run.store.read(jobs_that_revert(client, change.id))
        while at.below > change.first_event:
            run.check()
            page = page_of_change(client, change.request_id, change.actor_id, change.first_event, at.below, PAGE)
            events, below = _whole(*await run.store.read(page))
            at = RevertPosition(below, at.began)
            await self._step(run, settings, change, events, reverts, at)
        if not settings.dry_run:
            state = PARTLY if run.job.progress.get(KEPT) else REVERTED
            await run.step([end_revert(client, change.id, state)], lambda _: Checkpoint(msgspec.to_builtins(at), run.job.progress))

    async def _step(
        self, run: JobRun, settings: RevertSettings, change: Change, events: Sequence[LoggedEvent], reverts: set[int], at: RevertPosition
    ) -> None:
        by, progress = revert_author(run.job), run.job.progress
        command = revert_page(change.client, change, events, reverts | {run.job.id}, run.client, run.clock(), by, dry_run=settings.dry_run)

        def checkpoint(results: list[Any]) -> Checkpoint:
            outcomes: list[Outcome] = results[0] if results else []
            counts = Counter(outcome.word for outcome in outcomes)
            reached: dict[str, Any] = {word: progress.get(word, 0) + counts[word] for word in OUTCOMES}
            kept = [{"record": line.record, "id": line.id, "reason": line.reason} for line in outcomes if line.word == KEPT]
            reached["listed"] = [*progress.get("listed", ()), *kept][:MOST_LISTED]
            reached["percent"] = (at.began - at.below) * 100 // max(1, at.began - change.first_event)
            return Checkpoint(msgspec.to_builtins(at), reached, [(REPORT, _csv(outcomes, with_header=not progress))])

        await run.step([command] if events else [], checkpoint)


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
