"""Shared by all handlers: dependencies, authentication, parameters and bodies, and error handling."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Protocol, TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from touchbase.audit import KEY_ID, REQUEST, current_act, record_act
from touchbase.auth.authentication import (
    ADMIN,
    CLIENT_HEADER,
    DEFAULT_CLIENT,
    OPERATOR_KEY,
    READ,
    WRITE,
    Authenticator,
    Principal,
    key_id_of,
)
from touchbase.auth.passwords import Passwords
from touchbase.auth.sessions import session_from_headers
from touchbase.clients.models import ACTIVE, Client
from touchbase.clients.service import Clients, is_client_id
from touchbase.clients.stored_bytes import check_space
from touchbase.common.asgi import App, Headers, Receive, Scope, Send, peer_of
from touchbase.common.field_limits import why_not_storable
from touchbase.common.timestamps import Micros
from touchbase.common.token_bucket import TokenBucket
from touchbase.errors import Fault, Forbidden, InsufficientScope, Invalid, NotFound, TouchbaseError, Unauthorized
from touchbase.history.events import Author
from touchbase.http.actors import ActorNames
from touchbase.http.dependencies import AppKey, HttpDependencies
from touchbase.http.headers import RATE_LIMIT_HEADERS, rate_limit_headers
from touchbase.http.problems import InternalError, MethodNotAllowed
from touchbase.http.query_parameters import Parameter, Parameters, record_id
from touchbase.http.request_body import ClientDisconnected, read_json, read_struct, stream_body
from touchbase.http.response_recorder import ResponseRecorder
from touchbase.http.responses import Response, request_id_of, send_problem, send_response
from touchbase.idempotency.service import InFlightKeys
from touchbase.sql.store import Writes
from touchbase.sql.unanswered import collecting

UNANSWERED = b"touchbase-unanswered-databases"
"""The response header that names databases whose rows are missing in a response about all clients."""
log = logging.getLogger("touchbase.api")
R = TypeVar("R")
T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

IN_PROGRESS = "touchbase.in_progress"
"""Key in a request's scope: the number of the client under which the request counts as in progress."""

CLIENT_ID = CLIENT_HEADER.lower().encode()
TEAM = "/team/"
"""Routes below it are about all clients that the caller may see."""
IDEMPOTENCY_KEY = b"idempotency-key"
PAGE = "touchbase.page"
"""Key in a request's scope: the argument of `PageTurns.release`, while its page is in the making."""
OPERATOR = 0
"""The number under which requests of administrators of all clients count as in progress; no client has it."""


