"""Types of status. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TypedDict



class StatusOut(TypedDict):
    """The server's status."""

    ready: bool
    reason: str | None
    warnings: list[str]
    version: str
