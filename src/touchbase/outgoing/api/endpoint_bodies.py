"""Bodies of requests as endpoints: made, changed and checked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace

from msgspec import UNSET, structs

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.common.token_bucket import BoundedCache, TokenBucket
from touchbase.connections.models import Connection
from touchbase.errors import Fault, RateLimited
from touchbase.http.dependencies import AppKey
from touchbase.http.endpoint import Call
from touchbase.outgoing.api.event_objects import AS_IN_API
from touchbase.outgoing.api.schemas import WebhookEndpointChange, WebhookEndpointRequest
from touchbase.outgoing.attempts import Outbox
from touchbase.outgoing.http_client import ReceiverAnswer
from touchbase.outgoing.mail_client import ANY_DOMAIN
from touchbase.outgoing.models import (
    ACTIVE,
    AUDIT,
    DISABLED,
    EVERY_CLIENT,
    KIND_SETTINGS,
    SHARED_KINDS,
    TESTS_A_MINUTE,
    Endpoint,
    Installation,
)
from touchbase.outgoing.validation import USUAL_RATES, completed, endpoint_faults
from touchbase.records.validation import raise_if_any

SEND_WEBHOOK: AppKey[Callable[[str, dict[str, str], bytes], Awaitable[ReceiverAnswer]]] = AppKey()
"""Sends a request to an endpoint, for tests of endpoints."""
ENDPOINT_TESTS: AppKey[BoundedCache[int, TokenBucket]] = AppKey()
"""Tests and previews of endpoints, by client."""
WEBHOOK_ALLOWED: AppKey[Collection[str]] = AppKey()
"""Origins to which webhooks may be sent although they are not public or not https."""
INSTALLATION: AppKey[Installation] = AppKey()
"""The operator's settings for messages to people."""
EVENT = "evt_"


def sequence_of_id(text: str) -> int | None:
    """Return the sequence of an event's id."""
    digits = text.removeprefix(EVENT)
    return int(digits) if digits.isascii() and digits.isdigit() and 0 < len(digits) < 19 else None


def endpoint_from(client: Client, body: WebhookEndpointRequest, now: Micros) -> Endpoint:
    """Return the endpoint of a request to add one."""
    values = structs.asdict(body)
    url, rate, state = values.pop("url"), values.pop("rate_limit"), DISABLED if values.pop("disabled") else ACTIVE
    rate = USUAL_RATES[body.kind] if rate is UNSET else rate
    settings = {name: values.pop(name) for name in KIND_SETTINGS}
    settings = {name: value for name, value in settings.items() if value}
    new = Endpoint(client.number, 0, "", now, now, rate=rate, state=state, state_us=now, settings=settings, **values)
    return completed(new, None if url is UNSET else url)


def check_endpoint(
    call: Call, client: Client, endpoint: Endpoint, connections: Sequence[Connection] | None = None, *, names_recipients: bool = True
) -> None:
    """Raise `Invalid` for the faults of an endpoint.

    `connections`: the client's, for a new endpoint; `names_recipients`: whether the request has the recipients.
    """
    parts = call.api.dependencies
    # One that exists can be changed, and so stopped, when the mail server, the connection or a recipient's domain is gone.
    is_new, place = endpoint.id == 0, call.api[INSTALLATION]
    has_mail = bool(place.mail_from) or not is_new
    domains = place.mail_domains if names_recipients else ANY_DOMAIN
    faults = endpoint_faults(
        endpoint,
        client.settings,
        call.api[WEBHOOK_ALLOWED],
        parts.clock(),
        has_mail=has_mail,
        mail_domains=domains,
        connections=connections if is_new else None,
    )
    if client.number == EVERY_CLIENT and endpoint.kind not in SHARED_KINDS:
        faults = [Fault("/kind", "kind", f"is of one client; endpoints of all clients are of the kinds {', '.join(SHARED_KINDS)}")]
    elif client.number != EVERY_CLIENT and endpoint.kind == AUDIT:
        faults = [Fault("/kind", "kind", "is of all clients: POST it to /team/v1/webhook-endpoints, as an administrator of all clients")]
    raise_if_any(faults)


def changed_endpoint(endpoint: Endpoint, body: WebhookEndpointChange, now: Micros) -> Endpoint:
    """Return an endpoint with the values of a change."""
    values = {name: value for name, value in structs.asdict(body).items() if value is not UNSET}
    disabled = values.pop("disabled", None)
    if "rate_limit" in values:
        values["rate"] = values.pop("rate_limit")
    settings = {**endpoint.settings, **{name: values.pop(name) for name in KIND_SETTINGS if name in values}}
    url = values.pop("url", None)
    values["settings"] = {name: value for name, value in settings.items() if value}
    new = completed(replace(endpoint, updated_us=now, **values), url)
    state = {None: new.state, True: DISABLED, False: ACTIVE}[disabled]
    if state != new.state:
        new.state, new.reason, new.state_us = state, None, now
    return new


def take_test(call: Call, client: Client) -> None:
    """Count a test or a preview of a client; raise `RateLimited` if there were too many."""
    bucket = call.api[ENDPOINT_TESTS].of(client.number, now := call.api.dependencies.clock())
    if not bucket.take(1, now):
        detail = f"at most {TESTS_A_MINUTE} tests and previews a minute and client; try again in {bucket.wait(1)} s"
        raise RateLimited(detail, policy=bucket.name, quota=TESTS_A_MINUTE, window=bucket.window, retry_after=bucket.wait(1))


def outbox_of(call: Call) -> Outbox:
    """Return the outbox that sends tests and makes previews."""
    parts = call.api.dependencies
    return Outbox(parts.store, call.api[SEND_WEBHOOK], parts.clock, AS_IN_API, call.api[INSTALLATION])
