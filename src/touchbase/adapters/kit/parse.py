"""Parsing of webhook bodies, by content and not by Content-Type, and unwrapping of relay envelopes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec

from touchbase.adapters.interface import ParsedWebhook, WebhookRequest
from touchbase.adapters.kit import forms
from touchbase.adapters.kit.extract import objects
from touchbase.adapters.kit.relays import MARKS, envelope_bodies, envelope_headers
from touchbase.adapters.kit.xml_bodies import xml_object
from touchbase.connections.fetch_state import FETCHED

_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_HOLDS_JSON = frozenset({"mandrill_events", "payload", "data", "body", "json", "event"})
_OBJECTS = frozenset({'{"', "{\n", "{\r", "{ ", "[{", "[\n", "[\r", "[ "})
"""Prefixes of a text that may be a JSON object or a list of objects."""
_WRAPPERS = frozenset(
    {"body", "payload", "data", "json", "_json", "raw_body", "value", "items", "results", "events", "event", "trigger", "steps"}
)
_RELAY_KEYS = frozenset(
    {
        "headers", "params", "query", "webhookUrl", "executionMode", "method", "path", "url", "ip", "hookUrl", "querystring", "pairedItem",
        "binary", "context", "source", "received_at", "contentType",
    }
)  # fmt: skip
_MAX_WRAP_DEPTH = 5
_MAX_NUMBER_LENGTH = 100
_BRACKETED = re.compile(r"\w+(\[\w*\])+")


def parse(request: WebhookRequest) -> ParsedWebhook:
    """Parse a body into objects and lists, from JSON, form fields or XML; `data` is None for anything else.

    Never raises. A list of form fields becomes an object; a single field with JSON is parsed as JSON. A form written as
    JSON, with bracketed names, is read as a form.
    """
    return _read(request, request.headers, request.body)


def _read(request: WebhookRequest, headers: Mapping[str, str], body: bytes) -> ParsedWebhook:
    body = body.strip()
    if body.startswith(_MARKS):
        body = _without_mark(body)
    if body[:3].upper() in (b"%7B", b"%5B"):
        # A JSON body posted with a form's content type.
        body = unquote_to_bytes(body.replace(b"+", b" ")).strip()
    if body[:1] in (b"{", b"[", b'"'):
        data = _from_json(body.rstrip(b"="))
        if isinstance(data, dict) and (_says_form(headers) or _looks_flat(data)):
            return ParsedWebhook(request, headers, _from_flat(data), form=True)
        if isinstance(data, list) and any(map(_looks_flat, objects(data))):
            data = [_from_flat(item) if isinstance(item, dict) and _looks_flat(item) else item for item in data]
        return ParsedWebhook(request, headers, data)
    if body[:1] == b"<":
        return ParsedWebhook(request, headers, xml_object(body))
    fields = _fields(body)
    if not fields:
        return ParsedWebhook(request, headers, None)
    return ParsedWebhook(request, headers, forms.nested(fields) | _json_fields(fields), form=True)


def layers(webhook: ParsedWebhook) -> Iterator[ParsedWebhook]:
    """Yield the webhook, then the webhook with one relay envelope (n8n, Zapier, Make) after another removed, with its original headers."""
    yield webhook
    for _ in range(_MAX_WRAP_DEPTH):
        inner = _unwrapped(webhook)
        if inner is None:
            return
        webhook = inner
        yield webhook


def unwrap(webhook: ParsedWebhook) -> ParsedWebhook:
    """Return the webhook without any envelope; the webhook itself if it has none."""
    *_, innermost = layers(webhook)
    return innermost


def _unwrapped(webhook: ParsedWebhook) -> ParsedWebhook | None:
    data = webhook.data
    if isinstance(data, list):
        return _items_unwrapped(webhook, data)
    return _object_unwrapped(webhook, data) if isinstance(data, dict) else None


def _object_unwrapped(webhook: ParsedWebhook, data: dict[str, object]) -> ParsedWebhook | None:
    if not MARKS.isdisjoint(data) and (opened := _opened_or_unloaded(webhook, data)) is not None:
        return opened
    if (value := _inside(data)) is not None:
        return _holding(webhook, value)
    if _looks_flat(data):
        return replace(webhook, data=_from_flat(data), form=True)
    return unflattened(webhook) or _with_objects(webhook, data)


def _opened_or_unloaded(webhook: ParsedWebhook, data: dict[str, object]) -> ParsedWebhook | None:
    if _is_envelope(data):
        return _opened(webhook, data)
    bodies = envelope_bodies(data)
    return None if bodies is None else _unloaded(webhook, envelope_headers(data), bodies)


def _with_objects(webhook: ParsedWebhook, data: dict[str, object]) -> ParsedWebhook | None:
    """Return the webhook with JSON texts in its fields parsed (a table's or form's fields); None if there are none."""
    if b'\\"' not in webhook.request.body:
        # An object in a text has escaped quotes.
        return None
    texts = {name: value for name, value in data.items() if isinstance(value, str) and value[:2] in _OBJECTS}
    parsed = {name: read for name, value in texts.items() if (read := unquoted(value)) is not value and read is not None}
    return replace(webhook, data=data | parsed) if parsed else None


def _holding(webhook: ParsedWebhook, value: object) -> ParsedWebhook:
    """Return the webhook with this body, which is marked as a form if it is a form written as an object."""
    if isinstance(value, dict) and _looks_flat(value):
        return replace(webhook, data=_from_flat(value), form=True)
    return replace(webhook, data=value)


def unflattened(webhook: ParsedWebhook) -> ParsedWebhook | None:
    """Return the webhook with flattened names (`data__lead__email`) expanded; None without such names."""
    deep = forms.unflattened(webhook.data) if isinstance(webhook.data, dict) else None
    return None if deep is None else replace(webhook, data=deep)


def _items_unwrapped(webhook: ParsedWebhook, data: list[Any]) -> ParsedWebhook | None:
    if any(_is_envelope(item) for item in data):
        if len(data) == 1:
            return _opened(webhook, data[0])
        return replace(
            webhook, data=[event for item in data for event in _listed(_opened(webhook, item).data if _is_envelope(item) else item)]
        )
    held = [envelope_bodies(item) if isinstance(item, dict) else None for item in data]
    if any(held):
        bodies = [body for bodies in held for body in bodies or ()]
        return _unloaded(webhook, envelope_headers(data[0]), bodies) if all(held) else None
    inner = [_inside(item) for item in data]
    if inner and None not in inner:
        return replace(webhook, data=[event for value in inner for event in _listed(value)])
    return _items_unflattened(webhook, data)


def _items_unflattened(webhook: ParsedWebhook, data: list[Any]) -> ParsedWebhook | None:
    """Return the webhook with flattened names expanded in every item; None if no item has such names."""
    deep = [_deep(item) if isinstance(item, dict) else None for item in data]
    if not any(deep):
        return None
    return replace(webhook, data=[item if below is None else below for item, below in zip(data, deep, strict=True)])


def _deep(item: dict[str, object]) -> dict[str, object] | None:
    return _from_flat(item) if _looks_flat(item) else forms.unflattened(item)


def _inside(item: object) -> object:
    """Return the content of a single-key wrapper, parsed if it is a text; None for any other value."""
    held = _lone_key(item) if isinstance(item, dict) else None
    if held not in _WRAPPERS or not isinstance(item, dict):
        return None
    value = unquoted(item[held])
    return value if isinstance(value, dict | list) else None


def _lone_key(item: dict[str, object]) -> str | None:
    """Return the only key of an object that is not one of a relay's own."""
    lone = None
    for key in item:
        if key not in _RELAY_KEYS:
            if lone is not None:
                return None
            lone = key
    return lone


