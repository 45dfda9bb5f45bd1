"""HTTP resources of API keys for administrators: list, create, get, rotate, revoke.

A key of one client manages only that client's keys, and cannot give scopes that it does not have.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from touchbase.administration.clients import LONGEST_KEPT_SECONDS
from touchbase.auth import service
from touchbase.auth.api_key import KEY_STATES, ApiKey, no_such_key
from touchbase.auth.authentication import ADMIN, Principal
from touchbase.auth.sql import revoke_key, store_key
from touchbase.clients.models import DELETING
from touchbase.common import field_limits as limits
from touchbase.common.timestamps import SECOND, Micros, to_text, to_text_or_none
from touchbase.errors import Fault, Invalid
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import CLIENT, LIMIT, PAGE, cursor_text, parse_time
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import PageOf, Time, encode, example, named_enum
from touchbase.records.validation import raise_if_any

KEEP_OLD_SECONDS = service.KEEP_OLD // SECOND
KeyScope = Literal["records:read", "records:write", "admin"]
_ENV = {"pattern": "^[a-z0-9]{1,16}$"}
_SCOPE = named_enum("KeyScope", "What a key allows.", get_args(KeyScope))
KEY_STATE = named_enum("KeyState", "Whether a key is valid.", KEY_STATES)
USUAL_SCOPES: list[KeyScope] = ["records:read", "records:write"]


class KeyRequest(Struct, forbid_unknown_fields=True):
    """A new key."""

    name: Annotated[str, Meta(min_length=1, max_length=limits.NAME, description="The purpose or user of the key.")]
    client_id: Annotated[str | None, Meta(description="The client whose records it gives access to; null: any client's.")] = None
    scopes: Annotated[list[KeyScope], Meta(min_length=1, max_length=3, description="The default is reading and writing records.")] = (
        msgspec.field(default_factory=USUAL_SCOPES.copy)
    )
    env: Annotated[
        str, Meta(max_length=16, extra_json_schema=_ENV, description="A word in the key's text, to tell several keys apart.")
    ] = "live"
    expires_time: Annotated[str | None, Meta(description="When it ends; null: never.")] = None


example(KeyRequest, {"name": "importer", "client_id": "default", "scopes": ["records:read"], "expires_time": "2027-11-20T00:00:00Z"})


class KeyRotation(Struct, forbid_unknown_fields=True):
    """How long a key stays valid after it got a successor."""

    keep_old_seconds: Annotated[int, Meta(ge=0, le=LONGEST_KEPT_SECONDS)] = KEEP_OLD_SECONDS


example(KeyRotation, {"keep_old_seconds": 86400})


class KeyOut(Struct):
    """One key; responses contain its text only when it is new."""

    key_id: str
    prefix: Annotated[str, Meta(description="The beginning of its text.")]
    name: str
    client_id: Annotated[str | None, Meta(description="The client whose records it gives access to; null: any client's.")]
    scopes: list[Annotated[str, Meta(extra_json_schema=_SCOPE)]]
    state: Annotated[str, Meta(extra_json_schema=KEY_STATE)]
    created_time: Time
    expires_time: Time | None
    revoked_time: Time | None
    last_used_time: Annotated[Time | None, Meta(description="To the minute, and up to a minute late.")]
    replaces: Annotated[str | None, Meta(description="The key of which it is the successor.")]
    replaced_by: Annotated[str | None, Meta(description="Its successor.")]
    user_id: Annotated[str | None, Meta(description="The person as whom a personal key acts; null: a service's key.")]


class NewKeyOut(KeyOut):
    """A new key. `key` is its text, shown once: the response to a repeat with the same Idempotency-Key leaves it out."""

    key: str | msgspec.UnsetType = msgspec.UNSET


class KeyPage(PageOf[KeyOut]):
    """A page of keys, newest first; `next_cursor` is null on the last one."""


STATE = query.choice("state", KEY_STATES, "Keys in this state.", member="state")


async def keys(call: Call) -> Response:
    """`GET` of a page of keys."""
    limited = await call.administrator()
    parameters = call.parameters()
    before = parameters.cursor("keys", tuple[int, str])
    parameters.done()
    client_id = parameters[CLIENT]
    client = limited if client_id is None else await call.client_number(client_id, limited, "?client")
    parts = call.api.dependencies
    page, place = await service.list_keys(parts.store, parts.clock(), parameters[LIMIT], client=client, before=before, **parameters.filters)
    return Response(body=encode(KeyPage([await _key_out(call, key) for key in page], place and cursor_text("keys", place))))


async def create(call: Call) -> Response:
    """`POST` of a new key; only this response contains its text."""
    principal = await call.principal()
    parts = call.api.dependencies
    request = await call.body(KeyRequest, lambda partly: _expiry(partly, principal, parts.clock()))
    at = parts.clock()
    expires = _expiry(request, principal, at)
    client = await _client_of(call, request.client_id, principal)
    scopes = list(dict.fromkeys(request.scopes))
    new_key = service.make_key(request.env)
    key = ApiKey(new_key.key_id, new_key.digest, tuple(scopes), client, request.name.strip(), at, request.env, expires)
    client_id = await client_id_of(call, key)
    return await call.write_and_respond(
        lambda writes: writes.write(store_key(key)), lambda _: _shown(call, key, client_id, at, new_key.text)
    )


async def key(call: Call) -> Response:
    """`GET` of one key."""
    return Response(body=encode(await _key_out(call, await _key(call))))


async def rotate(call: Call) -> Response:
    """`POST` that creates a key's successor and ends the key; only this response contains the successor's text."""
    present, parts = await _key(call), call.api.dependencies
    request = await call.body(KeyRotation)
    at, client_id = parts.clock(), await client_id_of(call, present)
    text, command = service.rotation_of(present, at, request.keep_old_seconds * SECOND)
    response = await call.write_and_respond(
        lambda writes: writes.write(command), lambda successor: _shown(call, successor, client_id, at, text)
    )
    for changed in (present.key_id, present.replaces):
        if changed is not None:
            call.api.authenticator.forget(changed)
    return response


async def revoke(call: Call) -> Response:
    """`DELETE` that revokes a key; in this process at once, in others within a second."""
    present = await _key(call)
    await call.api.dependencies.store.write(revoke_key(present.key_id, call.api.dependencies.clock()))
    call.api.authenticator.forget(present.key_id)
    return Response(204)


async def _key_out(call: Call, api_key: ApiKey) -> KeyOut:
    return described(api_key, await client_id_of(call, api_key), call.api.dependencies.clock())


def described(api_key: ApiKey, client_id: str | None, at: Micros) -> KeyOut:
    """Return a key as responses show it."""
    return KeyOut(
        api_key.key_id, api_key.prefix, api_key.name, client_id, list(api_key.scopes), api_key.state(at),
        to_text(api_key.created_us), to_text_or_none(api_key.expires_us), to_text_or_none(api_key.revoked_us),
        to_text_or_none(api_key.last_used_us), api_key.replaces, api_key.replaced_by, api_key.user_id,
    )  # fmt: skip


def _shown(call: Call, new_key: ApiKey, client_id: str | None, at: Micros, text: str) -> Response:
    """Return the response with a key's text; the response stored for repeats leaves it out."""
    plain = described(new_key, client_id, at)
    headers = [(b"location", call.reached_at(f"/admin/v1/keys/{new_key.key_id}")), (b"cache-control", b"no-store")]
    return Response(201, encode(NewKeyOut(**msgspec.structs.asdict(plain), key=text)), headers=headers, stored_body=encode(plain))