class Api:
    """The state of the web application: authentication, clients, limits, and the parts of single rooms."""

    def __init__(self, dependencies: HttpDependencies, services: Mapping[AppKey[Any], Any] = MappingProxyType({})) -> None:
        self.dependencies = dependencies
        self._services = services
        self.clients = Clients(dependencies.store, dependencies.clock)
        self.in_flight = InFlightKeys()
        self.authenticator = Authenticator(
            dependencies.store,
            self.clients,
            dependencies.clock,
            keys_needed=dependencies.auth != "none",
            keyless=OPERATOR_KEY if dependencies.auth == "operator" else None,
            uses=dependencies.key_uses,
            failed_keys=dependencies.failed_keys,
        )
        self.actors = ActorNames(dependencies.store, dependencies.clock)
        self.passwords = Passwords(dependencies.store, dependencies.clock)
        self.refused_sign_ins = TokenBucket("refused-sign-ins", 1 / 60, 3_600, dependencies.clock())
        """How many refused sign-ins are recorded: 60 at once, then one a minute, whoever sends how many."""
        self.limiter = dependencies.limiter
        self.application: App = _not_built
        """The whole web application, for requests that make requests; `build_app` sets it."""
        self.prefix = urlsplit(dependencies.public_url).path
        """The path under which a proxy serves the application."""
        self._open = dependencies.auth == "none"
        self._tracing = dependencies.tracing

    def __getitem__(self, key: AppKey[T]) -> T:
        """Return a part that only some rooms use."""
        part: T = self._services[key]
        return part

    async def client(self, headers: Headers, needed: str, now: Micros, scope: Scope) -> Client:
        """Authenticate a request for records, count it against the rate limits, and return its client.

        Raises the errors of `Authenticator.client` and `RateLimiter`. The caller must call `finish_request` in the end, also after errors.
        """
        key = None if self._open else self.key(headers, scope)
        client = self._cached(headers, key, needed, now, scope) or await self.authenticate(headers, key, needed, now, scope)
        scope["touchbase.client"] = client.client_id
        if self._tracing is not None:
            self._tracing.begin(scope, trusted=True)
        key_id = None if key is None else key_id_of(key)
        if key_id is not None:
            scope[KEY_ID] = key_id
        if IN_PROGRESS not in scope:  # count a request once, also if it authenticates twice
            bucket = self.limiter.request(client, key_id, now)
            if bucket is not None:
                scope[RATE_LIMIT_HEADERS] = rate_limit_headers(bucket)
            self.begin(client.number, scope)
        return client

    def key(self, headers: Headers, scope: Scope) -> bytes | None:
        """Return the request's API key, else the session of the console. Raises as `session_from_headers` does."""
        key = key_from_headers(headers)
        return key if key is not None else session_from_headers(headers, https=self.is_https(scope))

    def is_https(self, scope: Scope) -> bool:
        """Return whether the browser of a request uses https."""
        return scope.get("scheme") == "https" or self.dependencies.public_url.startswith("https://")

    async def authenticate(self, headers: Headers, key: bytes | None, needed: str, now: Micros, scope: Scope) -> Client:
        """Authenticate a request for records without counting it; raises the errors of `Authenticator.client`."""
        client = self._cached(headers, key, needed, now, scope)
        if client is None:
            named, makes = _text(headers.get(CLIENT_ID)), scope["method"] in ("POST", "PUT")
            client = await self.authenticator.client(_text(key), named, needed, peer_of(scope), makes=makes)
        return client

    def _cached(self, headers: Headers, key: bytes | None, needed: str, now: Micros, scope: Scope) -> Client | None:
        """Return the client if it is known without the store and active; raises `Invalid` if the header is repeated."""
        named = headers.get(CLIENT_ID)
        if named is not None and sum(1 for name, _ in scope["headers"] if name == CLIENT_ID) > 1:
            raise Invalid([Fault(CLIENT_HEADER, "repeated", "is given more than once; send one")])
        if self._open:
            client = self.clients.cached(DEFAULT_CLIENT, now) if named is None else None
        else:
            client = None if key is None else self.authenticator.cached(key, named, needed, now)
        return client if client is not None and client.state == ACTIVE else None

    async def principal(self, headers: Headers, needed: str, now: Micros, scope: Scope) -> Principal:
        """Authenticate and count an administrator's request; raises the errors of `Authenticator.principal` and `RateLimiter`."""
        key = self.key(headers, scope)
        principal = await self.principal_again(headers, needed, scope)
        if self._tracing is not None:
            self._tracing.begin(scope, trusted=True)
        if not self._open and key is not None:
            scope[KEY_ID] = key_id_of(key)
        if IN_PROGRESS not in scope:
            bucket = None if self._open or key is None else self.limiter.key(key_id_of(key), now)
            if bucket is not None:
                scope[RATE_LIMIT_HEADERS] = rate_limit_headers(bucket)
            self.begin(OPERATOR if principal.client is None else principal.client, scope)
        return principal

    async def principal_again(self, headers: Headers, needed: str, scope: Scope) -> Principal:
        """Authenticate an administrator's request without counting it; raises the errors of `Authenticator.principal`."""
        named = partial(_client_named, headers, scope)
        return await self.authenticator.principal(_text(self.key(headers, scope)), needed, peer_of(scope), named=named)

    def storing(self, client: Client, rows: int, now: Micros) -> None:
        """Count rows that a request creates or enlarges; raises `StorageFull`, `RateLimited`, and then nothing of it may be stored."""
        check_space(client, self.dependencies.limits.stored_bytes)
        self.limiter.storing(client, rows, now)

    def begin(self, client: int, scope: Scope) -> None:
        """Count a client's request as in progress, once; raises `Overloaded`."""
        if IN_PROGRESS not in scope:
            self.limiter.begin(client)
            scope[IN_PROGRESS] = client

    def finish_request(self, scope: Scope) -> None:
        """Count the request as no longer in progress, if it was counted, and give back its place among the pages in the making."""
        page = scope.pop(PAGE, None)
        if page is not None:
            self.dependencies.pages.release(*page)
        client = scope.get(IN_PROGRESS)
        if client is not None:
            del scope[IN_PROGRESS]
            self.limiter.end(client)


