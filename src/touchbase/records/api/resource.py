"""HTTP resources of contacts and companies: create, get, list, change, timeline, values over time."""

from __future__ import annotations

from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

from touchbase.auth.authentication import FRESH, READ, WRITE
from touchbase.clients.models import Client
from touchbase.errors import NotFound
from touchbase.history.status_words import StatusWords
from touchbase.http.conditional import IF_NONE_MATCH, NOT_MODIFIED, unless_known
from touchbase.http.endpoint import Call, author_of
from touchbase.http.headers import is_strict
from touchbase.http.query_parameters import DRY_RUN, LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import encode, fitting
from touchbase.records.api import parameters
from touchbase.records.api.bodies import Read, RecordBodies, put_references
from touchbase.records.api.if_match import IF_MATCH, if_updated_us
from touchbase.records.api.match import match_routes
from touchbase.records.api.parameters import (
    AS_OF,
    FIELD,
    FLAT,
    IGNORED_HEADERS,
    PREFER,
    change_options,
    create_options,
    get_options,
)
from touchbase.records.api.previews import DryRunResponse, dry_run
from touchbase.records.api.resource_type import COMPANIES, CONTACTS, SUPPRESSED, ResourceType
from touchbase.records.api.schemas import CompanyRequest, ContactRequest, since
from touchbase.records.api.upsert import or_join, upsert_route
from touchbase.records.api.value_history import Explanation, ValueHistoryPage, events_of, explanation, value_change
from touchbase.records.create import create_record, creation_of, in_one_step, prepare_creation
from touchbase.records.models import Company, Contact
from touchbase.records.operations import WRITES
from touchbase.records.read_records import get_record
from touchbase.records.sql.reads import list_profiles
from touchbase.records.update import update_of
from touchbase.records.value_history import explain_values, place_of, record_as_of, value_history
from touchbase.records.writes import Created, RecordUpsert
from touchbase.sql.operation import Command
from touchbase.sql.store import Writes

A = TypeVar("A", ContactRequest, CompanyRequest)
C = TypeVar("C", bound=msgspec.Struct)
R = TypeVar("R", Contact, Company)


