"""What queues, gateways and event buses carry: a call's body as a text below the carrier's own names, often in base64."""

from __future__ import annotations

from collections.abc import Mapping

from touchbase.adapters.kit.extract import dig
from touchbase.common.content_encoding import from_base64

_BELOW = (
    ("specversion", "data"), ("detail-type", "detail"), ("dataVersion", "data"), ("_msgid", "payload"), ("providerConfigKey", "payload"),
)  # fmt: skip
"""What shows the envelope of an event bus, or of a relay that forwards a provider's calls, and where that has what it carries."""
_TEXTS = (
    ("TopicArn", "Message", False),
    ("token_id", "content", False),
    ("$content", "$content", True),
    ("data_base64", "data_base64", True),
)
"""What shows the envelope of a topic, of a flow or of a bus; where that has its text, and whether in base64."""
MARKS = frozenset(
    {"headers", "isBase64Encoded", "message", "Records", "eventSource", *(text[0] for text in _TEXTS), *(place[0] for place in _BELOW)}
)
"""Names of which every carrier shows one."""


def carried(data: Mapping[str, object]) -> list[object] | None:
    """The bodies that a carrier holds: bytes that are still to be read, or objects and lists; None for what is no carrier."""
    if MARKS.isdisjoint(data):
        return None
    if isinstance(records := data.get("Records"), list):
        bodies = [body for record in records if isinstance(record, dict) and (body := _recorded(record)) is not None]
        return bodies if bodies and len(bodies) == len(records) else None
    body = _one(data)
    return None if body is None else [body]


def headers_of(data: Mapping[str, object]) -> dict[str, object]:
    """The call's own headers, where a gateway hands them on."""
    found = data.get("headers")
    return found if isinstance(found, dict) else {}


def _one(data: Mapping[str, object]) -> object:
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
    """An HTTP gateway's body is a text, JSON or not; a catcher of calls names it `content`. One that is an object is a relay's wrapping."""
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
