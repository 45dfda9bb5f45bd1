"""What adapters are given of a call, kept or not: its body unpacked."""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.domain.bulk import refuse_bulk
from touchbase.domain.connection import Connection
from touchbase.domain.delivery import WebhookRequest
from touchbase.domain.encoding import decoded


def request_of(
    channel: str, headers: dict[str, str], query: str, body: bytes, proved: str | None = None, connections: Sequence[Connection] = ()
) -> WebhookRequest:
    """A call as adapters read it, its body unpacked; `UnrecognisedPayload` where that cannot be done, or holds more than any call does."""
    plain = decoded(headers.get("content-encoding", ""), body)
    refuse_bulk(plain)
    return WebhookRequest(channel, headers, query, plain, proved, connections)
