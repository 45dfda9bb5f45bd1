"""Apply a batch of deliveries on PostgreSQL: claim, translate and apply them in one transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from touchbase.common.timestamps import SECOND, Micros
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.work import DryRunResult, Translate, WorkReport
from touchbase.errors import Overloaded
from touchbase.event_log.signal import LOGGED
from touchbase.event_log.sql.log import with_log
from touchbase.inbox.dry_runs import compare, dry_run, load_deliveries, snapshot
from touchbase.inbox.large_delivery import LargeWork
from touchbase.projection.apply import IN_USE, apply_batch, apply_needs
from touchbase.projection.delivery_outcomes import record_failure
from touchbase.projection.inbox_batch import FailedDelivery, InboxBatch, failure_reason, merge_reports, transaction_groups
from touchbase.projection.normalization import NormalizedDelivery
from touchbase.sql.ids import Ids
from touchbase.sql.scope import scope_for
from touchbase.sql.statement import Plan
from touchbase.storage.event_hours import with_event_hours
from touchbase.storage.postgres.connection import is_retryable, is_unavailable, read, retry, roll_back, run, write
from touchbase.storage.postgres.ids import SharedIds
from touchbase.storage.postgres.prefetch import translate_in_slices
from touchbase.storage.postgres.row_level_security import Connection, begin

LEASE: Micros = 120 * SECOND
"""How long other workers skip a large delivery: longer than it takes to read and apply one."""
Take = Callable[[Connection], Awaitable[InboxBatch]]
"""Claims deliveries in the connection's open transaction, and translates them."""


@dataclass(frozen=True, slots=True)
class BatchProcessor:
    """Applies deliveries of one client on one connection."""

    connection: Connection
    ids: SharedIds
    client: int
    now_us: int
    attempts: Iterator[int] = field(default_factory=count)
    """Counts the attempts of this batch: the ids that it may need grow with them."""
    states: Container[str] = IN_USE
    """The states of a client whose deliveries are applied."""

    async def work(self, take: Take, translate: Translate) -> WorkReport:
        """Apply the deliveries that `take` claims; they stay locked until the commit, so that other workers skip them."""
        batch, first, others, many = (
            InboxBatch([], []),
            list[NormalizedDelivery](),
            list[list[NormalizedDelivery]](),
            list[NormalizedDelivery](),
        )
        try:
            await self.connection.execute(begin(scope_for(self.client)))
            batch = await take(self.connection)
            made, many = transaction_groups(batch.claimed)
            first, others = (made[0], made[1:]) if made else ([], [])
            report = await self._apply(first) if first else WorkReport()
            await self.connection.execute("COMMIT")
            LOGGED.notify()
        except BaseException as error:
            await roll_back(self.connection, error)
            if is_unavailable(error) or is_retryable(error) or not (isinstance(error, Exception) and first):
                raise
            report = await self._one_by_one(first)
        for group in others:
            report = merge_reports(report, await self._apply_later(group))
        for broken in batch.broken:
            report = merge_reports(report, await self._fail(broken))
        return merge_reports(report, await self._large(many, batch.large, translate))

    async def _large(self, many: Sequence[NormalizedDelivery], large: Sequence[Delivery], translate: Translate) -> WorkReport:
        """Apply deliveries with more events than one transaction applies, and the first of the large ones not translated yet."""
        large_work = LargeWork(self.client, self.now_us, self.states, self._write, LEASE)
        report = WorkReport(more=len(large) > 1)
        for seen in many:
            report = merge_reports(report, await large_work.apply(seen))
        for delivery in large[:1]:
            report = merge_reports(report, await large_work.read_and_apply(delivery, translate, translate_in_slices))
        return report

    async def dry_run(self, ids: Sequence[int], translate: Translate) -> DryRunResult:
        """Return what applying these deliveries again would change: apply them and roll back."""
        scope = scope_for(self.client)
        deliveries = await read(self.connection, load_deliveries(self.client, ids), scope)
        batch = await translate_in_slices(deliveries, translate)
        try:
            await self.connection.execute(begin(scope))
            applied = await run(self.connection, with_log(dry_run(self.client, batch, self.now_us), keep=False))
        finally:
            await roll_back(self.connection)
        # Not a read-only transaction, because the snapshot locks records.
        before = await write(self.connection, snapshot(self.client, applied.after), scope)
        return compare(batch, applied, before)

    async def _apply(self, claimed: Sequence[NormalizedDelivery]) -> WorkReport:
        ids = await self.ids.cut(apply_needs(claimed, next(self.attempts)))
        return await run(self.connection, with_log(with_event_hours(apply_batch(self.client, claimed, ids, self.now_us, self.states))))

    async def _apply_later(self, group: Sequence[NormalizedDelivery]) -> WorkReport:
        """Apply deliveries whose claiming transaction has ended; what another worker has applied since then does not change."""
        tries = count()
        try:
            report: WorkReport = await self._write(
                lambda ids: apply_batch(self.client, group, ids, self.now_us, self.states), lambda: apply_needs(group, next(tries))
            )
        except Overloaded:
            raise
        except Exception:
            return await self._one_by_one(group)
        return report

    async def _write(self, plan: Callable[[Ids], Plan[Any]], needs: Callable[[], Mapping[str, int]]) -> Any:
        async def attempt() -> Any:
            return await write(self.connection, plan(await self.ids.cut(needs())), scope_for(self.client))

        return await retry(attempt)

    async def _one_by_one(self, claimed: Sequence[NormalizedDelivery]) -> WorkReport:
        report = WorkReport()
        for seen in claimed:
            report = merge_reports(report, await self._apply_one(seen))
        return report

    async def _apply_one(self, seen: NormalizedDelivery) -> WorkReport:
        tries = count()
        try:
            report: WorkReport = await self._write(
                lambda ids: apply_batch(self.client, [seen], ids, self.now_us, self.states), lambda: apply_needs([seen], next(tries))
            )
        except Overloaded:
            raise
        except Exception as error:
            return await self._fail(FailedDelivery(seen.delivery, failure_reason(error)))
        return report

    async def _fail(self, broken: FailedDelivery) -> WorkReport:
        plan = record_failure(self.client, broken.delivery, broken.why, self.now_us, for_good=broken.for_good)
        return await write(self.connection, plan, scope_for(self.client))
