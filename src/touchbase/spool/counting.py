"""Counts of a spool, from the lengths of its records, without reading them."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from touchbase.common.timestamps import Micros
from touchbase.spool.files import DAMAGED, ENDING, HEAD

FAILED = "failed"
"""The folder of webhooks that an error keeps from being received."""


@dataclass(slots=True)
class SpoolCounts:
    """Counts of a spool, of all processes that use its folder."""

    webhooks: int = 0
    """Webhooks that wait for their store; the webhooks of a file count until it is read to its end."""
    bytes: int = 0
    oldest_us: Micros | None = None
    """About when the oldest of them came: when its file was begun."""
    set_aside: int = 0
    """Webhooks that an error keeps from being received; they are not among the others."""
    damaged: int = 0
    """Files that end within a webhook, or have a damaged one."""


class SpoolCounter:
    """Counts the webhooks in the folders of a spool, incrementally: it remembers its place in each file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._counted: dict[Path, tuple[int, int]] = {}
        """The records of each file, and where the last one ends."""
        self._lock = threading.Lock()

    def count(self) -> SpoolCounts:
        """Return the present counts; it blocks."""
        with self._lock:
            return self._count()

    def _count(self) -> SpoolCounts:
        counts, files = SpoolCounts(), sorted(self._folder.glob(f"*/*{ENDING}"), key=lambda path: path.name)
        self._counted = {path: self._counted.get(path, (0, 0)) for path in files}
        for path in files:
            with suppress(OSError):  # read and removed meanwhile, or of another user
                size = path.stat().st_size
                records, end = self._counted[path] = _records(path, size, *self._counted[path])
                if path.parent.name == FAILED:
                    counts.set_aside += records
                elif records:
                    counts.webhooks += records
                    counts.bytes += end
                    counts.oldest_us = _began_us(path) if counts.oldest_us is None else counts.oldest_us
        counts.damaged = sum(1 for _ in self._folder.glob(f"{FAILED}/*{DAMAGED}"))
        return counts


def _records(path: Path, size: int, records: int, end: int) -> tuple[int, int]:
    """Count on from the end of the last record; an incomplete record does not count."""
    if size == end:
        return records, end
    if size < end:
        records, end = 0, 0
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        while len(head := os.pread(descriptor, HEAD.size, end)) == HEAD.size:
            length = HEAD.unpack(head)[0]
            if not length or end + HEAD.size + length > size:
                break
            records, end = records + 1, end + HEAD.size + length
    finally:
        os.close(descriptor)
    return records, end


def _began_us(path: Path) -> Micros | None:
    began = path.name.partition("-")[0]
    return int(began) // 1000 if began.isdigit() else None
