"""Proofs that stand in the body: a secret that the tool sends along. Only these are judged after parsing.

A caller who knows no secret reaches this code, so what it reads is bounded before anything is parsed.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace

from touchbase.adapters.interface import Call, WebhookRequest
from touchbase.adapters.kit.extract import objects, text
from touchbase.adapters.kit.parse import parse, unwrap
from touchbase.adapters.kit.signatures import Scheme, one_of, same
from touchbase.common.content_encoding import LARGEST_SIGNED, decoded
from touchbase.common.timestamps import Micros
from touchbase.connections.fetch_state import FETCHED
from touchbase.connections.models import Arrival
from touchbase.errors import UnrecognisedPayload

LARGEST_READ = 256 * 1024
"""Bytes of a body, unpacked, that is parsed to find out who sends it."""
MOST_OBJECTS = 2_000
"""Objects and lists in it, or fields of a form."""
DEEPEST = 64
"""How deep they may be nested."""
_OPENS = re.compile(rb"[{[]|%7b|%5b|\\u00[57]b", re.IGNORECASE)
_BRACKET = re.compile(rb"[{}[\]]")


def field_of(name: str) -> Scheme:
    """The body's field of this name holds the secret."""

    def check(arrival: Arrival, secret: str, now: Micros) -> bool:
        given = fields(arrival).get(name)
        return same(given if isinstance(given, str) else text(given), secret)

    return Scheme(f"field `{name}` of the body: the secret itself", check, reads_body=True)


def _any_field(arrival: Arrival, secret: str, now: Micros) -> bool:
    return one_of([given for given in fields(arrival).values() if isinstance(given, str)], secret)


ANY_FIELD = Scheme("any field at the top of the body: the secret itself", _any_field, reads_body=True)


def fields(arrival: Arrival) -> dict[str, object]:
    """The fields at the top of a body, of a list's first object; none where it is too large to be read."""
    if "fields" not in arrival.memo:
        call = call_of(arrival)
        arrival.memo["fields"] = {} if call is None else next(iter(objects(unwrap(call).data)), {})
    found: dict[str, object] = arrival.memo["fields"]
    return found


def call_of(arrival: Arrival) -> Call | None:
    """The call with its body parsed, once; None where the body exceeds the bounds."""
    if "call" not in arrival.memo:
        headers = {name: value for name, value in arrival.headers.items() if name != FETCHED}
        request = WebhookRequest(arrival.channel, headers, arrival.query, arrival.body)
        arrival.memo["call"] = parse(request) if is_readable(arrival.body) else None
    found: Call | None = arrival.memo["call"]
    return found


def unpacked(arrival: Arrival) -> Arrival | None:
    """The call with its content encoding undone, once; None where it has none, or where it cannot be undone."""
    encoding = arrival.headers.get("content-encoding")
    if encoding is None:
        return None
    if "unpacked" not in arrival.memo:
        arrival.memo["unpacked"] = None
        with suppress(UnrecognisedPayload):
            arrival.memo["unpacked"] = replace(arrival, body=decoded(encoding, arrival.body, LARGEST_SIGNED))
    found: Arrival | None = arrival.memo["unpacked"]
    return found


def is_readable(body: bytes) -> bool:
    """Whether a body is small, short and flat enough to be parsed for a caller who has proved nothing."""
    if len(body) > LARGEST_READ or body.count(b"&") > MOST_OBJECTS or body.count(b"}") + body.count(b"]") > MOST_OBJECTS:
        return False
    if len(_OPENS.findall(body)) > MOST_OBJECTS:
        return False
    depth = deepest = 0
    for bracket in _BRACKET.findall(body):
        depth += 1 if bracket in b"{[" else -1
        deepest = max(deepest, depth)
    return deepest <= DEEPEST
