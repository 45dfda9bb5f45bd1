"""Bodies of the event feed."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.event_log.models import EVENT_TYPES, ORIGINS
from touchbase.http.actors import Actor
from touchbase.http.schemas import Time, example, named_enum

EventTypeName = Annotated[
    str,
    Meta(
        description="What happened. " + " ".join(f"`{event_type.value}`: {meaning}" for event_type, meaning in EVENT_TYPES.items()),
        extra_json_schema=named_enum("EventType", "The types of events of the log.", [event_kind.value for event_kind in EVENT_TYPES]),
    ),
]
Origin = Annotated[
    str,
    Meta(
        description=" ".join(f"`{name}`: {meaning}." for name, meaning in ORIGINS.items()),
        extra_json_schema=named_enum("EventOrigin", "What caused a change.", list(ORIGINS)),
    ),
]


class EventCause(Struct):
    """Cause of an event."""

    origin: Origin
    key_id: str | UnsetType = UNSET
    request_id: str | UnsetType = UNSET
    tool: str | UnsetType | None = UNSET
    channel: str | UnsetType = UNSET
    deliveries: Annotated[list[int], Meta(description="Ids of deliveries, at most ten.")] | UnsetType = UNSET
    job_id: int | UnsetType = UNSET
    erasure_id: int | UnsetType = UNSET


class EventMeeting(Struct):
    """A meeting with a contact, as a tool told of it."""

    start: Annotated[str | None, Meta(description="When it starts, in UTC; null: the tool does not say it.")]
    tool: str
    occurred_at: Annotated[Time, Meta(description="When it was booked, canceled, moved or missed.")]


class EventData(Struct):
    """Content of an event."""

    id: Annotated[str, Meta(description="Unique within the client, and a cursor: the events after it follow.", examples=["evt_4711"])]
    client_id: str
    object: Annotated[
        dict[str, Any] | None,
        Meta(
            description="The contact or company as its own address shows it now, which may be later than the event; null if it is gone. "
            "For an event about no record, its subject."
        ),
    ]
    changed: Annotated[
        dict[str, list[str | int | None]],
        Meta(description="The fields that changed, each with its value before and after; null: none. Custom fields are `cf.NAME`."),
    ]
    cause: EventCause
    actor: Annotated[Actor, Meta(description="Who did it: a person or key by name, a tool, or Touchbase.")]
    record_id: Annotated[int, Meta(description="The id of the contact or company.")] | UnsetType = UNSET
    merged: Annotated[list[int], Meta(description="Of a merge: the ids of the records that ended in this one.")] | UnsetType = UNSET
    meeting: Annotated[EventMeeting, Meta(description="Of the events of meetings.")] | UnsetType = UNSET
    assignee_id: Annotated[str | UnsetType | None, Meta(description="Of an assigned conversation: the user; null: nobody.")] = UNSET
    for_good: Annotated[bool, Meta(description="Of a deletion: the record can no longer be restored.")] | UnsetType = UNSET


class LogEvent(Struct):
    """An event of the log."""

    id: Annotated[str, Meta(description="As in `data`.", examples=["evt_4711"])]
    type: EventTypeName
    timestamp: Time
    data: EventData


class EventPage(Struct):
    """Events, oldest first."""

    data: list[LogEvent]
    next_cursor: Annotated[str, Meta(description="Send it as `after`: the events after these follow. It is never null.")]
    has_more: Annotated[bool, Meta(description="Whether later events exist already.")]


example(
    EventPage,
    {
        "data": [
            {
                "id": "evt_4711", "type": "contact.replied", "timestamp": "2026-11-20T09:30:00Z",
                "data": {
                    "id": "evt_4711", "client_id": "acme",
                    "object": {
                        "id": 1042, "updated_time": "2026-11-20T09:30:00Z", "first_name": "Jane", "last_name": "Doe", "origin": "instantly",
                        "first_campaign_email_sent": "2026-11-18T08:00:00Z", "last_campaign_email_sent": "2026-11-18T08:00:00Z",
                        "last_reply_received": "2026-11-20T09:29:57Z", "previous_status": "contacted",
                        "status_changed_at": "2026-11-20T09:29:57Z", "email": "jane@example.com", "contact_status": "replied",
                        "contact_custom_fields": [],
                    },
                    "changed": {"last_reply_received": [None, "2026-11-20T09:29:57Z"]},
                    "cause": {"origin": "delivery", "tool": "instantly", "channel": "email_campaign", "deliveries": [815]},
                    "actor": {"type": "tool", "id": None, "name": "instantly", "via": "webhook"},
                    "record_id": 1042,
                },
            }
        ],
        "next_cursor": "evt_4711", "has_more": False,
    },
)  # fmt: skip
