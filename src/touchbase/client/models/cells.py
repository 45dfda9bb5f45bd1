"""Types of cells. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Literal, TypedDict


CellState = Literal["open", "draining"]
"""Whether new clients may live in a cell."""

MoveState = Literal["copying", "switching", "cleaning"]
"""How far a move is: `copying`, and it can be undone; `switching` between the cells; `cleaning` the former cell."""


class CellOut(TypedDict):
    """A store that clients live in."""

    name: str
    number: int
    state: CellState
    clients: int
    answers: bool
    reason: str | None
    moves: list[MoveOut] | None


class CellPage(TypedDict):
    """The home store, and the cells by their numbers."""

    data: list[CellOut]


class MoveOut(TypedDict):
    """A move of a client to another cell that is not done."""

    client_id: str
    target: str
    state: MoveState
    began_at: str
    updated_at: str
