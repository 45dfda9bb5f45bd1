"""The event log: every change of a client's data, written in the transaction of the change, and read as a feed."""

from __future__ import annotations

from touchbase.event_log.commands import FindNewEvents, ListLoggedEvents, ListNewestEvents, Page, TrimLog
from touchbase.event_log.envelope import envelope
from touchbase.event_log.models import (
    API,
    DELIVERY,
    ERASURE,
    EVENT_TYPES,
    JOB,
    ORIGINS,
    SERVICE,
    Changed,
    EventType,
    LoggedEvent,
    by_request,
    event_id,
    record_event,
)
from touchbase.event_log.sql.log import log_events, with_cause, with_log, with_log_alone

__all__ = [
    "API",
    "DELIVERY",
    "ERASURE",
    "EVENT_TYPES",
    "JOB",
    "ORIGINS",
    "SERVICE",
    "Changed",
    "EventType",
    "FindNewEvents",
    "ListLoggedEvents",
    "ListNewestEvents",
    "LoggedEvent",
    "Page",
    "TrimLog",
    "by_request",
    "envelope",
    "event_id",
    "log_events",
    "record_event",
    "with_cause",
    "with_log",
    "with_log_alone",
]
