"""The event log: every change of a client's data, written in the transaction of the change, and read as a feed."""

from __future__ import annotations

from touchbase.event_log.commands import (
    FindNewEvents,
    FindSubjects,
    ListLatestEvents,
    ListLoggedEvents,
    ListNewestEvents,
    Page,
    Subjects,
    TrimLog,
)
from touchbase.event_log.event_envelope import envelope
from touchbase.event_log.feed import Feed
from touchbase.event_log.models import (
    API,
    DELIVERY,
    DOMAIN,
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
from touchbase.event_log.reading import read_page, sequence_of, types_of
from touchbase.event_log.signal import LOGGED, LogSignal
from touchbase.event_log.sql.log import Noted, log_events, with_cause, with_log, with_log_alone

__all__ = [
    "API",
    "DELIVERY",
    "DOMAIN",
    "ERASURE",
    "EVENT_TYPES",
    "JOB",
    "LOGGED",
    "ORIGINS",
    "SERVICE",
    "Changed",
    "EventType",
    "Feed",
    "FindNewEvents",
    "FindSubjects",
    "ListLatestEvents",
    "ListLoggedEvents",
    "ListNewestEvents",
    "LogSignal",
    "LoggedEvent",
    "Noted",
    "Page",
    "Subjects",
    "TrimLog",
    "by_request",
    "envelope",
    "event_id",
    "log_events",
    "read_page",
    "record_event",
    "sequence_of",
    "types_of",
    "with_cause",
    "with_log",
    "with_log_alone",
]
