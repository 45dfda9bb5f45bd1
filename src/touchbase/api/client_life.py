"""The administrator's calls about a client's life: making, renaming, suspending, another id, deleting."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from touchbase.api.answers import Answer
from touchbase.api.core import Call
from touchbase.api.query import Parameters
from touchbase.api.reading import read_json, read_struct
from touchbase.api.schemas import encode
from touchbase.api.settings import SettingsBody, checked, detailed, one_client
from touchbase.domain import text as limits
from touchbase.domain.client import ACTIVE, SUSPENDED, Client, ClientSettings
from touchbase.domain.client_life import BeginDeletion, CreateClient, RenameClient, RotateClientId, SetClientState
from touchbase.domain.commands import Command
from touchbase.domain.errors import Fault, Forbidden, Invalid
from touchbase.domain.times import DAY, SECOND
from touchbase.service.clients import is_client_id, new_client_id

KEEP_OLD_SECONDS = 7 * DAY // SECOND
LONGEST_KEPT_SECONDS = 90 * DAY // SECOND
"""How long a former id or a key with a successor may be honoured at most."""
ClientName = Annotated[str, Meta(max_length=limits.NAME)]
_CLIENT_ID = {"pattern": f"^[A-Za-z0-9._~\\-]{{1,{limits.CLIENT_ID}}}$"}
ClientId = Annotated[str, Meta(max_length=limits.CLIENT_ID, extra_json_schema=_CLIENT_ID)]


class NewClient(Struct, forbid_unknown_fields=True):
    """A client to be made."""

    name: Annotated[ClientName, Meta(description="Its name for people.")] = ""
    client_id: Annotated[ClientId | None, Meta(description="Without one, one is made that nobody can guess.")] = None
    settings: SettingsBody = msgspec.field(default_factory=SettingsBody)


class ClientChange(Struct, forbid_unknown_fields=True):
    """A client's new name; null or empty: none."""

    name: ClientName | None


class IdRotation(Struct, forbid_unknown_fields=True):
    """Another id for a client."""

    client_id: Annotated[ClientId | None, Meta(description="Without one, one is made that nobody can guess.")] = None
    keep_old_seconds: Annotated[
        int, Meta(ge=0, le=LONGEST_KEPT_SECONDS, description="How long the id that it has now is honoured beside the new one.")
    ] = KEEP_OLD_SECONDS


_new = msgspec.json.Decoder(NewClient)
_change = msgspec.json.Decoder(ClientChange)
_rotation = msgspec.json.Decoder(IdRotation)


async def create(call: Call) -> Answer:
    """`POST` of a new client."""
    await _of_all(call)
    body = await read_json(call.receive, call.headers, call.api.parts.limits)
    asked = read_struct(body, _new, NewClient, _checked)
    command = CreateClient(asked.client_id or new_client_id(), asked.name.strip(), call.api.parts.clock(), _checked(asked))
    made = await call.api.clients.change(command)
    return Answer(201, encode(await detailed(call, made)), headers=[(b"location", f"/admin/v1/clients/{made.client_id}".encode())])


async def rename(call: Call) -> Answer:
    """`PATCH` of a client's name."""
    client = await one_client(call)
    body = await read_json(call.receive, call.headers, call.api.parts.limits)
    asked = read_struct(body, _change, ClientChange, lambda partly: None)
    return await _changed(call, RenameClient(client.number, (asked.name or "").strip()))


async def suspend(call: Call) -> Answer:
    """`POST` that closes a client's records."""
    await _of_all(call)
    return await _changed(call, SetClientState((await one_client(call)).number, SUSPENDED, call.api.parts.clock()))


async def resume(call: Call) -> Answer:
    """`POST` that opens a suspended client's records again, and lets its webhook calls be applied."""
    await _of_all(call)
    number = (await one_client(call)).number
    answer = await _changed(call, SetClientState(number, ACTIVE, call.api.parts.clock()))
    call.api.parts.on_kept(number)
    return answer


async def rotate_id(call: Call) -> Answer:
    """`POST` that gives a client another id."""
    client = await one_client(call)
    body = await read_json(call.receive, call.headers, call.api.parts.limits)
    asked = read_struct(body, _rotation, IdRotation, lambda partly: _check_id(partly.client_id))
    _check_id(asked.client_id)
    until = call.api.parts.clock() + asked.keep_old_seconds * SECOND
    return await _changed(call, RotateClientId(client.number, asked.client_id or new_client_id(), until))


async def delete(call: Call) -> Answer:
    """`DELETE` of a client with all its data: it is closed at once and removed piece by piece."""
    await _of_all(call)
    client = await one_client(call)
    parameters = Parameters(call.query)
    confirmed = parameters.text("confirm")
    parameters.done(strict=True)
    if confirmed != client.client_id:
        detail = "must be the client's id, because all its data is removed for ever"
        raise Invalid([Fault("?confirm", "required" if confirmed is None else "confirm", detail)])
    parts = call.api.parts
    answer = await _changed(call, BeginDeletion(client.number, parts.clock()), status=202)
    parts.on_deleting()
    return answer


async def _changed(call: Call, command: Command[Client], status: int = 200) -> Answer:
    return Answer(status, encode(await detailed(call, await call.api.clients.change(command))))


async def _of_all(call: Call) -> None:
    """Raise `Forbidden` for a key that belongs to a client."""
    if await call.administrator() is not None:
        raise Forbidden("this key belongs to one client; making, suspending and deleting clients needs one that belongs to none")


def _checked(asked: NewClient) -> ClientSettings:
    _check_id(asked.client_id)
    return checked(asked.settings)


def _check_id(client_id: str | None) -> None:
    if client_id is not None and not is_client_id(client_id):
        raise Invalid([Fault("/client_id", "client_id", "must be 1 to 100 letters, digits and . _ ~ -")])
