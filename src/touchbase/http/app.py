"""The web application, built from its dependencies and the route table."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from functools import cache, partial
from typing import Any

import msgspec

from touchbase.adapters.interface import ProtocolResponse
from touchbase.errors import NotFound
from touchbase.http.asgi_types import App, Receive, Scope, Send
from touchbase.http.dependencies import AuthMode, Dependencies, Limits
from touchbase.http.endpoint import Api, Call
from touchbase.http.openapi import description
from touchbase.http.responses import Response
from touchbase.http.routes import ROUTES
from touchbase.http.routing import Route, Router
from touchbase.spool.models import SpooledWebhook

__all__ = ["AuthMode", "Dependencies", "Limits", "ProtocolResponse", "build_app"]


BELOW_API = "/api/public/"
"""The second address of the routes for records: programs written against the RevyOps API have `/api` in their base address."""
NO_APPS: Mapping[str, App] = {}


def build_app(parts: Dependencies, by_path: Mapping[str, App] = NO_APPS) -> App:
    """Build the ASGI 3 application. It needs no lifespan messages but accepts them; it never closes the store.

    `by_path`: applications that serve single paths, without the API's authentication and limits.

    It sets in the scope, for the access log and the metrics: `touchbase.route` (the operation, such as `get_contact`,
    absent if no route matched), `touchbase.template` (the path's template, absent if no path matched), `touchbase.client`
    (the client_id, which the log hashes) and `touchbase.request_id`.
    """
    api = Api(parts)
    # Webhooks have endpoints of their own, found by the path's second segment: any text may follow it.
    receivers = {route.path.split("/")[2]: route.endpoint(api) for route in ROUTES if route.endpoint is not None}
    routed = Router(api, (*ROUTES, _description(parts)), default=_not_found)

    def app(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        # A plain function: dispatching costs no step of a coroutine.
        if scope["type"] != "http":
            return routed(scope, receive, send)
        path = scope["path"]
        if path.startswith(BELOW_API) and path.split("/", 4)[3] not in receivers:  # a tool's signature may cover the address
            scope["path"] = path = path.removeprefix("/api")
            return routed(scope, receive, send)
        segments = path.split("/", 3)
        receiver = receivers.get(segments[2]) if len(segments) > 3 and segments[1] == "public" else None
        return (receiver or by_path.get(path) or routed)(scope, receive, send)

    api.application = app
    if parts.spool is not None:
        parts.spool.receive = partial(_receive_again, receivers)
    # Requests from within (`inner_request.py`) come after it: they belong to the request that makes them.
    return app if parts.tracing is None else parts.tracing.with_start(app)


def _description(parts: Dependencies) -> Route:
    document = partial(_document, parts.version, parts.auth == "api-key", parts.public_url)
    if parts.auth != "operator":  # a command needs no document
        document()

    async def openapi(call: Call) -> Response:
        return Response(body=document())

    return Route("GET", "/openapi.json", openapi, scope="", operation_id="openapi")


@cache
def _document(version: str, keys_needed: bool, public_url: str) -> bytes:
    """Return the OpenAPI document as JSON; cached, because building it takes 50 ms."""
    return msgspec.json.encode(description(version, keys_needed=keys_needed, public_url=public_url))


async def _receive_again(receivers: Mapping[str, Any], webhook: SpooledWebhook) -> None:
    """Receive a webhook from the spool, as its receiver did when it came."""
    scope: Scope = {
        "type": "http", "method": "POST", "path": webhook.path, "raw_path": webhook.raw_path, "query_string": webhook.query,
        "scheme": webhook.scheme, "headers": webhook.headers, "client": (webhook.peer, 0), "touchbase.received_us": webhook.received_us,
        "touchbase.request_id": "spool",
    }  # fmt: skip
    await receivers[webhook.path.split("/", 3)[2]].receive_again(scope, webhook.body)


async def _not_found(call: Call) -> Response:
    path: str = call.scope["path"]
    slash = path.endswith("/") and path != "/"
    raise NotFound("no such address; " + ("try it without the slash at its end" if slash else "/docs lists all addresses"))