class RecordResource(Generic[A, C, R]):
    """The handlers of one type of record."""

    def __init__(self, kind: ResourceType[A, C, R]) -> None:
        self._kind: ResourceType[A, C, R] = kind
        self._bodies: RecordBodies[A, C, R] = RecordBodies(kind)

    async def create(self, call: Call) -> Response:
        """`POST` of one record."""
        kind, parts = self._kind, call.api.dependencies
        began = parts.clock()
        client = await call.client()
        options = create_options(call.query)
        body = await call.json()
        at = parts.clock()
        if at - began > FRESH:  # while a slow body arrived, the client or the key may have ended
            client = await call.client()
        read: Read[A] = self._bodies.creation(body, client, at, strict=is_strict(call.scope))
        request = read.request
        call.api.storing(client, 1 + len(request.custom_fields), at)

        def response(result: Created[R] | R) -> Response:
            # A merge is an update, whose result is the record alone.
            created = result if isinstance(result, Created) else Created(result, is_new=False)
            reply = kind.respond(created.record, options.flat, client.settings)
            reply.status, reply.record = 201 if created.is_new else 200, (kind.type.kind, created.record.id)
            reply.headers += [(b"location", call.reached_at(f"{kind.path}/{created.record.id}")), *read.headers]
            return reply

        creation, by = creation_of(kind.type, request, client, at, options.on_duplicate), author_of(call.scope)
        await put_references(parts.store, client.number, creation, request)
        if options.dry_run:
            prepare_creation(creation, by, restore=options.restore_erased)
            return await dry_run(call, kind, WRITES[kind.type.model].command(in_one_step(creation, client)), client, read.headers)

        async def write(writes: Writes) -> Created[R]:
            created = create_record(writes, creation, client, by, restore=options.restore_erased)
            upsert = in_one_step(creation, client)
            return await (or_join(call, writes, created, upsert) if isinstance(upsert, RecordUpsert) else created)

        return await call.write_and_respond(write, response)

    async def get(self, call: Call) -> Response:
        """`GET` of one record."""
        client = await call.client()
        flat, as_of = get_options(call.query)
        record = await self._get(call, client, call.id(self._kind.type.name))
        if as_of is None:
            return unless_known(call, self._kind.respond(record, flat, client.settings))
        await call.page_bytes(is_full_page=True)
        past = await record_as_of(call.api.dependencies.store, record, as_of, self._words(client))
        return Response(body=encode(self._kind.out(past, flat, client.settings)))  # without an ETag: `If-Match` is about the present

    async def change(self, call: Call) -> Response:
        """`PATCH` of one record."""
        client = await call.client()
        kind, parts, number = self._kind, call.api.dependencies, call.id(self._kind.type.name)
        options = change_options(call.query)
        body = await call.json()
        at = parts.clock()
        read: Read[C] = self._bodies.change(body, client, at, strict=is_strict(call.scope))
        change = self._bodies.change_of(read.request, await if_updated_us(call, lambda: self._get(call, client, number)))
        call.api.storing(client, 1 + len(change.custom or ()), at)
        update = update_of(kind.type, client, number, change, at)
        update.by = author_of(call.scope)
        await put_references(parts.store, client.number, update, read.request)
        command: Command[R] = WRITES[kind.type.model].update(update)
        try:
            if options.dry_run:
                return await dry_run(call, kind, command, client, read.headers)
            record = await parts.store.write(command)
        except NotFound:
            await self._get(call, client, number)  # its error says whether the record was merged
            raise
        reply = kind.respond(record, options.flat, client.settings)
        reply.headers += read.headers
        return reply

    async def history(self, call: Call) -> Response:
        """`GET` of a page of the values that a record had."""
        client = await call.client()
        parameters, number = call.parameters(), call.id(self._kind.type.name)
        listing = f"{self._kind.type.name} {number} values {parameters[FIELD] or ''}"
        before = parameters.cursor(listing, tuple[int, str, str])
        parameters.done()
        record = await self._get(call, client, number)
        words = self._words(client)
        page_bytes = await call.page_bytes(is_full_page=True)
        page, place, since_us = await value_history(
            call.api.dependencies.store, record, parameters[FIELD], parameters[LIMIT], before, words
        )
        now = call.api.dependencies.clock()
        actors = call.api.actors
        await actors.load_events(change.event for change in page)
        data = fitting((value_change(change, now, actors) for change in page), page_bytes)
        place = place if len(data) == len(page) else place_of(page[len(data) - 1])
        cursor = place and cursor_text(listing, place)
        return Response(body=encode(ValueHistoryPage(data, cursor, since(since_us))))  # type: ignore[arg-type]  # encoded items

    async def explain(self, call: Call) -> Response:
        """`GET` of the sources of a record's values."""
        client = await call.client()
        parameters, number = call.parameters(), call.id(self._kind.type.name)
        parameters.done()
        record = await self._get(call, client, number)
        page_bytes = await call.page_bytes(is_full_page=True)
        explained, since_us = await explain_values(call.api.dependencies.store, record, parameters[FIELD], self._words(client))
        profiles: list[str] = []
        if isinstance(record, Contact) and parameters[FIELD] is None:
            linked = await call.api.dependencies.store.read(list_profiles(client.number, number))
            profiles = [profile for profile in linked if profile != record.linkedin_key]
        actors = call.api.actors
        await actors.load_events(event for value in explained for event in events_of(value))
        return Response(body=explanation(explained, since_us, page_bytes, actors, profiles))

    def _words(self, client: Client) -> StatusWords:
        return client.settings.words(self._kind.type.kind)

    async def _get(self, call: Call, client: Client, number: int) -> R:
        return await get_record(call.api.dependencies.store, self._kind.type, client.number, number)


_CHANGE = (
    "The body is a JSON merge patch (RFC 7396): a member that is left out stays, null or blank unsets it. With `If-Match` the change is "
    "made only if the record still has that ETag, else the response is 412. "
)


