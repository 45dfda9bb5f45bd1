"""HTTP resources of clients and their settings, for administrators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from touchbase.auth.authentication import ADMIN
from touchbase.clients.api.settings_body import ClientRequest, SettingsBody, checked
from touchbase.clients.models import (
    CLIENT_STATES,
    Client,
    FormerId,
)
from touchbase.clients.service import is_client_id
from touchbase.clients.sql import clients as sql_queries
from touchbase.common.timestamps import to_text
from touchbase.errors import NotFound
from touchbase.history.events import COMPANY, CONTACT
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import Time, encode, named_enum
from touchbase.statuses.sql.refused import recheck_statuses

_STATE = named_enum("ClientState", "Whether a client's records are open, closed, or being removed.", CLIENT_STATES)


class DeletionOut(Struct):
    """Progress of the removal of a client's data."""

    started_time: Time
    removed_rows: int
    total_rows: Annotated[int | None, Meta(description="null: not counted yet, or too many to count.")]


class ClientOut(Struct):
    """One client."""

    client_id: Annotated[str, Meta(description="Its name in addresses and headers; treat it as a secret.")]
    handle: Annotated[str, Meta(description="Its name in addresses of the console; it opens nothing.")]
    name: Annotated[str, Meta(description="Its name for people; may be empty.")]
    state: Annotated[str, Meta(extra_json_schema=_STATE)]
    created_time: Time
    made_by: Annotated[
        str | None,
        Meta(description="administrator, or call: by the first request that named it. null: unknown, by an earlier version."),
    ]
    deletion: DeletionOut | None
    stored_bytes: Annotated[
        int, Meta(description="Bytes that it stores, as of the last count, which is some minutes old; 0: not counted yet.")
    ]
    settings: SettingsBody


class FormerIdOut(Struct):
    """A former id of a client, and until when it is valid."""

    client_id: str
    valid_until: Time


class ClientDetail(ClientOut):
    """One client with its valid former ids."""

    former_ids: list[FormerIdOut]


class ClientPage(Struct):
    """A page of clients by `client_id`; `next_cursor` is null on the last one."""

    data: list[ClientOut]
    next_cursor: str | None


STATE = query.choice("state", CLIENT_STATES, "Clients in this state.", member="state")
NAME = query.text("name", "Part of its name or id.", member="text")


async def clients(call: Call) -> Response:
    """`GET` of a page of clients; a key of one client shows only that client."""
    limited = await call.administrator()
    asked = call.parameters()
    after = asked.cursor("clients", str)
    asked.done()
    page, last = await call.api.clients.page(asked[LIMIT], after, only=limited, **asked.filters)
    return Response(body=encode(ClientPage([described(client) for client in page], last and cursor_text("clients", last))))


async def client(call: Call) -> Response:
    """`GET` of one client."""
    return Response(body=encode(await detailed(call, await one_client(call))))


async def one_client(call: Call) -> Client:
    """Return the client in the path; raise `NotFound` also if the key is limited to another client."""
    limited = await call.administrator()
    found = await call.api.clients.get(_name(call))
    if limited is not None and found.number != limited:
        raise NotFound(f"there is no client {_name(call)!r}")
    return found


async def put_client(call: Call) -> Response:
    """`PUT` of a client's settings; a missing client is created."""
    limited = await call.administrator()
    client_id = _name(call)
    if limited is not None:
        found = await call.api.clients.find(client_id)
        if found is None or found.number != limited:
            raise NotFound(f"there is no client {client_id!r}")
    asked = await call.body(ClientRequest, lambda partly: checked(partly.settings))
    decided = checked(asked.settings)
    changed, is_new = await call.api.clients.put(client_id, decided, keep_limits=limited is not None)
    if not is_new:
        await _recheck(call, changed)
    return Response(201 if is_new else 200, encode(await detailed(call, changed)))


async def _recheck(call: Call, client: Client) -> None:
    """Apply statuses that events asked for and the declared set did not have, if it has them now."""
    parts = call.api.dependencies
    for kind in (CONTACT, COMPANY):
        if await parts.store.write(recheck_statuses(client.number, kind, parts.clock(), call.scope.get("touchbase.key_id"))) is not None:
            parts.on_job()


def _name(call: Call) -> str:
    client_id = call.path("client_id")
    if not is_client_id(client_id):
        raise NotFound(f"there can be no client {client_id[:100]!r}: an id is 1 to 100 letters, digits and . _ ~ -")
    return client_id


def described(client: Client) -> ClientOut:
    """Return a client as lists show it."""
    settings = msgspec.convert(client.settings, SettingsBody, from_attributes=True)
    known = client.deletion
    deletion = None if known is None else DeletionOut(to_text(known.started_us), known.removed, known.total)
    return ClientOut(
        client.client_id,
        client.handle,
        client.name,
        client.state,
        to_text(client.created_us),
        client.made_by,
        deletion,
        client.stored_bytes,
        settings,
    )


async def detailed(call: Call, client: Client) -> ClientDetail:
    """Return a client with its former ids."""
    return detail_of(client, await former_ids(call, client))


def detail_of(client: Client, former: Sequence[FormerId]) -> ClientDetail:
    """Return a client and its former ids as responses show them."""
    ids = [FormerIdOut(one.client_id, to_text(one.until_us)) for one in former]
    return ClientDetail(**msgspec.structs.asdict(described(client)), former_ids=ids)


async def former_ids(call: Call, client: Client) -> list[FormerId]:
    """Return the valid former ids."""
    return await call.api.dependencies.store.read(sql_queries.former_ids(client.number, call.api.dependencies.clock()))


CLIENTS = Tag("Clients", "The organisations that records belong to, and their settings.")
ROUTES = [
    Route(
        "GET", "/admin/v1/clients", clients, scope=ADMIN, operation_id="list_clients", tag=CLIENTS, summary="List clients",
        description="Clients in the order of their ids. A key of one client sees that client only.",
        query=(*PAGE, STATE, NAME), success=(Success(200, "A page.", ClientPage),),
    ),
    Route(
        "GET", "/admin/v1/clients/{client_id}", client, scope=ADMIN, operation_id="get_client", tag=CLIENTS, summary="Get one client",
        description="Returns the client with its settings, its state, the progress of its deletion, and its former ids that "
        "are still valid.",
        success=(Success(200, "The client.", ClientDetail),),
    ),
    Route(
        "PUT", "/admin/v1/clients/{client_id}", put_client, scope=ADMIN, operation_id="put_client", tag=CLIENTS,
        summary="Replace a client's settings, or create the client",
        description="Replaces all settings of the client: a setting that is left out gets its default. An unknown client is created.",
        body=ClientRequest, problems=(409,),
        success=(Success(200, "The client as it is now.", ClientDetail), Success(201, "The new client.", ClientDetail)),
    ),
]  # fmt: skip
