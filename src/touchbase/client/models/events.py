"""Types of events. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


EventOrigin = Literal["api", "delivery", "job", "domain", "erasure", "service"]
"""What caused a change."""

EventType = Literal[
    "contact.created", "contact.updated", "contact.status_changed", "contact.replied", "contact.merged", "contact.deleted",
    "contact.restored", "contact.erased", "company.created", "company.updated", "company.status_changed", "company.merged",
    "company.deleted", "company.restored", "message.received", "message.sent", "status.renamed", "suppression.added",
    "suppression.removed", "delivery.failed", "delivery.unrecognised", "connection.silent", "connection.resumed", "client.storage_warning",
]
"""The types of events of the log."""


class EventCause(TypedDict):
    """What caused an event."""

    origin: EventOrigin
    key_id: NotRequired[str]
    request_id: NotRequired[str]
    tool: NotRequired[str | None]
    channel: NotRequired[str]
    deliveries: NotRequired[list[int]]
    job_id: NotRequired[int]
    erasure_id: NotRequired[int]


class EventData(TypedDict):
    """What an event says."""

    id: str
    client_id: str
    object: dict[str, Any] | None
    changed: dict[str, list[str | int | None]]
    cause: EventCause
    record_id: NotRequired[int]
    merged: NotRequired[list[int]]
    for_good: NotRequired[bool]


class EventPage(TypedDict):
    """Events, oldest first."""

    data: list[LogEvent]
    next_cursor: str
    has_more: bool


class EventSamples(TypedDict):
    """Samples of events, newest first."""

    data: list[LogEvent]
    fictitious: bool


class LogEvent(TypedDict):
    """An event of the log."""

    id: str
    type: EventType
    timestamp: str
    data: EventData
