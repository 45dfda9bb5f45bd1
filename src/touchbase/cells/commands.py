"""Commands and queries of the directory; only the home store carries them out."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.cells.models import Cell, Directory, Place
from touchbase.common.timestamps import Micros
from touchbase.sql.operation import Command, Query


@dataclass(slots=True)
class AddCell(Command[Cell]):
    """Add a cell. `Conflict` when there is one of this name."""

    name: str
    address: str = field(repr=False)
    at: Micros


@dataclass(slots=True)
class SetCellState(Command[Cell]):
    """Open a cell for new clients, or close it. `NotFound`."""

    name: str
    state: str


@dataclass(slots=True)
class RemoveCell(Command[Cell]):
    """Forget a cell. `NotFound`, and `WrongState` while clients live in it. Its number is not used again."""

    name: str


@dataclass(slots=True)
class ReservePlace(Command[Place]):
    """Reserve a `client_id` for a client of a cell, so that no other cell gives it to another client. `Conflict` when it is taken.

    A reservation for a client that was never created is returned as it is: the client is to be created in its cell. With
    `number` it is a new id of that client.
    """

    client_id: str
    cell: int
    number: int | None = None


@dataclass(slots=True)
class ConfirmPlace(Command[None]):
    """Say which client was created under a reserved `client_id`."""

    client_id: str
    number: int


@dataclass(slots=True)
class ReleasePlace(Command[None]):
    """Give up a reservation; a client that exists keeps its place. With `number` a new id of that client is given up."""

    client_id: str
    number: int | None = None


@dataclass(slots=True)
class ForgetPlaces(Command[None]):
    """Forget where a deleted client lived, and its keys."""

    number: int


@dataclass(slots=True)
class PlaceKey(Command[None]):
    """Say which client a key belongs to."""

    key_id: str
    number: int


@dataclass(slots=True)
class RaiseIds(Command[None]):
    """Let a store give out no id below `first`; carried out by the cell itself, whenever it is opened."""

    first: int


@dataclass(slots=True)
class ReadDirectory(Query[Directory]):
    """What was written since a revision; with 0 the whole directory."""

    after: int = 0


@dataclass(slots=True)
class FindPlace(Query[Place | None]):
    """Where the client of this `client_id` lives; None if it has no place."""

    client_id: str


@dataclass(slots=True)
class FindKeyPlace(Query[Place | None]):
    """Where the client of this key lives; None if the key is not that of a client in a cell."""

    key_id: str


@dataclass(slots=True)
class ShareErasureKey(Command[bytes]):
    """Return the key that erased identities are hashed with, made if there is none: all cells hash alike."""


@dataclass(slots=True)
class AdoptErasureKey(Command[None]):
    """Take over that key; carried out by a new cell. `WrongState` when the store has hashed with another one."""

    value: bytes = field(repr=False)
