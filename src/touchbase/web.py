"""The web application, built from its dependencies and the route table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import msgspec

from touchbase.adapters.interface import ProtocolResponse
from touchbase.adapters.registry import Adapters
from touchbase.administration.report_page import REPORT_CONTENTS
from touchbase.auth.auth_throttle import WebhookThrottle
from touchbase.common.asgi import App, Receive, Scope, Send
from touchbase.common.cache import Cache
from touchbase.common.timestamps import SECOND
from touchbase.common.token_bucket import BoundedCache, TokenBucket
from touchbase.connections.api import CONNECTIONS, FETCH_ALLOWED, TOOLS
from touchbase.connections.service import Connections
from touchbase.connections.tools import Tools
from touchbase.console.oidc import OIDC, Provider
from touchbase.deliveries.work import ProcessingStore
from touchbase.errors import NotFound
from touchbase.event_log.feed import Feed
from touchbase.http.dependencies import JOIN, WRITE_BATCH, AppKey, HttpDependencies
from touchbase.http.endpoint import Api, Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Router
from touchbase.imports.api import PREVIEWS
from touchbase.imports.preview import Previews
from touchbase.inbox.api.deliveries import PROCESSING, READ
from touchbase.inbox.api.webhooks import CELL_OF_NAME, FAILED_CALLS, PROTOCOL_ANSWER, REFUSED_WEBHOOKS, SENDER_CHECKS
from touchbase.inbox.refused import RefusedWebhooks
from touchbase.inbox.signature_check import SenderChecks
from touchbase.inbox.worker import Read
from touchbase.merging.sql.join import join_and_upsert
from touchbase.merging.sql.write_batch import write_batch
from touchbase.outgoing.api.endpoint_bodies import ENDPOINT_TESTS, INSTALLATION, SEND_WEBHOOK, WEBHOOK_ALLOWED
from touchbase.outgoing.api.events import FEED
from touchbase.outgoing.http_client import ReceiverAnswer
from touchbase.outgoing.models import NOWHERE, TESTS_A_MINUTE, Installation
from touchbase.revyops.api.lists import PAGES_READ
from touchbase.revyops.numbered_pages import PagesRead
from touchbase.routes import ROUTES, description
from touchbase.search.api.resource import COUNTS
from touchbase.search.service import count_cache
from touchbase.spool.models import SpooledWebhook

NO_APPS: Mapping[str, App] = {}


NO_ADAPTERS = Adapters(())
"""An empty set of tools: none can be connected, none verifies a webhook, and no webhook is understood."""


async def no_sender(url: str, headers: dict[str, str], body: bytes) -> ReceiverAnswer:
    """Send nothing."""
    return ReceiverAnswer(0, failure="unreachable", error="this process sends no webhooks")


def _test_buckets() -> BoundedCache[int, TokenBucket]:
    return BoundedCache(lambda _, now: TokenBucket("endpoint-tests", TESTS_A_MINUTE / 60, 60, now), TokenBucket.is_full)


@dataclass(frozen=True, slots=True)
class Dependencies(HttpDependencies):
    """The parts that the web application is built from."""

    store: ProcessingStore
    previews: Previews = field(default_factory=Previews)
    """Reads uploaded files."""
    read: Read = NO_ADAPTERS.translate
    """Translates a webhook with the adapters, for dry runs and erasure."""
    senders: Tools = NO_ADAPTERS
    connections: Connections | None = None
    """Shared with the inbox worker, so that it sees a change at once; None: the application creates its own."""
    fetch_allowed: Collection[str] = ()
    """Origins from which records may be fetched although they are not public or not https."""
    protocol_answer: Callable[[bytes], ProtocolResponse | None] = NO_ADAPTERS.protocol_answer
    """The response body that a CRM's protocol requires, or None. Must be quick, and must not raise."""
    send_webhook: Callable[[str, dict[str, str], bytes], Awaitable[ReceiverAnswer]] = no_sender
    """Sends a request to an endpoint, for tests of endpoints."""
    endpoint_tests: BoundedCache[int, TokenBucket] = field(default_factory=_test_buckets)
    """Tests and previews of endpoints, by client."""
    webhook_allowed: Collection[str] = ()
    """Origins to which webhooks may be sent although they are not public or not https."""
    installation: Installation = NOWHERE
    """The operator's settings for messages to people."""
    refused: RefusedWebhooks | None = None
    """Collects refused webhooks, which `Maintenance` stores; None: they are only counted."""
    failed_calls: WebhookThrottle = field(default_factory=WebhookThrottle)
    oidc: Provider | None = None
    """The OpenID provider with which people sign in; None: there is none."""
    feed: Feed | None = None
    """The requests that wait for events; None: the application creates its own."""
    cell_of_name: Callable[[str], int] = lambda client_id: 0
    """Returns the cell of a client by its id, as far as this process knows."""

    def services(self) -> dict[AppKey[Any], Any]:
        """Return the parts of single rooms."""
        return {
            WRITE_BATCH: write_batch,
            JOIN: join_and_upsert,
            CONNECTIONS: self.connections or Connections(self.store, self.clock),
            TOOLS: self.senders,
            FETCH_ALLOWED: self.fetch_allowed,
            PROCESSING: self.store,
            READ: self.read,
            PROTOCOL_ANSWER: self.protocol_answer,
            REFUSED_WEBHOOKS: self.refused or RefusedWebhooks(self.clock, self.metrics),
            FAILED_CALLS: self.failed_calls,
            SENDER_CHECKS: SenderChecks(self.senders),
            CELL_OF_NAME: self.cell_of_name,
            FEED: self.feed or Feed(self.store),
            PREVIEWS: self.previews,
            PAGES_READ: PagesRead(self.clock),
            COUNTS: count_cache(self.clock),
            SEND_WEBHOOK: self.send_webhook,
            ENDPOINT_TESTS: self.endpoint_tests,
            WEBHOOK_ALLOWED: self.webhook_allowed,
            INSTALLATION: self.installation,
            OIDC: self.oidc,
            REPORT_CONTENTS: Cache(self.clock, 60 * SECOND, most=200),
        }


BELOW_API = "/api/public/"
"""The second address of the routes for records: programs written against the RevyOps API have `/api` in their base address."""


def build_app(parts: Dependencies, by_path: Mapping[str, App] = NO_APPS) -> App:
    """Build the ASGI 3 application. It needs no lifespan messages but accepts them; it never closes the store.

    `by_path`: applications that serve single paths, without the API's authentication and limits.

    It sets in the scope, for the access log and the metrics: `touchbase.route` (the operation, such as `get_contact`,
    absent if no route matched), `touchbase.template` (the path's template, absent if no path matched), `touchbase.client`
    (the client_id, which the log hashes) and `touchbase.request_id`.
    """
    api = Api(parts, parts.services())
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
    # Requests from within (`send_inner`) come after it: they belong to the request that makes them.
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
