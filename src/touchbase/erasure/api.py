"""HTTP resources for a person's data, for administrators because they reach into the inbox: erase, export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.auth import ADMIN
from touchbase.clients import Client
from touchbase.common.timestamps import SECOND, Micros, to_text
from touchbase.do_not_contact.api.schemas import SuppressionOut, entry_out
from touchbase.erasure.commands import Erasure, ListRequests
from touchbase.erasure.person_export import ContactDelivery, Exported, export_deliveries, export_person
from touchbase.erasure.service import Eraser
from touchbase.events import translator
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import ChannelOut, DeliveryStateOut, MaybeTime, Time, encode, example
from touchbase.inbox.api.deliveries import RawBody, raw_body
from touchbase.messages.api.schemas import MessageOut, message_out
from touchbase.records import TimelineEntry
from touchbase.records.api.resource import CONTACT_TAG
from touchbase.records.api.schemas import ContactResponse, FieldChangeOut
from touchbase.records.api.serializers import contact_out

SEARCH_SECONDS: Micros = 5 * SECOND
"""How long a request searches the inbox; the rest is searched in the background."""


class ErasureOut(Struct):
    """What an erasure has removed: number of rows by kind, and of delivery bodies."""

    erasure_id: int
    removed: Annotated[
        dict[str, int],
        Meta(
            description="contacts, custom_fields, events, links, deliveries (bodies removed), and unsearchable: bodies removed "
            "because they could not be searched for the person within the limits."
        ),
    ]
    inbox_searched: Annotated[
        bool,
        Meta(description="Whether the search for the person is complete; false: it continues in the background."),
    ]


class ErasureRequestOut(Struct):
    """One erasure; the person is not named, because nothing of the person is stored."""

    id: int
    asked_time: Time
    searched_time: Annotated[MaybeTime, Meta(description="When the search for the person was complete; null: it goes on.")]
    done_time: Annotated[
        MaybeTime,
        Meta(
            description="When the store's files were cleaned after the search; null: not yet, which is repeated within seconds. A SQLite "
            "file above 64 MiB waits for `touchbase vacuum`."
        ),
    ]
    removed: Annotated[dict[str, int], Meta(description="Rows removed so far, by kind, and bodies of deliveries.")]
    searched_share: Annotated[float, Meta(ge=0, le=1, description="The part of the inbox that has been searched.")]


class ErasurePage(Struct):
    """A page of erasures, newest first."""

    data: list[ErasureRequestOut]
    next_cursor: str | None = None


_REQUEST = {
    "id": 3, "asked_time": "2026-11-20T09:30:00Z", "searched_time": "2026-11-20T09:30:02Z", "done_time": "2026-11-20T09:30:05Z",
    "removed": {"contacts": 1, "custom_fields": 2, "events": 14, "links": 1, "deliveries": 15}, "searched_share": 1.0,
}  # fmt: skip
example(ErasureRequestOut, _REQUEST)
example(ErasurePage, {"data": [_REQUEST], "next_cursor": None})


class IdentityOut(Struct):
    """An identity of the contact: a tool's object; with an empty `tool` a former `email` or `linkedin` address."""

    tool: str
    object_type: str
    object_id: str


class SourceOut(Struct):
    """A tool that sent data about the person, and when."""

    channel: str
    tool: str
    events: int
    first_received_at: Time
    last_received_at: Time


class ExportedEvent(Struct):
    """One event of the person's history with all that is stored of it."""

    event: str
    occurred_at: Time
    received_at: Time
    channel: str
    tool: str
    campaign: str | None
    campaign_id: str | None
    status: str | None
    delivery_id: int | None
    detail: dict[str, Any]
    changed: list[FieldChangeOut]


class ExportedDelivery(Struct):
    """A delivery about the person, as received; without its content if it names other people too (`shared`)."""

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
    """Everything that is stored about one contact. Only the first page has more than deliveries."""

    deliveries: list[ExportedDelivery]
    next_cursor: Annotated[str | None, Meta(description="Cursor of the next deliveries; null on the last page.")]
    contact: ContactResponse | UnsetType = UNSET
    created_at: Time | UnsetType = UNSET
    identities: list[IdentityOut] | UnsetType = UNSET
    sources: list[SourceOut] | UnsetType = UNSET
    timeline: list[ExportedEvent] | UnsetType = UNSET
    suppressions: Annotated[
        list[SuppressionOut] | UnsetType, Meta(description="The entries of the person's addresses on the client's do-not-contact list.")
    ] = UNSET
    messages: Annotated[list[MessageOut] | UnsetType, Meta(description="The mails and LinkedIn messages, oldest first.")] = UNSET


ERASE = query.flag("erase", "Erase the person for good: the contact, its timeline, and the bodies of the webhooks that mention it.")