async def client_id_of(call: Call, key: ApiKey) -> str | None:
    """Return the client of a key, which a personal key may have outlived; None: any."""
    if key.granted_client is not None:
        client = (await call.api.clients.of([key.granted_client])).get(key.granted_client)
        return "" if client is None else client.client_id
    return None if key.client is None else (await call.api.clients.by_number(key.client)).client_id


async def _key(call: Call) -> ApiKey:
    limited, key_id = await call.administrator(), call.path("key_id")
    api_key = await service.get_key(call.api.dependencies.store, key_id)
    if limited is not None and api_key.client != limited:
        raise no_such_key(key_id)
    return api_key


async def _client_of(call: Call, client_id: str | None, principal: Principal) -> int | None:
    """Return the number of the client of a new key; a key of one client creates keys for that client only."""
    if client_id is None:
        return principal.client
    client = await call.api.clients.named(client_id)
    if client is None or client.state == DELETING or principal.client not in (None, client.number):
        raise Invalid([Fault("/client_id", "client_not_found", f"there is no client {client_id[:100]!r}")])
    return client.number


def _expiry(request: KeyRequest, principal: Principal, at: Micros) -> Micros | None:
    """Return when a new key ends; raise `Invalid` with all faults that the types do not cover."""
    faults: list[Fault] = []
    if limits.is_blank(request.name):
        faults.append(Fault("/name", "blank", "must name the purpose or user of the key"))
    if beyond := [scope for scope in request.scopes if scope not in principal.scopes]:
        faults.append(Fault("/scopes", "scope", f"your key does not have {', '.join(beyond)}, so it cannot give that scope"))
    if service.ENV.fullmatch(request.env) is None:
        faults.append(Fault("/env", "env", "must be 1 to 16 small letters and digits"))
    expires = parse_time(request.expires_time, "/expires_time", faults)
    if expires is not None and expires <= at:
        faults.append(Fault("/expires_time", "past", "must be in the future"))
    raise_if_any(faults)
    return expires


KEYS = Tag("Keys", "API keys: create, read, rotate and revoke them.")
_CREATED = (Success(201, "The new key; its text is shown only here.", NewKeyOut, ("Location",)),)
ROUTES = [
    Route(
        "GET", "/admin/v1/keys", keys, scope=ADMIN, operation_id="list_keys", tag=KEYS, summary="List API keys, newest first",
        description="API keys without their texts, personal ones too. A key of one client sees that client's keys only.",
        query=(*PAGE, CLIENT, STATE), success=(Success(200, "A page.", KeyPage),),
    ),
    Route(
        "POST", "/admin/v1/keys", create, scope=ADMIN, operation_id="create_key", tag=KEYS, summary="Create an API key",
        description="Its text is shown only in this response. A key can only grant scopes that it has itself.",
        body=KeyRequest, success=_CREATED, problems=(404,),
    ),
    Route(
        "GET", "/admin/v1/keys/{key_id}", key, scope=ADMIN, operation_id="get_key", tag=KEYS, summary="Get one key",
        description="Returns the key's scopes, client, state and last use, never its text.",
        success=(Success(200, "The key.", KeyOut),),
    ),
    Route(
        "DELETE", "/admin/v1/keys/{key_id}", revoke, scope=ADMIN, operation_id="revoke_key", tag=KEYS, summary="Revoke a key",
        description="Takes effect in this process at once, in others within a second.",
        success=(Success(204, "The key is invalid now."),),
    ),
    Route(
        "POST", "/admin/v1/keys/{key_id}/rotate", rotate, scope=ADMIN, operation_id="rotate_key", tag=KEYS,
        summary="Create a key's successor, and let the key expire",
        description="The successor has the same scopes; the old key expires after `keep_old_seconds`. A personal key has none. "
        "The successor's text is shown only in this response.",
        body=KeyRotation, success=_CREATED,
    ),
]  # fmt: skip