def _is_envelope(item: object) -> bool:
    """Return whether an object is n8n's envelope: headers, query and body side by side."""
    return isinstance(item, dict) and isinstance(item.get("headers"), dict) and isinstance(unquoted(item.get("body")), dict | list)


def unquoted(value: object) -> object:
    """Parse a text that holds a JSON object or list; return any other value unchanged."""
    return _from_json(value.encode("utf-8", "replace")) if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") else value


def _unloaded(webhook: ParsedWebhook, headers: dict[str, object], bodies: list[object]) -> ParsedWebhook | None:
    """Return the webhook inside an envelope, parsed as if it had come alone; None if its content is unreadable."""
    named = {**webhook.headers, **_named(headers)}
    inner = [_read_inside(webhook, named, body) if isinstance(body, bytes) else _holding(webhook, body) for body in bodies]
    if any(event.data is None for event in inner):
        return None
    if len(inner) == 1:
        return replace(inner[0], settings=webhook.settings)
    return replace(webhook, data=[event for inner_event in inner for event in _listed(inner_event.data)])


def _read_inside(webhook: ParsedWebhook, headers: Mapping[str, str], body: bytes) -> ParsedWebhook:
    """Return the webhook with this body. XML, which only its own tool reads, stays a text under `body`."""
    if body.lstrip().startswith(b"<"):
        return replace(webhook, data={"body": body.decode("utf-8", "replace")}, headers=headers)
    return _read(webhook.request, headers, body)


