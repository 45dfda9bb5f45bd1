"""Commands and queries of imports: rows of a file, and stored mappings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from touchbase.common.timestamps import Micros

Mode = Literal["create", "update", "upsert"]
MODES: tuple[Mode, ...] = ("create", "update", "upsert")
CREATED, UPDATED, UNCHANGED, DUPLICATE, INVALID, ERASED = (
    "created", "updated", "unchanged", "duplicate_in_file", "invalid", "erased",
)  # fmt: skip


class Outcome(NamedTuple):
    """What became of a row: one of the counts of `Report`, and the reason of a row that was not imported."""

    word: str
    reason: str = ""
    suppressed: str | None = None
    """Why the person or domain of an imported row must not be contacted."""


MOST_MAPPINGS = 100
"""Stored mappings of one client, for each type of record."""
MAPPING_BYTES = 65_536
"""Bytes of one stored mapping: all of them are listed on one page."""


@dataclass(slots=True)
class StoredMapping:
    """A mapping of a source's files."""

    record: str
    name: str
    mapping: dict[str, Any]
    updated_us: Micros
