"""HTTP resources of lists of deliveries, for administrators: with filters, searched by person, text and event, counted by state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from touchbase.auth.authentication import ADMIN
from touchbase.clients.sql.clients import list_client_page
from touchbase.common.field_limits import LARGEST_ID, InvalidText
from touchbase.common.timestamps import to_text, to_text_or_none
from touchbase.connections.api import ChannelOut
from touchbase.deliveries.delivery import REMOVED_BY_ERASURE, REMOVED_BY_RETENTION, REMOVED_UNSEARCHABLE, Delivery
from touchbase.erasure_marks import email_ref, linkedin_ref
from touchbase.errors import Fault, Invalid
from touchbase.history.events import RECORD_EVENTS
from touchbase.history.identity_links import Ref
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import CLIENT, LIMIT, PAGE, Parameter, Parameters, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import Time, encode, example, fitting, named_enum
from touchbase.inbox.api.deliveries import CHANNEL, INBOX, STATE, TOOL, DeliveryOut, DeliveryStateOut, checked_client, delivery_out
from touchbase.inbox.queries import MOST_COUNTED
from touchbase.inbox.search import IN_BODY, IN_HISTORY, LONGEST_TEXT, UNREADABLE, DeliverySearch, FoundPage, Place, search_deliveries
from touchbase.inbox.search_queries import DeliveryEffects
from touchbase.inbox.service import DeliveryFilter, read_deliveries
from touchbase.inbox.sql.queries import count_states, newest_receipts
from touchbase.inbox.sql.search import get_effects
from touchbase.sandbox.pool import Sandbox
from touchbase.sql.cell_answers import end_of
from touchbase.sql.store import Store

_FOUND_IN = named_enum(
    "FoundIn", "Where a search found a delivery: in the history of the person, or by what its body contains.", (IN_HISTORY, IN_BODY)
)
_CAUSE = named_enum(
    "UnsearchableCause",
    "Why a body cannot be searched: it was removed (retention, or the erasure of a person in it), or is unreadable.",
    (REMOVED_BY_RETENTION, REMOVED_BY_ERASURE, REMOVED_UNSEARCHABLE, UNREADABLE),
)


class PersonOut(Struct):
    """A contact that an event of a delivery is about; without addresses while it is in the bin."""

    contact_id: int
    email: str | None
    linkedin_url: str | None


class DeliveryRow(DeliveryOut):
    """One stored webhook, the events that it made and the people they are about."""

    people: Annotated[list[PersonOut], Meta(description="The contacts of its events.")]
    events: Annotated[list[str], Meta(description="The different events that it made; empty while it changed nothing.")]
    more_events: Annotated[bool, Meta(description="Whether it made more than 100 events: `people` and `events` count 100 of them.")]
    found_in: Annotated[str, Meta(extra_json_schema=_FOUND_IN, description="null without a search for a person or a text.")] | None


class UnsearchableOut(Struct):
    """Deliveries whose bodies could not be searched."""

    cause: Annotated[str, Meta(extra_json_schema=_CAUSE)]
    count: int
    example_id: Annotated[int, Meta(description="The newest of these deliveries.")]


class SearchProgress(Struct):
    """How far a search for a person, a text or an event has come."""

    complete: Annotated[bool, Meta(description="Whether all deliveries were examined; else `next_cursor` goes on.")]
    back_to: Annotated[Time | None, Meta(description="When the last examined delivery was received; null if none was examined one by one.")]
    not_searchable: Annotated[list[UnsearchableOut], Meta(description="Deliveries examined for this page without their bodies, by cause.")]


class DeliveryPage(Struct):
    """A page of deliveries, newest first; `next_cursor` is null on the last one."""

    data: list[DeliveryRow]
    next_cursor: str | None
    search: Annotated[SearchProgress | None, Meta(description="null without `email`, `linkedin_url`, `contact_id`, `text` and `event`.")]


example(
    DeliveryPage,
    {
        "data": [
            {
                "id": 640, "client_id": "acme", "channel": "email_campaign", "state": "applied", "tool": "instantly",
                "received_at": "2026-11-20T09:31:00Z", "applied_at": "2026-11-20T09:31:01Z", "attempts": 0, "repeats": 0, "error": None,
                "size": 412, "verified": True, "problems": [],
                "people": [{"contact_id": 17, "email": "jane@example.com", "linkedin_url": None}],
                "events": ["email_replied"], "more_events": False, "found_in": "history",
            },
        ],
        "next_cursor": None,
        "search": {
            "complete": True, "back_to": "2026-11-02T08:00:00Z",
            "not_searchable": [{"cause": "retention", "count": 3, "example_id": 12}],
        },
    },
)  # fmt: skip
PLACE: Any = Place
"""The type of the positions that cursors of a search hold."""
BEFORE: Any = int | dict[int, int]
"""The type of the positions that cursors of a list hold."""
SEARCH_CURSOR = "searched_deliveries"
"""The listing of the cursors of a search."""
EMAIL = query.text("email", "Only deliveries about the person with this e-mail address, present or former.")
LINKEDIN = query.text("linkedin_url", "Only deliveries about the person with this LinkedIn address.")
CONTACT = query.integer("contact_id", 1, LARGEST_ID, "Only deliveries about this contact.")
TEXT = query.text("text", f"Only deliveries with this text in the body, in any case; at most {LONGEST_TEXT} characters.")
named_enum("RecordEvent", "An event of the shared vocabulary that makes an entry in a record's history.", RECORD_EVENTS)
EVENT = query.choice("event", RECORD_EVENTS, "Only deliveries that made this event; with a person, one about the person.")
_PERSON: tuple[Parameter[Any], ...] = (EMAIL, LINKEDIN, CONTACT)
FILTERS: tuple[Parameter[Any], ...] = (
    CLIENT,
    *_PERSON,
    TEXT,
    EVENT,
    TOOL,
    CHANNEL,
    STATE,
    query.time("received_since", "Only deliveries received at this time or later.", member="received_since_us"),
    query.time("received_until", "Only deliveries received before this time.", member="received_until_us"),
    query.flag("problems", "Only deliveries that were applied with a problem.", member="problems"),
)


async def rows_of(store: Store, deliveries: Sequence[Delivery], found_in: Mapping[int, str]) -> Iterator[DeliveryRow]:
    """Return deliveries as listed, with their events and people, which are read at once."""
    effects = await store.read(get_effects([(delivery.client, delivery.id) for delivery in deliveries])) if deliveries else {}
    return (_row(delivery, effects.get(delivery.id, DeliveryEffects()), found_in.get(delivery.id)) for delivery in deliveries)


def _row(delivery: Delivery, effects: DeliveryEffects, found_in: str | None) -> DeliveryRow:
    people = [PersonOut(person.contact_id, person.email, person.linkedin_url) for person in effects.people]
    listed = msgspec.structs.asdict(delivery_out(delivery))
    return DeliveryRow(**listed, people=people, events=effects.events, more_events=effects.more, found_in=found_in)


def progress_of(page: FoundPage) -> SearchProgress:
    """Return how far the search of a page has come."""
    causes = [UnsearchableOut(cause, progress.count, progress.example_id) for cause, progress in sorted(page.unsearchable.items())]
    return SearchProgress(page.cursor is None, to_text_or_none(page.back_to_us), causes)


def address_of(email: str | None, linkedin_url: str | None) -> Ref | None:
    """Return the address of a person to search for. Raises `Invalid`."""
    if email is not None:
        try:
            return email_ref(email)
        except InvalidText as refused:
            raise Invalid([Fault("?email", refused.code, refused.detail)]) from None
    if linkedin_url is None:
        return None
    ref = linkedin_ref(linkedin_url)
    if ref is None:
        raise Invalid([Fault("?linkedin_url", "linkedin_url", "is not the address of a LinkedIn profile")])
    return ref


async def only_client(store: Store) -> int:
    """Return the number of the store's only client. Raises `Invalid` if there are several."""
    clients = await store.read(list_client_page(2))
    if len(clients) != 1:
        raise Invalid([Fault("?client", "required", "must name the client whose deliveries are meant: there is not exactly one")])
    return clients[0].number