def _named(headers: dict[str, object]) -> dict[str, str]:
    """Return an envelope's headers, without the marker of fetched records, which an envelope must not forge."""
    return {low: value for name, value in headers.items() if isinstance(value, str) and (low := name.lower()) != FETCHED}


def _opened(webhook: ParsedWebhook, envelope: dict[str, object]) -> ParsedWebhook:
    headers = envelope["headers"]
    assert isinstance(headers, dict)
    named = _named(headers)
    data = unquoted(envelope["body"])
    if isinstance(data, dict) and (_says_form(named) or _looks_flat(data)):
        return replace(webhook, data=_from_flat(data), headers={**webhook.headers, **named}, form=True)
    return replace(webhook, data=data, headers={**webhook.headers, **named})


def _says_form(headers: Mapping[str, str]) -> bool:
    return "form" in headers.get("content-type", "")


def _looks_flat(data: dict[str, object]) -> bool:
    """Return whether an object has only text values, one of them under a bracketed form name.

    An empty nested object is allowed: Zapier adds its `querystring` to each webhook.
    """
    if "]" not in " ".join(data):
        return False
    bracketed = any(name[-1:] == "]" and _BRACKETED.fullmatch(name) for name in data)
    return bracketed and all(value == {} or isinstance(value, str | list | None) for value in data.values())


def _from_flat(data: dict[str, object]) -> dict[str, object]:
    """Parse form fields written as JSON with bracketed names; web frameworks put every value into a list."""
    if all(isinstance(value, list) and len(value) < 2 and not objects(value) for value in data.values()):
        data = {name: value[0] for name, value in data.items() if isinstance(value, list) and value}
    return forms.nested(data.items()) | _json_fields([(name, value) for name, value in data.items() if isinstance(value, str)])


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _fields(body: bytes) -> list[tuple[str, str]]:
    if body.startswith(b"--") and b"form-data" in body:
        return forms.multipart(body)
    return forms.urlencoded(body.decode("utf-8", "replace"))


def _json_fields(fields: list[tuple[str, str]]) -> dict[str, object]:
    """Return the fields whose text is a JSON object or list of objects, or any list where one is expected."""
    objects: dict[str, object] = {}
    for name, value in fields:
        if (name in _HOLDS_JSON or len(fields) == 1 or value[:2] in _OBJECTS) and value.lstrip()[:1] in ("{", "["):
            read = _from_json(value.encode("utf-8", "replace"))
            if read is not None:
                objects[name] = read
    return objects


def _without_mark(body: bytes) -> bytes:
    encoding = "utf-8-sig" if body.startswith(_MARKS[0]) else "utf-16"
    return body.decode(encoding, "replace").strip().encode("utf-8", "replace")


def _from_json(body: bytes) -> object:
    """Parse a JSON object or list; None for other values and for invalid JSON."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = _from_sloppy_json(body)
    except RecursionError:
        return None
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        return _from_json(value.lstrip().encode("utf-8", "replace"))
    return value if isinstance(value, dict | list) else None


def _from_sloppy_json(body: bytes) -> object:
    """Parse invalid JSON from relays' hand-written templates: raw line breaks, NaN, broken UTF-8, lone surrogates."""
    try:
        value = json.loads(
            body.decode("utf-8", "replace"), strict=False, parse_constant=_nothing, parse_int=_sane_int, parse_float=_sane_float
        )
        # A round trip removes lone surrogates.
        return msgspec.json.decode(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError, msgspec.DecodeError):
        return None


def _nothing(_: str) -> None:
    return None


def _sane_int(digits: str) -> int | None:
    return int(digits) if len(digits) <= _MAX_NUMBER_LENGTH else None


def _sane_float(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None
