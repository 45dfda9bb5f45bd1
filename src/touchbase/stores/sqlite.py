"""The store on SQLite: applies a batch of deliveries on the connection that writes, in one transaction."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Container, Sequence
from functools import partial
from itertools import count
from typing import TypeVar

from touchbase.deliveries.claiming import claim, claim_named
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.work import DryRunResult, Translate, WorkReport
from touchbase.errors import Overloaded
from touchbase.event_log.sql.log import Noted, with_log
from touchbase.inbox.dry_runs import compare, dry_run, load_deliveries, snapshot
from touchbase.inbox.large_delivery import LargeWork
from touchbase.projection.apply import IN_USE, NOT_DELETED, apply_batch, apply_needs
from touchbase.projection.delivery_outcomes import record_failure
from touchbase.projection.inbox_batch import (
    FailedDelivery,
    InboxBatch,
    merge_reports,
    read_batch,
    read_batches,
    split_large,
    transaction_groups,
    translate_batch,
)
from touchbase.projection.normalization import NormalizedDelivery
from touchbase.records.sql.status_moves import with_status_moves
from touchbase.reports.event_hours import with_event_hours
from touchbase.sql.statement import Plan
from touchbase.storage.batch import Committed
from touchbase.storage.sqlite.connection import INTERRUPTED, UNWRITABLE, roll_back, run
from touchbase.storage.sqlite.engine import SqliteEngine
from touchbase.storage.sqlite.writer import SqliteWriter

T = TypeVar("T")

CHUNK = 128
"""Deliveries in one transaction: the cost of the flush is small compared to theirs."""
SMALL_CHUNK = 8
"""Deliveries in one transaction while HTTP clients write: their writes wait for it, about 2 ms."""
MAX_INLINE_BYTES = 64 * 1024
MAX_INLINE_EVENTS = 64
"""Limits of the bodies and events that the event loop applies itself; larger batches go to a thread."""


class SqliteStore(SqliteEngine):
    """Stores records, and applies deliveries."""

    batch_size_under_load = SMALL_CHUNK
    """One transaction: several in a row would delay as many writes as one large transaction."""
    blocked_share = 1.0
    _commands_before = 0
    """Commands accepted when the size of the last transaction was decided."""

    @staticmethod
    def transaction(plan: Plan[T]) -> tuple[Plan[T], Committed]:
        """Return the plan of a transaction that writes, which also logs its events, and counts for reports."""
        noted = Noted()
        return with_log(with_event_hours(with_status_moves(plan)), noted), noted.announce

    async def work(self, client: int, limit: int, translate: Translate, now_us: int) -> WorkReport:
        """Apply up to `limit` waiting deliveries of one client, one chunk per transaction.

        While the writing thread applies one chunk, a reading thread translates the next.
        """
        claimed = await self._read_on_thread(claim(client, limit, now_us))
        return await self._apply(client, claimed, translate, now_us, IN_USE)

    async def work_on(self, client: int, ids: Sequence[int], translate: Translate, now_us: int) -> WorkReport:
        """Apply these waiting deliveries, even of a suspended client, one chunk per transaction."""
        claimed = await self._read_on_thread(claim_named(client, ids))
        return await self._apply(client, claimed, translate, now_us, NOT_DELETED)

    async def _apply(
        self, client: int, deliveries: Sequence[Delivery], translate: Translate, now_us: int, states: Container[str]
    ) -> WorkReport:
        apply = partial(apply_inbox_batch, client=client, now_us=now_us, states=states)
        large_work = LargeWork(client, now_us, states, self._write_alone)
        size = self._chunk()
        light, large = split_large(deliveries)
        applying: list[Awaitable[WorkReport]] = []
        report = WorkReport()
        async with contextlib.aclosing(read_batches(light, size, translate, self._read_batch)) as read:
            async for batch in read:
                if applying:
                    report = merge_reports(report, await applying.pop())
                groups, many = transaction_groups(batch.claimed)
                for group in groups[:-1]:
                    report = merge_reports(report, await self._writer.submit_job(partial(apply, batch=InboxBatch(group, []))))
                last = InboxBatch(groups[-1] if groups else [], batch.broken)
                applying.append(self._writer.submit_job(partial(apply, batch=last), small=size == SMALL_CHUNK and _is_small(last)))
                for normalized in many:
                    report = merge_reports(report, await large_work.apply(normalized))
                if many:
                    report.more = True  # the next call applies the others, if there are any
                    break
        if applying:
            report = merge_reports(report, await applying.pop())
        report.more |= len(large) > 1
        for delivery in large[:1]:
            report = merge_reports(report, await large_work.read_and_apply(delivery, translate, self._read_batch))
        return report

    async def dry_run(self, client: int, ids: Sequence[int], translate: Translate, now_us: int) -> DryRunResult:
        """Return the changes that applying these deliveries again would make; nothing is stored."""
        deliveries = await self.read(load_deliveries(client, ids))
        batch = await self._read_batch(deliveries, translate)
        result: DryRunResult = await self._writer.submit_job(partial(dry_run_batch, client=client, batch=batch, now_us=now_us))
        return result

    async def _read_batch(self, deliveries: Sequence[Delivery], translate: Translate) -> InboxBatch:
        return await read_batch(deliveries, translate, lambda: self._on_thread(partial(translate_batch, deliveries, translate)))

    def _chunk(self) -> int:
        """Return how many deliveries go into one transaction now."""
        before, self._commands_before = self._commands_before, self._writer.taken
        return CHUNK if self._commands_before == before else SMALL_CHUNK


def apply_inbox_batch(writer: SqliteWriter, client: int, batch: InboxBatch, now_us: int, states: Container[str] = IN_USE) -> WorkReport:
    """Apply translated deliveries; record the failure of untranslatable ones, which are retried later."""
    report = _apply(writer, client, batch.claimed, now_us, states) if batch.claimed else WorkReport()
    for broken in batch.broken:
        report = merge_reports(report, _fail(writer, client, broken, now_us))
    return report


def dry_run_batch(writer: SqliteWriter, client: int, batch: InboxBatch, now_us: int) -> DryRunResult:
    """Return the changes that applying a batch again would make: apply it and roll back."""
    applied = roll_back(writer.cursor, with_log(dry_run(client, batch, now_us), keep=False))
    return compare(batch, applied, run(writer.cursor, snapshot(client, applied.after)))


def _apply(writer: SqliteWriter, client: int, claimed: Sequence[NormalizedDelivery], now_us: int, states: Container[str]) -> WorkReport:
    attempts = count()
    try:
        return writer.write(lambda: apply_batch(client, claimed, writer.ids, now_us, states), lambda: apply_needs(claimed, next(attempts)))
    except (*UNWRITABLE, Overloaded, INTERRUPTED):
        raise
    except Exception as error:
        if len(claimed) == 1:
            return _fail(writer, client, FailedDelivery.by(error, claimed[0].delivery), now_us)
        # Bisect until the failing delivery is alone; the order stays, so the oldest is still applied first.
        half = len(claimed) // 2
        first = _apply(writer, client, claimed[:half], now_us, states)
        return merge_reports(first, _apply(writer, client, claimed[half:], now_us, states))


def _fail(writer: SqliteWriter, client: int, broken: FailedDelivery, now_us: int) -> WorkReport:
    return writer.write(lambda: record_failure(client, broken.delivery, broken.why, now_us, for_good=broken.for_good), dict)


def _is_small(batch: InboxBatch) -> bool:
    """Return whether the event loop may apply a batch itself."""
    bodies, events = (
        sum(len(normalized.delivery.body) for normalized in batch.claimed),
        sum(normalized.cost for normalized in batch.claimed),
    )
    return bodies < MAX_INLINE_BYTES and events <= MAX_INLINE_EVENTS and not batch.broken
