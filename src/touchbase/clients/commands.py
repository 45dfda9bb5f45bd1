"""Commands and queries on clients: create, rename, suspend, rotate the id, and delete with all data."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros

Position = tuple[int, tuple[object, ...]]
"""Progress of a removal: a table, and the key of the last removed row."""


@dataclass(slots=True)
class Removal:
    """Progress of a client's deletion."""

    done: bool
    """No row of the client is left."""
    removed: int = 0
    """Rows removed since the deletion began."""
    total: int | None = None
    position: Position | None = None
    """Where to continue; None: from the beginning, to check whether rows are left."""
    wait_us: Micros = 0
    """How long requests from before the deletion may still write, once all rows are removed."""
