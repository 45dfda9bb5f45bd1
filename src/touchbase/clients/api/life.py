"""HTTP resources of a client's life cycle: create, rename, suspend, resume, rotate the id, delete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from touchbase.auth.authentication import ADMIN
from touchbase.clients.api.settings import CLIENTS, ClientDetail, detail_of, former_ids, one_client
from touchbase.clients.api.settings_body import SettingsBody, checked
from touchbase.clients.models import ACTIVE, SUSPENDED, Client, ClientSettings, FormerId
from touchbase.clients.service import is_client_id, new_client_id
from touchbase.clients.sql.clients import begin_deletion, create_client, rename_client, rotate_client_id, set_client_state
from touchbase.common import field_limits as limits
from touchbase.common.timestamps import DAY, SECOND
from touchbase.errors import Fault, Forbidden, Invalid
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import encode, example
from touchbase.sql.operation import Command

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
    settings: SettingsBody = msgspec.field(default_factory=SettingsBody)
    cell: Annotated[str, Meta(max_length=40, description="The cell that it is to live in; blank: the one with the fewest clients.")] = ""


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
    asked = await call.body(NewClient, _checked)
    at, settings, client_id = call.api.dependencies.clock(), _checked(asked), asked.client_id or new_client_id()
    command = create_client(client_id, asked.name.strip(), at, settings, asked.cell)
    location = call.api.dependencies.reached_at(f"/admin/v1/clients/{client_id}")
    return await call.write_and_respond(
        lambda writes: call.api.clients.change(command, writes),
        lambda made: Response(201, encode(detail_of(made, ())), headers=[(b"location", location)]),
    )


async def rename(call: Call) -> Response:
    """`PATCH` of a client's name."""
    client = await one_client(call)
    asked = await call.body(ClientChange)
    return await _changed(call, client, rename_client(client.number, (asked.name or "").strip()))


async def suspend(call: Call) -> Response:
    """`POST` that suspends a client."""
    await _of_all(call)
    client = await one_client(call)
    return await _changed(call, client, set_client_state(client.number, SUSPENDED, call.api.dependencies.clock()))


async def resume(call: Call) -> Response:
    """`POST` that resumes a suspended client; its stored webhooks are applied."""
    await _of_all(call)
    client = await one_client(call)
    response = await _changed(call, client, set_client_state(client.number, ACTIVE, call.api.dependencies.clock()))
    call.api.dependencies.on_stored(client.number)
    return response


async def rotate_id(call: Call) -> Response:
    """`POST` that replaces a client's id."""
    client = await one_client(call)
    asked = await call.body(IdRotation, lambda partly: _check_id(partly.client_id))
    _check_id(asked.client_id)
    if asked.client_id is not None:
        await _of_all(call, "choosing an id would reveal which ids exist: leave client_id out to get a generated one")
    client_id, keep_until_us = asked.client_id or new_client_id(), call.api.dependencies.clock() + asked.keep_old_seconds * SECOND
    former = [former_id for former_id in await former_ids(call, client) if former_id.client_id != client_id]
    if asked.keep_old_seconds:
        former.append(FormerId(client.client_id, keep_until_us))
    return await _settled(
        call, rotate_client_id(client.number, client_id, keep_until_us), sorted(former, key=lambda one: (one.until_us, one.client_id))
    )


async def delete(call: Call) -> Response:
    """`DELETE` of a client with all its data: it is closed at once and removed in batches."""
    await _of_all(call)
    client = await one_client(call)
    given = call.parameters()
    given.done()
    confirmed = given[CONFIRM]
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
        lambda writes: call.api.clients.change(command, writes), lambda changed: Response(status, encode(detail_of(changed, former)))
    )


async def _of_all(call: Call, why: str = "creating, suspending and deleting clients requires a key that belongs to none") -> None:
    """Raise `Forbidden` for a key that belongs to a client."""
    if await call.administrator() is not None:
        raise Forbidden(f"this key belongs to one client; {why}")


def _checked(asked: NewClient) -> ClientSettings:
    _check_id(asked.client_id)
    return checked(asked.settings)


def _check_id(client_id: str | None) -> None:
    if client_id is not None and not is_client_id(client_id):
        raise Invalid([Fault("/client_id", "client_id", "must be 1 to 100 letters, digits and . _ ~ -")])


_CHANGED = (Success(200, "The client as it is now.", ClientDetail),)
ROUTES = [
    Route(
        "POST", "/admin/v1/clients", create, scope=ADMIN, operation_id="create_client", tag=CLIENTS, summary="Create a client",
        description="Without `client_id` the server generates an unguessable id. An id that is, or was, another client's "
        "is a 409. Needs a key without a client.",
        body=NewClient, success=(Success(201, "The new client.", ClientDetail, ("Location",)),),
    ),
    Route(
        "PATCH", "/admin/v1/clients/{client_id}", rename, scope=ADMIN, operation_id="rename_client", tag=CLIENTS, summary="Rename a client",
        description="Sets the client's name for people. Its id and its settings stay.",
        body=ClientChange, success=_CHANGED, problems=(409,),
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
