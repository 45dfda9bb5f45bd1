"""Apply a batch of deliveries on the connection that writes, in a transaction of its own."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import count

from touchbase.deliveries.work import DryRunResult, WorkReport
from touchbase.errors import Overloaded
from touchbase.event_log.sql.log import with_log
from touchbase.inbox.dry_runs import compare, dry_run, snapshot
from touchbase.projection.apply import IN_USE, apply_batch, apply_needs
from touchbase.projection.delivery_outcomes import record_failure
from touchbase.projection.inbox_batch import FailedDelivery, InboxBatch, failure_reason, merge_reports
from touchbase.projection.normalization import NormalizedDelivery
from touchbase.storage.sqlite.connection import UNWRITABLE, run
from touchbase.storage.sqlite.writer import Writer


def apply_inbox_batch(writer: Writer, client: int, batch: InboxBatch, now_us: int, states: Container[str] = IN_USE) -> WorkReport:
    """Apply translated deliveries; record the failure of untranslatable ones, which are retried later."""
    report = _apply(writer, client, batch.claimed, now_us, states) if batch.claimed else WorkReport()
    for broken in batch.broken:
        report = merge_reports(report, _fail(writer, client, broken, now_us))
    return report


def dry_run_batch(writer: Writer, client: int, batch: InboxBatch, now_us: int) -> DryRunResult:
    """Return what applying a batch again would change: apply it and roll back."""
    writer.cursor.execute("BEGIN IMMEDIATE")
    try:
        applied = run(writer.cursor, with_log(dry_run(client, batch, now_us), keep=False))
    finally:
        if writer.cursor.connection.in_transaction:  # a disk error may have ended it already
            writer.cursor.execute("ROLLBACK")
    return compare(batch, applied, run(writer.cursor, snapshot(client, applied.after)))


def _apply(writer: Writer, client: int, claimed: Sequence[NormalizedDelivery], now_us: int, states: Container[str]) -> WorkReport:
    attempts = count()
    try:
        return writer.write(lambda: apply_batch(client, claimed, writer.ids, now_us, states), lambda: apply_needs(claimed, next(attempts)))
    except (*UNWRITABLE, Overloaded):
        raise
    except Exception as error:
        if len(claimed) == 1:
            return _fail(writer, client, FailedDelivery(claimed[0].delivery, failure_reason(error)), now_us)
        # Bisect until the failing delivery is alone; the order stays, so the oldest is still applied first.
        half = len(claimed) // 2
        first = _apply(writer, client, claimed[:half], now_us, states)
        return merge_reports(first, _apply(writer, client, claimed[half:], now_us, states))


def _fail(writer: Writer, client: int, broken: FailedDelivery, now_us: int) -> WorkReport:
    return writer.write(lambda: record_failure(client, broken.delivery, broken.why, now_us, for_good=broken.for_good), dict)
