"""What people see of the cells: how many clients live in each, whether it answers, and who moves out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from touchbase.cells import HOME, HOME_NAME, OPEN, Cell, ListMoves, Move
from touchbase.clients import ListClients
from touchbase.errors import Overloaded
from touchbase.events import ProcessingStore
from touchbase.routing.router import CellRouter
from touchbase.sql.store import check_in_time


@dataclass(frozen=True, slots=True)
class ListedCell:
    """A cell as people see it."""

    cell: Cell
    reason: str | None
    """Why it does not answer; None: it does."""
    moves: Sequence[Move] | None
    """The moves of its clients to other cells, until they are done, the oldest first; None: the home store, which has them, is down."""


async def list_cells(store: ProcessingStore, address: str = "") -> list[ListedCell]:
    """Return the home store, whose address is not in the directory, and the cells by their numbers.

    The cells answer as of the last check, a few seconds ago, so that one that is down delays no request.
    """
    router = store if isinstance(store, CellRouter) else None
    counts = {} if router is None else router.placement.counts()
    home = store if router is None else router.home
    reason: str | None = None
    moves: list[Move] | None = None
    try:
        await check_in_time(home)
        moves = await home.read(ListMoves())
        if router is None or not router.cells:  # without cells the directory counts nothing
            counts = {HOME: len(await home.read(ListClients()))}
    except Overloaded as error:
        reason = error.detail
    cells = [] if router is None else sorted(router.cells.values(), key=lambda each: each.cell.number)
    found = [
        (Cell(HOME, HOME_NAME, address, OPEN, 0, counts.get(HOME, 0)), reason),
        *((replace(each.cell, clients=counts.get(each.cell.number, 0)), each.reason) for each in cells),
    ]
    return [ListedCell(cell, why, None if moves is None else [move for move in moves if move.source == cell.number]) for cell, why in found]
