"""The store that services write to and read from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from touchbase.sql.command import Command, Query

T = TypeVar("T")


class Writes(Protocol):
    """The part of a store that carries out commands."""

    async def write(self, command: Command[T]) -> T:
        """Carry out one command, as `Store.write` does."""
        ...


class Store(Protocol):
    """Where records are kept. Every engine keeps the same promises; `tests/storage` holds them to it."""

    warnings: Sequence[str]
    """What an operator should change about the place where it keeps them, a sentence each; as it was when it was opened."""

    async def write(self, command: Command[T]) -> T:
        """Carry out one command, in a transaction shared with its neighbours; returns after the flush.

        Raises the command's own errors, and `Overloaded` when the queue is full or the engine cannot
        write: then nothing was kept. `OutcomeUnknown` when the engine went away while it committed.
        """
        ...

    async def read(self, query: Query[T]) -> T:
        """Answer a query from what is flushed; sees every write that has returned."""
        ...

    async def migrate(self) -> list[str]:
        """Bring the schema up to date; answers the names of the migrations that ran."""
        ...

    async def vacuum(self, *, whole: bool = False) -> bool:
        """Leave nothing of what was removed beside the records, as far as that is in our hands; False: ask again later.

        What would hold up writers for long is left, unless `whole`.
        """
        ...

    async def check(self) -> None:
        """Raise `Overloaded` unless the store can write now."""
        ...

    async def close(self) -> None:
        """Finish what is queued, then let go of the engine."""
        ...

    @property
    def queue_depth(self) -> int:
        """Commands waiting for a transaction."""
        ...

    @property
    def commands_taken(self) -> int:
        """Commands accepted since the store was opened: by its growth the inbox worker knows how busy callers are."""
        ...
