"""Tables: the common form of every file format, and the limits of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from touchbase.errors import MalformedBody

MIB = 1_048_576


class UnreadableFile(MalformedBody):
    """The file cannot be read as a table; `row` is the row at which that shows, None for the file as a whole."""

    def __init__(self, detail: str, row: int | None = None) -> None:
        super().__init__(detail if row is None else f"row {row}: {detail}")
        self.row = row


class Row(NamedTuple):
    """One row: its number, and its cells as text.

    The number is that which a spreadsheet shows at its left; of NDJSON that of the line; of Parquet, which has no header row, the
    first row has 1.
    """

    number: int
    cells: list[str]


@dataclass(frozen=True, slots=True)
class TableLimits:
    """The limits of a file. Its process has limits of memory and processor time besides (`preview.new_file_sandbox`)."""

    rows: int = 10_000_000
    blank_rows: int = 1_000_000
    """Rows without a value, of a text file one after the other."""
    columns: int = 1_000
    name_characters: int = 1_000
    """Of the name of a column."""
    row_characters: int = MIB
    """Of one row, quotes and delimiters included."""
    characters: int = 64 * MIB
    """Of all rows, or `unfolding` for each byte of the file if that is more: a file may have a text once, and name it in each row."""
    unfolding: int = 200
    sheet_cells: int = 5_000_000
    """Cells of a workbook's sheet from A1 to its last row and column, as the library holds all of them in memory."""
    workbook_bytes: int = 512 * MIB
    """Of a workbook's parts when decompressed."""
    workbook_directory: int = 2 * MIB
    """Bytes of the list of a workbook's parts."""
    workbook_parts: int = 10_000
    workbook_sheets: int = 1_000
    dictionary_bytes: int = 64 * MIB
    """Of the different texts of a Parquet column in one group of rows."""


class TooManyBlankRows(UnreadableFile):
    """More than `TableLimits.blank_rows` rows without a value follow each other."""

    def __init__(self, limits: TableLimits) -> None:
        super().__init__(f"the file has more than {limits.blank_rows} blank lines one after the other; remove them")


@dataclass(slots=True)
class Table:
    """A file as a header and rows; the rows can be read once."""

    format: str
    """csv, xlsx, ndjson or parquet."""
    header: list[str]
    """A unique name for each column."""
    rows: Iterator[Row]
    encoding: str = ""
    """Of a CSV file, by its Python name."""
    delimiter: str = ""
    sheet: str = ""
    """The sheet that is read."""
    sheets: list[str] = field(default_factory=list)
    """The names of all visible sheets."""
    header_row: int = 0
    """The number of the row with the names of the columns, of CSV and XLSX."""
    row_count: int = 0
    """The number of rows, if the file says so before they are read."""


def column_letters(index: int) -> str:
    """Return the name of a column as spreadsheets show it: 0 is A, 26 is AA."""
    letters = ""
    index += 1
    while index:
        index, letter = divmod(index - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


_PREAMBLE = 20
"""Rows that may stand above the header, such as the title of a report."""
_NARROW = 3
"""Columns from which on a first row with one cell is taken for a title."""


def split_header(rows: Iterator[Row], header_row: int, limits: TableLimits) -> tuple[list[str], Row, Iterator[Row]]:
    """Return the names of the columns, their row, and the rows below it. `header_row` is its number, 0: detected.

    Rows above it, with one cell each where the table has several, are a title. Raises `UnreadableFile` without a header.
    """
    before: list[Row] = []
    for row in rows:
        if header_row and row.number > header_row:
            break
        if row.number > limits.blank_rows:
            raise TooManyBlankRows(limits)
        if not header_row and not before and _filled(row) == 0:
            continue
        before.append(row)
        if header_row:
            if row.number == header_row:
                return header_names(row.cells, row.number, limits), row, rows
        elif _filled(row) > 1 or len(before) > _PREAMBLE:
            break
    if header_row:
        raise UnreadableFile(f"the file has no row {header_row} with names of columns", header_row)
    if not before:
        raise UnreadableFile("the file is empty")
    # A title, or the header of one column with a list of values: the row with several cells decides.
    widest = before[-1] if _filled(before[-1]) >= _NARROW else before[0]
    below = before[before.index(widest) + 1 :]
    return header_names(widest.cells, widest.number, limits), widest, chain(below, rows)


def _filled(row: Row) -> int:
    return sum(1 for cell in row.cells if cell and not cell.isspace())


def header_names(cells: list[str], row: int, limits: TableLimits) -> list[str]:
    """Return a unique name for each column: a blank one is "Column C", a repeated one has a number.

    Blank columns at the end are left out. Raises `UnreadableFile` if the row cannot be a header.
    """
    names = [" ".join(cell.split()) for cell in cells]
    while names and not names[-1]:
        names.pop()
    check_columns(len(names), row, limits)
    check_names(names, row, limits)
    if any("@" in name and "." in name.rpartition("@")[2] for name in names):
        raise UnreadableFile("the first row must have the names of the columns, and has an e-mail address", row)
    return unique_names(names)


def unique_names(names: list[str]) -> list[str]:
    """Return a name for each column: a blank one is "Column C", a repeated one has a number."""
    taken: set[str] = set()
    unique_ones = []
    for index, name in enumerate(names):
        base = unique = name or f"Column {column_letters(index)}"
        number = 1
        while unique in taken:
            number += 1
            unique = f"{base} ({number})"
        unique_ones.append(unique)
        taken.add(unique)
    return unique_ones


def check_columns(number: int, row: int | None, limits: TableLimits) -> None:
    """Raise `UnreadableFile` if a table has more columns than the limit, or none."""
    if number > limits.columns:
        raise UnreadableFile(f"has {number} columns; a table may have at most {limits.columns}", row)
    if not number:
        raise UnreadableFile("the file has no row with names of columns")


def check_names(names: Iterable[str], row: int | None, limits: TableLimits) -> None:
    """Raise `UnreadableFile` if the name of a column is too long."""
    longest = max(map(len, names), default=0)
    if longest > limits.name_characters:
        raise UnreadableFile(f"has a column whose name has {longest} characters; it may have {limits.name_characters}", row)


def value_text(value: Any) -> str:
    """Return a value of JSON as text; null is blank, a list of texts is one with commas, other structures stay JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return msgspec.json.encode(value).decode()


def is_encodable(text: str) -> bool:
    """Return whether a text has no half of a surrogate pair, as which bytes of another encoding are read."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
