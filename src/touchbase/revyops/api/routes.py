"""The routes of the RevyOps API that are not ours already; they call the handlers and services of our routes."""

from __future__ import annotations

from functools import partial
from typing import Any

from touchbase.auth.authentication import READ, WRITE
from touchbase.errors import Invalid, NotFound
from touchbase.http.conditional import IF_NONE_MATCH, NOT_MODIFIED
from touchbase.http.endpoint import Call, Handler
from touchbase.http.query_parameters import DRY_RUN, Parameters
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.merging.api.bin import COMPANY_BIN, CONTACT_BIN, BinResource
from touchbase.records.api.if_match import IF_MATCH
from touchbase.records.api.parameters import FLAT, IGNORED_HEADERS, PREFER
from touchbase.records.api.resource import RecordResource
from touchbase.records.api.resource_type import COMPANIES, CONTACTS, SUPPRESSED, ResourceType
from touchbase.records.api.schemas import CustomFieldInput, CustomFieldOut
from touchbase.revyops.api.custom_fields import CustomFieldResource
from touchbase.revyops.api.emails import email_routes
from touchbase.revyops.api.lists import V2, ListResource
from touchbase.revyops.api.parameters import LOOKUP, NAMED_FILTERS
from touchbase.revyops.api.schemas import NUMBERED_OF_CLIENTS, NUMBERED_PAGES, CustomFieldValue
from touchbase.revyops.numbered_pages import LONGEST_PAGE
from touchbase.search.api.all_clients import OF_CLIENT
from touchbase.search.api.parameters import FILTERS


class _Plain(Call):
    """A call whose query is ignored: custom fields are NESTED, and the client's settings decide about duplicates."""

    @property
    def query(self) -> bytes:
        """No parameters."""
        return b""


def version_1(handler: Handler) -> Handler:
    """Wrap a handler of our own routes: a `company_id` that does not exist is a 404, as for a domain, and writes take `structure` alone."""

    async def run(call: Call) -> Response:
        if call.scope["method"] != "GET":
            Parameters(call.query, (FLAT,)).done()  # `dry_run=true` must not be ignored
        plain = _Plain(call.api, call.scope, call.receive, call.headers, call.needed, (FLAT, DRY_RUN), call.large, call.recorder)
        try:
            return await handler(plain)
        except Invalid as invalid:
            if [fault.code for fault in invalid.faults] == ["company_not_found"]:
                raise NotFound(invalid.faults[0].detail) from None
            raise

    return run


TAG = Tag(
    "RevyOps",
    "The calls of the RevyOps API, for programs that were written against it. New programs use the other routes: these are deprecated from "
    "the start, and stay.",
)
FEW = f"At most {LONGEST_PAGE} records; to get all, use the v2 call with `page`."
_route = partial(Route, tag=TAG, deprecated=True)


def _v1_routes(kind: ResourceType[Any, Any, Any], deleted: BinResource) -> list[Route]:
    """Return the v1 routes of one type of record, custom fields aside."""
    singular, many = kind.type.name, kind.type.plural
    path, by_id = f"/public/{many}", f"/public/{many}/{{id}}"
    handlers, lists = RecordResource(kind), ListResource(kind)
    record = partial(Success, 200, body=kind.response, headers=("ETag", SUPPRESSED, *IGNORED_HEADERS))
    return [
        _route(
            "GET", path, lists.list, scope=READ, operation_id=f"v1_list_{many}", summary=f"List {many} as an array",
            description=f"The first of the {many} that match all filters, in the order of their creation. {FEW}",
            query=(*NAMED_FILTERS[singular], FILTERS), success=(Success(200, "The records.", kind.response, is_list=True),),
        ),
        _route(
            "POST", path, version_1(handlers.create), scope=WRITE, operation_id=f"v1_create_{singular}", summary=f"Create a {singular}",
            description=f"As `POST {kind.path}`, without parameters.", headers=(PREFER,), body=kind.request, buffered=False,
            success=(
                Success(201, f"The new {singular}.", kind.response, ("Location", "ETag", SUPPRESSED, *IGNORED_HEADERS)),
                record(f"The {singular} that existed, if the client's setting `on_duplicate` says so."),
            ),
        ),
        _route(
            "GET", f"{path}/lookup-by-custom-field", lists.lookup, scope=READ, operation_id=f"v1_look_up_{many}",
            summary=f"Find {many} by a custom field, as an array",
            description=f"The {many} whose custom field has this value. {FEW}",
            query=LOOKUP, success=(Success(200, "The records.", kind.response, is_list=True),),
        ),
        _route(
            "GET", by_id, version_1(handlers.get), scope=READ, operation_id=f"v1_get_{singular}", summary=f"Get one {singular}",
            description=f"As `GET {kind.path}/{{id}}`, without parameters.", headers=(IF_NONE_MATCH,),
            success=(Success(200, f"The {singular}.", kind.response, ("ETag",)), NOT_MODIFIED),
        ),
        _route(
            "PATCH", by_id, version_1(handlers.change), scope=WRITE, operation_id=f"v1_update_{singular}", summary=f"Update one {singular}",
            description=f"As `PATCH {kind.path}/{{id}}`, without parameters.", headers=(IF_MATCH, PREFER), body=kind.change,
            success=(record(f"The {singular} as it is now."),), problems=(409, 412),
        ),
        _route(
            "DELETE", by_id, version_1(deleted.delete), scope=WRITE, operation_id=f"v1_delete_{singular}",
            summary=f"Delete one {singular}: move it into the bin",
            description=f"As `DELETE {kind.path}/{{id}}`, without parameters: it can be restored.",
            success=(Success(200, f"The {singular} as it was.", kind.response, ("ETag",)),),
        ),
    ]  # fmt: skip


