"""Lists and lookups by a custom field: bare arrays (v1) and numbered pages (v2), of one client or of all."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import Any

from touchbase.auth.authentication import ADMIN
from touchbase.clients.models import Client
from touchbase.errors import Fault, InsufficientScope, Invalid
from touchbase.http.dependencies import AppKey
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import Parameter, Parameters
from touchbase.http.responses import Response
from touchbase.http.routing import Route
from touchbase.http.schemas import encode, fitting
from touchbase.records.api.parameters import FLAT
from touchbase.records.api.resource_type import COMPANIES, CONTACTS, ResourceType
from touchbase.records.models import Record
from touchbase.records.read_records import get_record
from touchbase.records.sql.lookup import find_owner
from touchbase.revyops.api.parameters import LOOKUP, NUMBERED, PAGE_NUMBER, PAGE_SIZE, RecordFilter, filter_of, lookup_of
from touchbase.revyops.api.schemas import NUMBERED_PAGES
from touchbase.revyops.numbered_pages import LONGEST_PAGE, PagesRead, read_page
from touchbase.search.across_clients import SearchFor, by_settings, records_across, with_matches
from touchbase.search.api.all_clients import clients_shown, first_of, record_of_client
from touchbase.search.api.resource import COMPANY_LIST, CONTACT_LIST

PAGES_READ: AppKey[PagesRead] = AppKey()
V2: tuple[Parameter[Any], ...] = (FLAT, *NUMBERED)
"""The parameters of v2 that are not filters; v1 has none."""


class ListResource:
    """The handlers of the lists of one type of record; with `is_everywhere` of all clients, for keys of all clients."""

    def __init__(self, kind: ResourceType[Any, Any, Any], *, is_everywhere: bool = False) -> None:
        self._kind = kind
        self._is_everywhere = is_everywhere

    async def list(self, call: Call) -> Response:
        """`GET` of a v1 list."""
        clients, _ = await self._clients(call)
        return await self._array(call, filter_of(self._kind, Parameters(call.query), ()), clients)

    async def numbered(self, call: Call) -> Response:
        """`GET` of a v2 list."""
        clients, whose = await self._clients(call)
        parameters = Parameters(call.query, V2)
        return await _numbered(
            call, self._kind, filter_of(self._kind, parameters, V2), parameters, clients, whose, everywhere=self._is_everywhere
        )

    async def lookup(self, call: Call) -> Response:
        """`GET` of the v1 records with a custom field."""
        clients, _ = await self._clients(call)
        return await self._array(call, lookup_of(self._kind, Parameters(call.query, LOOKUP)), clients)

    async def numbered_lookup(self, call: Call) -> Response:
        """`GET` of the v2 records with a custom field."""
        clients, whose = await self._clients(call)
        parameters = Parameters(call.query, (*V2, *LOOKUP))
        return await _numbered(
            call, self._kind, lookup_of(self._kind, parameters), parameters, clients, whose, everywhere=self._is_everywhere
        )

    async def first_match(self, call: Call) -> Response:
        """`GET` of one record of any client."""
        only, kind = await _only_client(call), self._kind
        parameters, number = call.parameters(), call.id(kind.type.name)
        parameters.done()
        store = call.api.dependencies.store
        owner = await store.read(find_owner(kind.type.kind, number)) if only is None else only
        if owner is None:
            raise kind.type.missing(number)
        record: Record = await get_record(store, kind.type, owner, number)
        flat = bool(call.declared) and parameters[FLAT]
        return Response(body=encode(record_of_client(kind, await call.api.clients.by_number(owner), record, flat=flat)))

    async def _clients(self, call: Call) -> tuple[Sequence[Client], int | None]:
        """Authenticate the request; return the clients whose records it reads, and the number of the only one, None for all."""
        if not self._is_everywhere:
            client = await call.client()
            return [client], client.number
        only = await _only_client(call)
        return await clients_shown(call, only), only

    async def _array(self, call: Call, wanted: RecordFilter, clients: Sequence[Client]) -> Response:
        search_for = _search_for(call, wanted, clients)
        parts, page_bytes = call.api.dependencies, await call.page_bytes(is_full_page=True)
        clients = await with_matches(parts.store, clients, search_for, LONGEST_PAGE + 1)
        records, _ = await records_across(parts.store, clients, search_for, None, LONGEST_PAGE, page_bytes=page_bytes)
        items = (_out(self._kind, *record, flat=False, everywhere=self._is_everywhere) for record in records)
        return Response(body=encode(fitting(items, page_bytes)))


async def _only_client(call: Call) -> int | None:
    """Authenticate the holder of a key of all clients, or an administrator of one; return the number of that one, None for all."""
    principal = await call.principal()
    if principal.client is not None and ADMIN not in principal.scopes:
        raise InsufficientScope(f"a key of one client needs the scope {ADMIN} here; use a key of all clients", data={"scope": ADMIN})
    return principal.client


def _search_for(call: Call, wanted: RecordFilter, clients: Sequence[Client]) -> SearchFor:
    """Return the search for each client; raise `Invalid` with all faults that do not depend on the client's settings."""
    now = call.api.dependencies.clock()
    wanted.search(first_of(clients), now)
    return by_settings(lambda client: wanted.search(client, now))


