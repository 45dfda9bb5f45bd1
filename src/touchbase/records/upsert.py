"""Creating a record, or merging into the one that exists: `on_duplicate=update`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from touchbase.errors import Conflict, NotFound, Overloaded
from touchbase.records.commands import Created
from touchbase.sql.command import Command
from touchbase.sql.store import Writes

R = TypeVar("R")

TRIES = 3


async def create_or_merge(store: Writes, create: Command[Created[R]], merging: Callable[[int], Command[R]]) -> Created[R]:
    """Create the record; where its identity is taken, send `merging(existing id)` instead.

    Raises `Conflict` when the merge would take the identity of a third record.
    """
    for _ in range(TRIES):
        try:
            return await store.write(create)
        except Conflict as conflict:
            existing = conflict.data.get("existing_id")
            if not isinstance(existing, int):
                raise
        try:
            return Created(await store.write(merging(existing)), is_new=False)
        except NotFound:
            # United with another record since: look again who has the identity now.
            continue
    raise Overloaded("the record changes faster than we can merge into it; send it again")
