"""Tasks that behave and tasks that do not; they import little, since a process imports them within its limits."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from typing import BinaryIO

from touchbase.errors import MalformedBody


def nothing() -> None:
    """Be imported before the first job."""


def upper(text: str, *, mark: str = "") -> str:
    return text.upper() + mark


def misuse(how: str) -> int:
    """Take more than a task may, or fail."""
    if how == "spin":
        re.match("(a|aa)+b", "a" * 100)
    if how == "eat":
        bytearray(2**30)
    if how == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "sleep":
        signal.pause()
    if how == "refuse":
        raise MalformedBody("no table")
    raise KeyError(how)


def environment(name: str) -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if name in key}


def lines(file: BinaryIO, prefix: bytes) -> Iterator[bytes]:
    for line in file:
        if line == b"spin":
            re.match("(a|aa)+b", "a" * 100)
        yield prefix + line
    if prefix == b"broken ":
        raise MalformedBody("row 3: is broken")


def long_values(file: BinaryIO, size: int) -> Iterator[bytes]:
    yield b"a" * size


def process_ids(file: BinaryIO, memory: int) -> Iterator[int]:
    used = b"a" * memory
    yield os.getpid()
    del used
