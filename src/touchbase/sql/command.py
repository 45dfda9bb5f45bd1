"""Base classes of commands, which write, and of queries, which read."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Command(Generic[T_co]):
    """A write to the store; `T_co` is the type of its result."""

    __slots__ = ()


class Query(Generic[T_co]):
    """A read from the store; `T_co` is the type of its result."""

    __slots__ = ()
