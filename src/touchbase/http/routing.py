"""The route table: the router, the OpenAPI document and the tables of routes in the documentation are made from it.

A capability declares its routes in `ROUTES` of its `api` module, next to their handlers; `routes.py` lists these
modules. To add a route: a handler, and a `Route` next to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Any

import msgspec

from touchbase.common.asgi import App, Receive, Scope, Send
from touchbase.http.endpoint import Api, Handler, Method, Resource, naming_unanswered, run_handler
from touchbase.http.idempotency import Owner, buffer_body, idempotent, of_client, of_principal
from touchbase.http.query_parameters import Parameter
from touchbase.http.unused_parts import PRECONDITIONS, UnusedParts

Json = dict[str, Any]
Body = type[msgspec.Struct]

PUBLIC = "/public/"
"""Routes below it act for the client of the request's key or `X-Client-Id`, unless they are `of_all_clients`; others with a scope are for
administrators."""
UNAVAILABLE = 503


@dataclass(frozen=True, slots=True)
class Tag:
    """A group of operations in the OpenAPI document."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Success:
    """A successful response; without a type it has no body."""

    status: int
    description: str
    body: Body | tuple[Body, ...] | None = None
    """Several types: one of them."""
    headers: tuple[str, ...] = ()
    media: tuple[str, ...] = ()
    """Media types of a body that is a file, and of other formats of the same response, such as `text/csv`."""
    is_list: bool = False
    """Whether the body is an array of the type."""

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The types of the body."""
        return self.body if isinstance(self.body, tuple) else () if self.body is None else (self.body,)


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """One operation. Without `operation_id` it is served and not described."""

    method: str
    path: str
    """The template, with parameters in braces; `http/openapi_operations.py` describes these by their names."""
    handler: Handler | None
    _: KW_ONLY
    scope: str
    """The scope that a key needs; empty: no key is needed. `Call.client` and `Call.administrator` check it."""
    operation_id: str = ""
    """The operation's name in the OpenAPI document and in the access log."""
    tag: Tag | None = None
    summary: str = ""
    description: str = ""
    """Details of the operation beyond its summary; the scope is added."""
    query: tuple[Parameter[Any], ...] = ()
    headers: tuple[Json, ...] = ()
    """Request headers, as the OpenAPI document has them."""
    body: Body | Json | None = None
    """The type of the JSON body, or an OpenAPI description of another body, which the handler reads by itself."""
    success: tuple[Success, ...] = ()
    problems: tuple[int, ...] = ()
    """Statuses of problems that `problem_statuses` does not derive."""
    buffered: bool = True
    """Whether the body arrives before the handler runs; if not, the handler authenticates again after a slow body."""
    keyed: bool | None = None
    """Whether the request may have an idempotency key; None: if it is a `POST`."""
    large: bool = False
    """Whether the body may be as long as a batch."""
    is_file: bool = False
    """Whether the body is a file of any size, which the handler reads piece by piece; an idempotency key does not compare it."""
    of_all_clients: bool = False
    """Whether the route reads the records of all clients that the key may see, although it is below `PUBLIC`."""
    deprecated: bool = False
    """Whether it is there for programs written against another API only."""
    endpoint: Callable[[Api], App] | None = None
    """Makes the ASGI application of the most frequent requests, in place of `handler`: it is called before the router."""

    @property
    def of_client(self) -> bool:
        """Whether the route acts for one client."""
        return bool(self.scope) and self.path.startswith(PUBLIC) and not self.of_all_clients

    @property
    def takes_key(self) -> bool:
        """Whether the request may have an idempotency key."""
        if not self.scope:
            return False
        return self.method == "POST" if self.keyed is None else self.keyed

    @property
    def problem_statuses(self) -> list[int]:
        """The statuses of all documented problems, except 429."""
        statuses = {*self.problems}
        if self.scope:
            statuses |= {403, UNAVAILABLE}
            if self.body is None and not self.deprecated:
                statuses.add(400)
            if not self.path.startswith(PUBLIC) or self.path.startswith(f"{PUBLIC}v2/"):
                statuses.add(401)  # v1 refuses a wrong key with 403
        if self.scope and "{" in self.path:
            statuses.add(404)
        if self.of_client:
            statuses |= {404, 422}
        if self.query:
            statuses.add(422)
        if isinstance(self.body, type) or self.takes_key:
            statuses |= {400, 408, 413, 415, 422}
        if self.takes_key:
            statuses.add(409)
        if self.is_file:
            statuses |= {400, 408, 413, 415, 422}
        return sorted(statuses)

    def operation(self) -> Method | None:
        """Return the operation with its row of the table: its body arrives before it runs, and a `POST` honours idempotency keys."""
        if self.handler is None:
            return None
        handler, owner = self.handler, of_client if self.of_client else of_principal
        if not self.of_client:
            handler = naming_unanswered(handler)
        if self.buffered and isinstance(self.body, type):
            handler = buffer_body(handler, owner)
        with_key = idempotent(handler, owner, is_file=self.is_file) if self.takes_key else None
        unused = self._unused(owner) if self.scope and not self.deprecated else None
        return Method(handler, self.operation_id, self.scope, self.query, self.large, with_key, unused)

    def _unused(self, owner: Owner) -> UnusedParts:
        declared = {header["name"].lower().encode() for header in self.headers}
        preconditions = () if self.method == "GET" else tuple(name for name in PRECONDITIONS if name not in declared)
        names = tuple(f"?{parameter.name}" for parameter in self.query)
        return UnusedParts(names, self.body is None, not self.query, preconditions, owner)


