"""Writing a file out a little at a time, so that a flush of it finds hardly anything left to do.

A flush of some hundred pages has the disk to itself until they are all written: commits that wanted to flush the log meanwhile waited 3 to
5 ms. Linux can be told to begin writing a part of a file, and commits come in between two parts.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from contextlib import suppress

PARTS = 24
SMALLEST_PART = 64 * 1024
PAUSE = 0.001
"""Seconds between two parts: a few commits."""
_BEGIN_WRITING = 2
"""SYNC_FILE_RANGE_WRITE: begin, and wait for nothing."""

Begin = Callable[[int, int, int, int], int]


def _of_the_system() -> Begin | None:
    with suppress(OSError, TypeError, AttributeError):  # only Linux has it
        begin = ctypes.CDLL(None).sync_file_range
        begin.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
        return begin
    return None


_begin = _of_the_system()


def write_out(descriptor: int) -> None:
    """Begin to write what the system holds of this file, part by part; takes some 30 ms.

    It promises nothing: only a flush does, and tells of errors. Raises `OSError` for a descriptor that is none.
    """
    if _begin is None:
        return
    size = os.fstat(descriptor).st_size
    part = max(SMALLEST_PART, -(-size // PARTS))
    for start in range(0, size, part):
        _begin(descriptor, start, part, _BEGIN_WRITING)
        time.sleep(PAUSE)
