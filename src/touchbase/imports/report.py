"""Report of an import: counts, the file of rows that were not imported, and the file with every row's outcome."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TextIO

import msgspec

from touchbase.common.formulas import harmless
from touchbase.common.timestamps import Micros
from touchbase.imports.table import Row

BYTE_ORDER_MARK = "\ufeff"
"""Spreadsheets recognise UTF-8 by it."""
ROW, REASON = "row", "reason"
"""The columns that the file of bad rows has after the imported file's."""


def is_of_bad_rows(header: Sequence[str]) -> bool:
    """Return whether a file is a corrected file of bad rows: its last two columns are about the earlier import."""
    return list(header[-2:]) == [ROW, REASON]


class Report(msgspec.Struct):
    """Counts of rows; each row of the file is in one of the first seven. They are part of the job's progress, so they can be stored."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicate_in_file: int = 0
    """Rows about the record of an earlier row, which they fill where it is blank."""
    invalid: int = 0
    erased: int = 0
    """Not imported because the person was erased."""
    not_a_row: int = 0
    """Blank lines, repeated headers, and lines below the table."""
    cells_left_out: int = 0
    """Cells of imported rows that could not be imported."""
    opt_outs_taken: int = 0
    """People that columns of opt-outs put on the do-not-contact list."""
    kept_opt_outs: int = 0
    """People who opted out and have another status in the file."""
    joined: int = 0
    """Rows that have the keys of two contacts, and make them one."""
    suppressed: int = 0
    """Rows of the first three counts whose person or domain is on a do-not-contact list."""
    notices: dict[str, int] = {}
    """Imported rows of which something was left out, by code."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        imported = self.created + self.updated + self.unchanged + self.duplicate_in_file
        return imported + self.invalid + self.erased + self.not_a_row

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
        file.write(BYTE_ORDER_MARK)
        self._writer.writerow(map(harmless, [*header[: self._width], ROW, REASON]))
        self.rows = 0

    def add(self, row: Row, reason: str) -> None:
        """Write a row; cells beyond the header are part of its last column, so that none is lost."""
        cells = [*row.cells[: self._width], *[""] * (self._width - len(row.cells))]
        if len(row.cells) > self._beyond and cells:
            cells[-1] = ",".join([cells[-1], *row.cells[self._beyond :]])
        self._writer.writerow([*map(_writable, cells), row.number, _writable(reason)])
        self.rows += 1


LINE = ("row", "outcome", "id", "column", "value", "reason")
"""The columns of the report. An outcome is the name of a count, and `id` the record's."""


def report_lines(lines: Iterable[tuple[int, str]], *, with_header: bool) -> str:
    """Return lines of the report as CSV, in the order of the rows; each comes with the number of its row."""
    header = f"{BYTE_ORDER_MARK}{','.join(LINE)}\r\n" if with_header else ""
    return header + "".join(line for _, line in sorted(lines, key=itemgetter(0)))


def report_line(row: int, outcome: str, id: int = 0, column: str = "", value: str = "", reason: str = "") -> tuple[int, str]:
    """Return a line of the report, with the number of its row."""
    if not column and not value and not reason:  # nearly all rows
        return row, f"{row},{outcome},{id or ''},,,\r\n"
    text = io.StringIO()
    csv.writer(text).writerow([row, outcome, id or "", _writable(column), _writable(value), _writable(reason)])
    return row, text.getvalue()


def _writable(text: str) -> str:
    """Return the text with a question mark in place of bytes that were not of the file's encoding, and without a formula."""
    return harmless(text if text.isascii() else text.encode("utf-8", "replace").decode())


Mode = Literal["create", "update", "upsert"]
MODES: tuple[Mode, ...] = ("create", "update", "upsert")
CREATED, UPDATED, UNCHANGED, DUPLICATE, INVALID, ERASED, NOT_A_ROW = (
    "created", "updated", "unchanged", "duplicate_in_file", "invalid", "erased", "not_a_row",
)  # fmt: skip
CELLS_LEFT_OUT, OPT_OUTS_TAKEN, KEPT_OPT_OUTS = "cells_left_out", "opt_outs_taken", "kept_opt_outs"


class RowOutcome(NamedTuple):
    """Outcome of a row: one of the counts of `Report`, and the reason if the row was not imported."""

    word: str
    reason: str = ""
    faults: tuple[tuple[str, str], ...] = ()
    """Faults by field, of a row that was not imported."""
    cells: tuple[tuple[str, str, str], ...] = ()
    """Field, value and reason of cells that were left out."""
    id: int = 0
    """The record."""
    opt_out: str = ""
    """`opt_outs_taken`, `kept_opt_outs` or blank."""
    joined: str = ""
    """The contacts that the row makes one."""
    suppressed: str | None = None
    """Why the person or domain of an imported row must not be contacted."""


def same_as(record: str, row: int) -> str:
    """Return the reason of a row about the record of an earlier one."""
    return f"is the same {record} as row {row}"


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Treatment of rows and existing records in an import."""

    mode: Mode = "upsert"
    match: str = ""
    """The only field by which existing records are found; blank: all that identify one."""
    dry_run: bool = False
    """Return the outcomes without writing; an address of an erased person shows only when it is written."""
    keeps_first: bool = True
    """Whether of several rows about one record the first one that fills a field counts."""
    started_us: Micros = 0
    """When the import began: `mode=create` leaves records from before as they are."""


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
