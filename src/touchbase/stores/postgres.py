"""The store on PostgreSQL: claims, translates and applies a batch of deliveries in one transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import SECOND, Micros
from touchbase.deliveries.claiming import claim_named
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.work import DryRunResult, Translate, WorkReport
from touchbase.erasure.sql.texts import ERASED_TABLES
from touchbase.errors import Overloaded
from touchbase.event_log.signal import LOGGED
from touchbase.event_log.sql.log import Noted, with_log, with_log_alone
from touchbase.inbox.dry_runs import compare, dry_run, load_deliveries, snapshot
from touchbase.inbox.large_delivery import LargeWork
from touchbase.projection.apply import IN_USE, NOT_DELETED, apply_batch, apply_needs
from touchbase.projection.delivery_outcomes import record_failure
from touchbase.projection.inbox_batch import FailedDelivery, InboxBatch, merge_reports, transaction_groups
from touchbase.projection.normalization import NormalizedDelivery
from touchbase.records.sql.status_moves import with_status_moves
from touchbase.reports.event_hours import with_event_hours
from touchbase.sql.ids import Ids
from touchbase.sql.scope import scope_for
from touchbase.sql.statement import Plan
from touchbase.storage.batch import Committed
from touchbase.storage.postgres.connection import is_retryable, is_unavailable, retry, roll_back, run, write
from touchbase.storage.postgres.engine import PostgresEngine
from touchbase.storage.postgres.ids import SharedIds
from touchbase.storage.postgres.row_level_security import Connection, begin
from touchbase.stores.prefetch import Prefetcher, prepare, translate_in_slices

if TYPE_CHECKING:
    from touchbase.storage.postgres.connection import Pool

T = TypeVar("T")

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
            groups, many = transaction_groups(batch.claimed)
            first, others = (groups[0], groups[1:]) if groups else ([], [])
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
        for normalized in many:
            report = merge_reports(report, await large_work.apply(normalized))
        for delivery in large[:1]:
            report = merge_reports(report, await large_work.read_and_apply(delivery, translate, translate_in_slices))
        return report

    async def dry_run(self, batch: InboxBatch) -> DryRunResult:
        """Return the changes that applying these deliveries again would make: apply them and roll back."""
        scope = scope_for(self.client)
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
        return await run(self.connection, _transaction(apply_batch(self.client, claimed, ids, self.now_us, self.states))[0])

    async def _apply_later(self, group: Sequence[NormalizedDelivery]) -> WorkReport:
        """Apply deliveries whose claiming transaction has ended; deliveries that another worker has applied since then do not change."""
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
            return await write(self.connection, plan(await self.ids.cut(needs())), scope_for(self.client), _transaction)

        return await retry(attempt)

    async def _one_by_one(self, claimed: Sequence[NormalizedDelivery]) -> WorkReport:
        report = WorkReport()
        for normalized in claimed:
            report = merge_reports(report, await self._apply_one(normalized))
        return report

    async def _apply_one(self, normalized: NormalizedDelivery) -> WorkReport:
        tries = count()
        try:
            report: WorkReport = await self._write(
                lambda ids: apply_batch(self.client, [normalized], ids, self.now_us, self.states),
                lambda: apply_needs([normalized], next(tries)),
            )
        except Overloaded:
            raise
        except Exception as error:
            return await self._fail(FailedDelivery.by(error, normalized.delivery))
        return report

    async def _fail(self, broken: FailedDelivery) -> WorkReport:
        plan = record_failure(self.client, broken.delivery, broken.why, self.now_us, for_good=broken.for_good)
        return await write(self.connection, plan, scope_for(self.client), _transaction)


class PostgresStore(PostgresEngine):
    """Stores records, and applies deliveries."""

    batch_size_under_load = 32
    """Deliveries per batch while HTTP clients write. A batch blocks no other write, and most of a small batch's cost is round trips."""
    blocked_share = 0.2
    """Share of a batch's time during which it blocks the event loop; most of the time it waits for the server."""
    erased_tables = ERASED_TABLES

    def __init__(self, url: str, pool: Pool, queue_limit: int, cipher: Cipher, warnings: Sequence[str]) -> None:
        super().__init__(url, pool, queue_limit, cipher, warnings)
        self._prefetcher = Prefetcher(pool)

    @staticmethod
    def transaction(plan: Plan[T]) -> tuple[Plan[T], Committed]:
        """Return the plan of a transaction that writes, which also logs its events, and counts for reports."""
        return _transaction(plan)

    @staticmethod
    def single(plan: Plan[T]) -> tuple[Plan[T], Committed]:
        """Return a plan that runs outside of a transaction, whose only statement that writes logs its events too."""
        noted = Noted()
        return with_log_alone(plan, noted), noted.announce

    async def close(self) -> None:
        """Finish the queue, then close all connections."""
        await self._prefetcher.close()
        await super().close()

    async def work(self, client: int, limit: int, translate: Translate, now_us: int) -> WorkReport:
        """Apply up to `limit` waiting deliveries of one client in one transaction."""

        async def take(connection: Connection) -> InboxBatch:
            return await self._prefetcher.claim(connection, client, limit, translate, now_us)

        return await self._apply(client, now_us, take, translate, IN_USE)

    async def work_on(self, client: int, ids: Sequence[int], translate: Translate, now_us: int) -> WorkReport:
        """Apply these waiting deliveries, even of a suspended client, in one transaction."""

        async def take(connection: Connection) -> InboxBatch:
            return await prepare(await run(connection, claim_named(client, ids)), translate)

        return await self._apply(client, now_us, take, translate, NOT_DELETED)

    async def _apply(self, client: int, now_us: int, take: Take, translate: Translate, states: Container[str]) -> WorkReport:
        attempts = count()

        async def attempt() -> WorkReport:
            async with self._pool.acquire() as connection:
                return await BatchProcessor(connection, self._ids, client, now_us, attempts, states).work(take, translate)

        return await retry(attempt)

    async def dry_run(self, client: int, ids: Sequence[int], translate: Translate, now_us: int) -> DryRunResult:
        """Return the changes that applying these deliveries again would make; nothing is stored."""
        batch = await translate_in_slices(await self.read(load_deliveries(client, ids)), translate)

        async def attempt() -> DryRunResult:
            async with self._pool.acquire() as connection:
                return await BatchProcessor(connection, self._ids, client, now_us).dry_run(batch)

        return await retry(attempt)


def _transaction(plan: Plan[T]) -> tuple[Plan[T], Committed]:
    noted = Noted()
    return with_log(with_event_hours(with_status_moves(plan)), noted), noted.announce