async def deliveries(call: Call) -> Response:
    """Handle `GET` of a page of deliveries."""
    limited = await call.administrator()
    parameters = call.parameters()
    _check_search(parameters)
    searches = any(parameters[parameter] is not None for parameter in (*_PERSON, TEXT, EVENT))
    place: Any = parameters.cursor(SEARCH_CURSOR, PLACE) if searches else parameters.cursor("deliveries", BEFORE)
    client = await checked_client(call, parameters, limited)
    filters, store = DeliveryFilter(client, **parameters.filters), call.api.dependencies.store
    page_bytes = await call.page_bytes()
    if searches:
        page = await _searched(store, call.api.dependencies.sandbox, filters, parameters, place)
        data = fitting(await rows_of(store, page.deliveries, page.found_in), page_bytes)
        page.end_after(len(data))
        cursor = None if page.cursor is None else cursor_text(SEARCH_CURSOR, page.cursor)
        return Response(body=encode(DeliveryPage(data, cursor, progress_of(page))))  # type: ignore[arg-type]  # encoded items
    newest = await read_deliveries(store, filters, parameters[LIMIT] + 1, place)
    data = fitting(await rows_of(store, newest[: parameters[LIMIT]], {}), page_bytes)
    cursor = cursor_text("deliveries", end_of(newest, len(data) - 1)) if len(newest) > len(data) else None
    return Response(body=encode(DeliveryPage(data, cursor, None)))  # type: ignore[arg-type]  # encoded items


