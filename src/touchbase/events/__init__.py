"""Processing deliveries: events, identity resolution and the projection of records."""

from __future__ import annotations

from touchbase.events.claiming import DELIVERIES_WITH_BODIES, claim, claim_if_unchanged, claim_named, peek
from touchbase.events.delivery_outcomes import record_failure
from touchbase.events.dry_runs import compare, dry_run, load_deliveries, snapshot
from touchbase.events.event_normalization import NormalizedDelivery
from touchbase.events.fair_scheduler import BATCH_SIZE
from touchbase.events.inbox_batch import (
    FailedDelivery,
    InboxBatch,
    failure_reason,
    merge_reports,
    min_events,
    pack_result,
    read_batch,
    read_batches,
    read_delivery,
    split_large,
    transaction_groups,
    translate_batch,
)
from touchbase.events.large_delivery import LargeWork
from touchbase.events.object_claims import plan_separation
from touchbase.events.projection import IN_USE, NOT_DELETED, apply_batch, apply_needs
from touchbase.events.replay import Cursor, DryRunner, Page, add_result, count, pages, replay_page
from touchbase.events.suppression_guard import DELIVERIES_OF_EVENTS, erase_parked_events
from touchbase.events.translator_pool import TranslatorPool
from touchbase.events.work import DryRunResult, ProcessingStore, ReadResult, Translate, WorkReport
from touchbase.events.worker import ConnectionsOf, InboxWorker, PeriodicTask, Read, add_report, count_report, no_connections, translator

__all__ = [
    "BATCH_SIZE",
    "DELIVERIES_OF_EVENTS",
    "DELIVERIES_WITH_BODIES",
    "IN_USE",
    "NOT_DELETED",
    "ConnectionsOf",
    "Cursor",
    "DryRunResult",
    "DryRunner",
    "FailedDelivery",
    "InboxBatch",
    "InboxWorker",
    "LargeWork",
    "NormalizedDelivery",
    "Page",
    "PeriodicTask",
    "ProcessingStore",
    "Read",
    "ReadResult",
    "Translate",
    "TranslatorPool",
    "WorkReport",
    "add_report",
    "add_result",
    "apply_batch",
    "apply_needs",
    "claim",
    "claim_if_unchanged",
    "claim_named",
    "compare",
    "count",
    "count_report",
    "dry_run",
    "erase_parked_events",
    "failure_reason",
    "load_deliveries",
    "merge_reports",
    "min_events",
    "no_connections",
    "pack_result",
    "pages",
    "peek",
    "plan_separation",
    "read_batch",
    "read_batches",
    "read_delivery",
    "record_failure",
    "replay_page",
    "snapshot",
    "split_large",
    "transaction_groups",
    "translate_batch",
    "translator",
]
