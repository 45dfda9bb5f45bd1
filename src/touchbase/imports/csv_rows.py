"""CSV: delimiter, quoting and row numbers; one row in memory at a time.

A byte that is not of the file's encoding becomes half of a surrogate pair (PEP 383), so that only its row is refused.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import BinaryIO

import charset_normalizer

from touchbase.common.formulas import restored
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

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""The mark of UTF-32 begins with the one of UTF-16."""
_LIKELY = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "mac_roman", "cp932", "gb18030", "big5", "euc_kr"]
"""Encodings in which spreadsheets write CSV, the most frequent first."""
ENCODINGS = (
    "ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be",
    *(f"cp125{number}" for number in range(9)), *(f"iso8859-{number}" for number in range(1, 17) if number != 12),
    "cp437", "cp737", "cp775", "cp850", "cp852", "cp855", "cp857", "cp858", "cp860", "cp861", "cp862", "cp863", "cp864", "cp865", "cp866",
    "cp869", "cp874", "tis-620", "mac-roman", "mac-latin2", "mac-cyrillic", "mac-greek", "mac-turkish", "koi8-r", "koi8-u", "kz1048",
    "cp932", "shift_jis", "shift_jis_2004", "euc_jp", "gb2312", "gbk", "gb18030", "big5", "big5hkscs", "cp950", "euc_kr", "cp949", "johab",
)  # fmt: skip
"""Those in which programs write tables, by their Python names. Python's others are escapes (`unicode_escape`, `utf-7`: a file could hide
its separators), for other things than files, or change their state within a text."""
_SAMPLE = 65_536
"""Bytes for the guess."""
_TIE = 0.08
"""Guesses whose noise is about equal are equally good; then the more frequent encoding is taken."""
_SYMBOL = r"[^\w\s\x00-\x7f\u2013\u2014\u2019\u201c-\u201e\u2022\u2026\u2122\xa9\xab\xae\xb0\xb7\xbb]"
"""None of dashes, quotation marks, bullets and trade marks, which stand next to letters."""
_SYMBOL_IN_WORD = re.compile(rf"[^\W\d_]{_SYMBOL}|{_SYMBOL}[^\W\d_]")


def check_encoding(name: str) -> str:
    """Return the encoding's Python name; raise `UnreadableFile` if it is none of `ENCODINGS`."""
    try:
        encoding = codecs.lookup(name).name
    except (LookupError, ValueError):
        encoding = ""
    if encoding not in ENCODINGS:
        raise UnreadableFile(f"{name[:100]!r} is not an encoding that tables are read in; state one of {', '.join(ENCODINGS)}")
    return encoding


def detect_encoding(file: BinaryIO) -> str:
    """Return the encoding of a file by its Python name. Reads the whole file, since its only umlaut may be in the last row."""
    file.seek(0)
    head = file.read(_SAMPLE)
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if b"\0" in head:
        return _wide(head)
    sample = _lines_beyond_ascii(file)
    if sample is None:
        return "utf-8"
    return _guess(sample)


def _wide(head: bytes) -> str:
    """Return the encoding of a text with two bytes per character, whose Latin letters have a NUL each."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if max(even, odd) < len(head) // 5 or min(even, odd) * 10 > max(even, odd):
        raise UnreadableFile("the file is not a table: it has NUL bytes. Save it as CSV, XLSX or NDJSON")
    return "utf-16-le" if odd > even else "utf-16-be"


def _lines_beyond_ascii(file: BinaryIO) -> bytes | None:
    """Return some lines of the file with bytes beyond ASCII; None if the file is UTF-8."""
    file.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")()
    sample = bytearray()
    is_utf8 = True
    while chunk := file.read(_SAMPLE):
        if is_utf8:
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                is_utf8 = False
        if not chunk.isascii() and len(sample) < _SAMPLE:
            for line in chunk.splitlines(keepends=True):
                if not line.isascii() and len(sample) < _SAMPLE:
                    sample += line[:_SAMPLE]
        if not is_utf8 and len(sample) >= _SAMPLE:
            break
    if is_utf8:
        try:
            decoder.decode(b"", final=True)
            return None
        except UnicodeDecodeError:
            pass
    return bytes(sample)


def _guess(sample: bytes) -> str:
    lines = sample.splitlines()
    if sum(1 for line in lines if _is_utf8(line)) * 2 > len(lines):
        return "utf-8"  # most lines are, so the others are damaged: reading names their row
    noises: dict[str, float] = {}
    for match in charset_normalizer.from_bytes(sample, cp_isolation=_LIKELY):
        noise = match.chaos + _symbols_in_words(str(match))
        for name in (match.encoding, *match.could_be_from_charset):  # the others read the sample as the same text
            noises.setdefault(name, noise)
    likely = [name for name in _LIKELY if name in noises]
    if not likely:
        raise UnreadableFile("the file's encoding is not known; save the file as UTF-8, or state its encoding")
    return min(likely, key=lambda name: noises[name] // _TIE)


def _symbols_in_words(text: str) -> float:
    """Return how many of the characters beyond ASCII are symbols next to a letter: a wrong encoding shows "£ukasz"."""
    beyond = sum(1 for char in text if not char.isascii())
    return len(_SYMBOL_IN_WORD.findall(text)) / beyond if beyond else 0.0


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


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
