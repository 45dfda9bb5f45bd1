"""HTTP resources of the event feed: pages, waiting for the next event, server-sent events; samples for builders of workflows."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from itertools import takewhile
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.auth.authentication import READ
from touchbase.clients.models import Client
from touchbase.errors import Fault, TouchbaseError
from touchbase.event_log.feed import Feed
from touchbase.event_log.models import EVENT_TYPES, ORIGINS, LoggedEvent, LoggedPage, event_id
from touchbase.event_log.reading import LATEST, read_page, sequence_of, types_of
from touchbase.event_log.sql.queries import list_latest_events, list_newest_places, read_logged_events
from touchbase.http import query_parameters as query
from touchbase.http.actors import Actor
from touchbase.http.dependencies import AppKey
from touchbase.http.endpoint import Call
from touchbase.http.page_turns import STREAM_BYTES
from touchbase.http.query_parameters import CLIENT, PAGE, cursor_text
from touchbase.http.query_parameters import LIMIT as PAGE_LIMIT
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import EXAMPLES, PageOf, Time, encode, example, fitting, named_enum
from touchbase.outgoing.api.event_objects import encoded_envelopes, envelopes
from touchbase.outgoing.samples import sample

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


FEED: AppKey[Feed] = AppKey()
"""The requests that wait for events."""
TAG = Tag("Events", "The log of everything that changed, in order: read it, wait for the next event, or let events be sent.")
PATH = "/public/v2/events"
LONGEST_WAIT = 30
LARGEST_PAGE = 1_000
DEFAULT_PAGE = 100
KEEP_ALIVE_SECONDS = 15.0
"""Time after which a stream without events gets a comment: proxies close silent connections, often after a minute."""
STREAM = b"text/event-stream"
AFTER = query.text(
    "after", f"`next_cursor` of an earlier response, or the id of an event; `{LATEST}`: from now on. Default: from the oldest stored event."
)
TYPES = query.text("types", "Only these types, separated by commas; `contact.*` stands for all that begin so. Default: all.")
WAIT = query.integer("wait", 0, LONGEST_WAIT, "Seconds to wait for an event if there is none yet. Default: 0.")
LIMIT = query.integer_or("limit", DEFAULT_PAGE, LARGEST_PAGE, "Maximum number of events in a page.")
LAST_EVENT_ID = "Last-Event-ID"
_HEADER: dict[str, Any] = {
    "name": LAST_EVENT_ID, "in": "header", "required": False, "schema": {"type": "string"},
    "description": "With `Accept: text/event-stream`: the id of the last event that was received; it comes before `after`.",
}  # fmt: skip
_ACCEPTS = re.compile(rb"(?:^|,)\s*text/event-stream\s*(?:;|,|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _EventsQuery:
    """A request for events."""

    after: int | None
    types: list[str] | None
    wait: int
    limit: int


async def events(call: Call) -> Response:
    """Handle `GET` of events."""
    client = await call.client()
    streams = _ACCEPTS.search(call.headers.get(b"accept", b"")) is not None
    query = _read(call, streams=streams)
    if streams:
        return await _stream(call, client, query)
    body, page = await _page(call, client, query, query.after)
    if not page.events and query.wait and call.scope["method"] != "HEAD":
        body = await _wait(call, client, query, page, body)
    return Response(body=body, headers=[(b"cache-control", b"no-store")])


async def _page(call: Call, client: Client, query: _EventsQuery, after: int | None) -> tuple[bytes, LoggedPage]:
    """Return the page after a sequence, encoded and as it was read."""
    parts = call.api.dependencies
    async with parts.pages.place(client.number, parts.limits.page_bytes) as page_bytes:
        page = await read_page(parts.store, client.number, after, query.limit, query.types, page_bytes)
        bodies, last = await encoded_envelopes(parts.store, client, page, call.api.actors, page_bytes)
        return encode({"data": [body for _, body in bodies], "next_cursor": event_id(last), "has_more": last < page.newest}), page


def _read(call: Call, *, streams: bool) -> _EventsQuery:
    parameters = call.parameters()
    cursor, pointer = parameters[AFTER], "?after"
    last = call.headers.get(LAST_EVENT_ID.lower().encode()) if streams else None
    if last:
        cursor, pointer = last.decode("latin-1").strip(), LAST_EVENT_ID
    faults: list[Fault] = parameters.faults
    query = _EventsQuery(
        sequence_of(cursor, pointer, faults), types_of(parameters[TYPES], "?types", faults), parameters[WAIT] or 0, parameters[LIMIT]
    )
    parameters.done()
    return query


async def _wait(call: Call, client: Client, query: _EventsQuery, page: LoggedPage, body: bytes) -> bytes:
    """Read again until there are events, the time is over, the HTTP client is gone, or the server stops; return the encoded page."""
    feed, loop = call.api[FEED], asyncio.get_running_loop()
    until = loop.time() + query.wait
    gone = asyncio.ensure_future(disconnected(call))
    try:
        with feed.place(client.number):
            while not page.events and not gone.done() and not feed.stopping.is_set() and (left := until - loop.time()) > 0:
                await first_of(feed.wait({client.number: page.last}, left), gone)
                if gone.done():
                    break
                body, page = await _page(call, client, query, page.last)
    finally:
        gone.cancel()
    return body


async def disconnected(call: Call) -> None:
    """Return when the HTTP client is gone."""
    while (await call.receive())["type"] != "http.disconnect":
        pass


async def first_of(waiting: Awaitable[None], *others: asyncio.Future[None]) -> None:
    """Return when the first of them is done, and end `waiting`."""
    task = asyncio.ensure_future(waiting)
    try:
        await asyncio.wait({task, *others}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _stream(call: Call, client: Client, query: _EventsQuery) -> Response:
    feed = call.api[FEED]
    # Refused here, before anything is read, and while a problem can still be sent; `_pieces` takes the place.
    with feed.place(client.number):
        first = await _piece(call, client, query, query.after)
    headers = [(b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]
    return Response(content_type=STREAM, headers=headers, stream=_pieces(call, client, query, *first))


async def _pieces(call: Call, client: Client, query: _EventsQuery, piece: bytes, last: int, newest: int) -> AsyncIterator[bytes]:
    """Yield events as they are logged, until the HTTP client is gone, the key ends, or the server stops."""
    feed, api = call.api[FEED], call.api
    gone = asyncio.ensure_future(disconnected(call))
    try:
        with feed.place(client.number):
            yield b"retry: 2000\n\n"
            while not gone.done() and not feed.stopping.is_set():
                if piece:
                    yield piece
                if last >= newest:
                    await first_of(feed.wait({client.number: last}, KEEP_ALIVE_SECONDS), gone)
                    if gone.done():
                        break
                    # The client's state and the key may have changed.
                    client = await api.authenticate(call.headers, _key(call), call.needed, call.api.dependencies.clock(), call.scope)
                    piece, last, newest = await _piece(call, client, query, last)
                    if not piece:
                        yield b": the cursor is %s\n\n" % event_id(last).encode()
                else:
                    piece, last, newest = await _piece(call, client, query, last)
    except TouchbaseError as error:
        yield b"event: error\ndata: %s\n\n" % encode({"code": error.code, "detail": error.detail, **error.data})
    finally:
        gone.cancel()


async def _piece(call: Call, client: Client, query: _EventsQuery, after: int | None) -> tuple[bytes, int, int]:
    """Return the events after a sequence as a part of the stream, the last event's sequence, and the newest event's."""
    parts = call.api.dependencies
    async with parts.pages.place(client.number, min(parts.limits.page_bytes, STREAM_BYTES)) as size:
        page = await read_page(parts.store, client.number, after, query.limit, query.types, size)
        if not page.events:
            return b"", page.last, page.newest
        bodies, last = await encoded_envelopes(parts.store, client, page, call.api.actors, size)
        return b"".join(_event(*body) for body in bodies), last, page.newest


def _key(call: Call) -> bytes | None:
    return None if call.api.dependencies.auth == "none" else call.api.key(call.headers, call.scope)


def _event(event: LoggedEvent, encoded: msgspec.Raw) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (event_id(event.sequence).encode(), event.type.encode(), bytes(encoded))


OF_ALL = "/team/v1/events"


class NewestEventPage(PageOf[LogEvent]):
    """Events of several clients, newest first; `next_cursor` is null on the last page."""


async def list_all_events(call: Call) -> Response:
    """Handle `GET` of a page of events of all clients that the caller may see."""
    principal, parameters, parts = await call.principal(of_several=True), call.parameters(), call.api.dependencies
    before = parameters.cursor(OF_ALL, tuple[int, int, int])
    types = types_of(parameters[TYPES], "?types", parameters.faults)
    parameters.done()
    numbers, limit, page_bytes = await call.visible(principal, parameters[CLIENT]), parameters[PAGE_LIMIT], await call.page_bytes()
    places = await parts.store.read(list_newest_places(numbers, limit + 1, before, types))
    wanted: dict[int, list[int]] = {}
    for _, number, sequence in places[:limit]:
        wanted.setdefault(number, []).append(sequence)
    clients, left = await call.api.clients.of(wanted), page_bytes
    shown: dict[tuple[int, int], msgspec.Raw] = {}
    for number, sequences in wanted.items():
        if left <= 0:
            break
        events = await parts.store.read(read_logged_events(number, sequences, left))
        ordered = [events[sequence] for sequence in sequences if sequence in events]
        bodies = fitting(await envelopes(parts.store, clients[number], ordered, call.api.actors, left), left)
        shown |= {(number, event.sequence): body for event, body in zip(ordered, bodies, strict=False)}
        left -= sum(map(len, map(bytes, bodies)))
    data = [*takewhile(lambda body: body is not None, (shown.get(place[1:]) for place in places[:limit]))]
    cursor = cursor_text(OF_ALL, places[len(data) - 1]) if len(places) > len(data) else None
    return Response(body=encode({"data": data, "next_cursor": cursor}), headers=[(b"cache-control", b"no-store")])


MOST_SAMPLES = query.integer_or("limit", 3, 20, "Maximum number of samples of stored events.")


class EventSamples(Struct):
    """Samples of events, newest first."""

    data: list[LogEvent]
    fictitious: Annotated[bool, Meta(description="Whether they are about fictitious persons, since no such event is stored.")]


async def samples(call: Call) -> Response:
    """Handle `GET` of samples."""
    client, parameters, parts = await call.client(), call.parameters(), call.api.dependencies
    types = types_of(parameters[TYPES], "?types", parameters.faults)
    parameters.done()
    stored = await parts.store.read(list_latest_events(client.number, parameters[MOST_SAMPLES], types))
    data = await envelopes(parts.store, client, stored, call.api.actors)
    if not stored:
        now = parts.clock()
        data = [
            sample(kind, client.client_id, now, f"sample_{kind}")[0] for kind in types or [event_kind.value for event_kind in EVENT_TYPES]
        ]
    return Response(body=encode({"data": data, "fictitious": not stored}), headers=[(b"cache-control", b"no-store")])


example(EventSamples, {"data": EXAMPLES["EventPage"]["data"], "fictitious": False})


ROUTES = [
    Route(
        "GET", PATH, events, scope=READ, operation_id="list_events", tag=TAG,
        summary="Read the events after a cursor, and wait for the next",
        description="Every change of the client's data is an event, in the order of the changes; no reader can miss one that is stored. "
        "Without `after` the oldest stored events come first. Store `next_cursor` with what you did, and send it as `after`. With `wait` "
        "a request without events waits for the next one. With `Accept: text/event-stream` events are sent as they happen (server-sent "
        "events), each with its id, and a client that connects again goes on after `Last-Event-ID`. A cursor that is older than the "
        "stored events is a 410 `cursor_expired`.",
        query=(AFTER, TYPES, WAIT, LIMIT), headers=(_HEADER,),
        success=(Success(200, "Events, oldest first.", EventPage, media=("text/event-stream",)),), problems=(410,),
    ),
    Route(
        "GET", f"{PATH}/samples", samples, scope=READ, operation_id="list_event_samples", tag=TAG,
        summary="Get samples of events, newest first",
        description="Each is what an endpoint of the usual form gets as its body, so that a builder of workflows (Zapier, n8n, Make) can "
        "show members before the first event comes. Looks at the newest 10,000 events; if none of them is of the types, each type has a "
        "sample about a fictitious person, whose id begins with `sample_`.",
        query=(TYPES, MOST_SAMPLES), success=(Success(200, "Samples, newest first.", EventSamples),),
    ),
    Route(
        "GET", OF_ALL, list_all_events, scope=READ, operation_id="list_all_events", tag=TAG,
        summary="List events of all clients, newest first",
        description="For people: a program that must miss none reads each client's own list. Looks at the newest 10,000 events of each "
        "client, and at 500 clients for a page: if that is not enough, the response asks for `client`.",
        query=(CLIENT, TYPES, *PAGE), success=(Success(200, "A page.", NewestEventPage),), problems=(404,),
    ),
]  # fmt: skip
