"""HTTP resources of webhook endpoints and attempts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, structs

from touchbase.audit import count_audit_events
from touchbase.auth.authentication import ADMIN
from touchbase.clients.models import Client, ClientSettings
from touchbase.common.field_limits import LARGEST_ID
from touchbase.common.timestamps import SECOND, Micros, from_text, to_text
from touchbase.connections.sql.connections import list_connections
from touchbase.errors import Fault, Forbidden, Invalid, NotFound, PreconditionFailed
from touchbase.http import query_parameters as query
from touchbase.http.conditional import ETAG, changed_since, if_match, tags_named
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import CLIENT, LIMIT, PAGE, Parameter, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import encode, fitting
from touchbase.outgoing.api.endpoint_bodies import (
    changed_endpoint,
    check_endpoint,
    endpoint_from,
    outbox_of,
    sequence_of_id,
    take_test,
)
from touchbase.outgoing.api.preview import preview, request_out
from touchbase.outgoing.api.schemas import (
    WebhookAttemptOut,
    WebhookAttemptPage,
    WebhookEndpointChange,
    WebhookEndpointOut,
    WebhookEndpointPage,
    WebhookEndpointRequest,
    WebhookPreviewOut,
    WebhookPreviewRequest,
    WebhookReplay,
    WebhookRequestOut,
    WebhookSecretRotation,
    WebhooksReplayed,
    attempt_out,
    endpoint_out,
)
from touchbase.outgoing.models import (
    ACTS,
    AUDIT,
    BLOCKLIST,
    EVERY_CLIENT,
    HUBSPOT,
    OUTCOMES,
    SIGNED,
    STATES,
    Endpoint,
    EndpointProgress,
    Secret,
)
from touchbase.outgoing.signatures import new_secret
from touchbase.outgoing.sql import dispatch as sql_dispatch
from touchbase.outgoing.sql import endpoints as sql_endpoints
from touchbase.outgoing.sql.dispatch import store_attempt
from touchbase.outgoing.sql.endpoints import no_such_endpoint
from touchbase.outgoing.sql.shared import count_copies
from touchbase.sql.operation import Command

PATH, OF_ALL = "/public/v2/webhook-endpoints", "/team/v1/webhook-endpoints"
ATTEMPTS, ATTEMPTS_OF_ALL = "/public/v2/webhook-attempts", "/team/v1/webhook-attempts"
TAG = Tag("Endpoints", "Addresses to which a client's events are sent, signed, in order, at least once; attempts and replays.")
HOUR: Micros = 3_600 * SECOND
TRIES = 5


def _event_parameter(parameters: Any, name: str) -> int | None:
    text = parameters.text(name)
    if text is None:
        return None
    if (sequence := sequence_of_id(text)) is None:
        parameters.faults.append(Fault(f"?{name}", "choice", "must be the id of an event, such as evt_1207"))
    return sequence


EVERYBODY = Client(EVERY_CLIENT, "", 0, ClientSettings())
"""Stands for all clients where endpoints have a client."""
SHARED = query.flag("shared", "Only endpoints of all clients.")
STATE = query.choice("state", STATES, "Endpoints in this state.", member="state")
ENDPOINT = query.integer("endpoint", 1, LARGEST_ID, "The id of an endpoint.", member="endpoint_id")
EVENT: Parameter[int | None] = Parameter(
    "event", _event_parameter, {"type": "string"}, "The id of an event, such as `evt_1207`.", "sequence"
)
OUTCOME = query.choice("outcome", OUTCOMES, "Attempts with this outcome.", member="outcome")


async def list_endpoints(call: Call) -> Response:
    """Handle `GET` of a page of endpoints."""
    client, parameters = await call.client(), call.parameters()
    after = parameters.cursor("webhook-endpoints", int)
    parameters.done()
    endpoints = await call.api.dependencies.store.read(
        sql_endpoints.list_endpoints(
            [client.number], parameters[LIMIT] + 1, call.api.dependencies.clock(), after and (client.number, after)
        )
    )
    page = endpoints[: parameters[LIMIT]]
    cursor = cursor_text("webhook-endpoints", page[-1][0].id) if len(endpoints) > len(page) else None
    return Response(body=encode(WebhookEndpointPage(await _shown(call, page), cursor)))


async def list_all_endpoints(call: Call) -> Response:
    """Handle `GET` of a page of endpoints of all clients that the caller may see."""
    principal, parameters = await call.principal(of_several=True), call.parameters()
    after = parameters.cursor("all-webhook-endpoints", tuple[int, int])
    parameters.done()
    numbers = await call.visible(principal, parameters[CLIENT])
    if parameters[SHARED]:
        numbers = [EVERY_CLIENT] if numbers is None else []
    limit = parameters[LIMIT]
    endpoints = await call.api.dependencies.store.read(
        sql_endpoints.list_endpoints(numbers, limit + 1, call.api.dependencies.clock(), after, parameters[STATE])
    )
    page = endpoints[:limit]
    cursor = cursor_text("all-webhook-endpoints", (page[-1][0].client, page[-1][0].id)) if len(endpoints) > limit else None
    return Response(body=encode(WebhookEndpointPage(await _shown(call, page), cursor)))


async def owner_of(call: Call) -> Client:
    """Return the client of a request, or what stands for all in one of an administrator. Raises `Forbidden`."""
    if not call.scope["path"].startswith((OF_ALL, ATTEMPTS_OF_ALL)):
        return await call.client()
    principal = await call.principal(of_several=True)
    if principal.client is not None or principal.clients is not None:
        raise Forbidden("endpoints of all clients need an administrator of all clients")
    return EVERYBODY


async def _shown(call: Call, endpoints: Sequence[tuple[Endpoint, EndpointProgress | None]]) -> list[WebhookEndpointOut]:
    """Return endpoints as responses show them."""
    shared = [endpoint.id for endpoint, _ in endpoints if endpoint.client == EVERY_CLIENT]
    copies = await call.api.dependencies.store.read(count_copies(shared)) if shared else {}
    clients = await call.api.clients.of(endpoint.client for endpoint, _ in endpoints)
    for endpoint, progress in endpoints:
        if endpoint.kind == AUDIT and progress is not None:
            progress.waiting += await call.api.dependencies.store.read(count_audit_events(progress.position // ACTS))
    return [endpoint_out(endpoint, clients.get(endpoint.client, EVERYBODY), progress, copies=copies) for endpoint, progress in endpoints]


async def add_endpoint(call: Call) -> Response:
    """Handle `POST` of a new endpoint."""
    client, now, parts = await owner_of(call), call.api.dependencies.clock(), call.api.dependencies
    call.parameters().done()
    connections = await call.api.dependencies.store.read(list_connections(client.number))
    body = await call.body(
        WebhookEndpointRequest, lambda partly: check_endpoint(call, client, endpoint_from(client, partly, now), connections)
    )
    new = endpoint_from(client, body, now)
    check_endpoint(call, client, new, connections)
    secret = new_secret() if new.kind in SIGNED else None
    new.secrets = new.secrets if secret is None else [Secret(secret)]

    def respond(endpoint: Endpoint) -> Response:
        location = call.reached_at(f"{PATH if client.number else OF_ALL}/{endpoint.id}")
        # The secret is shown once: the response stored for retries leaves it out.
        hidden = encode(endpoint_out(endpoint, client))
        return Response(201, encode(endpoint_out(endpoint, client, secret=secret)), headers=[(b"location", location)], stored_body=hidden)

    response = await call.write_and_respond(lambda writes: writes.write(sql_endpoints.add_endpoint(new)), respond)
    parts.on_endpoint()
    return response


async def get_endpoint(call: Call) -> Response:
    """Handle `GET` of one endpoint."""
    client, number = await owner_of(call), call.id("webhook endpoint")
    call.parameters().done()
    endpoints = await call.api.dependencies.store.read(
        sql_endpoints.list_endpoints([client.number], 1, call.api.dependencies.clock(), (client.number, number - 1))
    )
    if not endpoints or endpoints[0][0].id != number:
        raise no_such_endpoint(number)
    [shown] = await _shown(call, endpoints)
    return Response(body=encode(shown), headers=[_etag(endpoints[0][0])])


def _etag(endpoint: Endpoint) -> tuple[bytes, bytes]:
    return ETAG, f'"{to_text(endpoint.updated_us)}"'.encode()


async def change_endpoint(call: Call) -> Response:
    """Handle `PATCH` of one endpoint."""
    client, number, parts = await owner_of(call), call.id("webhook endpoint"), call.api.dependencies
    call.parameters().done()
    endpoint = await _find(call, client, number)

    def check(changed: Endpoint, body: WebhookEndpointChange) -> None:
        check_endpoint(call, client, changed, names_recipients=body.to is not UNSET)

    tags = tags_named(call)
    body = await call.body(WebhookEndpointChange, lambda partly: check(changed_endpoint(endpoint, partly, parts.clock()), partly))
    for _ in range(TRIES):
        if tags is not None and to_text(endpoint.updated_us) not in tags:
            raise await changed_since(call, "endpoint", "endpoint.", client.number, str(number))
        new = changed_endpoint(endpoint, body, parts.clock())
        check(new, body)
        try:
            changed = await parts.store.write(sql_endpoints.change_endpoint(new, endpoint.version))
        except PreconditionFailed:
            endpoint = await _find(call, client, number)
            continue
        parts.on_endpoint()
        return Response(body=encode(endpoint_out(changed, client)), headers=[_etag(changed)])
    raise PreconditionFailed("the endpoint changes all the time; repeat the request")


async def remove_endpoint(call: Call) -> Response:
    """Handle `DELETE` of one endpoint."""
    client, number = await owner_of(call), call.id("webhook endpoint")
    call.parameters().done()
    try:
        await call.api.dependencies.store.write(sql_endpoints.remove_endpoint(client.number, number, tags_named(call)))
    except PreconditionFailed:
        raise await changed_since(call, "endpoint", "endpoint.", client.number, str(number)) from None
    call.api.dependencies.on_endpoint()
    return Response(204)


async def _find(call: Call, client: Client, number: int) -> Endpoint:
    endpoint = await call.api.dependencies.store.read(sql_endpoints.get_endpoint(client.number, number))
    if endpoint is None:
        raise no_such_endpoint(number)
    return endpoint


async def rotate_secret(call: Call) -> Response:
    """Handle `POST` of a new secret."""
    client, number, parts = await owner_of(call), call.id("webhook endpoint"), call.api.dependencies
    call.parameters().done()
    rotation = await call.body(WebhookSecretRotation)
    secret, now = new_secret(), parts.clock()
    until = now + rotation.overlap_hours * HOUR

    def respond(changed: Endpoint) -> Response:
        hidden = encode(endpoint_out(changed, client, until=until))
        return Response(body=encode(endpoint_out(changed, client, secret=secret, until=until)), stored_body=hidden)

    command = sql_endpoints.rotate_secret(client.number, number, Secret(secret), until, now)
    response = await call.write_and_respond(lambda writes: writes.write(command), respond)
    parts.on_endpoint()
    return response


async def resume_endpoint(call: Call) -> Response:
    """Handle `POST` that makes an endpoint active."""
    client, number, parts = await owner_of(call), call.id("webhook endpoint"), call.api.dependencies
    call.parameters().done()
    command = sql_endpoints.resume_endpoint(client.number, number, parts.clock())
    response = await call.write_and_respond(
        lambda writes: writes.write(command), lambda changed: Response(body=encode(endpoint_out(changed, client)))
    )
    parts.on_endpoint()
    return response


async def test_endpoint(call: Call) -> Response:
    """Handle `POST` of a test send."""
    client, number = await owner_of(call), call.id("webhook endpoint")
    call.parameters().done()
    endpoint = await _find(call, client, number)
    take_test(call, client)
    attempt, _ = await outbox_of(call).test(endpoint, client.client_id)

    def respond(_: None) -> Response:
        return Response(body=encode(attempt_out(attempt, client)))

    return await call.write_and_respond(lambda writes: writes.write(store_attempt(attempt)), respond)


async def replay(call: Call) -> Response:
    """Handle `POST` of a replay."""
    client, number, parts = await owner_of(call), call.id("webhook endpoint"), call.api.dependencies
    call.parameters().done()
    command = _replay(client, number, await call.body(WebhookReplay), parts.clock())
    response = await call.write_and_respond(
        lambda writes: writes.write(command), lambda count: Response(202, encode(WebhooksReplayed(count)))
    )
    parts.on_endpoint()
    return response


def _replay(client: Client, number: int, body: WebhookReplay, now: Micros) -> Command[int]:
    values = {name: value for name, value in structs.asdict(body).items() if value is not UNSET}
    if len(values) != 1:
        raise Invalid([Fault("", "one_of", "must have exactly one of event, failed_since and missing_since")])
    [(name, value)] = values.items()
    if name == "event":
        if (sequence := sequence_of_id(value)) is None:
            raise NotFound(f"there is no event {value[:40]!r}; ids look like evt_1207")
        return sql_endpoints.replay(client.number, number, now, sequence=sequence)
    try:
        since = from_text(value.upper())
    except (ValueError, OverflowError):
        raise Invalid([Fault(f"/{name}", "time", "must be a time such as 2026-11-20T09:30:00Z")]) from None
    return sql_endpoints.replay(client.number, number, now, **{f"{name}_us": since})


async def list_attempts(call: Call) -> Response:
    """Handle `GET` of a page of attempts."""
    client, parameters = await call.client(), call.parameters()
    before = parameters.cursor("webhook-attempts", int)
    parameters.done()
    page_bytes = await call.page_bytes()
    attempts = await call.api.dependencies.store.read(
        sql_dispatch.list_attempts(client.number, parameters[LIMIT] + 1, before, **parameters.filters)
    )
    data = fitting((attempt_out(attempt, client) for attempt in attempts[: parameters[LIMIT]]), page_bytes)
    cursor = cursor_text("webhook-attempts", attempts[len(data) - 1].id) if len(attempts) > len(data) else None
    return Response(body=encode({"data": data, "next_cursor": cursor}))


async def list_all_attempts(call: Call) -> Response:
    """Handle `GET` of a page of attempts of all clients that the caller may see."""
    principal, parameters = await call.principal(of_several=True), call.parameters()
    before = parameters.cursor("all-webhook-attempts", tuple[int, int, int])
    parameters.done()
    numbers, limit, page_bytes = await call.visible(principal, parameters[CLIENT]), parameters[LIMIT], await call.page_bytes()
    attempts = await call.api.dependencies.store.read(
        sql_dispatch.list_all_attempts(numbers, limit + 1, before, parameters[ENDPOINT], parameters[OUTCOME])
    )
    clients = await call.api.clients.of(attempt.client for attempt in attempts)
    data = fitting((attempt_out(attempt, clients.get(attempt.client, EVERYBODY)) for attempt in attempts[:limit]), page_bytes)
    last = attempts[len(data) - 1] if len(attempts) > len(data) else None
    cursor = None if last is None else cursor_text("all-webhook-attempts", (last.at, last.client, last.id))
    return Response(body=encode({"data": data, "next_cursor": cursor}))


async def get_request(call: Call) -> Response:
    """Handle `GET` of the request of one attempt."""
    client, number, parts = await owner_of(call), call.id("webhook attempt"), call.api.dependencies
    call.parameters().done()
    attempts = await parts.store.read(sql_dispatch.list_attempts(client.number, 1, number + 1))
    if not attempts or attempts[0].id != number:
        raise NotFound(f"there is no webhook attempt {number}")
    attempt, endpoint = attempts[0], await _find(call, client, attempts[0].endpoint_id)
    if endpoint.kind in (HUBSPOT, BLOCKLIST):
        raise NotFound(f"the request of attempt {number} is not shown: the kind {endpoint.kind} writes what is true when it sends")
    outbox = outbox_of(call)
    message = await outbox.preview(endpoint, client.client_id, attempt.sequence or None, attempt.at)
    if message is None:
        raise NotFound(f"the request of attempt {number} is not shown: its event is not in the log any more")
    changed = await outbox.changes_since(endpoint, attempt.sequence, attempt.at)
    return Response(body=encode(request_out(endpoint, message, attempt.at, changed)), headers=[(b"cache-control", b"no-store")])


_SHOWN = (Success(200, "The endpoint; its secret is not shown.", WebhookEndpointOut),)
_TAGGED = (Success(200, "The endpoint; its secret is not shown.", WebhookEndpointOut, ("ETag",)),)
_ID = f"{PATH}/{{id}}"
ROUTES = [
    Route(
        "GET", PATH, list_endpoints, scope=ADMIN, operation_id="list_webhook_endpoints", tag=TAG, summary="List webhook endpoints",
        description="Oldest first, each with its progress. Secrets are not shown.",
        query=PAGE, success=(Success(200, "A page.", WebhookEndpointPage),),
    ),
    Route(
        "POST", PATH, add_endpoint, scope=ADMIN, operation_id="add_webhook_endpoint", tag=TAG, summary="Add a webhook endpoint",
        description="From now on the client's events are sent to the URL as `POST` requests, signed as Standard Webhooks say. The secret "
        "is shown only in this response. The kinds slack and email send messages to people instead. A client has up to 100 endpoints.",
        body=WebhookEndpointRequest, success=(Success(201, "The new endpoint with its secret.", WebhookEndpointOut, ("Location",)),),
    ),
    Route(
        "POST", f"{PATH}/preview", preview, scope=ADMIN, operation_id="preview_webhook", tag=TAG,
        summary="Show what an endpoint would send, without sending it",
        description="Renders a kind with a template over the event of a fictitious person, as a test sends it, or over a stored event.",
        body=WebhookPreviewRequest, success=(Success(200, "The message.", WebhookPreviewOut),), keyed=False,
    ),
    Route(
        "GET", _ID, get_endpoint, scope=ADMIN, operation_id="get_webhook_endpoint", tag=TAG, summary="Get one webhook endpoint",
        description="Returns the endpoint with its progress: what waits, what failed, and since when it fails.", success=_TAGGED,
    ),
    Route(
        "PATCH", _ID, change_endpoint, scope=ADMIN, operation_id="change_webhook_endpoint", tag=TAG, summary="Update one webhook endpoint",
        description="What is left out stays. `disabled=true` stops sending until `disabled=false`; events wait while the log has them. "
        "The ETag is `updated_time`, in quotes.",
        headers=(if_match("endpoint"),), body=WebhookEndpointChange, success=_TAGGED, problems=(412,),
    ),
    Route(
        "DELETE", _ID, remove_endpoint, scope=ADMIN, operation_id="remove_webhook_endpoint", tag=TAG, summary="Remove a webhook endpoint",
        description="Removes it with its attempts; what waits is not sent.", headers=(if_match("endpoint"),),
        success=(Success(204, "It is removed."),), problems=(412,),
    ),
    Route(
        "POST", f"{_ID}/rotate-secret", rotate_secret, scope=ADMIN, operation_id="rotate_webhook_secret", tag=TAG,
        summary="Give one webhook endpoint a new secret",
        description="Requests carry a signature of each secret until the overlap ends. The secret is shown only in this response.",
        body=WebhookSecretRotation, success=(Success(200, "The endpoint with its new secret.", WebhookEndpointOut),),
    ),
    Route(
        "POST", f"{_ID}/resume", resume_endpoint, scope=ADMIN, operation_id="resume_webhook_endpoint", tag=TAG,
        summary="Resume one webhook endpoint",
        description="Makes a paused or disabled endpoint active. What waited is sent, in order, also what waits for its next attempt.",
        success=_SHOWN,
    ),
    Route(
        "POST", f"{_ID}/test", test_endpoint, scope=ADMIN, operation_id="test_webhook_endpoint", tag=TAG,
        summary="Send a test to one webhook endpoint",
        description="Sends an event of the type `endpoint.test`, or to people the message about a fictitious person, and returns what the "
        "receiver responded, also if it failed.",
        success=(Success(200, "What became of it.", WebhookAttemptOut),),
    ),
    Route(
        "POST", f"{_ID}/replay", replay, scope=ADMIN, operation_id="replay_webhooks", tag=TAG,
        summary="Send events to one webhook endpoint again",
        description="One event, in any state; or events that failed since a time; or all since a time that were never delivered. "
        "A repeated event has the same `webhook-id`.",
        body=WebhookReplay, success=(Success(202, "How many events will be sent.", WebhooksReplayed),),
    ),
    Route(
        "GET", ATTEMPTS, list_attempts, scope=ADMIN, operation_id="list_webhook_attempts", tag=TAG, summary="List attempts, newest first",
        description="Requests to endpoints with status, latency and the beginning of the response. All failures are listed; of events that "
        "were delivered at the first attempt, up to 20 of each transaction.",
        query=(ENDPOINT, EVENT, OUTCOME, *PAGE), success=(Success(200, "A page.", WebhookAttemptPage),),
    ),
    Route(
        "GET", f"{ATTEMPTS}/{{id}}/request", get_request, scope=ADMIN, operation_id="get_webhook_request", tag=TAG,
        summary="Show the request of one attempt",
        description="Headers with the signature, body, and a `curl` that repeats it by hand. The request is rebuilt from the stored event, "
        "the endpoint and the record as it is now; `changed` says what is newer than the attempt. 404 for the kinds hubspot and blocklist, "
        "and once the event has left the log. A receiver that checks `webhook-timestamp` refuses the repetition after some minutes: "
        "replay the event then.",
        success=(Success(200, "The request.", WebhookRequestOut),),
    ),
    Route(
        "GET", OF_ALL, list_all_endpoints, scope=ADMIN, operation_id="list_all_webhook_endpoints", tag=TAG,
        summary="List webhook endpoints of all clients",
        description="Those of all clients together first, with the counts of their copies, then each client's.",
        query=(CLIENT, SHARED, STATE, *PAGE), success=(Success(200, "A page.", WebhookEndpointPage),), problems=(404,),
    ),
    Route(
        "POST", OF_ALL, add_endpoint, scope=ADMIN, operation_id="add_shared_webhook_endpoint", tag=TAG,
        summary="Add a webhook endpoint for all clients",
        description="Every client gets a copy within seconds, later clients too: events keep their order in each client, and one client's "
        "backlog delays no other. Of the kinds webhook, slack and email; messages begin with the client's name. An endpoint of the kind "
        "audit has no copies: it gets the acts of the audit log, in order. Needs an administrator of all clients, as do changes.",
        body=WebhookEndpointRequest, success=(Success(201, "The new endpoint with its secret.", WebhookEndpointOut, ("Location",)),),
    ),
    Route(
        "GET", f"{OF_ALL}/{{id}}", get_endpoint, scope=ADMIN, operation_id="get_shared_webhook_endpoint", tag=TAG,
        summary="Get one webhook endpoint of all clients",
        description="Returns the endpoint with the counts of its copies.", success=_TAGGED,
    ),
    Route(
        "PATCH", f"{OF_ALL}/{{id}}", change_endpoint, scope=ADMIN, operation_id="change_shared_webhook_endpoint", tag=TAG,
        summary="Update one webhook endpoint of all clients",
        description="What is left out stays; the copies follow within seconds. `disabled` sets the state of all copies.",
        headers=(if_match("endpoint"),), body=WebhookEndpointChange, success=_TAGGED, problems=(412,),
    ),
    Route(
        "DELETE", f"{OF_ALL}/{{id}}", remove_endpoint, scope=ADMIN, operation_id="remove_shared_webhook_endpoint", tag=TAG,
        summary="Remove a webhook endpoint of all clients",
        description="Its copies are removed within seconds, with their attempts; what waits is not sent.",
        headers=(if_match("endpoint"),), success=(Success(204, "It is removed."),), problems=(412,),
    ),
    Route(
        "POST", f"{OF_ALL}/{{id}}/rotate-secret", rotate_secret, scope=ADMIN, operation_id="rotate_shared_webhook_secret", tag=TAG,
        summary="Give one webhook endpoint of all clients a new secret",
        description="Requests carry a signature of each secret until the overlap ends. The secret is shown only in this response.",
        body=WebhookSecretRotation, success=(Success(200, "The endpoint with its new secret.", WebhookEndpointOut),),
    ),
    Route(
        "POST", f"{OF_ALL}/{{id}}/resume", resume_endpoint, scope=ADMIN, operation_id="resume_shared_webhook_endpoint", tag=TAG,
        summary="Resume one webhook endpoint of all clients",
        description="Makes all its copies active, also paused ones. What waited is sent, in order.", success=_SHOWN,
    ),
    Route(
        "POST", f"{OF_ALL}/{{id}}/test", test_endpoint, scope=ADMIN, operation_id="test_shared_webhook_endpoint", tag=TAG,
        summary="Send a test to one webhook endpoint of all clients",
        description="Sends one event of no client, and returns what the receiver responded, also if it failed.",
        success=(Success(200, "What became of it.", WebhookAttemptOut),),
    ),
    Route(
        "GET", ATTEMPTS_OF_ALL, list_all_attempts, scope=ADMIN, operation_id="list_all_webhook_attempts", tag=TAG,
        summary="List attempts of all clients, newest first",
        description="As the list of one client. `endpoint` may be one of all clients: then the attempts of its copies are listed.",
        query=(CLIENT, ENDPOINT, OUTCOME, *PAGE), success=(Success(200, "A page.", WebhookAttemptPage),), problems=(404,),
    ),
    Route(
        "GET", f"{ATTEMPTS_OF_ALL}/{{id}}/request", get_request, scope=ADMIN, operation_id="get_shared_webhook_request", tag=TAG,
        summary="Show the request of one attempt that has no client",
        description="As of one client: of the audit log, and of tests of endpoints of all clients.",
        success=(Success(200, "The request.", WebhookRequestOut),),
    ),
]  # fmt: skip
