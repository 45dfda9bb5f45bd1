"""HTTP resources of a client's life cycle: create, rename, suspend, resume, rotate the id, delete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from touchbase.clients.api.settings import SettingsBody, checked, detail_of, former_ids, one_client
from touchbase.clients.commands import BeginDeletion, CreateClient, RenameClient, RotateClientId, SetClientState
from touchbase.clients.models import ACTIVE, SUSPENDED, Client, ClientSettings, FormerId
from touchbase.clients.service import is_client_id, new_client_id
from touchbase.common import field_limits as limits
from touchbase.common.timestamps import DAY, SECOND
from touchbase.errors import Fault, Forbidden, Invalid
from touchbase.http.endpoint import Call
from touchbase.http.json_body import read_json, read_struct
from touchbase.http.query_parameters import Parameters
from touchbase.http.responses import Response
from touchbase.http.schemas import encode
from touchbase.sql.command import Command

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


class ClientChange(Struct, forbid_unknown_fields=True):
    """A client's new name; null or empty: none."""

    name: ClientName | None


class IdRotation(Struct, forbid_unknown_fields=True):
    """A new id for a client."""

    client_id: Annotated[ClientId | None, Meta(description="Without one, an unguessable id is generated.")] = None
    keep_old_seconds: Annotated[
        int, Meta(ge=0, le=LONGEST_KEPT_SECONDS, description="How long the present id stays valid after the change.")
    ] = KEEP_OLD_SECONDS


_new = msgspec.json.Decoder(NewClient)
_change = msgspec.json.Decoder(ClientChange)
_rotation = msgspec.json.Decoder(IdRotation)


async def create(call: Call) -> Response:
    """`POST` of a new client."""
    await _of_all(call)
    body = await read_json(call.receive, call.headers, call.api.parts.limits)
    asked = read_struct(body, _new, NewClient, _checked)
    command = CreateClient(asked.client_id or new_client_id(), asked.name.strip(), call.api.parts.clock(), _checked(asked))
    place = call.api.parts.reached_at(f"/admin/v1/clients/{command.client_id}")
    return await call.settle(
        lambda writes: call.api.clients.change(command, writes),
        lambda made: Response(201, encode(detail_of(made, ())), headers=[(b"location", place)]),
    )


async def rename(call: Call) -> Response:
    """`PATCH` of a client's name."""
    client = await one_client(call)
    body = await read_json(call.receive, call.headers, call.api.parts.limits)
    asked = read_struct(body, _change, ClientChange, lambda partly: None)
    return await _changed(call, client, RenameClient(client.number, (asked.name or "").strip()))


async def suspend(call: Call) -> Response:
    """`POST` that suspends a client."""
    await _of_all(call)
    client = await one_client(call)
    return await _changed(call, client, SetClientState(client.number, SUSPENDED, call.api.parts.clock()))


async def resume(call: Call) -> Response:
    """`POST` that resumes a suspended client; its stored webhooks are applied."""
    await _of_all(call)
    client = await one_client(call)
    response = await _changed(call, client, SetClientState(client.number, ACTIVE, call.api.parts.clock()))
    call.api.parts.on_stored(client.number)
    return response


async def rotate_id(call: Call) -> Response:
    """`POST` that replaces a client's id."""
    client = await one_client(call)
    body = await read_json(call.receive, call.headers, call.api.parts.limits)
    asked = read_struct(body, _rotation, IdRotation, lambda partly: _check_id(partly.client_id))
    _check_id(asked.client_id)
    if asked.client_id is not None:
        await _of_all(call, "choosing an id would reveal which ids exist: leave client_id out to get a generated one")
    command = RotateClientId(client.number, asked.client_id or new_client_id(), call.api.parts.clock() + asked.keep_old_seconds * SECOND)
    former = [one for one in await former_ids(call, client) if one.client_id != command.client_id]
    if asked.keep_old_seconds:
        former.append(FormerId(client.client_id, command.keep_until_us))
    return await _settled(call, command, sorted(former, key=lambda one: (one.until_us, one.client_id)))


async def delete(call: Call) -> Response:
    """`DELETE` of a client with all its data: it is closed at once and removed in batches."""
    await _of_all(call)
    client = await one_client(call)
    parameters = Parameters(call.query)
    confirmed = parameters.text("confirm")
    parameters.done(strict=True)
    if confirmed != client.client_id:
        detail = "must be the client's id, because the removal of all its data cannot be undone"
        raise Invalid([Fault("?confirm", "required" if confirmed is None else "confirm", detail)])
    parts = call.api.parts
    response = await _changed(call, client, BeginDeletion(client.number, parts.clock()), status=202)
    parts.on_deleting()
    return response


async def _changed(call: Call, client: Client, command: Command[Client], status: int = 200) -> Response:
    """Carry out a command that does not change the client's ids."""
    return await _settled(call, command, await former_ids(call, client), status)


async def _settled(call: Call, command: Command[Client], former: Sequence[FormerId], status: int = 200) -> Response:
    return await call.settle(
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
