"""The request that adapters read, of a stored delivery or not: the body is decoded."""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.adapters.interface import WebhookRequest
from touchbase.common.content_encoding import decoded
from touchbase.connections.models import CACHE_TTL, Connection
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.limits import check_payload
from touchbase.errors import UnrecognisedPayload


def request_of_delivery(delivery: Delivery, connections: Sequence[Connection] = ()) -> WebhookRequest:
    """Return the request of a stored delivery. Raises `UnrecognisedPayload`, also where its body is lost."""
    if delivery.lost is not None:
        raise UnrecognisedPayload(delivery.lost)
    verified_tool = delivery.tool if delivery.verified else None
    request = request_of(delivery.channel, delivery.headers, delivery.query, delivery.body, verified_tool, connections)
    if not delivery.verified:
        request.rejected_tools = barred_tools(connections, delivery)
    return request


def barred_tools(connections: Sequence[Connection], delivery: Delivery) -> frozenset[str]:
    """Return the tools that may not read an unverified delivery: tools that already had secrets when it was received.

    A process that saw a new secret up to `CACHE_TTL` late may have accepted such a delivery.
    """
    since = delivery.received_us - CACHE_TTL
    return frozenset(
        connection.tool for connection in connections
        if connection.channel == delivery.channel and connection.secrets
        and connection.guarded_us is not None and connection.guarded_us < since
    )  # fmt: skip


def request_of(
    channel: str, headers: dict[str, str], query: str, body: bytes, verified_tool: str | None = None, connections: Sequence[Connection] = ()
) -> WebhookRequest:
    """Return the request with its decoded body. Raises `UnrecognisedPayload` if it cannot be decoded or exceeds the limits."""
    plain = decoded(headers.get("content-encoding", ""), body)
    check_payload(plain)
    return WebhookRequest(channel, headers, query, plain, verified_tool, connections)
