"""Moves of clients between cells: what the home store knows of each, and the commands that change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from touchbase.common.timestamps import SECOND, Micros
from touchbase.sql.command import Command, Query

COPYING, SWITCHING, CLEANING = "copying", "switching", "cleaning"
"""The states of a move. While it copies, the client lives in its former cell, and the move can be undone. From `switching` on it can only
go forward: the new cell has, or will have, all of the client. While it cleans, the client lives in the new cell."""
LEASE: Micros = 15 * SECOND
"""How long a move belongs to a process that has not said that it is there."""


@dataclass(frozen=True, slots=True)
class Move:
    """A move that is not done."""

    number: int
    """The client's."""
    client_id: str
    source: int
    target: int
    """The numbers of the cells."""
    state: str
    token: str
    """The process that carries it out."""
    began_us: Micros
    updated_us: Micros
    """When that process last said that it is there."""
    position: str
    """JSON: how far it is."""


@dataclass(slots=True)
class TakeMove(Command[Move]):
    """Begin a client's move, or take over one that no process carries out; return it with the token of the process that has it.

    The token ends with `token` when it is this process; it is greater than those of all processes that had a move before. `WrongState`
    when the client is being moved to another cell, or does not live in the source. `client_ids` are its present and former ids.
    """

    number: int
    client_ids: Sequence[str]
    source: int
    target: int
    token: str
    at: Micros


@dataclass(slots=True)
class NoteMove(Command[bool]):
    """Say that the process is there and how far it is; return whether the move is still its own."""

    number: int
    token: str
    at: Micros
    state: str
    position: str


@dataclass(slots=True)
class SwitchPlace(Command[bool]):
    """Let the client live in the target from now on; return whether the move is still that of the process."""

    number: int
    token: str
    client_ids: Sequence[str]
    key_ids: Sequence[str]
    at: Micros


@dataclass(slots=True)
class EndMove(Command[None]):
    """Forget a move that is done, or undone."""

    number: int
    token: str


@dataclass(slots=True)
class ListMoves(Query[list[Move]]):
    """The moves that are not done, the oldest first."""
