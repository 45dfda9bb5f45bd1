"""HTTP resources of clients, for administrators: their settings and life cycle (create, rename, suspend, resume, rotate the id, delete)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from touchbase.administration.settings_body import ClientRequest, SettingsBody, checked
from touchbase.auth.authentication import ADMIN
from touchbase.clients.models import (
    ACTIVE,
    CLIENT_STATES,
    HANDLE,
    LONGEST_HANDLE,
    NO_HANDLES,
    SUSPENDED,
    Client,
    ClientSettings,
    FormerId,
)
from touchbase.clients.service import is_client_id, new_client_id
from touchbase.clients.sql import clients as clients_sql
from touchbase.clients.sql.clients import begin_deletion, create_client, rename_client, rotate_client_id, set_client_state, version_of
from touchbase.common import field_limits as limits
from touchbase.common.timestamps import DAY, SECOND, to_text
from touchbase.errors import Fault, Forbidden, Invalid, NotFound, PreconditionFailed, TouchbaseError
from touchbase.history.events import COMPANY, CONTACT
from touchbase.http import query_parameters as query
from touchbase.http.conditional import ETAG, changed_since, if_match, tags_named
from touchbase.http.endpoint import EVERY_CLIENT, Call
from touchbase.http.query_parameters import LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import PageOf, Time, encode, example, named_enum
from touchbase.sql.operation import Command
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
    stored_bytes: Annotated[int, Meta(description="Stored bytes at the last count, some minutes ago; 0: not counted yet.")]
    settings: SettingsBody


class FormerIdOut(Struct):
    """A former id of a client, and until when it is valid."""

    client_id: str
    valid_until: Time


class ClientDetail(ClientOut):
    """One client with its valid former ids."""

    former_ids: list[FormerIdOut]


class ClientPage(PageOf[ClientOut]):
    """A page of clients by `client_id`; `next_cursor` is null on the last one."""


STATE = query.choice("state", CLIENT_STATES, "Clients in this state.", member="state")
NAME = query.text("name", "Part of its name or id.", member="text")


async def clients(call: Call) -> Response:
    """`GET` of a page of clients; a key of one client shows only that client."""
    limited = await call.administrator()
    parameters = call.parameters()
    after = parameters.cursor("clients", str)
    parameters.done()
    page, last = await call.api.clients.page(parameters[LIMIT], after, only=limited, **parameters.filters)
    return Response(body=encode(ClientPage([described(client) for client in page], last and cursor_text("clients", last))))


async def get_client(call: Call) -> Response:
    """`GET` of one client."""
    client = await call.client_in_path()
    return _tagged(client, await former_ids(call, client))


async def put_client(call: Call) -> Response:
    """`PUT` of a client's settings; a missing client is created."""
    limited = await call.administrator()
    client_id = call.client_id()
    if limited is not None:
        limited_to = await call.api.clients.find(client_id)
        if limited_to is None or limited_to.number != limited:
            raise NotFound(f"there is no client {client_id!r}")
    request = await call.body(ClientRequest, lambda partly: checked(partly.settings))
    decided = checked(request.settings)
    tags = tags_named(call)
    try:
        changed, is_new = await call.api.clients.put(client_id, decided, keep_limits=limited is not None, if_versions=tags)
    except PreconditionFailed:
        raise await _stale(call, client_id) from None
    if not is_new:
        await _recheck(call, changed)
    return _tagged(changed, await former_ids(call, changed), 201 if is_new else 200)


async def _stale(call: Call, client_id: str) -> TouchbaseError:
    """Return the error of a write whose `If-Match` names a former version of the client."""
    present = await call.api.clients.find(client_id)
    if present is None:
        return PreconditionFailed(f"there is no client {client_id!r}, so that it has no ETag: leave If-Match out to create it")
    return await changed_since(call, "client", None, present.number, present.client_id)


def _tagged(client: Client, former: Sequence[FormerId], status: int = 200) -> Response:
    tag = f'"{version_of(client)}"'.encode()
    return Response(status, encode(detail_of(client, former)), headers=[(ETAG, tag)])


