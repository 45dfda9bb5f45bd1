"""Limits of one delivery: payload size, and the time and memory that reading and applying it may take.

A body of 4,000 bytes can expand to a million empty objects, each of which would be read as an event: minutes of work and
gigabytes of memory for one webhook. Counting brackets takes milliseconds and comes first.
"""

from __future__ import annotations

from touchbase.common.timestamps import SECOND, Micros
from touchbase.deliveries.delivery import Delivery
from touchbase.errors import UnrecognisedPayload

BASE_SECONDS = 2.0
"""CPU seconds to read one delivery; a usual one takes a ten-thousandth of it."""
SECONDS_PER_MIB = 8.0
"""Further CPU seconds for each MiB of its decoded body: four times the measurement of the densest body."""
MAX_SECONDS = 30.0
"""CPU seconds to read one delivery, however large."""
MAX_EVENTS = 256
"""Events applied in one transaction (some hundredths of a second); a delivery with more is applied in several."""
LARGE = 256 * 1024
LARGE_COMPRESSED = 2 * 1024
"""Bytes of a body, plain or compressed, above which a delivery is processed alone and the attempt is recorded first. 2 KiB decompress
to 2 MiB at most; the server may end with the process that reads more, where a container's memory is full."""
INLINE_BYTES = 16 * 1024
"""Bytes of a decoded body up to which it is searched and redacted on the event loop, in a few milliseconds at most."""
LONGEST_WAIT: Micros = 3600 * SECOND
"""Longest pause between two attempts to apply a delivery."""
UNFINISHED = "an attempt was started and did not end; it is retried"
"""`error` of a delivery while it is processed alone; it stays when the process dies during the attempt."""
OUT_OF_ATTEMPTS = "{} attempts were started and none ended: the process was killed each time; replay it to try again"


def seconds_for(size: int) -> float:
    """Return the CPU seconds that reading a decoded body of `size` bytes may take."""
    return min(MAX_SECONDS, BASE_SECONDS + SECONDS_PER_MIB * size / 2**20)


def is_large(delivery: Delivery) -> bool:
    """Return whether a delivery is processed alone: for its size, or because an attempt did not end."""
    size = len(delivery.body)
    return size > LARGE or (size > LARGE_COMPRESSED and "content-encoding" in delivery.headers) or delivery.error == UNFINISHED


MAX_OBJECTS = 100_000
"""Objects and lists (XML: tags) in one body. The largest batch that a tool documents has about half as many."""
MAX_VALUES = 1_000_000
"""Values in its lists and objects, counted by their commas."""


def check_payload(body: bytes) -> None:
    """Raise `UnrecognisedPayload` for a body with more objects or values than any tool sends."""
    if len(body) <= MAX_OBJECTS:
        return
    if body.count(b",") + body.count(b"&") > MAX_VALUES or _count_objects(body) > MAX_OBJECTS:
        most = f"{MAX_OBJECTS} objects or {MAX_VALUES} values"
        raise UnrecognisedPayload(f"the body has more than {most}, and no tool sends that many in one webhook; send fewer at a time")


def _count_objects(body: bytes) -> int:
    if body[:100].lstrip().startswith(b"<"):
        return body.count(b"<")
    # JSON may be percent-encoded in a form field.
    encoded = body.lower() if b"%" in body else b""
    return body.count(b"{") + body.count(b"[") + encoded.count(b"%7b") + encoded.count(b"%5b")