async def _not_built(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("the web application is not built yet")


def key_from_headers(headers: Headers) -> bytes | None:
    """Return the request's API key, from a bearer token, `X-Api-Key` or RevyOps' `X-Master-Api-Key`."""
    header = headers.get(b"authorization")
    if header is not None:
        scheme, _, token = header.partition(b" ")
        if scheme.lower() == b"bearer":
            return token.strip()
    return headers.get(b"x-api-key") or headers.get(b"x-master-api-key")


EVERY_CLIENT = "all"
"""Stands for all clients in the paths of what belongs to one or all."""


def _client_named(headers: Headers, scope: Scope) -> str | None:
    """Return the client that an administrator's request names: in its path, its query or `X-Client-Id`."""
    in_path = scope.get("path_params", {}).get("client_id")
    return (
        (in_path if in_path != EVERY_CLIENT else None) or Parameters(scope["query_string"]).text("client") or _text(headers.get(CLIENT_ID))
    )


def author_of(scope: Scope) -> Author:
    """Return the author of a request's write, for the record's history."""
    return Author(scope.get(KEY_ID), scope["touchbase.request_id"])


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("latin-1")


@dataclass(slots=True)
class Call:
    """One request, as handlers see it."""

    api: Api
    scope: Scope
    receive: Receive
    headers: Headers
    needed: str = ""
    """The scope that the key needs, by the route table."""
    declared: tuple[Parameter[Any], ...] = ()
    """The query parameters, by the route table."""
    large: bool = False
    """Whether the body may be as long as a batch, by the route table."""
    recorder: ResponseRecorder | None = None
    """Set if the request has an idempotency key and its route supports it (`http/idempotency.py`)."""

    @property
    def query(self) -> bytes:
        """The raw query string."""
        query: bytes = self.scope["query_string"]
        return query

    @property
    def body_bytes(self) -> int:
        """The most bytes that the body may have."""
        limits = self.api.dependencies.limits
        return limits.batch_body_bytes if self.large else limits.api_body_bytes

    def reached_at(self, path: str) -> bytes:
        """Return a path as HTTP clients see it: percent-encoded, with the prefix of the server's public address."""
        return (self.api.prefix + quote(path)).encode()

    def path(self, name: str) -> str:
        """Return a parameter of the path; raises `NotFound` for a text that no store can contain."""
        text = str(self.scope["path_params"][name])
        if why_not_storable(text) is not None:
            raise NotFound("no such address")
        return text

    def id(self, name: str) -> int:
        """Return the id in the path; raises `NotFound`, with `name` as the object's name, for an invalid id."""
        text = self.path("id")
        number = record_id(text)
        if number is None:
            raise NotFound(f"there is no {name} with id {text[:40]!r}")
        return number

    async def client_in_path(self) -> Client:
        """Authenticate an administrator and return the client in the path; raises `NotFound` also for a key of another client."""
        limited = await self.administrator()
        client = await self.api.clients.get(self.client_id())
        if limited is not None and client.number != limited:
            raise NotFound(f"there is no client {self.client_id()!r}")
        return client

    def client_id(self) -> str:
        """Return the client id in the path; raises `NotFound` for a text that can be none."""
        client_id = self.path("client_id")
        if not is_client_id(client_id):
            raise NotFound(f"there can be no client {client_id[:100]!r}: an id is 1 to 100 letters, digits and . _ ~ -")
        return client_id

    async def client_number(self, client_id: str, limited: int | None, pointer: str) -> int:
        """Return the number of a client by its id or handle. Raises `Forbidden` if this administrator's key is for another client."""
        client = await self.api.clients.named(client_id)
        if limited is not None and (client is None or client.number != limited):
            # The same response for an unknown client: client ids are secret and must not be guessable.
            raise Forbidden("this key belongs to another client")
        if client is None:
            raise Invalid([Fault(pointer, "client_not_found", f"there is no client {client_id[:100]!r}")])
        return client.number

    async def page_bytes(self, *, is_full_page: bool = False) -> int:
        """Wait until the page of this request may be made; return the bytes after which it ends (`PageTurns.acquire`).

        Call it after authentication.
        """
        if PAGE not in self.scope:
            client = self.scope.get(IN_PROGRESS, OPERATOR)
            parts = self.api.dependencies
            self.scope[PAGE] = (client, await parts.pages.acquire(client, parts.limits.page_bytes, is_full_page=is_full_page), is_full_page)
        size: int = self.scope[PAGE][1]
        return size

    def parameters(self) -> Parameters:
        """Return the query parameters that the route declares; the caller must call `done`."""
        return Parameters(self.query, self.declared)

    async def json(self) -> bytes:
        """Read the JSON body without decoding it, and count its bytes for the client; raises as `read_json`, and `RateLimited`."""
        body = await read_json(self.receive, self.headers, self.api.dependencies.limits, self.body_bytes)
        client = self.scope.get(IN_PROGRESS)
        if client is not None:
            self.api.limiter.body(client, len(body), self.api.dependencies.clock())
        return body

    async def file(self, client: Client) -> AsyncIterator[bytes]:
        """Yield an uploaded file as it arrives, and count its bytes for the client; raises as `stream_body`, and `RateLimited`."""
        limits, clock = self.api.dependencies.limits, self.api.dependencies.clock
        announced = self.headers.get(b"content-length", b"")
        has_length = announced.isdigit() and int(announced) <= limits.file_bytes
        if has_length:
            self.api.limiter.body(client.number, int(announced), clock())
        async for piece in stream_body(self.scope, self.receive, self.headers, limits.file_bytes, limits):
            if not has_length:
                self.api.limiter.streamed(client.number, len(piece), clock())
            yield piece

    async def body(self, wanted: type[S], rules: Callable[[S], object] = lambda partly: None) -> S:
        """Read the JSON body; raises as `read_json` and `read_struct`."""
        raw = await self.json()
        decoder: msgspec.json.Decoder[S] = _decoder(wanted)
        return read_struct(raw, decoder, wanted, rules)

    async def record(self, action: str, kind: str, target: object, client: int | None = None, *, actor_id: str | None = None) -> None:
        """Log an act for the audit that writes nothing else; `kind` and `target` are its target and that one's id."""
        about = None if target is None else (kind, str(target))
        await self.api.dependencies.store.write(record_act(current_act(), action, about, client, actor_id))

    async def starter(self) -> str | None:
        """Return the id of who starts a job, whose name the response has."""
        key_id: str | None = self.scope.get(KEY_ID)
        await self.api.actors.load([key_id])
        return key_id

    def client(self) -> Awaitable[Client]:
        """Authenticate the request and return its client."""
        return self.api.client(self.headers, self.needed, self.api.dependencies.clock(), self.scope)

    async def administrator(self) -> int | None:
        """Authenticate an administrator; return the number of the client that the key is limited to, None for all."""
        return (await self.principal()).client

    async def require_export(self, client: Client) -> None:
        """Raise `Forbidden` for a person who may not export the client's records: keys of services export what they may read."""
        user = (await self.api.principal_again(self.headers, READ, self.scope)).user
        if user is None:
            return
        scopes = user.scopes(client.number)
        if WRITE not in scopes:
            raise Forbidden("your role here reads records and exports none; ask an administrator for the role operator")
        if ADMIN not in scopes and not client.settings.operators_export:
            raise Forbidden("exports of this client are switched off for operators; ask an administrator to export")

    async def require_definitions(self, client: Client) -> None:
        """Raise `Forbidden` for a person who does not administer the client: keys of services define fields by the route's scope."""
        user = (await self.api.principal_again(self.headers, self.needed, self.scope)).user
        if user is not None and ADMIN not in user.scopes(client.number):
            raise Forbidden("custom fields are defined, renamed and removed by administrators of the client; ask one")

    async def without(self, needed: str) -> str | None:
        """Return the id of the caller, who is authenticated and lacks this scope for the client of the request; None: the caller has it."""
        api = self.api
        key = None if api.dependencies.auth == "none" else api.key(self.headers, self.scope)
        try:
            await api.authenticate(self.headers, key, needed, api.dependencies.clock(), self.scope)
        except InsufficientScope:
            return str(self.scope.get(KEY_ID))
        return None

    async def principal(self, *, of_several: bool = False) -> Principal:
        """Authenticate an administrator, or a person; raises `Invalid` if a person must name one of several clients.

        `of_several`: the handler takes care of `Principal.clients` by itself.
        """
        principal = await self.api.principal(self.headers, self.needed, self.api.dependencies.clock(), self.scope)
        if principal.clients is not None and not of_several:
            raise Invalid([Fault(CLIENT_HEADER, "required", f"you may see several clients; name one in the header {CLIENT_HEADER}")])
        return principal

    def if_match(self) -> str | None:
        """Return the version that `If-Match` names, the first of several; None for any."""
        values = [value.decode("latin-1") for name, value in self.scope["headers"] if name == b"if-match"]
        tags = [value.strip() for value in ",".join(values).split(",") if value.strip()]
        return None if not tags or "*" in tags else tags[0].strip('"')

    async def visible(self, caller: Principal, named: str | None = None) -> list[int] | None:
        """Return the numbers of the active clients that the caller may see, None for all; of a client named by id or handle only its.

        A list of the team may name it in `X-Client-Id` as well. Raises `Invalid` if that is another one.
        """
        header = (_text(self.headers.get(CLIENT_ID)) or None) if self.scope["path"].startswith(TEAM) else None
        if named is not None and header is not None and await self.api.clients.id_of(named) != await self.api.clients.id_of(header):
            raise Invalid([Fault("?client", "client_id", f"names another client than the header {CLIENT_HEADER}: send one of them")])
        named = named or header
        if named is not None:
            return [(await self.visible_client(named, caller)).number]
        numbers = caller.clients if caller.client is None else {caller.client}
        if numbers is None:
            return None
        return sorted(number for number, client in (await self.api.clients.of(numbers)).items() if client.state == ACTIVE)

    async def visible_client(self, named: str, caller: Principal) -> Client:
        """Return the client with this id or handle; raises `NotFound` also for one that the caller may not see."""
        client = await self.api.clients.named(named)
        numbers = caller.clients if caller.client is None else {caller.client}
        if client is None or (numbers is not None and client.number not in numbers):
            raise NotFound(f"there is no client {named[:100]!r} that you may see")
        return client

    async def write_and_respond(self, write: Callable[[Writes], Awaitable[R]], respond: Callable[[R], Response]) -> Response:
        """Execute the write of a `POST` and return its response.

        With an idempotency key, the response is stored in the transaction of the write. So `write` must send its
        command through its argument. `respond` builds the response from the command's result, perhaps on another
        thread and more than once: it must be quick and have no side effects.
        """
        if self.recorder is None:
            return respond(await write(self.api.dependencies.store))
        return await self.recorder.write_and_respond(write, respond)


Handler = Callable[[Call], Awaitable[Response]]


@cache
def _decoder(wanted: type[msgspec.Struct]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(wanted)


class Unused(Protocol):
    """The parts that a route does not use (`http/unused_parts.py`)."""

    def are_in(self, scope: Scope, headers: Headers) -> bool:
        """Return whether a request may have one of the parts."""
        ...

    async def refuse(self, call: Call) -> None:
        """Raise `Invalid` or `MalformedBody` if the request has one of the parts."""
        ...


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a resource: its handler, its name in logs, and its row of the route table."""

    handler: Handler
    name: str = ""
    needed: str = ""
    """The scope that the key needs."""
    declared: tuple[Parameter[Any], ...] = ()
    """The query parameters."""
    large: bool = False
    with_key: Handler | None = None
    """The handler of a request with an idempotency key."""
    unused: Unused | None = None
    """The parts of a request that are refused; None: the handler sees to them."""


class Resource:
    """The operations of one path; HEAD if there is GET, 405 for other methods."""

    def __init__(self, api: Api, template: str) -> None:
        self._api = api
        self._template = template
        self.parameters = tuple(re.findall(r"\{(\w+)\}", template))
        """Names of the parameters in the path."""
        self._operations: dict[str, Method] = {}
        self._allowed: list[str] = []
        self._refusal = Method(self._method_not_allowed)

    def add(self, method: str, operation: Method | None) -> None:
        """Add an operation; None: the method is handled before routing."""
        methods = [method, "HEAD"] if method == "GET" else [method]
        self._allowed += methods
        if operation is not None:
            self._operations |= dict.fromkeys(methods, operation)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Handle one request; a plain function, as `Router` is."""
        operation = self._operations.get(scope["method"])
        scope["touchbase.template"] = self._template
        if operation is None:
            return run_handler(self._api, scope, receive, send, self._refusal)
        scope["touchbase.route"] = operation.name
        return run_handler(self._api, scope, receive, send, operation)

    async def _method_not_allowed(self, call: Call) -> Response:
        raise MethodNotAllowed(call.scope["method"], sorted(self._allowed))


async def run_handler(api: Api, scope: Scope, receive: Receive, send: Send, operation: Method) -> None:
    """Run an operation's handler and send its response, or the problem that it raised."""
    headers: Headers = dict(scope["headers"])
    request_id = request_id_of(headers)
    scope["touchbase.request_id"] = request_id.decode("ascii")
    handler = operation.handler if operation.with_key is None or IDEMPOTENCY_KEY not in headers else operation.with_key
    request = REQUEST.set((scope, api.dependencies.clock))
    try:
        call = Call(api, scope, receive, headers, operation.needed, operation.declared, operation.large)
        if operation.unused is not None and operation.unused.are_in(scope, headers):
            await operation.unused.refuse(call)
        response = await handler(call)
    except ClientDisconnected:
        return
    except Exception as error:
        await send_problem(scope, send, as_touchbase_error(error, scope), request_id, api.dependencies.metrics)
        return
    finally:
        REQUEST.reset(request)
        api.finish_request(scope)
    await send_response(scope, send, response, request_id)


def naming_unanswered(handler: Handler) -> Handler:
    """Wrap the handler so that its response names the cells that did not answer, whose rows it lacks."""

    async def with_names(call: Call) -> Response:
        with collecting() as missing:
            response = await handler(call)
        if missing:
            response.headers.append((UNANSWERED, ",".join(sorted(missing)).encode("ascii")))
        return response

    return with_names


V1_PATHS = ("/public/contacts", "/public/companies", "/public/emails")
"""Beginnings of the paths of RevyOps' first version, where a wrong key is a 403: its programs expect that."""


def as_touchbase_error(error: Exception, scope: Scope) -> TouchbaseError:
    """Return the error as a `TouchbaseError`; log an unexpected one and return `InternalError`."""
    if isinstance(error, Unauthorized) and scope["path"].startswith(V1_PATHS):
        return Forbidden(error.detail)
    if isinstance(error, TouchbaseError):
        return error
    request_id = scope.get("touchbase.request_id")
    log.error("request %s failed", request_id, exc_info=error)
    return InternalError("internal error, logged with the request id; the request may be sent again")
