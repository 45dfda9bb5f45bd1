"""Types of status. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TypedDict



class SpoolOut(TypedDict):
    """Webhooks on the server's disk, which came while their store could not be used."""

    webhooks: int
    bytes: int
    oldest_time: str | None
    set_aside: int


class StatusOut(TypedDict):
    """The server's status."""

    ready: bool
    reason: str | None
    warnings: list[str]
    version: str
    spool: SpoolOut | None
