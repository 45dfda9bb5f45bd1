"""Cells: the stores that clients live in, and the directory that says which client lives where.

The API, the commands and the documentation call a cell a database, and the home store the home database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros

HOME = 0
"""The number of the home store, which has the directory. It is a cell like the others, and the only one of most installations."""
HOME_NAME = "home"
OPEN, DRAINING, REMOVED = "open", "draining", "removed"
ID_BITS = 44
"""The ids of a cell are above its number shifted by so many bits, so that no two cells give out the same id.
2^44 ids of each kind last a cell 35 years at 15,000 a second; 511 cells fit into the 53 bits that JSON keeps exactly."""
MOST_CELLS = 511


@dataclass(frozen=True, slots=True)
class Cell:
    """A store that clients live in."""

    number: int
    name: str
    address: str = field(repr=False)
    state: str
    created_us: Micros
    clients: int = 0
    """Number of its clients when this was read; all that are being created count as one."""

    @property
    def first_id(self) -> int:
        """The number below which it gives out no id."""
        return self.number << ID_BITS


@dataclass(frozen=True, slots=True)
class ClientPlace:
    """Where the client of one `client_id` lives."""

    client_id: str
    number: int | None
    """The client's number; None while it is being created."""
    cell: int | None
    """The number of its cell; None: there is no such client any more."""


@dataclass(frozen=True, slots=True)
class Directory:
    """The directory, or its changes: all rows that were written since a revision."""

    revision: int
    cells: Sequence[Cell] = ()
    places: Sequence[ClientPlace] = ()
    keys: Sequence[tuple[str, int]] = ()
    """Keys and the numbers of their clients."""
    home_clients: int = 0
    """The number of clients in the home store."""
