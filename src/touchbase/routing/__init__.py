"""Routing: one store over the cells of an installation."""

from touchbase.routing.cell_store import CellStore, OpenStore, refuse_former_kind
from touchbase.routing.listing import ListedCell, list_cells
from touchbase.routing.router import CellRouter
from touchbase.routing.set_up import add_cell

__all__ = ["CellRouter", "CellStore", "ListedCell", "OpenStore", "add_cell", "list_cells", "refuse_former_kind"]
