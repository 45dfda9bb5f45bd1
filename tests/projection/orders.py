"""Orders of arrival for tests of the projection."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from touchbase.sql.store import Store
from touchbase.stores.postgres import PostgresStore

EVERY = 5
"""Of the orders on PostgreSQL: each call is first, last and just before each other call in some of the 24 orders of five calls."""


def orders(store: Store, calls: int) -> Iterator[tuple[int, ...]]:
    """All orders of so many calls on SQLite, every fifth on PostgreSQL: both engines run the same plans, and there an order takes 0.1 s."""
    every = EVERY if isinstance(store, PostgresStore) else 1
    return itertools.islice(itertools.permutations(range(calls)), None, None, every)
