"""The two webhook receivers, addressed by client_id: store the webhook, then respond 200.

A sender may never retry after a 4xx, so an internal error is a 503. An unrecognised webhook gets a 200 too: it is stored and
can be replayed. A webhook that fails the signature check gets a 401, and is listed with its body (`inbox/refused.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from touchbase.adapters.interface import ProtocolResponse
from touchbase.auth.auth_throttle import WebhookThrottle
from touchbase.auth.authentication import FRESH, NO_SUCH_ADDRESS
from touchbase.clients.models import Client
from touchbase.clients.service import is_client_id
from touchbase.clients.stored_bytes import check_webhook_space
from touchbase.common.asgi import Headers, Message, Receive, Scope, Send, peer_of
from touchbase.common.content_encoding import decoded_size
from touchbase.common.threads import on_thread
from touchbase.common.timestamps import Micros
from touchbase.connections.api import CONNECTIONS
from touchbase.connections.models import ACCEPTED, DROPPED, REFUSED, UNPROVEN, Arrival, Connection, Sender
from touchbase.errors import NotFound, OutcomeUnknown, Overloaded, StoreBusy, StoreUnavailable, TouchbaseError, Unauthorized
from touchbase.history.events import CRM, EMAIL_CAMPAIGN
from touchbase.http.dependencies import AppKey
from touchbase.http.endpoint import Api, log
from touchbase.http.problems import MethodNotAllowed, TooLarge
from touchbase.http.request_body import ClientDisconnected, read_body
from touchbase.http.responses import Response, request_id_of, send_empty, send_problem, send_response
from touchbase.http.routing import Json, Route, Success, Tag
from touchbase.inbox.receive import receive_webhook
from touchbase.inbox.refused import NOT_VERIFIED, RATE, STORAGE, TEST_CALL, TOO_LARGE, UNKNOWN_CLIENT, RefusedWebhooks
from touchbase.inbox.signature_check import SenderChecks
from touchbase.metrics import DELIVERIES_RECEIVED
from touchbase.sandbox.task import TaskStopped
from touchbase.spool.models import SpooledWebhook

PROTOCOL_ANSWER: AppKey[Callable[[bytes], ProtocolResponse | None]] = AppKey()
"""Returns the response body that a CRM's protocol requires, or None. Must be quick, and must not raise."""
REFUSED_WEBHOOKS: AppKey[RefusedWebhooks] = AppKey()
FAILED_CALLS: AppKey[WebhookThrottle] = AppKey()
SENDER_CHECKS: AppKey[SenderChecks] = AppKey()
CELL_OF_NAME: AppKey[Callable[[str], int]] = AppKey()
"""Returns the cell of a client by its id, as far as this process knows."""
RECEIVERS = {"emailcampaign-webhook": EMAIL_CAMPAIGN, "crm-webhook": CRM}
"""Second segment of a receiver's path -> its channel; the third segment is the client_id."""

METHODS = ("GET", "HEAD", "POST")
UNVERIFIED = "the signature or secret of this webhook is missing or wrong; send it with the secret that was set for its tool"
"""Names no tool, so that a sender cannot learn which tools have a secret."""
SECRET = "secret"  # noqa: S105
"""Key of the failure count: the secret of a client's connections."""
RECEIVED_US, BODY_READ, SPOOLED = "touchbase.received_us", "touchbase.body", "touchbase.spooled"
"""Keys in a request's scope: when it came, its body once it is read, and whether it comes from the spool."""
UNLIMITED = WebhookThrottle()
COUNTED_INLINE = 256 * 1024
"""Decompressed bytes of a body that are counted on the event loop."""
INTERNAL_FAULT = StoreBusy("internal error; nothing was stored, send it again")


async def _decoded_bytes(encoding: str, body: bytes) -> int:
    """Return how many bytes a body has without its content encoding; a long one is counted on a thread."""
    size = decoded_size(encoding, body, COUNTED_INLINE)
    return size if size <= COUNTED_INLINE else await on_thread("body_size", decoded_size, encoding, body)