async def erase_contact(call: Call) -> Response:
    """Handle `DELETE` of one contact: erase the person."""
    client = await call.client()
    call.parameters().done()
    api = call.api
    eraser = Eraser(api.dependencies.store, api.dependencies.read, api.dependencies.clock, api.connections.of)
    erasure = await eraser.erase(client.number, call.id("contact"))
    api.clients.forget(client.client_id)
    api.dependencies.on_stored(client.number)  # queued deliveries that name the person are checked when they are applied
    erasure = await eraser.search(erasure, api.dependencies.clock() + SEARCH_SECONDS)
    return Response(body=encode(ErasureOut(erasure.id, erasure.removed, erasure.searched_us is not None)))


async def list_erasures(call: Call) -> Response:
    """Handle `GET` of a page of a client's erasures."""
    client, asked = await call.client(), call.parameters()
    before: int | None = asked.cursor("erasures", int)
    asked.done()
    found = await call.api.dependencies.store.read(ListRequests(client.number, asked[LIMIT] + 1, before))
    page = found[: asked[LIMIT]]
    cursor = cursor_text("erasures", page[-1].id) if len(found) > len(page) else None
    return Response(body=encode(ErasurePage([_request_out(each) for each in page], cursor)))


def _request_out(one: Erasure) -> ErasureRequestOut:
    done = None if one.done_us is None else to_text(one.done_us)
    searched = None if one.searched_us is None else to_text(one.searched_us)
    share = 1.0 if searched else max(0, one.swept_to) / max(1, one.sweep_until)
    return ErasureRequestOut(one.id, to_text(one.asked_us), searched, done, one.removed, min(1.0, round(share, 3)))


async def export_contact(call: Call) -> Response:
    """Handle `GET` of everything that is stored about one contact."""
    client = await call.client()
    asked, number = call.parameters(), call.id("contact")
    listing = f"export {number}"
    after: int | None = asked.cursor(listing, int)
    asked.done()
    api = call.api
    exported = await export_person(api.dependencies.store, client.number, number)
    translate = translator(api.dependencies.read, await api.connections.of(client.number))
    deliveries, following = await export_deliveries(api.dependencies.store, translate, client.number, number, asked[LIMIT], after or 0)
    made = deliveries_out(deliveries, None if following is None else cursor_text(listing, following))
    if after is None:
        with_person(made, exported, client, api.dependencies.clock())
    return Response(body=encode(made))


def deliveries_out(deliveries: Sequence[ContactDelivery], next_cursor: str | None) -> PersonExport:
    """Return a page of an export with deliveries only."""
    return PersonExport([_delivery(each) for each in deliveries], next_cursor)


def with_person(made: PersonExport, exported: Exported, client: Client, now: Micros) -> None:
    """Add to a page what only the first one has."""
    contact = contact_out(exported.contact, False, client.settings)
    made.contact, made.created_at = contact, to_text(exported.contact.created_us)
    made.identities = [IdentityOut(*ref) for ref in exported.identities]
    made.sources = [
        SourceOut(each.channel, each.tool, each.events, to_text(each.first_us), to_text(each.last_us)) for each in exported.sources
    ]
    made.timeline = [_event(each) for each in exported.timeline]
    made.suppressions = [entry_out(each, now) for each in exported.suppressions]
    made.messages = [message_out(each, contact_email=exported.contact.email) for each in exported.messages]


def _event(entry: TimelineEntry) -> ExportedEvent:
    event = entry.event
    changed = [FieldChangeOut(change.field, change.value, change.previous) for change in entry.changed]
    return ExportedEvent(
        event.event, to_text(event.occurred_us), to_text(event.received_us), event.channel, event.tool, event.campaign, event.campaign_id,
        event.status, event.delivery_id, event.detail, changed,
    )  # fmt: skip


def _delivery(found: ContactDelivery) -> ExportedDelivery:
    one, hidden = found.delivery, found.shared
    return ExportedDelivery(
        one.id, one.channel, one.tool, one.state, to_text(one.received_us), hidden, None if hidden else one.headers,
        None if hidden else one.query, None if hidden else raw_body(one.body),
    )  # fmt: skip


ROUTES = [
    Route(
        "GET", "/public/v2/contacts/{id}/export", export_contact, scope=ADMIN, operation_id="export_contact", tag=CONTACT_TAG,
        summary="Export everything that is stored about one person",
        description="The first page has the contact, its identities, sources and "
        "timeline; every page has deliveries.",
        query=PAGE, success=(Success(200, "A page.", PersonExport),),
    ),
    Route(
        "GET", "/public/v2/erasures", list_erasures, scope=ADMIN, operation_id="list_erasures", tag=CONTACT_TAG,
        summary="List erasures of people, newest first",
        description="When each was asked for, how far the search of the inbox is, and what was removed.",
        query=PAGE, success=(Success(200, "A page.", ErasurePage),),
    ),
]  # fmt: skip
