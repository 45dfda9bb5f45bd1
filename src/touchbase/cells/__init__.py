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
    TakeIdRange,
)
from touchbase.cells.models import DRAINING, HOME, HOME_NAME, ID_BITS, OPEN, REMOVED, Cell, Directory, Place
from touchbase.cells.moves import CLEANING, COPYING, LEASE, SWITCHING, EndMove, ListMoves, Move, NoteMove, SwitchPlace, TakeMove
from touchbase.cells.pages import Before, CellPage, before_in, end_of, merged
from touchbase.cells.unanswered import collecting, is_missing

__all__ = [
    "CLEANING", "COPYING", "DRAINING", "HOME", "HOME_NAME", "ID_BITS", "LEASE", "OPEN", "REMOVED", "SWITCHING", "AddCell",
    "AdoptErasureKey", "Before", "Cell", "CellPage", "ConfirmPlace", "Directory", "EndMove", "FindKeyPlace", "FindPlace",
    "ForgetPlaces", "ListMoves", "Move", "NoteMove", "Place", "PlaceKey", "RaiseIds", "ReadDirectory", "ReleasePlace", "RemoveCell",
    "ReservePlace", "SetCellState", "ShareErasureKey", "SwitchPlace", "TakeIdRange", "TakeMove", "before_in", "collecting", "end_of",
    "is_missing", "merged",
]  # fmt: skip
