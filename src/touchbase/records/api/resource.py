"""The calls on one kind of record, contact or company: create, get, list, change, timeline.

Creating is a plain ASGI callable that routing never sees, because it is what Touchbase is asked most;
the others are handlers of resources.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import msgspec

from touchbase.auth.authentication import FRESH, READ, WRITE
from touchbase.clients.models import Client, ClientSettings
from touchbase.common.timestamps import Micros, to_text
from touchbase.errors import NotFound, PreconditionFailed
from touchbase.history.author import NO_AUTHOR, Author
from touchbase.http.asgi_types import App, Headers, Receive, Scope, Send
from touchbase.http.buffer_body import of_client
from touchbase.http.endpoint import Api, Call, answered, author_of, explained, key_in
from touchbase.http.idempotency import IDEMPOTENCY_KEY, once
from touchbase.http.json_body import read_json, read_struct
from touchbase.http.query_parameters import Parameters, creating_options, cursor_text, is_flat
from touchbase.http.rate_limit_headers import STANDING
from touchbase.http.request_body import CallerLeft
from touchbase.http.responses import JSON, Response, request_id_of, send_problem, send_whole
from touchbase.http.schemas import encode, problems_out
from touchbase.records.api.schemas import CompanyRequest, ContactChange, ContactRequest, FieldChangeOut, TimelineEvent, TimelinePage, given
from touchbase.records.api.serializers import etag, states_named
from touchbase.records.commands import Created
from touchbase.records.company import Company
from touchbase.records.contact import Contact
from touchbase.records.merge_patch import Change
from touchbase.records.read_records import RecordFilter
from touchbase.records.timeline import TimelineEntry, timeline
from touchbase.sql.store import Store, Writes

A = TypeVar("A", ContactRequest, CompanyRequest)
C = TypeVar("C", bound=msgspec.Struct)
R = TypeVar("R", Contact, Company)


@dataclass(frozen=True, slots=True)
class RecordType(Generic[A, C, R]):
    """What is different between contacts and companies."""

    kind: int
    name: str
    one: str
    path: str
    wanted: type[A]
    change: type[C]
    custom: str
    """The field of a change that holds custom fields."""
    rules: Callable[[A, Client, Micros], object]
    create: Callable[[Writes, A, Client, Micros, str | None, Author], Awaitable[Created[R]]]
    change_rules: Callable[[Client, int, Change, Micros], object]
    update: Callable[[Store, Client, int, Change, Micros, Author], Awaitable[R]]
    get: Callable[[Store, int, int], Awaitable[R]]
    find: Callable[[Store, int, RecordFilter, int, tuple[Micros, int] | None], Awaitable[tuple[list[R], tuple[Micros, int] | None]]]
    wanted_by: Callable[[Parameters], RecordFilter]
    out: Callable[[R, bool, ClientSettings], msgspec.Struct]
    restore: Callable[[Writes, A, Client, Micros, str | None, Author], Awaitable[Created[R]]] | None = None
    """`create` for somebody who may have been erased (`restore_erased`); None where nobody can be."""


def creating(api: Api, kind: RecordType[A, C, R]) -> App:
    """`POST` of one record; with an idempotency key `RecordResource.create` answers it."""
    decoder = msgspec.json.Decoder(kind.wanted)
    route, template, location = f"{kind.name}.create", kind.path, api.parts.reached_at(f"{kind.path}/")
    keyed = once(RecordResource(kind).create, of_client)
    store, clock, limits, wanted = api.parts.store, api.parts.clock, api.parts.limits, kind.wanted
    limiter = api.limiter

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        headers: Headers = dict(scope["headers"])
        scope["touchbase.template"] = template
        if IDEMPOTENCY_KEY in headers:
            scope["touchbase.route"] = route
            await answered(api, scope, receive, send, keyed)
            return
        request_id = request_id_of(headers)
        scope["touchbase.route"], scope["touchbase.request_id"] = route, request_id.decode("ascii")
        try:
            began = clock()
            client = await api.client(headers, WRITE, began, scope)
            options = creating_options(scope["query_string"])
            body = await read_json(receive, headers, limits)
            at = clock()
            if at - began > FRESH:  # a slow body must not write for a client or a key that has ended meanwhile
                client = await api.caller(headers, key_in(headers), WRITE, at, scope)
            asked = read_struct(body, decoder, wanted, lambda partly: kind.rules(partly, client, at))
            limiter.storing(client, 1 + len(asked.custom_fields), len(body), at)
            create = kind.restore if options.restore_erased and kind.restore is not None else kind.create
            created = await create(store, asked, client, at, options.on_duplicate, author_of(scope))
            record = created.record
            payload = encode(kind.out(record, options.flat, client.settings))
        except CallerLeft:
            return
        except Exception as error:
            await send_problem(scope, send, explained(error, scope), request_id, api.parts.metrics)
            return
        finally:
            api.ended(scope)
        tag, place = etag(record, options.flat, client.settings), b"%b%d" % (location, record.id)
        told = [(b"content-type", JSON), (b"x-request-id", request_id), (b"etag", tag), (b"location", place), *scope.get(STANDING, ())]
        await send_whole(scope, send, 201 if created.is_new else 200, told, payload)

    return endpoint


class RecordResource(Generic[A, C, R]):
    """The handlers of one kind of record."""

    def __init__(self, kind: RecordType[A, C, R]) -> None:
        self._kind: RecordType[A, C, R] = kind
        self._decoder = msgspec.json.Decoder(kind.change)
        self._create_decoder: msgspec.json.Decoder[A] = msgspec.json.Decoder(kind.wanted)

    async def create(self, call: Call) -> Response:
        """`POST` of one record, as `creating` does it."""
        client = await call.client(WRITE)
        kind, parts, options = self._kind, call.api.parts, creating_options(call.query)
        body = await read_json(call.receive, call.headers, parts.limits)
        at = parts.clock()
        asked = read_struct(body, self._create_decoder, kind.wanted, lambda partly: kind.rules(partly, client, at))
        call.api.limiter.storing(client, 1 + len(asked.custom_fields), len(body), at)

        def answer(result: Created[R] | R) -> Response:
            # A merge is an update, which answers the record alone.
            created = result if isinstance(result, Created) else Created(result, is_new=False)
            made = self._answer(created.record, options.flat, client)
            made.status, made.record = 201 if created.is_new else 200, (kind.kind, created.record.id)
            made.headers.append((b"location", call.api.parts.reached_at(f"{kind.path}/{created.record.id}")))
            return made

        create = kind.restore if options.restore_erased and kind.restore is not None else kind.create
        return await call.settle(lambda writes: create(writes, asked, client, at, options.on_duplicate, author_of(call.scope)), answer)

    async def get(self, call: Call) -> Response:
        """`GET` of one record."""
        client = await call.client(READ)
        flat = is_flat(call.query)
        return self._answer(await self._kind.get(call.api.parts.store, client.number, call.id(self._kind.one)), flat, client)

    async def list(self, call: Call) -> Response:
        """`GET` of a page of records."""
        client = await call.client(READ)
        parameters = Parameters(call.query)
        flat, limit, wanted = parameters.structure(), parameters.limit(), self._kind.wanted_by(parameters)
        listing = f"{self._kind.name} by creation" if wanted.updated_since_us is None else f"{self._kind.name} by time"
        after = parameters.cursor(listing, tuple[int, int])
        parameters.done(strict=True)
        page, place = await self._kind.find(call.api.parts.store, client.number, wanted, limit, after)
        data = [self._kind.out(record, flat, client.settings) for record in page]
        return Response(body=encode({"data": data, "next_cursor": place and cursor_text(listing, place)}))

    async def change(self, call: Call) -> Response:
        """`PATCH` of one record."""
        client = await call.client(WRITE)
        kind, parts, record = self._kind, call.api.parts, call.id(self._kind.one)
        flat = is_flat(call.query)
        body = await read_json(call.receive, call.headers, parts.limits)
        at = parts.clock()
        asked = read_struct(body, self._decoder, kind.change, lambda partly: kind.change_rules(client, record, self._change(partly), at))
        change = self._change(asked, await self._state(call, client, record))
        call.api.limiter.storing(client, 1 + len(change.custom or ()), len(body), at)
        try:
            return self._answer(await kind.update(parts.store, client, record, change, at, author_of(call.scope)), flat, client)
        except NotFound:
            await kind.get(parts.store, client.number, record)  # says what became of it
            raise

    async def timeline(self, call: Call) -> Response:
        """`GET` of a page of a record's timeline."""
        client = await call.client(READ)
        parameters, number = Parameters(call.query), call.id(self._kind.one)
        listing = f"{self._kind.one} {number}"
        limit, before = parameters.limit(), parameters.cursor(listing, tuple[int, str])
        parameters.done(strict=True)
        record = await self._kind.get(call.api.parts.store, client.number, number)
        page, place = await timeline(call.api.parts.store, record, limit, before)
        told = TimelinePage([_told(each) for each in page], cursor_text(listing, place) if place else None)
        return Response(body=encode(told))

    def _answer(self, record: R, flat: bool, client: Client) -> Response:
        body = encode(self._kind.out(record, flat, client.settings))
        return Response(body=body, headers=[(b"etag", etag(record, flat, client.settings))])

    def _change(self, asked: C, if_updated_us: Micros | None = None) -> Change:
        fields = given(asked)
        change = Change(fields, fields.pop(self._kind.custom, ()), if_updated_us)
        if isinstance(asked, ContactChange):
            change = replace(change, custom_pointer=asked.custom_pointer, custom_faults=asked.custom_faults)
        return change

    async def _state(self, call: Call, client: Client, record: int) -> Micros | None:
        """The state in which the record must still be, when the caller insists on one."""
        given = [value.decode("latin-1") for name, value in call.scope["headers"] if name == b"if-match"]
        states = states_named(", ".join(given)) if given else None  # several lines are one list (RFC 9110, 5.3)
        if states is None:
            return None
        if not states:
            raise PreconditionFailed(
                "If-Match holds no state of a record: send the ETag as it was answered, with its quotes and without W/"
            )
        present: Micros = (await self._kind.get(call.api.parts.store, client.number, record)).updated_us
        if present not in states:
            raise PreconditionFailed("the record has changed since you read it; read it again and repeat the change")
        return present


def _told(told: TimelineEntry) -> TimelineEvent:
    event = told.event
    changed = [FieldChangeOut(change.field, change.value, change.previous) for change in told.changed]
    key_id, request_id = event.detail.get("by", NO_AUTHOR)
    return TimelineEvent(
        event.event, to_text(event.occurred_us), to_text(event.received_us), event.tool, event.campaign, event.delivery_id, key_id,
        request_id, changed, problems_out(event.detail.get("problems", {})),
    )  # fmt: skip
