"""Schemes with the secret in the body. Only these are checked after parsing.

Unauthenticated requests reach this code, so sizes are limited before anything is parsed.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace

from touchbase.adapters.interface import ParsedWebhook, WebhookRequest
from touchbase.adapters.kit.extract import objects, text
from touchbase.adapters.kit.parse import parse, unwrap
from touchbase.adapters.kit.signatures import Scheme, constant_time_equal, equals_any
from touchbase.common.content_encoding import LARGEST_SIGNED, decoded
from touchbase.common.timestamps import Micros
from touchbase.connections.fetch_state import FETCHED
from touchbase.connections.models import Arrival
from touchbase.errors import UnrecognisedPayload

MAX_BYTES = 256 * 1024
"""Maximum size in bytes, decompressed, of a body that is parsed before authentication."""
MAX_OBJECTS = 2_000
"""Maximum number of objects and lists in it, or of form fields."""
MAX_DEPTH = 64
"""Maximum nesting depth."""
_OPENS = re.compile(rb"[{[]|%7b|%5b|\\u00[57]b", re.IGNORECASE)
_BRACKET = re.compile(rb"[{}[\]]")


def body_field(name: str) -> Scheme:
    """The body's field of this name holds the secret."""

    def check(arrival: Arrival, secret: str, now: Micros) -> bool:
        signature = fields(arrival).get(name)
        return constant_time_equal(signature if isinstance(signature, str) else text(signature), secret)

    return Scheme(f"field `{name}` of the body: the secret itself", check, reads_body=True)


def _any_field(arrival: Arrival, secret: str, now: Micros) -> bool:
    return equals_any([value for value in fields(arrival).values() if isinstance(value, str)], secret)


ANY_FIELD = Scheme("any field at the top of the body: the secret itself", _any_field, reads_body=True)


def fields(arrival: Arrival) -> dict[str, object]:
    """Return the top-level fields of a body, or of a list's first object; empty if the body is too large."""
    if "fields" not in arrival.memo:
        webhook = parsed_webhook(arrival)
        arrival.memo["fields"] = {} if webhook is None else next(iter(objects(unwrap(webhook).data)), {})
    values: dict[str, object] = arrival.memo["fields"]
    return values


def parsed_webhook(arrival: Arrival) -> ParsedWebhook | None:
    """Return the webhook with its body parsed, cached; None if the body exceeds the limits."""
    if "call" not in arrival.memo:
        headers = {name: value for name, value in arrival.headers.items() if name != FETCHED}
        request = WebhookRequest(arrival.channel, headers, arrival.query, arrival.body)
        arrival.memo["call"] = parse(request) if is_within_limits(arrival.body) else None
    webhook: ParsedWebhook | None = arrival.memo["call"]
    return webhook


def unpacked(arrival: Arrival) -> Arrival | None:
    """Return the request with its content encoding removed, cached; None if it has none or cannot be decoded."""
    encoding = arrival.headers.get("content-encoding")
    if encoding is None:
        return None
    if "unpacked" not in arrival.memo:
        arrival.memo["unpacked"] = None
        with suppress(UnrecognisedPayload):
            arrival.memo["unpacked"] = replace(arrival, body=decoded(encoding, arrival.body, LARGEST_SIGNED))
    unpacked_arrival: Arrival | None = arrival.memo["unpacked"]
    return unpacked_arrival


def is_within_limits(body: bytes) -> bool:
    """Return whether a body is small and flat enough to be parsed before authentication."""
    if len(body) > MAX_BYTES or body.count(b"&") > MAX_OBJECTS or body.count(b"}") + body.count(b"]") > MAX_OBJECTS:
        return False
    if len(_OPENS.findall(body)) > MAX_OBJECTS:
        return False
    depth = deepest = 0
    for bracket in _BRACKET.findall(body):
        depth += 1 if bracket in b"{[" else -1
        deepest = max(deepest, depth)
    return deepest <= MAX_DEPTH
