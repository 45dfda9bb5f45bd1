"""List of the cells for people: how many clients live in each, and whether it answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from touchbase.cells.models import HOME, HOME_NAME, OPEN, Cell
from touchbase.clients.sql.clients import list_clients
from touchbase.errors import Overloaded
from touchbase.routing.router import CellRouter
from touchbase.sql.store import Store, check_in_time


@dataclass(frozen=True, slots=True)
class ListedCell:
    """A cell as people see it."""

    cell: Cell
    reason: str | None
    """Why it does not answer; None: it does."""


async def list_cells(store: Store, address: str = "") -> list[ListedCell]:
    """Return the home store, whose address is not in the directory, and the cells by their numbers.

    The cells answer as of the last check, a few seconds ago, so that one that is down delays no request.
    """
    router = store if isinstance(store, CellRouter) else None
    counts = {} if router is None else router.placement.counts()
    home = store if router is None else router.home
    reason: str | None = None
    try:
        await check_in_time(home)
        if router is None or not router.cells:  # without cells the directory counts nothing
            counts = {HOME: len(await home.read(list_clients()))}
    except Overloaded as error:
        reason = error.detail
    cells = [] if router is None else sorted(router.cells.values(), key=lambda cell: cell.cell.number)
    return [
        ListedCell(Cell(HOME, HOME_NAME, address, OPEN, 0, counts.get(HOME, 0)), reason),
        *(ListedCell(replace(cell.cell, clients=counts.get(cell.cell.number, 0)), cell.reason) for cell in cells),
    ]
