"""How much one webhook call may hold.

Four thousand bytes can unfold to a million empty objects, each of which would be read as an event: minutes of work and gigabytes
of memory for one call. Counting brackets costs milliseconds and comes first.
"""

from __future__ import annotations

from touchbase.errors import UnrecognisedPayload

MOST_OBJECTS = 100_000
"""Objects and lists (of XML: tags) in one body. The largest batch that a tool announces has about half as many."""
MOST_VALUES = 1_000_000
"""Values in its lists and objects, told by the commas between them."""


def refuse_bulk(body: bytes) -> None:
    """Raise `UnrecognisedPayload` for a body that holds more than any call does."""
    if len(body) <= MOST_OBJECTS:
        return
    if body.count(b",") + body.count(b"&") > MOST_VALUES or _objects(body) > MOST_OBJECTS:
        most = f"{MOST_OBJECTS} objects or {MOST_VALUES} values"
        raise UnrecognisedPayload(f"the body holds more than {most}, and no tool sends that many in one call; send fewer at a time")


def _objects(body: bytes) -> int:
    if body[:100].lstrip().startswith(b"<"):
        return body.count(b"<")
    # JSON may stand in a form's field, in percent signs.
    packed = body.lower() if b"%" in body else b""
    return body.count(b"{") + body.count(b"[") + packed.count(b"%7b") + packed.count(b"%5b")
