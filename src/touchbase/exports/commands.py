"""Queries of exports: pages of records, already encoded, and the names of custom fields."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros


@dataclass(slots=True)
class EncodedPage:
    """Records of a page as they are sent."""

    body: bytes
    rows: int
    after: tuple[Micros, int] | None
    """Where the next page begins; None: there is none."""
