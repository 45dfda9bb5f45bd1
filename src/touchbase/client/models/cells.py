"""Types of cells. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Literal, TypedDict


CellState = Literal["open", "draining"]
"""Whether new clients may live in a cell."""


class CellOut(TypedDict):
    """A store that clients live in."""

    name: str
    number: int
    state: CellState
    clients: int
    answers: bool
    reason: str | None


class CellPage(TypedDict):
    """The home store, and the cells by their numbers."""

    data: list[CellOut]
