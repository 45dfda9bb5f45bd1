"""`PUT` of contacts and companies: change the record with this address, or create it."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET

from touchbase.auth.authentication import WRITE
from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.errors import Conflict, Fault, Invalid
from touchbase.history.events import Author
from touchbase.http.dependencies import JOIN
from touchbase.http.endpoint import Call, author_of
from touchbase.http.headers import is_strict
from touchbase.http.query_parameters import DRY_RUN, Parameter
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.records.api.bodies import Read, RecordBodies, put_references
from touchbase.records.api.parameters import FLAT, IGNORED_HEADERS, MATCHES, PREFER
from touchbase.records.api.previews import DryRunResponse, dry_run
from touchbase.records.api.resource_type import ResourceType
from touchbase.records.api.schemas import CompanyChange, CompanyRequest, ContactRequest, CustomFieldChange
from touchbase.records.create import creation_of
from touchbase.records.fields import Field
from touchbase.records.models import Company, Contact
from touchbase.records.operations import WRITES
from touchbase.records.update import update_of
from touchbase.records.writes import Created, RecordUpsert
from touchbase.sql.operation import Command
from touchbase.sql.store import Writes

A = TypeVar("A", ContactRequest, CompanyRequest)
C = TypeVar("C", bound=msgspec.Struct)
R = TypeVar("R", Contact, Company)
T = TypeVar("T")


def match_fields(kind: ResourceType[Any, Any, Any]) -> dict[str, Field]:
    """Return the fields that identify a record of this type, by name; the first is the default."""
    return {field.name: field for field in kind.type.fields if field.name in MATCHES[kind.type.name]}


def match_parameter(kind: ResourceType[Any, Any, Any]) -> Parameter[str]:
    """Return the parameter that says which member of the body identifies the record."""
    names = MATCHES[kind.type.name]
    schema = {"enum": list(names), "default": names[0]}
    about = "The member of the body that identifies the record; the body must have it."
    return Parameter("match", lambda query, name: query.choice(name, names) or names[0], schema, about)


class Upserts(Generic[A, C, R]):
    """Makes the upserts of one type of record, for single requests and for batches."""

    def __init__(self, kind: ResourceType[A, C, R], bodies: RecordBodies[A, C, R]) -> None:
        self._kind: ResourceType[A, C, R] = kind
        self._bodies: RecordBodies[A, C, R] = bodies
        self._fields = match_fields(kind)

    def upsert(self, body: C, match: str, client: Client, at: Micros, by: Author) -> RecordUpsert[R]:
        """Return the upsert of a body; raise `Invalid` with every fault. A company named by its domain must be set by the caller."""
        kind, field = self._kind, self._fields[match]
        update = update_of(kind.type, client, 0, self._bodies.change_of(body), at)
        if update.changes.get(field.key) is None:
            raise Invalid([_missing(kind.type.name, field, getattr(body, match))])
        create = creation_of(kind.type, self._request(body), client, at, "error")
        update.by = create.by = by
        return RecordUpsert(create, update, field.key)

    def _request(self, body: C) -> A:
        """Return the body of a creation with the values of a change; a creation leaves out values that a change unsets."""
        values: dict[str, Any] = {}
        for name in self._kind.request.__struct_fields__:
            value = getattr(body, name, UNSET)
            if isinstance(value, list):
                value = [item for item in value if not isinstance(item, CustomFieldChange) or item.field_value is not None]
            if value is not UNSET and value is not None:
                values[name] = value
        if isinstance(body, CompanyChange):
            values.setdefault("domain", "")  # a fault: found by another member, the company may still be new
        return self._kind.request(**values)


def _missing(record: str, field: Field, value: object) -> Fault:
    if isinstance(value, str) and value.strip():
        return Fault(f"/{field.name}", "no_identity", f"identifies no {record}: send the address of a profile, or match by another member")
    return Fault(f"/{field.name}", "required", f"must be given: match={field.name} finds the {record} by it")


async def or_join(call: Call, writes: Writes, write: Awaitable[T], upsert: RecordUpsert[Any]) -> T:
    """Await a write of this upsert; if its keys are several contacts', make these one if they may be one person, and write again."""
    try:
        return await write
    except Conflict as conflict:
        if not conflict.names_several:
            raise
    written: T = await writes.write(call.api[JOIN](upsert))
    return written


class UpsertResource(Generic[A, C, R]):
    """The handler of `PUT`."""

    def __init__(self, kind: ResourceType[A, C, R]) -> None:
        self._kind: ResourceType[A, C, R] = kind
        self._bodies: RecordBodies[A, C, R] = RecordBodies(kind)
        self._upserts: Upserts[A, C, R] = Upserts(kind, self._bodies)
        self.match = match_parameter(kind)

    async def put(self, call: Call) -> Response:
        """`PUT` of one record."""
        client, kind, parts = await call.client(), self._kind, call.api.dependencies
        parameters = call.parameters()
        parameters.done()
        flat, match, is_dry_run = parameters[FLAT], parameters[self.match], parameters[DRY_RUN]
        body = await call.json()
        at = parts.clock()
        by = author_of(call.scope)

        def of(partly: C) -> RecordUpsert[R]:
            return self._upserts.upsert(partly, match, client, at, by)

        read: Read[C] = self._bodies.change(body, client, at, strict=is_strict(call.scope), rules=of)
        upsert = of(read.request)
        call.api.storing(client, 1 + len(upsert.update.custom), at)
        await put_references(parts.store, client.number, upsert, read.request)

        def response(result: Created[R]) -> Response:
            reply = kind.respond(result.record, flat, client.settings)
            reply.status, reply.record = 201 if result.is_new else 200, (kind.type.kind, result.record.id)
            reply.headers += [(b"location", call.reached_at(f"{kind.path}/{result.record.id}")), *read.headers]
            return reply

        command: Command[Created[R]] = WRITES[kind.type.model].upsert(upsert)
        if is_dry_run:
            return await dry_run(call, kind, command, client, read.headers)
        return await call.write_and_respond(lambda writes: or_join(call, writes, writes.write(command), upsert), response)


def upsert_route(kind: ResourceType[Any, Any, Any], tag: Tag) -> Route:
    """Return the route of upserts of one type of record."""
    handlers, name = UpsertResource(kind), kind.type.name
    headers = ("Location", "ETag", *IGNORED_HEADERS)
    return Route(
        "PUT", kind.path, handlers.put, scope=WRITE, operation_id=f"upsert_{name}", tag=tag, summary=f"Change a {name}, or create it",
        description=f"Finds the {name} by the member that `match` names. If there is one, it is changed as by `PATCH`: a member that is "
        "left out stays, null or blank unsets it. Else it is created. Safe when many send the same at once: one creates it, the others "
        f"change it. 409 only if another member of the body identifies another {name}.",
        query=(FLAT, handlers.match, DRY_RUN), headers=(PREFER,), body=kind.change, keyed=True,
        success=(
            Success(201, f"The new {name}.", kind.response, headers),
            Success(200, f"The {name} as it is now.", (kind.response, DryRunResponse), headers),
        ),
    )  # fmt: skip
