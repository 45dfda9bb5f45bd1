"""Envelopes of queues, gateways and event buses: the webhook's body is a text under the carrier's own key, often in base64."""

from __future__ import annotations

from collections.abc import Mapping

from touchbase.adapters.kit.extract import dig
from touchbase.common.content_encoding import from_base64

_BELOW = (
    ("specversion", "data"), ("detail-type", "detail"), ("dataVersion", "data"), ("_msgid", "payload"), ("providerConfigKey", "payload"),
)  # fmt: skip
"""Envelopes of event buses and forwarding relays: their identifying keys, and the key of the content."""
_TEXTS = (
    ("TopicArn", "Message", False),
    ("token_id", "content", False),
    ("$content", "$content", True),
    ("data_base64", "data_base64", True),
)
"""Envelopes of topics, flows and buses: their identifying keys, the key of the text, and whether it is base64."""
MARKS = frozenset(
    {"headers", "isBase64Encoded", "message", "Records", "eventSource", *(text[0] for text in _TEXTS), *(place[0] for place in _BELOW)}
)
"""Every carrier has at least one of these keys."""


def envelope_bodies(data: Mapping[str, object]) -> list[object] | None:
    """Return the bodies in a carrier's envelope: bytes to parse, or objects and lists; None if it is not an envelope."""
    if MARKS.isdisjoint(data):
        return None
    if isinstance(records := data.get("Records"), list):
        bodies = [body for record in records if isinstance(record, dict) and (body := _recorded(record)) is not None]
        return bodies if bodies and len(bodies) == len(records) else None
    body = _only_value(data)
    return None if body is None else [body]


def envelope_headers(data: Mapping[str, object]) -> dict[str, object]:
    """Return the original webhook's headers, if a gateway forwards them."""
    headers = data.get("headers")
    return headers if isinstance(headers, dict) else {}


def _only_value(data: Mapping[str, object]) -> object:
    if "isBase64Encoded" in data or isinstance(data.get("headers"), dict):
        return _gateways(data)
    if "eventSource" in data:
        return _recorded(data)
    if isinstance(data.get("message"), dict):
        return _bytes(dig(data, "message", "data"), is_base64=True) if "subscription" in data else None
    for mark, place, is_base64 in _TEXTS:
        if mark in data:
            return _bytes(data.get(place), is_base64=is_base64)
    for mark, place in _BELOW:
        if mark in data and (body := data.get(place)) is not None:
            return body if isinstance(body, dict | list) else _bytes(body)
    return None


def _gateways(data: Mapping[str, object]) -> object:
    """Return an HTTP gateway's body, which is a text; a webhook catcher's key is `content`. An object there is a relay's envelope."""
    body = data.get("body") if "body" in data else data.get("content")
    return _bytes(body, is_base64=data.get("isBase64Encoded") in (True, "true", "True"))


def _recorded(record: Mapping[str, object]) -> object:
    if isinstance(topic := record.get("Sns"), dict):
        return _bytes(topic.get("Message"))
    if isinstance(stream := record.get("kinesis"), dict):
        return _bytes(stream.get("data"), is_base64=True)
    return _bytes(record.get("body")) if "eventSource" in record else None


def _bytes(value: object, *, is_base64: bool = False) -> bytes | None:
    if not isinstance(value, str) or not value.strip():
        return None
    if not is_base64:
        return value.encode("utf-8", "replace")
    try:
        return from_base64("".join(value.split()))
    except ValueError:
        return None
