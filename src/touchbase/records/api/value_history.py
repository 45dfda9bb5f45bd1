"""Bodies of responses about a record's values over time: their history, and their sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.common.timestamps import SECOND, Micros, to_text
from touchbase.errors import Fault, Invalid
from touchbase.history.events import NO_AUTHOR, StoredEvent
from touchbase.http.actors import Actor, ActorNames
from touchbase.http.schemas import MaybeTime, Time, encode, example, fitting
from touchbase.records.api.schemas import ComputedSince, since
from touchbase.records.value_history import ExplainedValue, ValueChange


class EventSource(Struct):
    """The event that set a value, or named one: a webhook's (`delivery_id`) or an API write's (`key_id`, `request_id`)."""

    event: str
    occurred_at: Time
    received_at: Time
    tool: str
    campaign: str | None
    delivery_id: int | None
    key_id: str | None
    request_id: str | None
    actor: Annotated[Actor, Meta(description="Who caused the event.")]
    inferred: Annotated[
        dict[str, str] | UnsetType,
        Meta(description="Of a body without an adapter: the paths of values that `fields` did not name, by their names in `fields`."),
    ] = UNSET


class ValueChangeOut(Struct):
    """One value of one field, and how long the record had it."""

    field: Annotated[str, Meta(description="A member of the record, or a custom field as `cf.NAME`.")]
    value: str | None
    previous: str | None
    since: Time
    until: Annotated[MaybeTime, Meta(description="Null for the present value.")]
    seconds: Annotated[float, Meta(description="How long the record had the value; for the present one until now.")]
    set_by: EventSource


class ValueHistoryPage(Struct):
    """A page of the values of a record, newest first; `next_cursor` is null on the last one."""

    data: list[ValueChangeOut]
    next_cursor: str | None
    computed_since: ComputedSince = UNSET


class OtherEventOut(Struct):
    """An event that named a value for the field and is not its source."""

    value: str | None
    reason: Annotated[str, Meta(description="Why it is not the present value, in a sentence.")]
    event: EventSource


class ExplainedValueOut(Struct):
    """A present value, and why it is so."""

    field: Annotated[str, Meta(description="A member of the record, or a custom field as `cf.NAME`.")]
    value: str | None
    set_by: Annotated[EventSource | None, Meta(description="Null if no event has set it.")]
    others: Annotated[list[OtherEventOut], Meta(description="The newest events that named another value, or came without effect.")]
    others_total: Annotated[int, Meta(description="How many such events there are; `history` and `timeline` list all.")]


class Explanation(Struct):
    """The values of a record, each with its source; without `others` if they are too many bytes for one response."""

    data: list[ExplainedValueOut]
    computed_since: ComputedSince = UNSET
    linkedin_profiles: Annotated[
        list[str] | UnsetType,
        Meta(description="Further LinkedIn profiles that lead to the contact, in normal form; absent: none, a company, or one `field`."),
    ] = UNSET


_SOURCE = {
    "event": "email_replied",
    "occurred_at": "2026-11-21T08:00:00Z",
    "received_at": "2026-11-21T08:00:02.130000Z",
    "tool": "smartlead",
    "campaign": "Autumn",
    "delivery_id": 311,
    "key_id": None,
    "request_id": None,
    "actor": {"type": "tool", "id": None, "name": "smartlead", "via": "webhook"},
}
example(
    ValueHistoryPage,
    {
        "data": [
            {
                "field": "contact_status",
                "value": "replied",
                "previous": "contacted",
                "since": "2026-11-21T08:00:00Z",
                "until": None,
                "seconds": 3600.0,
                "set_by": _SOURCE,
            }
        ],
        "next_cursor": None,
    },
)
example(
    Explanation,
    {
        "data": [
            {
                "field": "contact_status",
                "value": "replied",
                "set_by": _SOURCE,
                "others": [
                    {
                        "value": "contacted",
                        "reason": "a sent mail sets a status only on somebody who was not contacted yet; 'replied' is further along",
                        "event": {**_SOURCE, "event": "email_sent", "occurred_at": "2026-11-22T07:00:00Z", "delivery_id": 320},
                    }
                ],
                "others_total": 1,
            }
        ]
    },
)


def event_source(event: StoredEvent, actors: ActorNames) -> EventSource:
    """Return an event as the source of a value."""
    key_id, request_id = event.detail.get("by", NO_AUTHOR)
    return EventSource(
        event.event,
        to_text(event.occurred_us),
        to_text(event.received_us),
        event.tool,
        event.campaign,
        event.delivery_id,
        key_id,
        request_id,
        actors.of_event(event),
        event.detail.get("inferred", UNSET),
    )


def value_change(change: ValueChange, now: Micros, actors: ActorNames) -> ValueChangeOut:
    """Return one value of a record's history; a present one lasts until now."""
    until = change.until_us
    seconds = max(0, (now if until is None else until) - change.since_us) / SECOND
    return ValueChangeOut(
        change.field, change.value, change.previous, to_text(change.since_us), None if until is None else to_text(until), seconds,
        event_source(change.event, actors),
    )  # fmt: skip


def explanation(
    values: Sequence[ExplainedValue], since_us: Micros | None, page_bytes: int, actors: ActorNames, profiles: list[str]
) -> bytes:
    """Encode the explained values of a record; without the other events if these are too many bytes. Raises `Invalid`."""
    for with_others in (True, False):
        data = fitting((explained_value(value, actors, with_others=with_others) for value in values), page_bytes)
        if len(data) == len(values):
            return encode(Explanation(data, since(since_us), profiles or UNSET))  # type: ignore[arg-type]  # encoded items
    detail = f"is required here: the {len(values)} values of this record have more than {page_bytes:,} bytes; explain one, such as"
    raise Invalid([Fault("?field", "too_long", f"{detail} {values[0].name}")])


def events_of(explained: ExplainedValue) -> Iterator[StoredEvent]:
    """Yield all events that the explanation of a value names."""
    if explained.set_by is not None:
        yield explained.set_by
    yield from (entry.event for entry in explained.others)


def explained_value(explained: ExplainedValue, actors: ActorNames, *, with_others: bool = True) -> ExplainedValueOut:
    """Return a value with its source and the other events."""
    shown = explained.others if with_others else ()
    others = [OtherEventOut(event.value, event.reason, event_source(event.event, actors)) for event in shown]
    set_by = None if explained.set_by is None else event_source(explained.set_by, actors)
    return ExplainedValueOut(explained.name, explained.value, set_by, others, explained.others_total)
