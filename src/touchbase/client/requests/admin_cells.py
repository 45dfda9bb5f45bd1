"""Requests of `admin.cells`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Request

if TYPE_CHECKING:
    from touchbase.client.models.cells import CellPage


def list_cells() -> Request[CellPage]:
    """List cells."""
    return Request("list_cells", "GET", "/admin/v1/cells")
