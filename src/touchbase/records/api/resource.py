"""HTTP resources of contacts and companies: create, get, list, change, timeline.

Creation is a plain ASGI callable outside the router, because it is the most frequent request;
the others are handlers of resources.
"""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import msgspec

from touchbase.auth.authentication import FRESH, READ, WRITE
from touchbase.clients.models import Client, ClientSettings
from touchbase.common.field_limits import LARGEST_ID
from touchbase.common.timestamps import Micros, to_text
from touchbase.errors import NotFound, PreconditionFailed
from touchbase.history.events import NO_AUTHOR
from touchbase.http.asgi_types import App, Headers, Receive, Scope, Send
from touchbase.http.buffer_body import of_client
from touchbase.http.endpoint import Api, Call, as_touchbase_error, author_of, key_from_headers, run_handler
from touchbase.http.idempotency import IDEMPOTENCY_KEY, idempotent
from touchbase.http.json_body import read_json, read_struct
from touchbase.http.query_parameters import Parameters, create_options, cursor_text, is_flat
from touchbase.http.rate_limit_headers import RATE_LIMIT_HEADERS
from touchbase.http.request_body import ClientDisconnected
from touchbase.http.responses import JSON, Response, request_id_of, send_complete, send_problem
from touchbase.http.schemas import encode, problems_out
from touchbase.records.api.schemas import (
    CompanyChange,
    CompanyRequest,
    ContactChange,
    ContactRequest,
    FieldChangeOut,
    TimelineEvent,
    TimelinePage,
    given,
)
from touchbase.records.api.serializers import company_out, contact_out, etag, states_named
from touchbase.records.commands import Created, CreateRecord
from touchbase.records.create import company_command, contact_command, create_record
from touchbase.records.models import Company, Contact
from touchbase.records.read_records import Place, RecordFilter, get_record, list_companies, list_contacts
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE, RecordType
from touchbase.records.timeline import TimelineEntry, timeline
from touchbase.records.update import Change, update_command, update_record
from touchbase.sql.store import Store

A = TypeVar("A", ContactRequest, CompanyRequest)
C = TypeVar("C", bound=msgspec.Struct)
R = TypeVar("R", Contact, Company)


@dataclass(frozen=True, slots=True)
class ResourceType(Generic[A, C, R]):
    """The HTTP side of a record type."""

    type: RecordType[R]
    request: builtins.type[A]
    """Body of a creation."""
    change: builtins.type[C]
    """Body of a change."""
    command: Callable[[A, Client, Micros, str | None], CreateRecord[R]]
    find: Callable[[Store, int, RecordFilter, int, Place | None], Awaitable[tuple[list[R], Place | None]]]
    filters: Callable[[Parameters], RecordFilter]
    out: Callable[[R, bool, ClientSettings], msgspec.Struct]

    @property
    def path(self) -> str:
        """The path of the list."""
        return f"/public/v2/{self.type.plural}"


def _contact_filters(parameters: Parameters) -> RecordFilter:
    email = parameters.text("email")
    return RecordFilter(
        # A plus sign that was not escaped arrives as a space, which no address contains.
        email=email and email.strip().replace(" ", "+"),
        linkedin_url=parameters.text("linkedin_url"),
        status=parameters.text("contact_status"),
        company_id=parameters.integer("company_id", 1, LARGEST_ID),
        updated_since_us=parameters.time("updated_since"),
    )


def _company_filters(parameters: Parameters) -> RecordFilter:
    return RecordFilter(
        domain=parameters.text("domain"),
        status=parameters.text("company_status"),
        updated_since_us=parameters.time("updated_since"),
    )


CONTACTS: ResourceType[ContactRequest, ContactChange, Contact] = ResourceType(
    CONTACT_TYPE, ContactRequest, ContactChange, contact_command, list_contacts, _contact_filters, contact_out
)
COMPANIES: ResourceType[CompanyRequest, CompanyChange, Company] = ResourceType(
    COMPANY_TYPE, CompanyRequest, CompanyChange, company_command, list_companies, _company_filters, company_out
)


