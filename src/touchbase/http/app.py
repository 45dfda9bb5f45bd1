"""The web application: its routes, built from its dependencies."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import cache
from typing import Any

import msgspec
from starlette.routing import Route, Router

from touchbase.adapters.interface import ProtocolResponse
from touchbase.auth import api as auth_api
from touchbase.clients.api import life, settings
from touchbase.connections import api as connections_api
from touchbase.erasure import api as erasure_api
from touchbase.errors import NotFound
from touchbase.events import api as events_api
from touchbase.http import docs_page
from touchbase.http import health as http_health
from touchbase.http.asgi_types import App, Receive, Scope, Send
from touchbase.http.buffer_body import buffer_body, of_client
from touchbase.http.dependencies import AuthMode, Dependencies, Limits, Metrics, NoMetrics
from touchbase.http.endpoint import Api, Call, Resource, run_handler
from touchbase.http.idempotency import idempotent
from touchbase.http.openapi import description
from touchbase.http.responses import Response
from touchbase.inbox.api import deliveries, refused
from touchbase.inbox.api.webhooks import RECEIVERS, Receiver
from touchbase.records.api.resource import COMPANIES, CONTACTS, RecordResource, ResourceType, creating

__all__ = ["AuthMode", "Dependencies", "Limits", "Metrics", "NoMetrics", "ProtocolResponse", "build_app"]

_CLIENT = "/admin/v1/clients/{client_id}"
_CONNECTIONS = f"{_CLIENT}/connections"


def build_app(parts: Dependencies) -> App:
    """Build the ASGI 3 application. It needs no lifespan messages but accepts them; it never closes the store.

    It sets in the scope, for the access log and the metrics: `touchbase.route` (a short name such as `contacts.create`,
    absent if no path matched), `touchbase.template` (the path's template, likewise), `touchbase.client` (the client_id,
    which the log hashes) and `touchbase.request_id`.
    """
    api = Api(parts)
    # The four most frequent POSTs are matched by their path alone, before the router.
    creates = {CONTACTS.path: creating(api, CONTACTS), COMPANIES.path: creating(api, COMPANIES)}
    receivers = {name: Receiver(api, channel) for name, channel in RECEIVERS.items()}
    routed = _router(api)

    def app(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        # A plain function: dispatching costs no step of a coroutine.
        if scope["type"] != "http":
            return routed(scope, receive, send)
        path: str = scope["path"]
        if scope["method"] == "POST" and (create := creates.get(path)) is not None:
            return create(scope, receive, send)
        segments = path.split("/", 3)
        receiver = receivers.get(segments[2]) if len(segments) > 3 and segments[1] == "public" else None
        return (receiver or routed)(scope, receive, send)

    return app


def _router(api: Api) -> Router:
    routes: list[Route] = [
        *_records(api, CONTACTS, DELETE=erasure_api.erase_contact),
        Route(f"{CONTACTS.path}/{{id}}/export", Resource(api, "contacts.export", GET=erasure_api.export_contact)),
        *_records(api, COMPANIES),
        *_admin(api),
        *_description(api),
    ]
    for each in routes:
        resource: Any = each.endpoint
        resource.template = each.path

    async def no_route(scope: Scope, receive: Receive, send: Send) -> None:
        await run_handler(api, scope, receive, send, _not_found)

    return Router(routes, redirect_slashes=False, default=no_route)


def _records(api: Api, kind: ResourceType[Any, Any, Any], **more: Any) -> list[Route]:
    handlers, name = RecordResource(kind), kind.type.plural
    return [
        Route(kind.path, Resource(api, name, also=("POST",), GET=handlers.list)),
        Route(f"{kind.path}/{{id}}", Resource(api, f"{name}.one", GET=handlers.get, PATCH=buffer_body(handlers.change, of_client), **more)),
        Route(f"{kind.path}/{{id}}/timeline", Resource(api, f"{name}.timeline", GET=handlers.timeline)),
    ]


def _admin(api: Api) -> list[Route]:
    return [
        Route("/admin/v1/status", Resource(api, "status", GET=http_health.status)),
        Route("/admin/v1/deliveries", Resource(api, "deliveries", GET=deliveries.deliveries)),
        Route("/admin/v1/deliveries/groups", Resource(api, "deliveries.groups", GET=events_api.groups)),
        Route("/admin/v1/deliveries/replay", Resource(api, "deliveries.replay_many", POST=idempotent(buffer_body(events_api.replay_many)))),
        Route("/admin/v1/deliveries/{id}", Resource(api, "deliveries.one", GET=deliveries.delivery)),
        Route("/admin/v1/deliveries/{id}/replay", Resource(api, "deliveries.replay", POST=idempotent(deliveries.replay))),
        Route("/admin/v1/refusals", Resource(api, "refusals", GET=refused.refusals)),
        Route("/admin/v1/clients", Resource(api, "clients", GET=settings.clients, POST=idempotent(buffer_body(life.create)))),
        Route(
            _CLIENT,
            Resource(
                api,
                "clients.one",
                GET=settings.client,
                PUT=buffer_body(settings.put_client),
                PATCH=buffer_body(life.rename),
                DELETE=life.delete,
            ),
        ),
        Route(f"{_CLIENT}/suspend", Resource(api, "clients.suspend", POST=idempotent(life.suspend))),
        Route(f"{_CLIENT}/resume", Resource(api, "clients.resume", POST=idempotent(life.resume))),
        Route(f"{_CLIENT}/rotate-id", Resource(api, "clients.rotate_id", POST=idempotent(buffer_body(life.rotate_id)))),
        Route("/admin/v1/keys", Resource(api, "keys", GET=auth_api.keys, POST=idempotent(buffer_body(auth_api.create)))),
        Route("/admin/v1/keys/{key_id}", Resource(api, "keys.one", GET=auth_api.key, DELETE=auth_api.revoke)),
        Route("/admin/v1/keys/{key_id}/rotate", Resource(api, "keys.rotate", POST=idempotent(buffer_body(auth_api.rotate)))),
        Route(
            _CONNECTIONS,
            Resource(api, "connections", GET=connections_api.connections, POST=idempotent(buffer_body(connections_api.connect))),
        ),
        Route(
            f"{_CONNECTIONS}/{{channel}}/{{tool}}",
            Resource(
                api,
                "connections.one",
                GET=connections_api.connection,
                PATCH=buffer_body(connections_api.change),
                DELETE=connections_api.disconnect,
            ),
        ),
    ]


def _description(api: Api) -> list[Route]:
    parts = api.parts
    document = _document(parts.version, parts.auth == "api-key", parts.public_url)

    async def openapi(call: Call) -> Response:
        return Response(body=document)

    return [
        Route("/openapi.json", Resource(api, "openapi", GET=openapi)),
        Route("/docs", Resource(api, "docs", GET=docs_page.page)),
        Route("/docs/{name}", Resource(api, "docs.file", GET=docs_page.file)),
    ]


@cache
def _document(version: str, keys_needed: bool, public_url: str) -> bytes:
    """Return the OpenAPI document as JSON; cached, because building it takes 50 ms."""
    return msgspec.json.encode(description(version, keys_needed=keys_needed, public_url=public_url))


async def _not_found(call: Call) -> Response:
    path: str = call.scope["path"]
    slash = path.endswith("/") and path != "/"
    raise NotFound("no such address; " + ("try it without the slash at its end" if slash else "/docs lists all addresses"))
