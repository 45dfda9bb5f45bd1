"""`GET /admin/v1/contacts` and `/admin/v1/companies`: the records of all clients, for administrators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from touchbase.auth.authentication import ADMIN
from touchbase.clients.models import Client, ClientSettings
from touchbase.clients.sql.clients import list_clients_from
from touchbase.common.field_limits import LARGEST_ID
from touchbase.errors import Fault
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import CLIENT, LIMIT, PAGE, Parameter, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import EXAMPLES, PageOf, encode, example, fitting
from touchbase.records.api.parameters import FLAT
from touchbase.records.api.resource_type import ResourceType
from touchbase.records.api.schemas import CompanyResponse, ContactResponse
from touchbase.records.models import Record
from touchbase.search.across_clients import Place, SearchFor, by_settings, records_across
from touchbase.search.api.parameters import FILTERS, filters_of
from touchbase.search.queries import RecordSearch
from touchbase.search.service import SearchRequest, prepare

MOST_CLIENTS = 500
"""Clients that one request searches; then its page is shorter, and the cursor goes on with the next client."""
ORDER = "created_time"
"""Within a client."""


class ContactOfClient(ContactResponse, kw_only=True):
    """A contact, and the client that it belongs to."""

    client_id: str


class CompanyOfClient(CompanyResponse, kw_only=True):
    """A company, and the client that it belongs to."""

    client_id: str


class ContactsOfClients(PageOf[ContactOfClient]):
    """A page of the contacts of all clients; it may be shorter than `limit`, and `next_cursor` is null on the last one."""


class CompaniesOfClients(PageOf[CompanyOfClient]):
    """A page of the companies of all clients; it may be shorter than `limit`, and `next_cursor` is null on the last one."""


OF_CLIENT: dict[str, Any] = {"contact": ContactOfClient, "company": CompanyOfClient}
"""The body of a record with its client, by type of record."""
PAGES: dict[str, type[Struct]] = {"contact": ContactsOfClients, "company": CompaniesOfClients}
example(ContactOfClient, {**EXAMPLES["ContactResponse"], "client_id": "acme"})
example(CompanyOfClient, {**EXAMPLES["CompanyResponse"], "client_id": "acme"})


def record_of_client(kind: ResourceType[Any, Any, Any], client: Client, record: Record, *, flat: bool) -> msgspec.Struct:
    """Return a record as responses show it, with the id of its client."""
    shown = kind.out(record, flat, client.settings)
    values = {name: getattr(shown, name) for name in shown.__struct_fields__}
    of_client: msgspec.Struct = OF_CLIENT[kind.type.name](**values, client_id=client.client_id)
    return of_client


async def clients_shown(call: Call, only: int | None, start: int = 0, most: int = LARGEST_ID) -> list[Client]:
    """Return the clients whose records an administrator reads, by number: the key's client, or the first ones from `start` on."""
    if only is not None:
        return [await call.api.clients.by_number(only)]
    return await call.api.dependencies.store.read(list_clients_from(start, most))


def first_of(clients: Sequence[Client]) -> Client:
    """Return the client whose settings filters are checked by at first; one without settings if there is none."""
    return clients[0] if clients else Client(0, "", 0, ClientSettings())


def searches(
    kind: ResourceType[Any, Any, Any], request: SearchRequest, call: Call, clients: Sequence[Client], faults: list[Fault]
) -> SearchFor:
    """Return the search for each client; raise `Invalid` with all faults that do not depend on the client's settings."""
    now = call.api.dependencies.clock()

    def search(client: Client) -> RecordSearch[Any]:
        return prepare(kind.type, client, request, now, faults).search

    search_for = by_settings(search)
    search_for(first_of(clients))
    return search_for


class AllClientsResource:
    """The handler of the records of all clients, of one type of record."""

    def __init__(self, kind: ResourceType[Any, Any, Any]) -> None:
        self._kind = kind

    async def list(self, call: Call) -> Response:
        """`GET` of a page of records."""
        only, kind = await call.administrator(), self._kind
        parameters, listing = call.parameters(), f"{self._kind.type.plural} of all clients"
        start: tuple[int, tuple[int, int] | None] | None = parameters.cursor(listing, tuple[int, tuple[int, int] | None])
        request = SearchRequest(filters_of(parameters, DECLARED), sort=ORDER, also=[parameter.name for parameter in DECLARED])
        if (named := parameters[CLIENT]) is not None:
            only = await call.client_number(named, only, "?client")
        clients = await clients_shown(call, only, 0 if start is None else start[0], MOST_CLIENTS + 1)
        search_for = searches(kind, request, call, clients, parameters.faults)
        place = None if start is None else Place(*start)
        parts, page_bytes = call.api.dependencies, await call.page_bytes()
        records, after = await records_across(
            parts.store, clients, search_for, place, parameters[LIMIT], most=MOST_CLIENTS, page_bytes=page_bytes
        )
        data = fitting((record_of_client(kind, client, record, flat=parameters[FLAT]) for client, record in records), page_bytes)
        if len(data) < len(records):
            owner, last = records[len(data) - 1]
            after = Place(owner.number, (last.created_us, last.id))
        cursor = None if after is None else cursor_text(listing, (after.client, after.after))
        return Response(body=encode({"data": data, "next_cursor": cursor}))


DECLARED: tuple[Parameter[Any], ...] = (FLAT, *PAGE, CLIENT)
"""The parameters that are not filters."""


def all_clients_route(kind: ResourceType[Any, Any, Any], tag: Tag) -> Route:
    """Return the route of the records of all clients, of one type of record."""
    many = kind.type.plural
    return Route(
        "GET", f"/admin/v1/{many}", AllClientsResource(kind).list, scope=ADMIN, operation_id=f"list_{many}_of_all_clients", tag=tag,
        summary=f"List the {many} of all clients",
        description=f"Each with the `client_id` of its client, client by client, within a client the newest last. The filters are those of "
        f"the client's own list. A page searches at most {MOST_CLIENTS} clients, so it may be shorter than `limit`: go on until "
        "`next_cursor` is null. A key of one client sees that client only.",
        query=(*DECLARED, FILTERS), success=(Success(200, "A page.", PAGES[kind.type.name]),), problems=(422,),
    )  # fmt: skip
