"""Cells: clients of one installation in several stores, and the directory of which lives where."""

from touchbase.cells.commands import (
    AddCell,
    ConfirmPlace,
    FindKeyPlace,
    FindPlace,
    ForgetPlaces,
    PlaceKey,
    RaiseIds,
    ReadDirectory,
    ReleasePlace,
    RemoveCell,
    ReservePlace,
    SetCellState,
)
from touchbase.cells.models import DRAINING, HOME, HOME_NAME, OPEN, REMOVED, Cell, Directory, Place

__all__ = [
    "DRAINING", "HOME", "HOME_NAME", "OPEN", "REMOVED", "AddCell", "Cell", "ConfirmPlace", "Directory", "FindKeyPlace", "FindPlace",
    "ForgetPlaces", "Place", "PlaceKey", "RaiseIds", "ReadDirectory", "ReleasePlace", "RemoveCell", "ReservePlace", "SetCellState",
]  # fmt: skip