def creating(api: Api, kind: ResourceType[A, C, R]) -> App:
    """Return the endpoint for `POST` of one record; requests with an idempotency key go to `RecordResource.create`."""
    decoder = msgspec.json.Decoder(kind.request)
    route, template, location = f"{kind.type.plural}.create", kind.path, api.parts.reached_at(f"{kind.path}/")
    keyed = idempotent(RecordResource(kind).create, of_client)
    store, clock, limits, request_type = api.parts.store, api.parts.clock, api.parts.limits, kind.request
    limiter = api.limiter

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        headers: Headers = dict(scope["headers"])
        scope["touchbase.template"] = template
        if IDEMPOTENCY_KEY in headers:
            scope["touchbase.route"] = route
            await run_handler(api, scope, receive, send, keyed)
            return
        request_id = request_id_of(headers)
        scope["touchbase.route"], scope["touchbase.request_id"] = route, request_id.decode("ascii")
        try:
            began = clock()
            client = await api.client(headers, WRITE, began, scope)
            options = create_options(scope["query_string"])
            body = await read_json(receive, headers, limits)
            at = clock()
            if at - began > FRESH:  # while a slow body arrived, the client or the key may have ended
                client = await api.authenticate(headers, key_from_headers(headers), WRITE, at, scope)
            asked = read_struct(body, decoder, request_type, lambda partly: kind.command(partly, client, at, None))
            limiter.storing(client, 1 + len(asked.custom_fields), len(body), at)
            command = kind.command(asked, client, at, options.on_duplicate)
            created = await create_record(store, command, client, author_of(scope), restore=options.restore_erased)
            record = created.record
            payload = encode(kind.out(record, options.flat, client.settings))
        except ClientDisconnected:
            return
        except Exception as error:
            await send_problem(scope, send, as_touchbase_error(error, scope), request_id, api.parts.metrics)
            return
        finally:
            api.finish_request(scope)
        tag, url = etag(record, options.flat, client.settings), b"%b%d" % (location, record.id)
        fields = [(b"content-type", JSON), (b"x-request-id", request_id), (b"etag", tag), (b"location", url)]
        fields += scope.get(RATE_LIMIT_HEADERS, ())
        await send_complete(scope, send, 201 if created.is_new else 200, fields, payload)

    return endpoint


