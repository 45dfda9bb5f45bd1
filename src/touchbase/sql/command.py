"""The bases of commands, which write, and of queries, which read."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Command(Generic[T_co]):
    """Something asked for that writes; `T_co` is what carrying it out answers."""

    __slots__ = ()


class Query(Generic[T_co]):
    """Something asked that changes nothing."""

    __slots__ = ()