class Receiver:
    """Receiver of one channel, a plain ASGI application."""

    def __init__(self, api: Api, name: str) -> None:
        self._api = api
        self._channel = RECEIVERS[name]
        self._route = name.replace("-", "_")
        self._template = f"/public/{name}/{{client_id}}"
        self._connections = api[CONNECTIONS]
        self._protocol_answer = api[PROTOCOL_ANSWER]
        self._refused = api[REFUSED_WEBHOOKS]
        self._failed_webhooks = api[FAILED_CALLS]
        self._checks = api[SENDER_CHECKS]
        self._cell_of_name = api[CELL_OF_NAME]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Receive one webhook and respond."""
        headers: Headers = dict(scope["headers"])
        request_id = request_id_of(headers)
        scope["touchbase.route"], scope["touchbase.request_id"] = self._route, request_id.decode("ascii")
        scope["touchbase.template"] = self._template
        metrics, tracing = self._api.dependencies.metrics, self._api.dependencies.tracing
        if tracing is not None:
            tracing.begin(scope, trusted=False)
        try:
            client_id = scope["path"].split("/", 3)[3].removesuffix("/")
            response = None
            if scope["method"] == "POST":
                response = await self._store(client_id, scope, receive, headers)
            else:
                self._check(scope["method"], client_id)
        except ClientDisconnected:
            return
        except Exception as error:
            refusal = error if isinstance(error, TouchbaseError) else INTERNAL_FAULT
            if refusal is INTERNAL_FAULT:
                log.exception("request %s: a webhook could not be stored", scope["touchbase.request_id"])
            if not await self._spool(refusal, scope, receive, headers):
                await send_problem(scope, send, refusal, request_id, metrics)
                return
            response = self._required(scope[BODY_READ])
        finally:
            self._api.finish_request(scope)
        if response is None:
            await send_empty(scope, send, request_id)
        else:
            await send_response(scope, send, Response(200, response.body, response.content_type.encode("latin-1")), request_id)

    def _check(self, method: str, client_id: str) -> None:
        """Check a request by which a tool tests the URL; the response does not depend on whether the client exists."""
        if method not in METHODS:
            raise MethodNotAllowed(method, METHODS)
        if not is_client_id(client_id):
            raise NotFound(NO_SUCH_ADDRESS)

    async def _store(self, client_id: str, scope: Scope, receive: Receive, headers: Headers) -> ProtocolResponse | None:
        api, parts, channel = self._api, self._api.dependencies, self._channel
        at: Micros = scope.get(RECEIVED_US) or parts.clock()
        if parts.spool is not None:
            scope[RECEIVED_US] = at
        client = api.clients.cached(client_id, at) or await self._find(client_id, scope, at)
        scope["touchbase.client"] = client.client_id
        body = await self._body(client, scope, receive, headers, at)
        if (now := parts.clock()) - at > FRESH:  # the client may have been deleted while a slow body arrived
            client = api.clients.cached(client_id, now) or await api.authenticator.receiver(client_id)
        connections = self._connections.cached(client.number, now)
        if connections is None:
            connections = await self._connections.of(client.number)
        query = scope["query_string"].decode("latin-1")
        sender = await self._sender(client, connections, scope, body, at)
        if sender.outcome == DROPPED:
            return None
        required = self._required(body)
        if required is not None and required.stored_body is not None:
            body = required.stored_body
        receive_it = partial(
            receive_webhook, parts.store, client, channel, scope["headers"], query=query, body=body, at=at, sandbox=parts.sandbox,
            sender=sender,
        )  # fmt: skip
        try:
            if parts.tracing is None:
                stored = await receive_it()
            else:
                with parts.tracing.receipt(scope, channel, len(body)) as receipt:
                    stored = await receive_it(trace=receipt.trace)
                    receipt.stored(stored.id, is_repeat=stored.is_repeat)
        except TaskStopped as stopped:
            if not stopped.for_good:
                raise Overloaded(f"the body could not be searched for secrets: {stopped.why}; send it again") from None
            self._refuse(client, TOO_LARGE, scope, at, tool=sender.tool, read=body)
            raise TooLarge("the body cannot be searched for secrets in reasonable time; send fewer events at once") from None
        if parts.spool is not None:
            parts.spool.clients.add(client_id)
        parts.metrics.count(DELIVERIES_RECEIVED, channel, "repeated" if stored.is_repeat else "stored")
        if not stored.is_repeat:
            parts.on_stored(client.number)
        return required

    def _required(self, body: bytes) -> ProtocolResponse | None:
        """Return the response that a tool's protocol requires."""
        return self._protocol_answer(body) if self._channel == CRM else None

    async def _spool(self, error: TouchbaseError, scope: Scope, receive: Receive, headers: Headers) -> bool:
        """Spool a webhook that its store did not take; return whether it is on disk. Its sender is checked when it is stored."""
        spool = self._api.dependencies.spool
        if spool is None or SPOOLED in scope or not isinstance(error, StoreBusy | StoreUnavailable | OutcomeUnknown):
            return False
        limits = self._api.dependencies.limits
        try:
            body = scope.get(BODY_READ)
            if body is None:
                body = scope[BODY_READ] = await read_body(receive, headers, limits.webhook_body_bytes, limits)
            webhook = SpooledWebhook(
                scope[RECEIVED_US], scope["path"], scope.get("raw_path") or b"", scope["query_string"], scope["scheme"],
                [*scope["headers"]], peer_of(scope), body,
            )  # fmt: skip
            await spool.add(self._cell_of_name(scope["path"].split("/", 3)[3].removesuffix("/")), webhook)
        except (TouchbaseError, ClientDisconnected):
            return False
        return True

    async def receive_again(self, scope: Scope, body: bytes) -> None:
        """Receive a spooled webhook. Raises `Overloaded` while its store cannot be used; another refusal is recorded, and final."""
        scope[SPOOLED], scope[BODY_READ] = True, body
        scope["touchbase.route"], scope["touchbase.template"] = self._route, self._template

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        try:
            await self._store(scope["path"].split("/", 3)[3].removesuffix("/"), scope, receive, dict(scope["headers"]))
        except Overloaded:
            raise
        except TouchbaseError as error:
            log.warning("a spooled webhook was refused: %s", error.code)
        finally:
            self._api.finish_request(scope)

    async def _find(self, client_id: str, scope: Scope, at: Micros) -> Client:
        """Return the client in the URL. Raises `NotFound`, and `Overloaded` after too many unknown ids from one IP address."""
        failed, peer = self._failed_calls(scope), peer_of(scope)
        failed.check(peer, client_id, at)
        try:
            client = await self._api.authenticator.receiver(client_id)
        except NotFound:
            failed.failed(peer, at)
            self._refuse(client_id, UNKNOWN_CLIENT, scope, at)
            raise
        failed.succeeded(peer, client_id, at)
        return client

    def _failed_calls(self, scope: Scope) -> WebhookThrottle:
        """Return the throttle of failures; for a spooled webhook without a limit: a waiting webhook would hold up all behind it."""
        return UNLIMITED if SPOOLED in scope else self._failed_webhooks

    async def _body(self, client: Client, scope: Scope, receive: Receive, headers: Headers, at: Micros) -> bytes:
        """Read the whole body within the client's limits; record a refusal. Raises `TooLarge`, `Overloaded`."""
        api, limits = self._api, self._api.dependencies.limits
        if SPOOLED not in scope:
            self._check_space(client, scope, at)
        try:
            if SPOOLED in scope:  # its limits applied when it came
                return await read_body(receive, headers, limits.webhook_body_bytes, limits)
            api.limiter.webhook(client, at)
            api.begin(client.number, scope)
            body = await read_body(receive, headers, limits.webhook_body_bytes, limits)
            if api.dependencies.spool is not None:
                scope[BODY_READ] = body
            api.limiter.webhook_body(client, len(body), at)
            if (encoding := headers.get(b"content-encoding")) is not None:
                more = await _decoded_bytes(encoding.decode("latin-1"), body) - len(body)
                api.limiter.webhook_body(client, max(0, more), at)
        except TooLarge:
            self._refuse(client, TOO_LARGE, scope, at)
            raise
        except Overloaded:
            self._refuse(client, RATE, scope, at)
            raise
        return body

    def _check_space(self, client: Client, scope: Scope, at: Micros) -> None:
        """Record the refusal and raise `Overloaded` if the client's stored bytes leave no room for webhooks."""
        try:
            check_webhook_space(client, self._api.dependencies.limits.stored_bytes)
        except Overloaded:
            self._refuse(client, STORAGE, scope, at)
            raise

    def _refuse(self, client: Client | str, cause: str, scope: Scope, at: Micros, *, tool: str | None = None, read: bytes = b"") -> None:
        """Record a refused webhook; the body that was read is stored if it only lacks a proof."""
        query, body = scope["query_string"].decode("latin-1"), read if cause == NOT_VERIFIED else None
        self._refused.record_refusal(
            client, self._channel, cause, headers=scope["headers"], size=len(read), tool=tool, at=at, query=query, body=body
        )

    async def _sender(self, client: Client, connections: Sequence[Connection], scope: Scope, body: bytes, at: Micros) -> Sender:
        """Check the sender; record a refused or dropped webhook. Raises `Unauthorized`.

        Raises `Overloaded` after too many failed checks of this client from one IP address.
        """
        if not connections and not client.settings.require_verification.on(self._channel):
            return UNPROVEN
        failed, source = self._failed_calls(scope), (peer_of(scope), client.number)
        failed.check(source, SECRET, at)
        parts = self._api.dependencies
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        query = scope["query_string"].decode("latin-1")
        base = parts.public_url or f"{scope['scheme']}://{headers.get('host', '')}"
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        url = f"{base}{path}?{query}" if query else f"{base}{path}"
        arrival = Arrival(self._channel, scope["method"], url, headers, query, body)
        sender = await self._checks.check(client, connections, arrival, at)
        if sender.outcome != ACCEPTED:
            cause = TEST_CALL if sender.outcome == DROPPED else NOT_VERIFIED
            self._refuse(client, cause, scope, at, tool=sender.tool, read=body)
        if sender.outcome == REFUSED:
            failed.failed(source, at)
            raise Unauthorized(UNVERIFIED)
        failed.succeeded(source, SECRET, at, verified=bool(sender.verified))
        return sender


