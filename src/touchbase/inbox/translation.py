"""Translation of webhooks inside a sandbox process: the tasks of `translator_pool.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import Adapters, load_adapters
from touchbase.common.content_encoding import decoded
from touchbase.connections.models import Connection
from touchbase.connections.tools import ApiResponse, FetchFailed
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.limits import seconds_for
from touchbase.deliveries.webhook_request import request_of_delivery
from touchbase.deliveries.work import ReadResult
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import CRM, Translation
from touchbase.identity.scan import Identities, add_events, find_addresses
from touchbase.inbox.redaction import redact_secrets
from touchbase.projection.inbox_batch import pack_result, read_delivery
from touchbase.sandbox.process import limit_seconds


@cache
def load() -> Adapters:
    """Load the adapters once."""
    return load_adapters()


def translate(request: WebhookRequest) -> Translation:
    """Translate one webhook; raise the adapter's error."""
    limit_seconds(seconds_for(len(request.body)))
    return load().translate(request)


def read_deliveries(connections: Sequence[Connection], deliveries: Sequence[Delivery]) -> list[ReadResult]:
    """Read each delivery, within the limit for its size."""

    def translated(delivery: Delivery) -> Translation:
        return load().translate(request_of_delivery(delivery, connections))

    results = []
    for delivery in deliveries:
        limit_for(delivery)
        results.append(pack_result(read_delivery(delivery, translated)))
    return results


def scan_deliveries(connections: Sequence[Connection], deliveries: Sequence[Delivery], addresses_only: bool) -> list[Identities]:
    """Return the identities in each delivery; each scan and each translation has the limit of the delivery's size."""

    def translated(delivery: Delivery) -> Translation:
        return load().translate(request_of_delivery(delivery, connections))

    matches = []
    for delivery in deliveries:
        limit_for(delivery)
        matches.append(find_addresses(delivery))
        if not addresses_only:
            limit_for(delivery)
            add_events(matches[-1], delivery, translated)
    return matches


def fetched_records(tool: str, response: ApiResponse, ids: Sequence[str], secrets: Sequence[str]) -> Mapping[str, bytes] | FetchFailed:
    """Return the redacted records in a response of a CRM's API, or why it cannot be read."""
    limit_seconds(seconds_for(len(response.body)))
    fetcher = load().fetcher(CRM, tool)
    if fetcher is None:
        return FetchFailed(f"nothing is fetched from {tool}", stop=True)
    try:
        return {number: redact_secrets(secrets, body) for number, body in fetcher.records(response, ids).items()}
    except FetchFailed as failure:
        return failure


def limit_for(delivery: Delivery) -> None:
    """Start the processor time limit of one delivery, by the size of its decoded body."""
    size = len(delivery.body)
    if encoding := delivery.headers.get("content-encoding"):
        limit_seconds(seconds_for(size))
        with suppress(UnrecognisedPayload):
            size = len(decoded(encoding, delivery.body))
    limit_seconds(seconds_for(size))