async def _recheck(call: Call, client: Client) -> None:
    """Apply statuses that events asked for and the declared set did not have, if it has them now."""
    parts = call.api.dependencies
    for kind in (CONTACT, COMPANY):
        if await parts.store.write(recheck_statuses(client.number, kind, parts.clock(), call.scope.get("touchbase.key_id"))) is not None:
            parts.on_job()


def described(client: Client) -> ClientOut:
    """Return a client as lists show it."""
    settings = msgspec.convert(client.settings, SettingsBody, from_attributes=True)
    progress = client.deletion
    deletion = None if progress is None else DeletionOut(to_text(progress.started_us), progress.removed, progress.total)
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


def detail_of(client: Client, former: Sequence[FormerId]) -> ClientDetail:
    """Return a client and its former ids as responses show them."""
    ids = [FormerIdOut(former_id.client_id, to_text(former_id.until_us)) for former_id in former]
    return ClientDetail(**msgspec.structs.asdict(described(client)), former_ids=ids)


async def former_ids(call: Call, client: Client) -> list[FormerId]:
    """Return the valid former ids."""
    return await call.api.dependencies.store.read(clients_sql.former_ids(client.number, call.api.dependencies.clock()))


CLIENTS = Tag("Clients", "The organisations that records belong to, and their settings.")


KEEP_OLD_SECONDS = 7 * DAY // SECOND
LONGEST_KEPT_SECONDS = 90 * DAY // SECOND
"""The maximum time for which a former id, or a key with a successor, stays valid."""
ClientName = Annotated[str, Meta(max_length=limits.NAME)]
_CLIENT_ID = {"pattern": f"^[A-Za-z0-9._~\\-]{{1,{limits.CLIENT_ID}}}$"}
ClientId = Annotated[str, Meta(max_length=limits.CLIENT_ID, extra_json_schema=_CLIENT_ID)]


class NewClient(Struct, forbid_unknown_fields=True):
    """A new client."""

    name: Annotated[ClientName, Meta(description="Its name for people.")] = ""
    client_id: Annotated[ClientId | None, Meta(description="Without one, an unguessable id is generated.")] = None
    handle: Annotated[
        Annotated[str, Meta(max_length=LONGEST_HANDLE, extra_json_schema={"pattern": f"^{HANDLE.pattern}$"})] | None,
        Meta(description="Its name in addresses of the console; without one, the first free of its name and its name with a number."),
    ] = None
    settings: SettingsBody = msgspec.field(default_factory=SettingsBody)
    database: Annotated[
        str, Meta(max_length=40, description="The database that it is to live in; blank: the one with the fewest clients.")
    ] = ""


example(NewClient, {"name": "Example Ltd"})


class ClientChange(Struct, forbid_unknown_fields=True):
    """A client's new name; null or empty: none."""

    name: ClientName | None


example(ClientChange, {"name": "Example Ltd"})


class IdRotation(Struct, forbid_unknown_fields=True):
    """A new id for a client."""

    client_id: Annotated[ClientId | None, Meta(description="Without one, an unguessable id is generated.")] = None
    keep_old_seconds: Annotated[
        int, Meta(ge=0, le=LONGEST_KEPT_SECONDS, description="How long the present id stays valid after the change.")
    ] = KEEP_OLD_SECONDS


example(IdRotation, {"keep_old_seconds": 604800})


CONFIRM = query.text("confirm", "The client's id again.", required=True)


async def create(call: Call) -> Response:
    """`POST` of a new client."""
    await _of_all(call)
    request = await call.body(NewClient, _checked)
    at, settings, client_id = call.api.dependencies.clock(), _checked(request), request.client_id or new_client_id()
    handle = await call.api.clients.new_handle(request.name, client_id, request.handle)
    command = create_client(client_id, request.name.strip(), at, settings, request.database, handle)
    location = call.reached_at(f"/admin/v1/clients/{client_id}")
    return await call.write_and_respond(
        lambda writes: call.api.clients.change(command, writes),
        lambda client: Response(201, encode(detail_of(client, ())), headers=[(b"location", location)]),
    )


