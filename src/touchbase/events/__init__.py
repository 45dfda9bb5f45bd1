"""Processing deliveries: events, identity resolution and the projection of records."""

from __future__ import annotations

from touchbase.events.claiming import DELIVERIES_WITH_BODIES, claim, claim_if_unchanged, claim_named, peek
from touchbase.events.deleted_records import DELETED_LINK, Deletion, deleted_having
from touchbase.events.delivery_outcomes import record_failure
from touchbase.events.dry_runs import compare, dry_run, load_deliveries, snapshot
from touchbase.events.event_normalization import NormalizedDelivery
from touchbase.events.fair_scheduler import BATCH_SIZE
from touchbase.events.identity_lookup import add_records
from touchbase.events.identity_scan import Identities, scan_deliveries
from touchbase.events.inbox_batch import (
    FailedDelivery,
    InboxBatch,
    failure_reason,
    merge_reports,
    pack_result,
    read_batch,
    read_batches,
    read_delivery,
    split_large,
    transaction_groups,
    translate_batch,
)
from touchbase.events.known_events import REMOVE_EVENT
from touchbase.events.large_delivery import LargeWork
from touchbase.events.logged_changes import log_moved_contacts, moved_contact
from touchbase.events.object_claims import plan_separation
from touchbase.events.projection import IN_USE, NOT_DELETED, apply_batch, apply_needs, insert_events, move_parked, new_batch, project_events
from touchbase.events.projection_batch import Batch
from touchbase.events.projection_companies import CONTACTS_OF_COMPANY, DELETE_CLAIMS_OF, SAVE_CLAIM, existing_company
from touchbase.events.projection_save import unite_records
from touchbase.events.projection_separate import set_addresses
from touchbase.events.rekey import assign, release
from touchbase.events.replay import Cursor, DryRunner, Page, add_result, count, pages, replay_page
from touchbase.events.suppression_guard import DELETE_LINK, DELETE_WANTED, DELIVERIES_OF_EVENTS, erase_parked_events
from touchbase.events.translator_pool import TranslatorPool
from touchbase.events.work import DryRunResult, ProcessingStore, ReadResult, Translate, WorkReport
from touchbase.events.worker import ConnectionsOf, InboxWorker, PeriodicTask, Read, add_report, count_report, no_connections, translator

__all__ = [
    "BATCH_SIZE",
    "CONTACTS_OF_COMPANY",
    "DELETED_LINK",
    "DELETE_CLAIMS_OF",
    "DELETE_LINK",
    "DELETE_WANTED",
    "DELIVERIES_OF_EVENTS",
    "DELIVERIES_WITH_BODIES",
    "IN_USE",
    "NOT_DELETED",
    "REMOVE_EVENT",
    "SAVE_CLAIM",
    "Batch",
    "ConnectionsOf",
    "Cursor",
    "Deletion",
    "DryRunResult",
    "DryRunner",
    "FailedDelivery",
    "Identities",
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
    "add_records",
    "add_report",
    "add_result",
    "apply_batch",
    "apply_needs",
    "assign",
    "claim",
    "claim_if_unchanged",
    "claim_named",
    "compare",
    "count",
    "count_report",
    "deleted_having",
    "dry_run",
    "erase_parked_events",
    "existing_company",
    "failure_reason",
    "insert_events",
    "load_deliveries",
    "log_moved_contacts",
    "merge_reports",
    "move_parked",
    "moved_contact",
    "new_batch",
    "no_connections",
    "pack_result",
    "pages",
    "peek",
    "plan_separation",
    "project_events",
    "read_batch",
    "read_batches",
    "read_delivery",
    "record_failure",
    "release",
    "replay_page",
    "scan_deliveries",
    "set_addresses",
    "snapshot",
    "split_large",
    "transaction_groups",
    "translate_batch",
    "translator",
    "unite_records",
]
