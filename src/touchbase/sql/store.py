"""The store that services write to and read from."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from typing import Any, Protocol, TypeVar

from touchbase.errors import Overloaded
from touchbase.sql.operation import Command, Query

T = TypeVar("T")

READY_SECONDS = 3.0
"""Time limit of a readiness check."""


class Vacuumed(Enum):
    """The result of a vacuum; true if no trace of deleted rows is left that the engine can remove."""

    CLEAN = "clean"
    TOO_LARGE = "too_large"
    """The log is empty, but the file is too large to be rewritten while writers wait."""
    BLOCKED = "blocked"
    """A reader, another process or a full disk was in the way: repeat it."""

    def __bool__(self) -> bool:
        return self is Vacuumed.CLEAN


LoadBodies = Callable[[Any, Sequence[Any]], Awaitable[None]]
"""Reads the bodies of webhooks (of a query's result) that are in object storage, given the store, and sets them."""


async def no_object_storage(store: object, webhooks: Sequence[Any]) -> None:
    """Refuse to read bodies that are in object storage."""
    for webhook in webhooks:
        if webhook.object is not None:
            raise Overloaded(
                f"the body of delivery {webhook.id} is in object storage, and this process has no access: set TOUCHBASE_OBJECTS_URL and "
                "its keys as on the server that moved it there"
            )


class Writes(Protocol):
    """The part of a store that executes commands."""

    async def write(self, command: Command[T]) -> T:
        """Execute one command, as `Store.write` does."""
        ...


class Store(Protocol):
    """Stores records. Every engine makes the same guarantees; `tests/storage` checks them on each."""

    @property
    def warnings(self) -> Sequence[str]:
        """Advice to the operator about the store, a sentence each."""
        ...

    async def write(self, command: Command[T]) -> T:
        """Execute one command in a transaction shared with other commands; return after the flush.

        Raises the command's own errors, and `Overloaded` when the queue is full or the engine cannot
        write: then nothing was stored. Raises `OutcomeUnknown` when the connection was lost during the commit.
        """
        ...

    async def read(self, query: Query[T]) -> T:
        """Execute a query on flushed data; it sees every write that has returned."""
        ...

    async def migrate(self) -> list[str]:
        """Bring the schema up to date; return the names of the migrations that ran."""
        ...

    async def vacuum(self, *, full: bool = False) -> Vacuumed:
        """Remove remains of deleted rows from the files, as far as the engine can; the result is true if that was complete.

        Work that would block writers for long is skipped, unless `full`.
        """
        ...

    async def analyze(self) -> list[str]:
        """Renew the planner's statistics of tables that have grown much; return their names. Does nothing where plans are fixed."""
        ...

    async def check(self) -> None:
        """Raise `Overloaded` unless the store can write now."""
        ...

    async def close(self) -> None:
        """Finish the queue, then close the engine."""
        ...

    @property
    def queue_depth(self) -> int:
        """Number of commands waiting for a transaction."""
        ...

    @property
    def commands_taken(self) -> int:
        """Number of commands accepted since the store was opened, without the server's.

        Its growth shows the inbox worker how busy HTTP clients are.
        """
        ...


async def check_in_time(store: Store) -> None:
    """Raise `Overloaded` unless the store shows within `READY_SECONDS` that it can write."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            await store.check()
    except TimeoutError as error:
        raise Overloaded(f"The store did not show within {READY_SECONDS:g} seconds that it can write.") from error