async def rename(call: Call) -> Response:
    """`PATCH` of a client's name."""
    client = await call.client_in_path()
    request = await call.body(ClientChange)
    _check_name(request.name)
    try:
        return await _changed(call, client, rename_client(client.number, (request.name or "").strip(), tags_named(call)))
    except PreconditionFailed:
        raise await _stale(call, client.client_id) from None


async def suspend(call: Call) -> Response:
    """`POST` that suspends a client."""
    await _of_all(call)
    client = await call.client_in_path()
    return await _changed(call, client, set_client_state(client.number, SUSPENDED, call.api.dependencies.clock()))


async def resume(call: Call) -> Response:
    """`POST` that resumes a suspended client; its stored webhooks are applied."""
    await _of_all(call)
    client = await call.client_in_path()
    response = await _changed(call, client, set_client_state(client.number, ACTIVE, call.api.dependencies.clock()))
    call.api.dependencies.on_stored(client.number)
    return response


async def rotate_id(call: Call) -> Response:
    """`POST` that replaces a client's id."""
    client = await call.client_in_path()
    request = await call.body(IdRotation, lambda partly: _check_id(partly.client_id))
    _check_id(request.client_id)
    if request.client_id is not None:
        await _of_all(call, "choosing an id would reveal which ids exist: leave client_id out to get a generated one")
    client_id, keep_until_us = request.client_id or new_client_id(), call.api.dependencies.clock() + request.keep_old_seconds * SECOND
    former = [former_id for former_id in await former_ids(call, client) if former_id.client_id != client_id]
    if request.keep_old_seconds:
        former.append(FormerId(client.client_id, keep_until_us))
    return await _settled(
        call,
        rotate_client_id(client.number, client_id, keep_until_us),
        sorted(former, key=lambda former_id: (former_id.until_us, former_id.client_id)),
    )


async def delete(call: Call) -> Response:
    """`DELETE` of a client with all its data: it is closed at once and removed in batches."""
    await _of_all(call)
    client = await call.client_in_path()
    parameters = call.parameters()
    parameters.done()
    confirmed = parameters[CONFIRM]
    if confirmed != client.client_id:
        detail = "must be the client's id, because the removal of all its data cannot be undone"
        raise Invalid([Fault("?confirm", "required" if confirmed is None else "confirm", detail)])
    parts = call.api.dependencies
    response = await _changed(call, client, begin_deletion(client.number, parts.clock()), status=202)
    parts.on_deleting()
    return response


async def _changed(call: Call, client: Client, command: Command[Client], status: int = 200) -> Response:
    """Carry out a command that does not change the client's ids."""
    return await _settled(call, command, await former_ids(call, client), status)


async def _settled(call: Call, command: Command[Client], former: Sequence[FormerId], status: int = 200) -> Response:
    return await call.write_and_respond(
        lambda writes: call.api.clients.change(command, writes), lambda changed: _tagged(changed, former, status)
    )


async def _of_all(call: Call, why: str = "creating, suspending and deleting clients requires a key that belongs to none") -> None:
    """Raise `Forbidden` for a key that belongs to a client."""
    if await call.administrator() is not None:
        raise Forbidden(f"this key belongs to one client; {why}")


def _checked(new_client: NewClient) -> ClientSettings:
    _check_id(new_client.client_id)
    if new_client.handle is not None and (not HANDLE.fullmatch(new_client.handle) or new_client.handle in NO_HANDLES):
        detail = "must be 2 to 40 lower-case letters, digits and single hyphens between them, such as alder-robotics"
        raise Invalid([Fault("/handle", "handle", f"{detail}, and not {', '.join(sorted(NO_HANDLES))}")])
    _check_name(new_client.name)
    return checked(new_client.settings)


def _check_name(name: str | None) -> None:
    if name and (why := limits.why_no_name(name)) is not None:
        raise Invalid([Fault("/name", "blank", f"{why}, or be empty")])


