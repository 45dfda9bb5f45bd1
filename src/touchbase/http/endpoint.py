"""What every call shares: the parts, who calls, and turning what goes wrong into an answer."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from touchbase.auth.authentication import ADMIN, CLIENT_HEADER, DEFAULT_CLIENT, Authenticator, Principal, key_id_of
from touchbase.clients.models import ACTIVE, Client
from touchbase.clients.service import Clients
from touchbase.common.asgi import peer_of
from touchbase.common.field_limits import why_not_storable
from touchbase.common.timestamps import Micros
from touchbase.connections.service import Connections
from touchbase.errors import Fault, Invalid, NotFound, TouchbaseError
from touchbase.history.events import Author
from touchbase.http.asgi_types import Headers, Receive, Scope, Send
from touchbase.http.dependencies import Dependencies
from touchbase.http.problems import InternalError, MethodNotAllowed
from touchbase.http.query_parameters import record_id
from touchbase.http.rate_limit_headers import STANDING, standing
from touchbase.http.request_body import CallerLeft
from touchbase.http.response_recorder import ResponseRecorder
from touchbase.http.responses import Response, request_id_of, send_answer, send_problem
from touchbase.idempotency.service import InFlightKeys
from touchbase.inbox.refused_service import RefusedWebhooks
from touchbase.inbox.signature_check import SenderChecks
from touchbase.sql.store import Writes

log = logging.getLogger("touchbase.api")
R = TypeVar("R")

IN_PROGRESS = "touchbase.in_progress"
"""Where a request's scope holds the number of the client whose share of the requests in progress it takes up."""

KEY_ID = "touchbase.key_id"
"""Where a request's scope holds the id of the key that it came with, once that was found to be true."""

CLIENT_ID = CLIENT_HEADER.lower().encode()
OPERATOR = 0
"""Stands for an administrator of all clients where requests in progress are counted; no client has this number."""


class Api:
    """The parts at work: whom they know, and whom they let in."""

    def __init__(self, parts: Dependencies) -> None:
        self.parts = parts
        self.clients = Clients(parts.store, parts.clock)
        self.connections = parts.connections or Connections(parts.store, parts.clock)
        self.turns = InFlightKeys()
        self.door = Authenticator(
            parts.store, self.clients, parts.clock, keys_needed=parts.auth == "api-key", uses=parts.key_uses, failed_keys=parts.failed_keys
        )
        self.limiter = parts.limiter
        self.refused = parts.refused or RefusedWebhooks(parts.clock, parts.metrics.delivery_refused)
        self.checks = SenderChecks(parts.senders)
        self._open = parts.auth == "none"

    async def client(self, headers: Headers, needed: str, now: Micros, scope: Scope) -> Client:
        """The client that a call about records is for, its request counted and begun.

        Raises what `Authenticator.client` and `Limiter` do. Whoever asks must say `ended` in the end, whatever comes of it.
        """
        key = None if self._open else key_in(headers)
        client = await self.caller(headers, key, needed, now, scope)
        scope["touchbase.client"] = client.client_id
        key_id = None if key is None else key_id_of(key)
        if key_id is not None:
            scope[KEY_ID] = key_id
        if IN_PROGRESS not in scope:  # a request that asks twice is one
            bucket = self.limiter.request(client, key_id, now)
            if bucket is not None:
                scope[STANDING] = standing(bucket)
            self.begin(client.number, scope)
        return client

    async def caller(self, headers: Headers, key: bytes | None, needed: str, now: Micros, scope: Scope) -> Client:
        """The client that a call about records is for, now, nothing counted; raises what `Authenticator.client` does."""
        named = headers.get(CLIENT_ID)
        if named is not None and sum(1 for name, _ in scope["headers"] if name == CLIENT_ID) > 1:
            raise Invalid([Fault(CLIENT_HEADER, "repeated", "is given more than once; send one")])
        if self._open:
            client = self.clients.cached(DEFAULT_CLIENT, now) if named is None else None
        else:
            client = None if key is None else self.door.cached(key, named, needed, now)
        if client is None or client.state != ACTIVE:
            client = await self.door.client(_text(key), _text(named), needed, peer_of(scope), makes=scope["method"] == "POST")
        return client

    async def holder(self, headers: Headers, now: Micros, scope: Scope) -> Principal:
        """Who calls to administrate, the request counted and begun; raises what `Authenticator.holder` and `Limiter` do."""
        key = key_in(headers)
        holder = await self.door.holder(_text(key), ADMIN, peer_of(scope))
        if IN_PROGRESS not in scope:
            bucket = None if self._open or key is None else self.limiter.key(key_id_of(key), now)
            if bucket is not None:
                scope[STANDING] = standing(bucket)
            self.begin(OPERATOR if holder.client is None else holder.client, scope)
        return holder

    def begin(self, client: int, scope: Scope) -> None:
        """Give a request of a client its place among those in progress, once; raises `Overloaded`."""
        if IN_PROGRESS not in scope:
            self.limiter.begin(client)
            scope[IN_PROGRESS] = client

    def ended(self, scope: Scope) -> None:
        """Give the request's place to others, if it has one."""
        client = scope.get(IN_PROGRESS)
        if client is not None:
            del scope[IN_PROGRESS]
            self.limiter.end(client)