def record_routes(kind: ResourceType[Any, Any, Any], tag: Tag, *, identity: str, change: str) -> list[Route]:
    """Return the routes of one type of record."""
    handlers, name = RecordResource(kind), kind.type.name
    path, by_id = kind.path, f"{kind.path}/{{id}}"
    created = partial(Success, body=kind.response, headers=("Location", "ETag", SUPPRESSED, *IGNORED_HEADERS))
    record, either = partial(Success, 200, body=kind.response), (kind.response, DryRunResponse)
    return [
        Route(
            "POST", path, handlers.create, scope=WRITE, operation_id=f"create_{name}", tag=tag, summary=f"Create a {name}",
            description="Responds 201 with the new record. If the record exists already, `on_duplicate` decides: `error` responds 409 with "
            "`existing_id`, `return` responds 200 with the record as it is, `update` merges the body into it and responds 200. Without "
            f"the parameter the client's setting applies. {identity}",
            query=parameters.CREATE[name], headers=(PREFER,), body=kind.request, buffered=False,
            success=(created(201, f"The new {name}."), created(200, f"The {name} that existed (`on_duplicate`).", body=either)),
        ),
        upsert_route(kind, tag),
        *match_routes(kind, tag),
        Route(
            "GET", by_id, handlers.get, scope=READ, operation_id=f"get_{name}", tag=tag, summary=f"Get one {name}",
            description=f"Returns the {name} and its ETag. The id of a {name} that was merged into another is a 404 with `existing_id`.",
            query=(FLAT, AS_OF), headers=(IF_NONE_MATCH,), success=(record(f"The {name}.", headers=("ETag",)), NOT_MODIFIED),
        ),
        Route(
            "PATCH", by_id, handlers.change, scope=WRITE, operation_id=f"update_{name}", tag=tag,
            summary=f"Update one {name}",
            description=_CHANGE + change, query=(FLAT, DRY_RUN), headers=(IF_MATCH, PREFER), body=kind.change,
            success=(record(f"The {name} as it is now.", body=either, headers=("ETag", SUPPRESSED, *IGNORED_HEADERS)),),
            problems=(409, 412),
        ),
        *_history_routes(handlers, name, by_id, tag),
    ]  # fmt: skip


def _history_routes(handlers: RecordResource[Any, Any, Any], name: str, by_id: str, tag: Tag) -> list[Route]:
    """Return the routes of a record's events and of its values over time."""
    return [
        Route(
            "GET", f"{by_id}/history", handlers.history, scope=READ, operation_id=f"get_{name}_history", tag=tag,
            summary=f"Get the values that one {name} had, newest first",
            description="Each value with its time, how long the record had it, and the event that set it: with "
            f"`field={name}_status` the time in each status.",
            query=(FIELD, *PAGE), success=(Success(200, "A page.", ValueHistoryPage),),
        ),
        Route(
            "GET", f"{by_id}/explain", handlers.explain, scope=READ, operation_id=f"explain_{name}", tag=tag,
            summary=f"Explain the values of one {name}",
            description="For each value the event that set it, and the events that came and did not set it, with the reason. Of a record "
            "with much text the other events are left out, but for their number; name a `field` to see those of one value.",
            query=(FIELD,), success=(Success(200, "The values.", Explanation),),
        ),
    ]  # fmt: skip


CONTACT_TAG = Tag("Contacts", "People: create, read, change, export and erase them, and read their history.")
COMPANY_TAG = Tag("Companies", "Organisations, each known by its domain.")
CONTACT_ROUTES = record_routes(
    CONTACTS,
    CONTACT_TAG,
    identity="Equal e-mail addresses, or equal LinkedIn addresses, are the same contact.",
    change="Read-only members are ignored, misspelt ones are 422, other unknown ones are ignored and named in `Touchbase-Ignored`.",
)
COMPANY_ROUTES = record_routes(
    COMPANIES,
    COMPANY_TAG,
    identity="Equal domains are the same company.",
    change="The domain can be replaced, and cannot be unset.",
)