def _custom_field_routes(kind: ResourceType[Any, Any, Any], created: int) -> list[Route]:
    """Return the routes of the custom fields of one type of record."""
    singular, handlers = kind.type.name, CustomFieldResource(kind, created)
    path = f"/public/{kind.type.plural}/{{id}}/custom-fields"
    field = partial(Success, body=CustomFieldOut)
    return [
        _route(
            "POST", path, handlers.add, scope=WRITE, operation_id=f"v1_add_{singular}_custom_field",
            summary=f"Add a custom field to one {singular}",
            description="409 if the record has a field of this name. `PATCH` of the record sets fields whether they are there or not.",
            body=CustomFieldInput, success=(field(created, "The new field."),),
        ),
        _route(
            "PATCH", f"{path}/{{field_id}}", handlers.change, scope=WRITE, operation_id=f"v1_update_{singular}_custom_field",
            summary=f"Change a custom field of one {singular}",
            description="Sets the value. The id is the field's in the NESTED structure.",
            body=CustomFieldValue, success=(field(200, "The field as it is now."),),
        ),
        _route(
            "DELETE", f"{path}/{{field_id}}", handlers.remove, scope=WRITE, operation_id=f"v1_remove_{singular}_custom_field",
            summary=f"Remove a custom field from one {singular}", description="Responds with the field as it was.",
            success=(field(200, "The field as it was."),),
        ),
    ]  # fmt: skip


def _numbered_lookup_route(kind: ResourceType[Any, Any, Any]) -> Route:
    singular, many = kind.type.name, kind.type.plural
    return _route(
        "GET", f"{kind.path}/lookup-by-custom-field", ListResource(kind).numbered_lookup, scope=READ, operation_id=f"look_up_{many}",
        summary=f"Find {many} by a custom field",
        description=f"The {many} whose custom field has this value, in numbered pages. `GET {kind.path}?cf.NAME=VALUE` does the same with "
        "a cursor.",
        query=(*V2, *LOOKUP), success=(Success(200, "A page.", NUMBERED_PAGES[singular]),),
    )  # fmt: skip


def _master_routes(kind: ResourceType[Any, Any, Any], version: str) -> list[Route]:
    """Return the routes of the records of all clients, of one type of record and one version."""
    singular, many, is_v1 = kind.type.name, kind.type.plural, not version
    path, lists = f"/public/{version}{many}-master-list", ListResource(kind, is_everywhere=True)
    named = partial(_route, "GET", scope=READ, of_all_clients=True)
    prefix, query = ("v1_", ()) if is_v1 else ("", V2)
    body, few = (OF_CLIENT[singular], FEW) if is_v1 else (NUMBERED_OF_CLIENTS[singular], "In numbered pages.")
    success = (Success(200, "The records." if is_v1 else "A page.", body, is_list=is_v1),)
    whose = (
        "Each has the `client_id` of its client; a key of one client sees that client only. "
        f"`GET /admin/v1/{many}` does the same with a cursor."
    )
    return [
        named(
            path, lists.list if is_v1 else lists.numbered, operation_id=f"{prefix}list_{many}_of_all",
            summary=f"List the {many} of all clients", description=f"Client by client, in the order of their creation. {few} {whose}",
            query=(*query, *NAMED_FILTERS[singular], FILTERS), success=success,
        ),
        named(
            f"{path}/lookup-by-custom-field", lists.lookup if is_v1 else lists.numbered_lookup,
            operation_id=f"{prefix}look_up_{many}_of_all", summary=f"Find {many} of all clients by a custom field",
            description=f"The {many} whose custom field has this value. {few} {whose}", query=(*query, *LOOKUP), success=success,
        ),
        named(
            f"{path}/{{id}}", lists.first_match, operation_id=f"{prefix}get_{singular}_of_any", summary=f"Get one {singular} of any client",
            description="With the `client_id` of its client; a key of one client sees that client only.",
            query=() if is_v1 else (FLAT,), success=(Success(200, f"The {singular}.", OF_CLIENT[singular]),),
        ),
    ]  # fmt: skip


ROUTES: list[Route] = [
    *_v1_routes(CONTACTS, CONTACT_BIN),
    *_custom_field_routes(CONTACTS, 200),
    *_v1_routes(COMPANIES, COMPANY_BIN),
    *_custom_field_routes(COMPANIES, 201),
    _numbered_lookup_route(CONTACTS),
    _numbered_lookup_route(COMPANIES),
    *[route for kind in (CONTACTS, COMPANIES) for version in ("", "v2/") for route in _master_routes(kind, version)],
    *email_routes(_route),
]