def key_in(headers: Headers) -> bytes | None:
    """The key that a call carries, as a bearer token or in `X-Api-Key`."""
    given = headers.get(b"authorization")
    if given is not None:
        scheme, _, token = given.partition(b" ")
        if scheme.lower() == b"bearer":
            return token.strip()
    return headers.get(b"x-api-key")


def author_of(scope: Scope) -> Author:
    """Who asks for the write that a request is, as the record's history will name it."""
    return Author(scope.get(KEY_ID), scope["touchbase.request_id"])


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("latin-1")


@dataclass(slots=True)
class Call:
    """One request on its way through a handler."""

    api: Api
    scope: Scope
    receive: Receive
    headers: Headers
    keeper: ResponseRecorder | None = None
    """Where the request carries an idempotency key and its route honours it (`http/idempotency.py`)."""

    @property
    def query(self) -> bytes:
        """The query string as it came."""
        query: bytes = self.scope["query_string"]
        return query

    def path(self, name: str) -> str:
        """A parameter of the path; `NotFound` for a text that no store can hold, because nothing has such a name."""
        text = str(self.scope["path_params"][name])
        if why_not_storable(text) is not None:
            raise NotFound("there is nothing at this address")
        return text

    def id(self, one: str) -> int:
        """The id in the path; `NotFound`, naming what `one` is, for a text that can be none."""
        text = self.path("id")
        found = record_id(text)
        if found is None:
            raise NotFound(f"there is no {one} with id {text[:40]!r}")
        return found

    async def client(self, scope: str) -> Client:
        """The client that this call is for."""
        return await self.api.client(self.headers, scope, self.api.parts.clock(), self.scope)

    async def administrator(self) -> int | None:
        """The client's number that this administrator is limited to; None for all."""
        return (await self.holder()).client

    async def holder(self) -> Principal:
        """Who calls to administrate."""
        return await self.api.holder(self.headers, self.api.parts.clock(), self.scope)

    async def settle(self, write: Callable[[Writes], Awaitable[R]], answer: Callable[[R], Response]) -> Response:
        """The answer to the write that a `POST` is all about.

        With an idempotency key the answer is kept in the transaction of that write. So `write` sends the one
        command that may succeed through what it is given; `answer` is asked with that command's result,
        perhaps on another thread and more than once: it must be quick and change nothing.
        """
        if self.keeper is None:
            return answer(await write(self.api.parts.store))
        return await self.keeper.settle(write, answer)


Handler = Callable[[Call], Awaitable[Response]]


class Resource:
    """One address: a handler for each method, HEAD where there is GET, 405 for the others."""

    def __init__(self, api: Api, name: str, also: tuple[str, ...] = (), **handlers: Handler) -> None:
        self._api = api
        self._name = name
        self.template = ""
        """The path that it is at, for the metrics; the router says it."""
        self._handlers = handlers
        # `also` names methods that are answered before routing comes here.
        self._allowed = sorted({*handlers, *also, *(["HEAD"] if "GET" in handlers else [])})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        method = scope["method"]
        handler = self._handlers.get("GET" if method == "HEAD" else method)
        scope["touchbase.route"] = f"{self._name}.{method.lower()}" if handler else self._name
        scope["touchbase.template"] = self.template
        if handler is None:
            handler = self._refuse
        await answered(self._api, scope, receive, send, handler)

    async def _refuse(self, call: Call) -> Response:
        raise MethodNotAllowed(call.scope["method"], self._allowed)


async def answered(api: Api, scope: Scope, receive: Receive, send: Send, handler: Handler) -> None:
    """Run a handler and send its answer, or the problem that it raised."""
    headers: Headers = dict(scope["headers"])
    request_id = request_id_of(headers)
    scope["touchbase.request_id"] = request_id.decode("ascii")
    try:
        answer = await handler(Call(api, scope, receive, headers))
    except CallerLeft:
        return
    except Exception as error:
        await send_problem(scope, send, explained(error, scope), request_id, api.parts.metrics)
        return
    finally:
        api.ended(scope)
    await send_answer(scope, send, answer, request_id)


def explained(error: Exception, scope: Scope) -> TouchbaseError:
    """The error as one that we can answer; one that nobody foresaw is logged and is our fault."""
    if isinstance(error, TouchbaseError):
        return error
    request_id = scope.get("touchbase.request_id")
    log.error("request %s failed", request_id, exc_info=error)
    return InternalError("this is a fault of ours, noted with the request id; the request may be sent again")