class RecordResource(Generic[A, C, R]):
    """The handlers of one type of record."""

    def __init__(self, kind: ResourceType[A, C, R]) -> None:
        self._kind: ResourceType[A, C, R] = kind
        self._decoder = msgspec.json.Decoder(kind.change)
        self._create_decoder: msgspec.json.Decoder[A] = msgspec.json.Decoder(kind.request)

    async def create(self, call: Call) -> Response:
        """`POST` of one record, as `creating`, with an idempotency key."""
        client = await call.client(WRITE)
        kind, parts, options = self._kind, call.api.parts, create_options(call.query)
        body = await read_json(call.receive, call.headers, parts.limits)
        at = parts.clock()
        asked = read_struct(body, self._create_decoder, kind.request, lambda partly: kind.command(partly, client, at, None))
        call.api.limiter.storing(client, 1 + len(asked.custom_fields), len(body), at)

        def response(result: Created[R] | R) -> Response:
            # A merge is an update, whose result is the record alone.
            created = result if isinstance(result, Created) else Created(result, is_new=False)
            made = self._response(created.record, options.flat, client)
            made.status, made.record = 201 if created.is_new else 200, (kind.type.kind, created.record.id)
            made.headers.append((b"location", call.api.parts.reached_at(f"{kind.path}/{created.record.id}")))
            return made

        command, by = kind.command(asked, client, at, options.on_duplicate), author_of(call.scope)
        return await call.settle(lambda writes: create_record(writes, command, client, by, restore=options.restore_erased), response)

    async def get(self, call: Call) -> Response:
        """`GET` of one record."""
        client = await call.client(READ)
        flat = is_flat(call.query)
        return self._response(await self._get(call, client, call.id(self._kind.type.name)), flat, client)

    async def list(self, call: Call) -> Response:
        """`GET` of a page of records."""
        client = await call.client(READ)
        parameters = Parameters(call.query)
        flat, limit, filters = parameters.structure(), parameters.limit(), self._kind.filters(parameters)
        plural = self._kind.type.plural
        listing = f"{plural} by creation" if filters.updated_since_us is None else f"{plural} by time"
        after = parameters.cursor(listing, tuple[int, int])
        parameters.done(strict=True)
        page, place = await self._kind.find(call.api.parts.store, client.number, filters, limit, after)
        data = [self._kind.out(record, flat, client.settings) for record in page]
        return Response(body=encode({"data": data, "next_cursor": place and cursor_text(listing, place)}))

    async def change(self, call: Call) -> Response:
        """`PATCH` of one record."""
        client = await call.client(WRITE)
        kind, parts, number = self._kind, call.api.parts, call.id(self._kind.type.name)
        flat = is_flat(call.query)
        body = await read_json(call.receive, call.headers, parts.limits)
        at = parts.clock()
        asked = read_struct(
            body, self._decoder, kind.change, lambda partly: update_command(kind.type, client, number, self._change(partly), at)
        )
        change = self._change(asked, await self._if_updated_us(call, client, number))
        call.api.limiter.storing(client, 1 + len(change.custom or ()), len(body), at)
        try:
            record = await update_record(parts.store, kind.type, client, number, change, at, author_of(call.scope))
        except NotFound:
            await self._get(call, client, number)  # its error says whether the record was merged
            raise
        return self._response(record, flat, client)

    async def timeline(self, call: Call) -> Response:
        """`GET` of a page of a record's timeline."""
        client = await call.client(READ)
        parameters, number = Parameters(call.query), call.id(self._kind.type.name)
        listing = f"{self._kind.type.name} {number}"
        limit, before = parameters.limit(), parameters.cursor(listing, tuple[int, str])
        parameters.done(strict=True)
        record = await self._get(call, client, number)
        page, place = await timeline(call.api.parts.store, record, limit, before)
        body = TimelinePage([_timeline_event(each) for each in page], cursor_text(listing, place) if place else None)
        return Response(body=encode(body))

    async def _get(self, call: Call, client: Client, number: int) -> R:
        return await get_record(call.api.parts.store, self._kind.type, client.number, number)

    def _response(self, record: R, flat: bool, client: Client) -> Response:
        body = encode(self._kind.out(record, flat, client.settings))
        return Response(body=body, headers=[(b"etag", etag(record, flat, client.settings))])

    def _change(self, asked: C, if_updated_us: Micros | None = None) -> Change:
        fields = given(asked)
        change = Change(fields, fields.pop(self._kind.type.custom_fields, ()), if_updated_us)
        if isinstance(asked, ContactChange):
            change = replace(change, custom_pointer=asked.custom_pointer, custom_faults=asked.custom_faults)
        return change

    async def _if_updated_us(self, call: Call, client: Client, number: int) -> Micros | None:
        """Return the `updated_us` that the record must have by the request's `If-Match`; None for any."""
        given = [value.decode("latin-1") for name, value in call.scope["headers"] if name == b"if-match"]
        states = states_named(", ".join(given)) if given else None  # several lines are one list (RFC 9110, 5.3)
        if states is None:
            return None
        if not states:
            raise PreconditionFailed("If-Match contains no ETag of a record: send the ETag of the response, with its quotes and without W/")
        present: Micros = (await self._get(call, client, number)).updated_us
        if present not in states:
            raise PreconditionFailed("the record has changed since you read it; read it again and repeat the change")
        return present


def _timeline_event(entry: TimelineEntry) -> TimelineEvent:
    event = entry.event
    changed = [FieldChangeOut(change.field, change.value, change.previous) for change in entry.changed]
    key_id, request_id = event.detail.get("by", NO_AUTHOR)
    return TimelineEvent(
        event.event, to_text(event.occurred_us), to_text(event.received_us), event.tool, event.campaign, event.delivery_id, key_id,
        request_id, changed, problems_out(event.detail.get("problems", {})),
    )  # fmt: skip
