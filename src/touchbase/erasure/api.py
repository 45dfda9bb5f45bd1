"""A person's own data: erasing it, and handing it out. Both are an administrator's calls, as they reach into the inbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.auth.authentication import ADMIN
from touchbase.clients.models import Client
from touchbase.common.timestamps import SECOND, Micros, to_text
from touchbase.erasure.export_person import Exported, ExportedCall, export_calls, export_person
from touchbase.erasure.service import Eraser
from touchbase.errors import Fault
from touchbase.events.worker import translator
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import Parameters, cursor_text
from touchbase.http.responses import Response
from touchbase.http.schemas import ChannelOut, DeliveryStateOut, Time, encode
from touchbase.inbox.api.deliveries import RawBody, raw_body
from touchbase.records.api.schemas import ContactResponse, FieldChangeOut
from touchbase.records.api.serializers import contact_out
from touchbase.records.timeline import TimelineEntry

SEARCH_SECONDS: Micros = 5 * SECOND
"""How long a call that erases searches the inbox; what is left then is searched in the background."""


class ErasureOut(Struct):
    """What an erasure has removed: rows by what they were, and the bodies of deliveries."""

    erasure_id: int
    removed: Annotated[dict[str, int], Meta(description="contacts, custom_fields, events, links, deliveries (bodies dropped).")]
    inbox_searched: Annotated[
        bool, Meta(description="Whether the whole inbox was searched for calls that name the person; false: it goes on in the background.")
    ]


class IdentityOut(Struct):
    """An identity that leads to the contact: a tool's object; with an empty `tool` a former `email` or `linkedin` address."""

    tool: str
    object_type: str
    object_id: str


class SourceOut(Struct):
    """Who told about the person, and when."""

    channel: str
    tool: str
    events: int
    first_received_at: Time
    last_received_at: Time


class ExportedEvent(Struct):
    """One event of the person's history with everything that is kept of it."""

    event: str
    occurred_at: Time
    received_at: Time
    channel: str
    tool: str
    campaign: str | None
    status: str | None
    delivery_id: int | None
    detail: dict[str, Any]
    changed: list[FieldChangeOut]


class ExportedDelivery(Struct):
    """A call that told about the person, as it came; without its content where it tells of other people too (`shared`)."""

    id: int
    channel: ChannelOut
    tool: str | None
    state: DeliveryStateOut
    received_at: Time
    shared: bool
    headers: dict[str, str] | None
    query: str | None
    body: RawBody | None


class PersonExport(Struct):
    """Everything that is kept about one contact. Only the first page tells more than deliveries."""

    deliveries: list[ExportedDelivery]
    next_cursor: Annotated[str | None, Meta(description="Where the next deliveries begin; null on the last page.")]
    contact: ContactResponse | UnsetType = UNSET
    created_at: Time | UnsetType = UNSET
    identities: list[IdentityOut] | UnsetType = UNSET
    sources: list[SourceOut] | UnsetType = UNSET
    timeline: list[ExportedEvent] | UnsetType = UNSET


async def erase_contact(call: Call) -> Response:
    """`DELETE` of one contact: its person is erased."""
    client = await call.client(ADMIN)
    parameters = Parameters(call.query)
    if parameters.choice("erase", ("true",)) is None and not parameters.faults:
        detail = "must be true: a contact goes only when its person is erased, with its timeline and the calls that told of it, for good"
        parameters.faults.append(Fault("?erase", "required", detail))
    parameters.done(strict=True)
    api = call.api
    eraser = Eraser(api.parts.store, api.parts.read, api.parts.clock, api.connections.of)
    erasure = await eraser.erase(client.number, call.id("contact"))
    api.clients.forget(client.client_id)
    api.parts.on_stored(client.number)  # what waits and names the person is dropped as it is applied
    erasure = await eraser.search(erasure, api.parts.clock() + SEARCH_SECONDS)
    return Response(body=encode(ErasureOut(erasure.id, erasure.removed, erasure.done_us is not None)))


async def export_contact(call: Call) -> Response:
    """`GET` of everything that is kept about one contact."""
    client = await call.client(ADMIN)
    parameters = Parameters(call.query)
    number, limit = call.id("contact"), parameters.limit()
    listing = f"export {number}"
    after: int | None = parameters.cursor(listing, int)
    parameters.done(strict=True)
    api = call.api
    exported = await export_person(api.parts.store, client.number, number)
    translate = translator(api.parts.read, await api.connections.of(client.number))
    calls, place = await export_calls(api.parts.store, translate, client.number, number, limit, after or 0)
    made = deliveries_out(calls, None if place is None else cursor_text(listing, place))
    if after is None:
        with_person(made, exported, client)
    return Response(body=encode(made))


def deliveries_out(calls: Sequence[ExportedCall], next_cursor: str | None) -> PersonExport:
    """A page of an export, deliveries only."""
    return PersonExport([_delivery(each) for each in calls], next_cursor)


def with_person(made: PersonExport, exported: Exported, client: Client) -> None:
    """Put into a page what only the first one tells."""
    contact = contact_out(exported.contact, False, client.settings)
    made.contact, made.created_at = contact, to_text(exported.contact.created_us)
    made.identities = [IdentityOut(*ref) for ref in exported.identities]
    made.sources = [
        SourceOut(each.channel, each.tool, each.events, to_text(each.first_us), to_text(each.last_us)) for each in exported.sources
    ]
    made.timeline = [_event(each) for each in exported.timeline]


def _event(told: TimelineEntry) -> ExportedEvent:
    event = told.event
    changed = [FieldChangeOut(change.field, change.value, change.previous) for change in told.changed]
    return ExportedEvent(
        event.event, to_text(event.occurred_us), to_text(event.received_us), event.channel, event.tool, event.campaign, event.status,
        event.delivery_id, event.detail, changed,
    )  # fmt: skip


def _delivery(told: ExportedCall) -> ExportedDelivery:
    one, hidden = told.delivery, told.shared
    return ExportedDelivery(
        one.id, one.channel, one.tool, one.state, to_text(one.received_us), hidden, None if hidden else one.headers,
        None if hidden else one.query, None if hidden else raw_body(one.body),
    )  # fmt: skip
