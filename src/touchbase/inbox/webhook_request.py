"""What adapters are given of a call, kept or not: its body unpacked."""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.adapters.interface import WebhookRequest
from touchbase.common.content_encoding import decoded
from touchbase.connections.models import FRESH, Connection
from touchbase.inbox.delivery import Delivery
from touchbase.inbox.payload_limits import refuse_bulk


def delivered(delivery: Delivery, connections: Sequence[Connection] = ()) -> WebhookRequest:
    """A kept delivery as adapters read it."""
    proved = delivery.tool if delivery.verified else None
    request = request_of(delivery.channel, delivery.headers, delivery.query, delivery.body, proved, connections)
    if not delivery.verified:
        request.rejected_tools = barred(connections, delivery)
    return request


def barred(connections: Sequence[Connection], delivery: Delivery) -> frozenset[str]:
    """The tools that a delivery which proved nothing must not be read as: those whose secrets were set when it came.

    Another process may have seen a new secret a moment late, and accepted what it had no reason to refuse.
    """
    since = delivery.received_us - FRESH
    return frozenset(
        one.tool for one in connections
        if one.channel == delivery.channel and one.secrets and one.guarded_us is not None and one.guarded_us < since
    )  # fmt: skip


def request_of(
    channel: str, headers: dict[str, str], query: str, body: bytes, proved: str | None = None, connections: Sequence[Connection] = ()
) -> WebhookRequest:
    """A call as adapters read it, its body unpacked; `UnrecognisedPayload` where that cannot be done, or holds more than any call does."""
    plain = decoded(headers.get("content-encoding", ""), body)
    refuse_bulk(plain)
    return WebhookRequest(channel, headers, query, plain, proved, connections)