def _check_search(parameters: Parameters) -> None:
    named = [parameter.name for parameter in _PERSON if parameters[parameter] is not None]
    if len(named) > 1:
        parameters.fault(named[1], "one_person", f"names a person, as {named[0]} does: give one of email, linkedin_url and contact_id")
    if len(parameters[TEXT] or "") > LONGEST_TEXT:
        parameters.fault("text", "too_long", f"must have at most {LONGEST_TEXT} characters")


async def _searched(store: Store, sandbox: Sandbox, filters: DeliveryFilter, parameters: Parameters, place: Place | None) -> FoundPage:
    if filters.client is None:
        filters = replace(filters, client=await only_client(store))
    address = address_of(parameters[EMAIL], parameters[LINKEDIN])
    search = DeliverySearch(filters, address, parameters[CONTACT], parameters[TEXT], parameters[EVENT])
    return await search_deliveries(store, sandbox, search, parameters[LIMIT], place)


SINCE = query.time("received_since", "Only deliveries received at this time or later.", member="received_since_us")


class DeliveryCountOut(Struct):
    """Deliveries of one tool in one state."""

    channel: ChannelOut
    tool: str | None
    state: DeliveryStateOut
    count: int


class DeliveryCounts(Struct):
    """Deliveries by channel, tool and state, the most first."""

    data: list[DeliveryCountOut]
    complete: Annotated[bool, Meta(description=f"Whether all were counted; false: only the newest {MOST_COUNTED:,} were.")]


example(
    DeliveryCounts,
    {
        "data": [
            {"channel": "email_campaign", "tool": "smartlead", "state": "applied", "count": 4120},
            {"channel": "crm", "tool": "hubspot", "state": "parked", "count": 3},
        ],
        "complete": True,
    },
)


async def counts(call: Call) -> Response:
    """Handle `GET` of the counts."""
    limited = await call.administrator()
    parameters = call.parameters()
    client = await checked_client(call, parameters, limited)
    store = call.api.dependencies.store
    if client is None:
        client = await only_client(store)
    states = await store.read(count_states(client, parameters[CHANNEL], parameters[TOOL], parameters[SINCE]))
    rows = [DeliveryCountOut(count.channel, count.tool, count.state, count.count) for count in states.counts]
    return Response(body=encode(DeliveryCounts(rows, states.is_complete)))


class ClientReceipt(Struct):
    """When the newest webhook of a client arrived."""

    client_id: Annotated[str, Meta(description="The client.")]
    received_at: Time


class ClientReceipts(Struct):
    """The newest webhook of each client that has any, the newest first."""

    data: list[ClientReceipt]


example(ClientReceipts, {"data": [{"client_id": "acme", "received_at": "2026-11-20T09:30:00Z"}]})


async def newest(call: Call) -> Response:
    """Handle `GET` of the newest webhook of each client."""
    caller = await call.principal(of_several=True)
    call.parameters().done()
    clients = await call.visible(caller)
    receipts = await call.api.dependencies.store.read(newest_receipts(clients))
    named = await call.api.clients.of(receipts)
    rows = [(received, named[number].client_id) for number, received in receipts.items() if number in named]
    return Response(body=encode(ClientReceipts([ClientReceipt(client_id, to_text(at)) for at, client_id in sorted(rows, reverse=True)])))


ROUTES = [
    Route(
        "GET", "/admin/v1/deliveries", deliveries, scope=ADMIN, operation_id="list_deliveries", tag=INBOX,
        summary="List or search deliveries, newest first",
        description="A page has `limit` deliveries without their bodies, with the events that they made and the people in these. A "
        "delivery must match all filters. `email`, `linkedin_url`, `contact_id`, `text` and `event` search the inbox of one client "
        "(`client`, unless there is only one): deliveries in the person's history come first, others are examined newest first. A page "
        "of a search ends after about a second or 20,000 examined deliveries, and may have fewer; `search` says how far it came and "
        "which bodies could not be searched, and `next_cursor` goes on.",
        query=(*PAGE, *FILTERS), success=(Success(200, "A page.", DeliveryPage),),
    ),
    Route(
        "GET", "/team/v1/deliveries/newest", newest, scope=ADMIN, operation_id="list_newest_receipts", tag=INBOX,
        summary="List when each client's newest webhook arrived",
        description="Of all active clients that the caller may administer; a client without webhooks is left out.",
        success=(Success(200, "The clients.", ClientReceipts),),
    ),
    Route(
        "GET", "/admin/v1/deliveries/counts", counts, scope=ADMIN, operation_id="count_deliveries", tag=INBOX,
        summary="Count deliveries by tool and state",
        description="Counts the deliveries of one client (`client`, unless there is only one) by channel, tool and state. At most the "
        f"newest {MOST_COUNTED:,} are counted; `complete` says whether these are all.",
        query=(CLIENT, TOOL, CHANNEL, SINCE), success=(Success(200, "The counts.", DeliveryCounts),),
    ),
]  # fmt: skip
