"""Cells that did not answer a question to all cells: the answer has the others' rows, and says which cells are missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_names: ContextVar[set[str] | None] = ContextVar("unanswered", default=None)


@contextmanager
def collecting() -> Iterator[set[str]]:
    """Context in which the names of cells that do not answer are added to the yielded set."""
    names: set[str] = set()
    token = _names.set(names)
    try:
        yield names
    finally:
        _names.reset(token)


def is_missing(name: str) -> bool:
    """Note that a cell did not answer; return whether such notes are collected."""
    names = _names.get()
    if names is None:
        return False
    names.add(name)
    return True
