"""Preview of a file: its columns, first rows, and the guessed mapping."""

from __future__ import annotations

from itertools import islice
from typing import BinaryIO, Literal

import msgspec

from touchbase.imports.columns import Mapping
from touchbase.imports.guessing import guess
from touchbase.imports.reading import read_table

SAMPLE = 50
"""Rows by which columns are guessed."""
SHOWN = 5
"""Rows that a preview shows."""
CELL = 200
"""Characters of a cell that a preview shows."""


class Preview(msgspec.Struct):
    """What a file looks like, and what an import would make of it."""

    format: str
    header: list[str]
    rows: list[list[str]]
    mapping: Mapping
    source: str
    encoding: str = ""
    delimiter: str = ""
    sheet: str = ""
    sheets: list[str] = []


def preview_file(
    file: BinaryIO, record: Literal["contact", "company"], *, delimiter: str = "", encoding: str = "", sheet: str = ""
) -> Preview:
    """Read the beginning of a file; raise `UnreadableFile` if it is no table."""
    table = read_table(file, delimiter=delimiter, encoding=encoding, sheet=sheet)
    sample = [row.cells for row in islice(table.rows, SAMPLE)]
    guessed = guess(table.header, record, sample)
    rows = [[_shown(cell) for cell in cells] for cells in sample[:SHOWN]]
    return Preview(
        table.format, table.header, rows, guessed.mapping, guessed.source, table.encoding, table.delimiter, table.sheet, table.sheets
    )


def _shown(cell: str) -> str:
    return cell[:CELL].replace("\0", "").encode("utf-8", "replace").decode()