async def _numbered(
    call: Call,
    kind: ResourceType[Any, Any, Any],
    wanted: RecordFilter,
    parameters: Parameters,
    clients: Sequence[Client],
    whose: int | None,
    *,
    everywhere: bool = False,
) -> Response:
    """Respond with a numbered page; `whose` is the number of the only client, None for all."""
    search_for = _search_for(call, wanted, clients)
    page, size = parameters[PAGE_NUMBER], parameters[PAGE_SIZE]
    key = (whose, wanted.key, size)
    parts, page_bytes = call.api.dependencies, await call.page_bytes(is_full_page=True)
    page_read = await read_page(parts.store, call.api[PAGES_READ], key, clients, search_for, page, size, page_bytes)
    results = fitting((_out(kind, *record, flat=parameters[FLAT], everywhere=everywhere) for record in page_read.records), page_bytes)
    if page_read.is_cut or len(results) < len(page_read.records):
        raise too_many_bytes(page_bytes, size, len(results))
    pages = max(1, -(-page_read.count // size))
    body = {"count": page_read.count, "total_pages": pages, "current_page": page, "page_size": size, "results": results}
    return Response(body=encode(body))


def too_many_bytes(page_bytes: int, size: int, fit: int) -> Invalid:
    """Return the refusal of a numbered page: one with fewer records than the others would shift all later pages."""
    detail = f"is too large here: {size} records have more than {page_bytes:,} bytes; begin again with pages of {fit}"
    return Invalid([Fault(f"?{PAGE_SIZE.name}", "too_large", detail)])


def _out(kind: ResourceType[Any, Any, Any], client: Client, record: Record, *, flat: bool, everywhere: bool) -> object:
    return record_of_client(kind, client, record, flat=flat) if everywhere else kind.out(record, flat, client.settings)


def with_numbered_pages(kind: ResourceType[Any, Any, Any], route: Route) -> Route:
    """Return the route of one of our own lists with numbered pages: a request with `page` or `page_size` gets one."""
    cursor_page = route.handler
    assert cursor_page is not None

    def listed(call: Call) -> Awaitable[Response]:
        return numbered(call) if b"page" in call.scope["query_string"] else cursor_page(call)  # the beginning of both names

    async def numbered(call: Call) -> Response:
        client, parameters = await call.client(), Parameters(call.query, V2)
        if all(name not in _NUMBERED_NAMES for name, _ in parameters.pairs):
            return await cursor_page(call)
        return await _numbered(call, kind, filter_of(kind, parameters, V2), parameters, [client], client.number)

    [page, *others] = route.success
    return replace(
        route,
        handler=listed,
        description=f"{route.description} `page` or `page_size` makes the response a numbered page, as programs written against the "
        "RevyOps API expect it.",
        query=(*route.query, *NUMBERED),
        success=(replace(page, body=(*page.bodies, NUMBERED_PAGES[kind.type.name])), *others),
    )


_NUMBERED_NAMES = frozenset(parameter.name for parameter in NUMBERED)
LIST_ROUTES = [with_numbered_pages(CONTACTS, CONTACT_LIST), with_numbered_pages(COMPANIES, COMPANY_LIST)]
