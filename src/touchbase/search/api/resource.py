"""HTTP resources of searches: the filtered list of contacts or companies, and `POST .../search`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from touchbase.auth.authentication import READ
from touchbase.clients.models import Client
from touchbase.common.field_limits import NAME
from touchbase.common.timestamps import to_text
from touchbase.errors import COUNTED, MOST_FAULTS, Fault
from touchbase.http.conditional import IF_NONE_MATCH, NOT_MODIFIED, tagged, unless_known
from touchbase.http.dependencies import AppKey
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import CURSOR, LIMIT, PAGE, Parameter, Parameters, cursor_text
from touchbase.http.request_body import read_struct
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import page_body
from touchbase.records.api.parameters import FLAT, UPDATED_SINCE, get_options
from touchbase.records.api.resource import COMPANY_TAG, CONTACT_TAG
from touchbase.records.api.resource_type import COMPANIES, CONTACTS, ResourceType
from touchbase.records.read_records import cursor_of as place_in_list
from touchbase.records.sql.lookup import used_statuses
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.validation import raise_if_any
from touchbase.search.api.all_clients import all_clients_route
from touchbase.search.api.bulk import bulk_route
from touchbase.search.api.parameters import (
    AT,
    COUNT,
    CUT,
    FIELDS,
    FILTERS,
    SEARCH,
    SEARCH_HEADERS,
    SORT,
    Q,
    SearchBody,
    count_of,
    filters_of,
    joined,
    query_of,
    with_person,
)
from touchbase.search.fields import SearchFields, status_spellings
from touchbase.search.queries import ESTIMATED, EXACT, Count
from touchbase.search.service import Counts, PreparedSearch, SearchRequest, prepare, search_records
from touchbase.search.sorting import cursor_of, position_of
from touchbase.sql.page_budget import page_of

DECLARED: tuple[Parameter[Any], ...] = (FLAT, LIMIT, CURSOR, UPDATED_SINCE, *SEARCH)
"""The parameters of a filtered list that are not filters."""
_PARAMETERS = frozenset(parameter.name for parameter in DECLARED)
_MEMBERS = SearchBody.__struct_fields__
COUNTS: AppKey[Counts] = AppKey()
_decoder = msgspec.json.Decoder(SearchBody)


async def filtered_list(call: Call, kind: ResourceType[Any, Any, Any], client: Client) -> Response:
    """Respond to the `GET` of a list with a parameter that only searches have, or with a wanted count."""
    parameters = Parameters(await query_of(call), DECLARED)
    filters = filters_of(parameters, DECLARED)
    if (since := parameters[UPDATED_SINCE]) is not None:
        filters.insert(0, ("updated_time[gte]", to_text(since)))
    cursor, count = parameters.given_cursor(), count_of(call.scope)
    request = SearchRequest(
        filters, None, parameters[Q], parameters[SORT], parameters[FIELDS], cursor, parameters[LIMIT], count, also=_PARAMETERS,
        at=parameters[AT], cut=parameters[CUT],
    )  # fmt: skip
    prepared = prepare(kind.type, client, request, call.api.dependencies.clock(), parameters.faults)
    return await _page(call, kind, client, prepared, parameters[FLAT])


async def _page(call: Call, kind: ResourceType[Any, Any, Any], client: Client, prepared: PreparedSearch, flat: bool) -> Response:
    prepared.search.page_bytes = page_bytes = await call.page_bytes()
    parts = call.api.dependencies
    page = await search_records(parts.store, prepared.search, call.api[COUNTS], parts.clock())
    records: Sequence[msgspec.Struct] = [kind.out(record, flat, client.settings) for record in page.records]
    data: Sequence[object] = records
    sort, rank, backward = prepared.search.sort, page.rank, prepared.search.backward
    more: dict[str, object] = {}
    if prepared.shown is not None or prepared.cut is not None:
        data, cut = prepared.members(records)
        more |= {"cut": cut} if prepared.cut is not None else {}
    if rank is not None:
        first = cursor_of(position_of(page.records[0], sort), sort, rank, backward=True) if rank and page.records else None
        more |= {"rank": rank, "previous_cursor": first}
        more |= {} if page.counts is None else {"total": sum(page.counts)}

    def cursor_after(count: int) -> str | None:
        if not count or (count == len(data) and page.next is None and not backward):
            return None
        return cursor_of(position_of(page.records[count - 1], sort), sort, None if rank is None else rank + count - 1)

    response = Response(body=page_body(data, cursor_after, page_bytes, more))
    if page.count is not None:
        response.headers += _count_headers(page.count)
    if not page.is_complete:
        response.headers.append((b"search-index", b"incomplete"))
    return response


def _count_headers(count: Count) -> list[tuple[bytes, bytes]]:
    applied = EXACT if count.is_exact else ESTIMATED
    return [(b"total-count", b"%d" % count.value), (b"preference-applied", f"count={applied}".encode())]


class SearchResource:
    """The handlers of lists and of `POST .../search` for one type of record."""

    def __init__(self, kind: ResourceType[Any, Any, Any]) -> None:
        self._kind = kind

    async def list(self, call: Call) -> Response:
        """`GET` of a page of records."""
        client = await call.client()
        parameters = Parameters(call.query, (FLAT, *PAGE, *self._kind.filters))
        if parameters.unknown or count_of(call.scope):
            return await filtered_list(call, self._kind, client)
        parts = call.api.dependencies
        if (status := parameters.filters.get("status")) is not None:
            spelled = status_spellings(status, await parts.store.read(used_statuses(client.number, self._kind.type.kind)))
            if len(spelled) > 1:
                return await filtered_list(call, self._kind, client)
            parameters.filters["status"] = next(iter(spelled), status)
        order = f"{self._kind.type.plural} by {'creation' if parameters[UPDATED_SINCE] is None else 'time'}"
        after = parameters.cursor(order, tuple[int, int])
        parameters.done()
        limit, flat, page_bytes = parameters[LIMIT], parameters[FLAT], await call.page_bytes()
        listing = Listing(self._kind.type, client.number, limit + 1, after, page_bytes=page_bytes, **parameters.filters)
        page, has_more = page_of(await parts.store.read(list_records(listing)), limit)

        def cursor_after(count: int) -> str | None:
            return cursor_text(order, place_in_list(listing, page[count - 1])) if has_more or count < len(page) else None

        data = [self._kind.out(record, flat, client.settings) for record in page]
        return unless_known(call, tagged(page_body(data, cursor_after, page_bytes)))

    async def search(self, call: Call) -> Response:
        """Respond with a page of the records that match."""
        client = await call.client()
        flat, kind = get_options(call.query)[0], self._kind
        now, count = call.api.dependencies.clock(), count_of(call.scope)
        raw = await call.json()

        fields = SearchFields(kind.type, client.settings)
        body = read_struct(raw, _decoder, SearchBody, lambda partly: raise_if_any(_unknown_members(raw, fields)))
        where = await with_person(call, body.where, "/where/")
        request = SearchRequest(
            (),
            where,
            body.q,
            joined(body.sort),
            joined(body.fields),
            body.cursor or None,
            body.limit,
            count,
            "/",
            _MEMBERS,
        )
        prepared = prepare(kind.type, client, request, now, _unknown_members(raw, fields))
        return await _page(call, kind, client, prepared, flat)


def _unknown_members(raw: bytes, fields: SearchFields) -> list[Fault]:
    """Return a fault for each member that a search does not have: a search that ignored a filter would find too much."""
    faults: list[Fault] = []
    try:
        names = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return []  # no object, which is a fault of its own
    for name in names:
        if name not in _MEMBERS and len(faults) >= MOST_FAULTS:
            faults.append(COUNTED)
        elif name not in _MEMBERS:
            place = f"/{name[:NAME].replace('~', '~0').replace('/', '~1')}"
            faults.append(Fault(place, "unknown", f"there is no member {name[:100]!r}; {_hint(name, fields)}"))
    return faults


def _hint(name: str, fields: SearchFields) -> str:
    bare = name.partition("[")[0]
    if bare in ("all", "any", "not") or fields.find(bare) is not None:
        return f'filters are members of `where`: {{"where": {{"{name[:100]}": ...}}}}'
    near = fields.nearest(bare, _MEMBERS)
    return f"did you mean {near!r}?" if near in _MEMBERS else f"there are {', '.join(_MEMBERS)}; filters are members of `where`"


def list_route(kind: ResourceType[Any, Any, Any], tag: Tag) -> Route:
    """Return the route of the list of one type of record."""
    many = kind.type.plural
    return Route(
        "GET", kind.path, SearchResource(kind).list, scope=READ, operation_id=f"list_{many}", tag=tag, summary=f"List {many}, newest last",
        description="A page has `limit` records; send `next_cursor` back as `cursor` until it is null. A record must match all "
        "filters. The order is by creation; with `updated_since` by the last change. Any other filter, `sort`, `q`, "
        "`fields` or `Prefer` makes the request a search, which ignores the case of letters. A field that does not exist is a 422 "
        "with the nearest name.",
        query=(FLAT, *PAGE, *kind.filters, *SEARCH, FILTERS), headers=(COUNT, IF_NONE_MATCH),
        success=(Success(200, "A page.", kind.page, headers=("ETag", *SEARCH_HEADERS)), NOT_MODIFIED),
    )  # fmt: skip


def search_routes(kind: ResourceType[Any, Any, Any], tag: Tag) -> list[Route]:
    """Return the routes of lists and searches of one type of record."""
    handlers, many = SearchResource(kind), kind.type.plural
    return [
        all_clients_route(kind, tag),
        Route(
            "POST", f"{kind.path}/search", handlers.search, scope=READ, operation_id=f"search_{many}", tag=tag,
            summary=f"Search {many} with filters as a tree",
            description="The names and operators of the list's filters as JSON, joined by `all`, `any` and `not`; sorting, full text and "
            "paging as in lists. It only reads. A member or field that does not exist is a 422 with the nearest name.",
            query=(FLAT,), headers=(COUNT,), body=SearchBody, keyed=False,
            success=(Success(200, "A page.", kind.page, headers=SEARCH_HEADERS),),
        ),
        bulk_route(kind, tag),
    ]  # fmt: skip


CONTACT_LIST, COMPANY_LIST = list_route(CONTACTS, CONTACT_TAG), list_route(COMPANIES, COMPANY_TAG)
"""`revyops/api/lists.py` adds numbered pages to these."""
ROUTES = [*search_routes(CONTACTS, CONTACT_TAG), *search_routes(COMPANIES, COMPANY_TAG)]