def _check_id(client_id: str | None) -> None:
    if client_id is not None and not is_client_id(client_id):
        raise Invalid([Fault("/client_id", "client_id", "must be 1 to 100 letters, digits and . _ ~ -")])
    if client_id == EVERY_CLIENT:
        raise Invalid([Fault("/client_id", "client_id", "`all` stands for all clients; choose another id")])


_CHANGED = (Success(200, "The client as it is now.", ClientDetail, ("ETag",)),)


ROUTES = [
    Route(
        "GET", "/admin/v1/clients", clients, scope=ADMIN, operation_id="list_clients", tag=CLIENTS, summary="List clients",
        description="Clients in the order of their ids. A key of one client sees that client only.",
        query=(*PAGE, STATE, NAME), success=(Success(200, "A page.", ClientPage),),
    ),
    Route(
        "GET", "/admin/v1/clients/{client_id}", get_client, scope=ADMIN, operation_id="get_client", tag=CLIENTS, summary="Get one client",
        description="Returns the client with its settings, its state, the progress of its deletion, and its former ids that "
        "are still valid.",
        success=(Success(200, "The client.", ClientDetail, ("ETag",)),),
    ),
    Route(
        "PUT", "/admin/v1/clients/{client_id}", put_client, scope=ADMIN, operation_id="put_client", tag=CLIENTS,
        summary="Replace a client's settings, or create the client",
        description="Replaces all settings of the client: a setting that is left out gets its default. An unknown client is created.",
        headers=(if_match("client"),), body=ClientRequest, problems=(409, 412),
        success=(
            Success(200, "The client as it is now.", ClientDetail, ("ETag",)), Success(201, "The new client.", ClientDetail, ("ETag",)),
        ),
    ),
    Route(
        "POST", "/admin/v1/clients", create, scope=ADMIN, operation_id="create_client", tag=CLIENTS, summary="Create a client",
        description="Without `client_id` the server generates an unguessable id. An id that is, or was, another client's "
        "is a 409. Needs a key without a client.",
        body=NewClient, success=(Success(201, "The new client.", ClientDetail, ("Location",)),),
    ),
    Route(
        "PATCH", "/admin/v1/clients/{client_id}", rename, scope=ADMIN, operation_id="rename_client", tag=CLIENTS, summary="Rename a client",
        description="Sets the client's name for people. Its id and its settings stay.",
        headers=(if_match("client"),), body=ClientChange, success=_CHANGED, problems=(409, 412),
    ),
    Route(
        "DELETE", "/admin/v1/clients/{client_id}", delete, scope=ADMIN, operation_id="delete_client", tag=CLIENTS,
        summary="Delete a client with all its data",
        description="Closes the client at once and removes all its records, deliveries, connections and keys in the background. "
        "`confirm` must be the client's id.",
        query=(CONFIRM,), success=(Success(202, "It is closed, and its data is being removed.", ClientDetail),),
    ),
    Route(
        "POST", "/admin/v1/clients/{client_id}/suspend", suspend, scope=ADMIN, operation_id="suspend_client", tag=CLIENTS,
        summary="Close a client's records; its webhooks are still stored",
        description="Requests for the client's records get a 403 `client_suspended` from now on; its webhooks are stored, and "
        "applied after `resume`.",
        success=_CHANGED,
    ),
    Route(
        "POST", "/admin/v1/clients/{client_id}/resume", resume, scope=ADMIN, operation_id="resume_client", tag=CLIENTS,
        summary="Open a suspended client again",
        description="Opens the client's records again, and applies the webhooks received in between.",
        success=_CHANGED,
    ),
    Route(
        "POST", "/admin/v1/clients/{client_id}/rotate-id", rotate_id, scope=ADMIN, operation_id="rotate_client_id", tag=CLIENTS,
        summary="Give a client a new id; the old one stays valid for a while",
        description="The old id stays valid for `keep_old_seconds`, so that tools can be reconfigured. Only a "
        "key without a client may choose the id.",
        body=IdRotation, success=_CHANGED,
    ),
]  # fmt: skip
