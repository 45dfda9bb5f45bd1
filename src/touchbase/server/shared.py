"""Counters of several server processes, added up.

The processes share a piece of memory, made before they are started, with a page for each. Each writes its
counters there once a second; whichever is asked for the metrics adds up all pages, with its own as they
are now. A process that takes the place of a dead one goes on from that one's counters.
"""

from __future__ import annotations

import mmap
import struct
import zlib

import msgspec

from touchbase.server.metrics import Latencies

PAGE = 262_144
TRIES = 100
"""How often a page that is being written is read again; writing takes microseconds."""
_HEAD = struct.Struct("<II")


class Page(msgspec.Struct):
    """The counters of one process, as it wrote them last."""

    values: dict[str, float]
    latencies: Latencies


class SharedPages:
    """One page for each of `processes`."""

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self._memory = mmap.mmap(-1, PAGE * processes)

    def write(self, process: int, page: Page) -> None:
        """Put down the counters of one process; too many to fit are left as they were."""
        data = msgspec.msgpack.encode(page)
        if len(data) + _HEAD.size <= PAGE:
            start = process * PAGE
            self._memory[start : start + _HEAD.size + len(data)] = _HEAD.pack(len(data), zlib.crc32(data)) + data

    def read(self, process: int) -> Page:
        """The counters of one process; none if it has written none."""
        start = process * PAGE
        for _ in range(TRIES):
            length, checksum = _HEAD.unpack_from(self._memory, start)
            data = self._memory[start + _HEAD.size : start + _HEAD.size + min(length, PAGE)]
            if length and zlib.crc32(data) == checksum:
                return msgspec.msgpack.decode(data, type=Page)
        return Page({}, {})


def add_up(pages: list[Page]) -> Page:
    """The sum of all pages."""
    total = Page({}, {})
    for page in pages:
        for series, value in page.values.items():
            total.values[series] = total.values.get(series, 0) + value
        for labels, row in page.latencies.items():
            known = total.latencies.get(labels)
            total.latencies[labels] = [a + b for a, b in zip(known, row, strict=True)] if known else list(row)
    return total
