"""Report of an import: counts, and the file of the rows that were not imported."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TextIO

import msgspec

from touchbase.common.formulas import harmless
from touchbase.common.timestamps import Micros
from touchbase.imports.table import Row

ROW, REASON = "row", "reason"
"""The columns that the file of bad rows has after those of the imported file."""


def is_of_bad_rows(header: Sequence[str]) -> bool:
    """Return whether a file is a corrected file of bad rows: its last two columns are about the earlier import."""
    return list(header[-2:]) == [ROW, REASON]


class Report(msgspec.Struct):
    """Counts of rows; each row of the file is in one of the first six. They are part of the job's progress, so they can be stored."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicate_in_file: int = 0
    """An earlier row has the same normal form of an address; the first one counts."""
    invalid: int = 0
    erased: int = 0
    """Not imported because the person was erased."""
    suppressed: int = 0
    """Rows of the first three counts whose person or domain is on a do-not-contact list."""
    kept_opt_outs: int = 0
    """Rows with another status than the one by which their contact has opted out, which stays."""
    notices: dict[str, int] = {}
    """Imported rows of which something was left out, by code."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.created + self.updated + self.unchanged + self.duplicate_in_file + self.invalid + self.erased

    def notice(self, code: str) -> None:
        """Count a notice."""
        self.notices[code] = self.notices.get(code, 0) + 1


class BadRows:
    """Writer of the bad rows as CSV: all columns of the file, then `row` and `reason`; the corrected file can be imported again.

    Formulas are made harmless; reading restores them.
    """

    def __init__(self, file: TextIO, header: Sequence[str]) -> None:
        self._width = len(header) - (2 if is_of_bad_rows(header) else 0)
        self._beyond = len(header)
        self._writer = csv.writer(file)
        self._writer.writerow(map(harmless, [*header[: self._width], ROW, REASON]))
        self.rows = 0

    def add(self, row: Row, reason: str) -> None:
        """Write a row; cells beyond the header are part of its last column, so that none is lost."""
        cells = [*row.cells[: self._width], *[""] * (self._width - len(row.cells))]
        if len(row.cells) > self._beyond and cells:
            cells[-1] = ",".join([cells[-1], *row.cells[self._beyond :]])
        self._writer.writerow([*map(_writable, cells), row.number, _writable(reason)])
        self.rows += 1


def _writable(text: str) -> str:
    """Return the text with a question mark in place of bytes that were not of the file's encoding, and without a formula."""
    return harmless(text if text.isascii() else text.encode("utf-8", "replace").decode())


Mode = Literal["create", "update", "upsert"]
MODES: tuple[Mode, ...] = ("create", "update", "upsert")
CREATED, UPDATED, UNCHANGED, DUPLICATE, INVALID, ERASED = (
    "created", "updated", "unchanged", "duplicate_in_file", "invalid", "erased",
)  # fmt: skip


class RowOutcome(NamedTuple):
    """What became of a row: one of the counts of `Report`, and the reason of a row that was not imported."""

    word: str
    reason: str = ""
    suppressed: str | None = None
    """Why the person or domain of an imported row must not be contacted."""
    keeps_opt_out: bool = False
    """Whether the row has another status than the one by which its contact has opted out, which stays."""


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
