"""CSV: delimiter, quoting and row numbers; one row in memory at a time.

A byte that is not of the file's encoding becomes half of a surrogate pair (PEP 383), so that only its row is refused.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import BinaryIO

from touchbase.common.formulas import restored
from touchbase.imports.encodings import check_encoding, detect_encoding
from touchbase.imports.table import (
    Row,
    Table,
    TableLimits,
    TooManyBlankRows,
    UnreadableFile,
    check_columns,
    is_encodable,
    split_header,
)

DELIMITERS = ",;\t|"
"""Delimiters that are detected; any other one has to be stated."""
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?[\r\n]*', re.IGNORECASE)
"""Excel reads the delimiter from such a first line, and does not show it as a row."""
NO_DELIMITER = "\x1f"
"""Divides nothing: the commas of a file with one column belong to its cells."""
_SAMPLE_ROWS = 50
_NARROW = 3
_NAME_OF_COLUMN = re.compile(r"e-?mail|name|linkedin|url|domain|website", re.IGNORECASE)
_SAMPLE_BLANK_ROWS = 10_000


def read_csv(file: BinaryIO, limits: TableLimits, delimiter: str = "", encoding: str = "", header_row: int = 0) -> Table:
    """Read a CSV file; delimiter and encoding are detected if they are not stated."""
    if len(delimiter) > 1 or (delimiter and delimiter in '\r\n"\0 '):
        raise UnreadableFile(f"{delimiter[:10]!r} cannot be a delimiter; state one character, such as a comma or a semicolon")
    encoding = check_encoding(encoding) if encoding else detect_encoding(file)
    if encoding == "utf-8":
        encoding = "utf-8-sig"  # reads both, with a byte order mark and without
    stated = _separator_line(file, encoding)
    delimiter = delimiter or stated or _detect_delimiter(file, encoding, limits)
    rows = _rows(_open(file, encoding, skip_line=stated is not None), delimiter, limits)
    header, row, below = split_header(rows, header_row, limits)
    if not is_encodable("".join(row.cells)):
        raise UnreadableFile(f"the header is not {encoding}; save the file as UTF-8, or state its encoding", row.number)
    return Table("csv", header, below, encoding, delimiter, header_row=row.number)


def _open(file: BinaryIO, encoding: str, *, skip_line: bool = False) -> io.TextIOWrapper:
    file.seek(0)
    text = io.TextIOWrapper(io.BufferedReader(_Raw(file), 262_144), encoding=encoding, errors="surrogateescape", newline="")
    if skip_line:
        text.readline()
    return text


class _Raw(io.RawIOBase):
    """Bytes of a file that belongs to the caller: closing the reader does not close it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _separator_line(file: BinaryIO, encoding: str) -> str | None:
    try:
        match = _SEPARATOR_LINE.fullmatch(_open(file, encoding).readline(20))
    except UnicodeError as error:
        raise _undecodable(error, encoding, 1) from None
    return None if match is None else match[1]


def _detect_delimiter(file: BinaryIO, encoding: str, limits: TableLimits) -> str:
    """Return the header's delimiter; of several, the one that divides the first rows most evenly.

    A header without any is one column.
    """
    best, most = NO_DELIMITER, (0.0, 0)
    any_width = replace(limits, columns=limits.row_characters, blank_rows=_SAMPLE_BLANK_ROWS)
    for delimiter in DELIMITERS:
        sample: list[Row] = []
        try:
            sample += islice(_rows(_open(file, encoding), delimiter, any_width), _SAMPLE_ROWS)
        except TooManyBlankRows:
            pass
        except UnreadableFile:
            continue  # with the right one it can be read, or the error is raised then
        widths = [len(row.cells) for row in _below_title(sample)]
        if not widths or widths[0] < 2:
            continue
        score = (sum(1 for width in widths if width == widths[0]) / len(widths), widths[0])
        if score > most:
            best, most = delimiter, score
    return best


def _below_title(rows: list[Row]) -> list[Row]:
    """Return the rows from the header on: lines of a title above it have fewer cells, and a blank line or a name of a column tells it."""
    if not rows or len(rows[0].cells) > 1:
        return rows
    for index, row in enumerate(rows[:-1]):
        width = len(row.cells)
        if width >= _NARROW and (rows[index - 1].number < row.number - 1 or _NAME_OF_COLUMN.search(" ".join(row.cells))):
            return rows[index:]
        if width > 1:
            break
    return rows


class _Lines:
    """The lines of a text, with the present row's: it has several if a cell has line breaks."""

    def __init__(self, text: io.TextIOWrapper, limits: TableLimits) -> None:
        self._next = iter(partial(text.readline, limits.row_characters + 1), "")
        self._most = limits.row_characters
        self._size = 0
        self.row: list[str] = []
        self.ended = False

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._next, "")
        if not line:
            self.ended = True
            raise StopIteration
        self.row.append(line)
        self._size += len(line)
        if self._size > self._most:
            raise _TooLong
        return line

    def begin_row(self) -> None:
        """Begin a new row."""
        self.row.clear()
        self._size = 0


class _TooLong(Exception):
    pass


def _rows(text: io.TextIOWrapper, delimiter: str, limits: TableLimits) -> Iterator[Row]:
    """Return the rows; a line without any character has a number, and is left out."""
    lines = _Lines(text, limits)
    reader, row, number, last = csv.reader(lines, delimiter=delimiter), lines.row, 0, 0
    try:
        for cells in reader:
            number += 1
            if lines.ended:  # the reader looked for the end of a cell, and found the end of the file
                raise UnreadableFile("a cell begins with a quotation mark that is never closed", number)
            if len(cells) > limits.columns:
                check_columns(len(cells), number, limits)
            if "'" in row[0] or len(row) > 1:
                cells = [restored(cell) for cell in cells]  # noqa: PLW2901
            lines.begin_row()
            if cells:
                last = number
                yield Row(number, cells)
            elif number - last > limits.blank_rows:
                raise TooManyBlankRows(limits)
    except _TooLong:
        raise UnreadableFile(_too_long(lines, limits), number + 1) from None
    except csv.Error as error:
        raise UnreadableFile(_too_long(lines, limits) if "limit" in str(error) else f"cannot be read: {error}", number + 1) from None
    except UnicodeError as error:
        raise _undecodable(error, text.encoding, number + 1) from None


def _too_long(lines: _Lines, limits: TableLimits) -> str:
    quoted = "; perhaps a quotation mark in it is not closed" if len(lines.row) > 1 else ""
    return f"is too long: a row may have {limits.row_characters} characters, and a cell {csv.field_size_limit()}{quoted}"


def _undecodable(error: UnicodeError, encoding: str, row: int) -> UnreadableFile:
    return UnreadableFile(f"this row, or one soon after it, is not {encoding} ({error}); save the file as UTF-8", row)
