"""HTTP resources of personal keys: API keys that people make for themselves.

Such a key acts as its person, with at most the scopes and the client that it names, and never with more than the person has now. It ends
with the person.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from touchbase.administration.keys import KeyOut, KeyScope, NewKeyOut, client_id_of, described
from touchbase.administration.team import TEAM, USER_ID, manages, owner_of
from touchbase.auth import service
from touchbase.auth.api_key import ApiKey, no_such_key
from touchbase.auth.authentication import READ, Principal
from touchbase.auth.sql import find_key, list_personal_keys, revoke_key, store_key
from touchbase.auth.users import User
from touchbase.clients.models import DELETING
from touchbase.common import field_limits as limits
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault, Forbidden, Invalid
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import parse_time
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import encode, example
from touchbase.records.validation import raise_if_any

PATH = "/team/v1/keys"
MOST = 50
"""Active keys of one person."""
NO_PERSON = "a service's key calls, or anyone: only people have personal keys; POST /admin/v1/keys makes a key for a service"


class PersonalKeyRequest(Struct, forbid_unknown_fields=True):
    """A new personal key."""

    name: Annotated[str, Meta(min_length=1, max_length=limits.NAME, description="What the key is for.")]
    scopes: Annotated[list[KeyScope], Meta(min_length=1, max_length=3, description="The default is reading records.")] = msgspec.field(
        default_factory=lambda: ["records:read"]
    )
    client_id: Annotated[str | None, Meta(description="Its only client; null: all clients of the person.")] = None
    expires_time: Annotated[str | None, Meta(description="When it ends; null: with the person.")] = None


class PersonalKeyPage(Struct):
    """The personal keys of one person, newest first."""

    data: list[KeyOut]


example(PersonalKeyRequest, {"name": "Claude on my laptop", "scopes": ["records:read", "records:write"], "client_id": "acme"})


async def personal_keys(call: Call) -> Response:
    """`GET` of a person's keys."""
    user_id = await owner_of(call, "a service's key has no personal keys; name a user")
    parts = call.api.dependencies
    listed = await parts.store.read(list_personal_keys(user_id))
    return Response(body=encode(PersonalKeyPage([described(key, await client_id_of(call, key), parts.clock()) for key in listed])))


async def create(call: Call) -> Response:
    """`POST` of a new key for oneself; only this response contains its text."""
    principal = await call.principal(of_several=True)
    call.parameters().done()
    request = await call.body(PersonalKeyRequest)
    if principal.user is None:
        raise Forbidden(NO_PERSON)
    parts = call.api.dependencies
    at = parts.clock()
    client = await _client_of(call, principal, principal.user, request.client_id)
    expires = _checked(request, principal, principal.user, client, at)
    active = [key for key in await parts.store.read(list_personal_keys(principal.user.id)) if key.state(at) == "active"]
    if len(active) >= MOST:
        raise Invalid([Fault("", "too_many", f"you have {MOST} personal keys; revoke one first")])
    new_key = service.make_key("me")
    scopes = tuple(dict.fromkeys(request.scopes))
    key = ApiKey(
        new_key.key_id, new_key.digest, scopes, None, request.name.strip(), at, "me", expires,
        user_id=principal.user.id, granted_client=client,
    )  # fmt: skip
    plain = described(key, request.client_id if client is None else await client_id_of(call, key), at)

    def shown(_: object) -> Response:
        body = NewKeyOut(**msgspec.structs.asdict(plain), key=new_key.text)
        return Response(201, encode(body), headers=[(b"cache-control", b"no-store")], stored_body=encode(plain))

    return await call.write_and_respond(lambda writes: writes.write(store_key(key)), shown)


async def revoke(call: Call) -> Response:
    """`DELETE` of a key of one's own, or as an administrator of anybody's."""
    principal = await call.principal(of_several=True)
    call.parameters().done()
    key_id, parts = call.path("key_id"), call.api.dependencies
    key = await parts.store.read(find_key(key_id))
    is_own = key is not None and principal.user is not None and key.user_id == principal.user.id
    if key is None or key.user_id is None or not (is_own or manages(principal)):
        raise no_such_key(key_id)
    await parts.store.write(revoke_key(key_id, parts.clock()))
    call.api.authenticator.forget(key_id)
    return Response(204)


async def _client_of(call: Call, principal: Principal, user: User, client_id: str | None) -> int | None:
    """Return the number of the client that a new key is limited to: by a key of one client, that client."""
    limited = None if principal.key is None else principal.key.granted_client
    if client_id is None:
        return limited
    client = await call.api.clients.named(client_id)
    if client is None or client.state == DELETING or not user.scopes(client.number):
        raise Invalid([Fault("/client_id", "client_not_found", f"there is no client {client_id[:100]!r}")])
    return client.number


def _checked(request: PersonalKeyRequest, principal: Principal, user: User, client: int | None, at: Micros) -> Micros | None:
    """Return when the key ends; raise `Invalid` with all faults that the types do not cover."""
    faults: list[Fault] = []
    if limits.is_blank(request.name):
        faults.append(Fault("/name", "blank", "must say what the key is for"))
    allowed = user.scopes(client) if client is not None else user.scopes(None).union(*map(user.scopes, user.grants))
    if principal.key is not None:
        allowed &= frozenset(principal.key.scopes) if "admin" not in principal.key.scopes else allowed
    if beyond := [scope for scope in request.scopes if scope not in allowed]:
        faults.append(Fault("/scopes", "scope", f"you do not have {', '.join(beyond)} there; leave it out"))
    expires = parse_time(request.expires_time, "/expires_time", faults)
    latest = None if principal.key is None else principal.key.expires_us
    if expires is not None and expires <= at:
        faults.append(Fault("/expires_time", "past", "must be in the future"))
    elif latest is not None and (expires is None or expires > latest):
        faults.append(Fault("/expires_time", "too_late", "must not be after the end of the key that makes it"))
    raise_if_any(faults)
    return expires


ROUTES = [
    Route(
        "GET", PATH, personal_keys, scope=READ, operation_id="list_personal_keys", tag=TEAM, summary="List personal keys",
        description="Keys that a person has made, without their texts. Administrators of all clients may name another person.",
        query=(USER_ID,), success=(Success(200, "The keys.", PersonalKeyPage),), problems=(404,),
    ),
    Route(
        "POST", PATH, create, scope=READ, operation_id="create_personal_key", tag=TEAM, summary="Create a personal key",
        description="It acts as its person, with at most these scopes and this client, and never with more than the person has then; while "
        "the person is suspended it is refused. Its text is shown only in this response. A key cannot make one that may do more, or "
        "that lasts longer.",
        body=PersonalKeyRequest, success=(Success(201, "The new key.", NewKeyOut),),
    ),
    Route(
        "DELETE", f"{PATH}/{{key_id}}", revoke, scope=READ, operation_id="revoke_personal_key", tag=TEAM,
        summary="Revoke a personal key",
        description="One's own, or as an administrator of all clients anybody's. It ends here at once, in other processes within a second.",
        success=(Success(204, "The key is invalid now."),),
    ),
]  # fmt: skip