_operation_of = lru_cache(maxsize=1_024)(Route.operation)
"""Cached, because tests and commands build many applications."""


class _Node:
    """The routes below one path."""

    __slots__ = ("literals", "parameter", "resource")

    def __init__(self) -> None:
        self.literals: defaultdict[str, _Node] = defaultdict(_Node)
        self.parameter: _Node | None = None
        self.resource: Resource | None = None

    def child(self, segment: str) -> _Node:
        """Return the node of a segment of a template."""
        if not segment.startswith("{"):
            return self.literals[segment]
        if self.parameter is None:
            self.parameter = _Node()
        return self.parameter

    def find(self, segments: Sequence[str], values: tuple[str, ...] = ()) -> tuple[Resource, tuple[str, ...]] | None:
        """Return the resource of a path, and its parameters; a literal segment comes before a parameter."""
        if not segments:
            return None if self.resource is None else (self.resource, values)
        first, others = segments[0], segments[1:]
        literal = self.literals.get(first)
        match = None if literal is None else literal.find(others, values)
        if match is None and self.parameter is not None and first:
            return self.parameter.find(others, (*values, first))
        return match


class Router:
    """Dispatches requests to resources by their paths; `default` handles unknown paths."""

    def __init__(self, api: Api, routes: Sequence[Route], default: Handler) -> None:
        self._api = api
        self._default = Method(default)
        self._exact: dict[str, Resource] = {}
        self._root = _Node()
        resources: dict[str, Resource] = {}
        for route in routes:
            if (resource := resources.get(route.path)) is None:
                resource = resources[route.path] = Resource(api, route.path)
            resource.add(route.method, _operation_of(route))
        for path, resource in resources.items():
            node = self._root
            for segment in path.split("/"):
                node = node.child(segment)
            node.resource = resource
            if not resource.parameters:
                self._exact[path] = resource

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Handle one request, or the lifespan; a plain function, because each coroutine on the way costs as much as the look-up."""
        if scope["type"] == "lifespan":
            return _lifespan(receive, send)
        path: str = scope["path"]
        resource = self._exact.get(path)
        if resource is None:
            match = self._root.find(path.split("/"))
            if match is None:
                return run_handler(self._api, scope, receive, send, self._default)
            resource, values = match
            scope["path_params"] = dict(zip(resource.parameters, values, strict=True))
        return resource(scope, receive, send)


async def _lifespan(receive: Receive, send: Send) -> None:
    """Accept the messages of the lifespan, of which the application needs none."""
    for name in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{name}.complete"})