BODY: Json = {  # one content type: generators that find several cannot send a value without a type
    "required": False,
    "description": "The tool's webhook. Most tools send JSON; any other content type, such as a form or XML, is accepted too.",
    "content": {
        "application/json": {"schema": {"description": "Any JSON value."}, "example": {"event": "reply", "email": "jane@example.com"}}
    },
}
_ANSWERS = {CRM: " Salesforce's Outbound Messages and monday.com's `challenge` get the body that their protocols require."}


def _routes(name: str, tag: Tag) -> list[Route]:
    path, operation = f"/public/{name}/{{client_id}}", name.replace("-", "_")
    return [
        Route(
            "POST", path, None, scope="", operation_id=operation, tag=tag, summary="Receive a webhook and store it byte for byte",
            description="Responds 200 when the webhook is stored, and applies it afterwards. Any body of any content type is "
            "stored, also an empty one; its tool is recognised by its content. If the client has connected the tool with a secret, a "
            f"webhook without a valid proof of the secret gets a 401.{_ANSWERS.get(RECEIVERS[name], '')}",
            body=BODY, success=(Success(200, "Stored, or stored before. No body, unless the tool's own protocol requires one."),),
            problems=(401, 404, 408, 413, 503), endpoint=partial(Receiver, name=name),
        ),
        Route(
            "GET", path, None, scope="", operation_id=f"check_{operation}", tag=tag, summary="Let a tool check the address",
            description="Responds 200 with no body and stores nothing: some tools send a GET to the address before they accept it.",
            success=(Success(200, "No body."),), problems=(404,), endpoint=partial(Receiver, name=name),
        ),
    ]  # fmt: skip


WEBHOOKS = Tag("Webhooks", "The addresses to which campaign tools and CRMs send webhooks, one for each client and channel.")
ROUTES = [route for name in RECEIVERS for route in _routes(name, WEBHOOKS)]
