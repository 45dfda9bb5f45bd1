"""The budget of one delivery: what reading and applying it may cost, whatever its sender has put into it."""

from __future__ import annotations

from touchbase.inbox.delivery import Delivery

BASE_SECONDS = 2.0
"""Processor time to read one delivery; a usual one takes a ten-thousandth of it."""
SECONDS_PER_MIB = 8.0
"""Further processor time for each MiB of its body, once that is unpacked: four times what the densest body was measured to take."""
MOST_SECONDS = 30.0
"""Processor time to read one delivery, however large."""
WALL_SECONDS = 60
"""Time to read deliveries, on a machine that has no processor to spare."""
MEMORY = 1024 * 1024 * 1024
"""Bytes of address space of a process that reads deliveries."""
MOST_EVENTS = 256
"""Events that one transaction applies, some hundredths of a second; a delivery with more is applied in several."""
LARGE = 256 * 1024
LARGE_PACKED = 16 * 1024
"""Bytes of a body, plain or packed, above which a delivery is worked on alone and the attempt is written before the work."""
UNFINISHED = "the work on it was begun and did not end; it is begun again"
"""`error` of a delivery while it is worked on alone: a process that ends during the work leaves it behind."""
OUT_OF_ATTEMPTS = "the work on it was begun {} times and never ended: the process that did it was ended each time; replay it to try again"


def seconds_for(size: int) -> float:
    """Processor time that reading an unpacked body of this many bytes may take."""
    return min(MOST_SECONDS, BASE_SECONDS + SECONDS_PER_MIB * size / 2**20)


def is_large(delivery: Delivery) -> bool:
    """Whether a delivery is worked on alone: for its size, or because work on it was begun and did not end."""
    size = len(delivery.body)
    return size > LARGE or (size > LARGE_PACKED and "content-encoding" in delivery.headers) or delivery.error == UNFINISHED
