"""Cells: clients of one installation in several stores, and the directory of which lives where."""

from touchbase.cells.commands import (
    AddCell,
    AdoptErasureKey,
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
    ShareErasureKey,
)
from touchbase.cells.models import DRAINING, HOME, HOME_NAME, ID_BITS, OPEN, REMOVED, Cell, Directory, Place
from touchbase.cells.pages import Before, CellPage, before_in, end_of, merged
from touchbase.cells.unanswered import collecting, is_missing

__all__ = [
    "DRAINING", "HOME", "HOME_NAME", "ID_BITS", "OPEN", "REMOVED", "AddCell", "AdoptErasureKey", "Before", "Cell", "CellPage",
    "ConfirmPlace", "Directory", "FindKeyPlace", "FindPlace", "ForgetPlaces", "Place", "PlaceKey", "RaiseIds", "ReadDirectory",
    "ReleasePlace", "RemoveCell", "ReservePlace", "SetCellState", "ShareErasureKey", "before_in", "collecting", "end_of", "is_missing",
    "merged",
]  # fmt: skip
