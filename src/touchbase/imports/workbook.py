"""XLSX: a sheet of a workbook as text, with bounds on its unfolded size.

python-calamine holds the whole sheet in memory, from A1 to the last row and column that have a value: two cells in
opposite corners would take 400 GB. So the parts are decompressed here first, counted, and never stored.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from datetime import date, datetime, time
from itertools import chain
from typing import BinaryIO

import python_calamine as calamine

from touchbase.imports.table import Row, Table, TableLimits, UnreadableFile, check_columns, column_letters, split_header

_FAR = re.compile(rb"""r\s*=\s*["'](?=[A-Z]{2}|[A-Z]?\d{6})([A-Z]{0,7})(\d{1,9})["']""")
"""A place beyond column Z or row 99,999: few files have any, so that the others cost no match."""
_ANY = re.compile(rb"""r\s*=\s*["']([A-Z]{0,7})(\d{1,9})["']""")
_USUAL_COLUMNS, _USUAL_ROWS = 26, 99_999
_FEW = 64
"""Tags that begin like a cell without a place: usually they describe columns and formats."""
_CHUNK = 1_048_576
_HEADER = struct.Struct("<4s22xHH")
"""Of a part: its mark, and the lengths of two fields after it (APPNOTE 4.3.7)."""
_END_MARK, _END = b"PK\5\6", struct.Struct("<12xI6x")
"""The record at the end of a ZIP file, with the size of its directory (APPNOTE 4.3.16); a comment may follow it."""
_END64_MARK, _END64 = b"PK\6\6", struct.Struct("<40xQ8x")
"""The same of a large one (APPNOTE 4.3.14), whose record above has `_IN_ZIP64` as the size."""
_IN_ZIP64, _END_WITHIN = 0xFFFF_FFFF, 22 + 65_535 + 76
_NOT_XLSX = "the file is not an XLSX workbook: save it as .xlsx or as CSV"


def read_workbook(file: BinaryIO, limits: TableLimits, sheet: str = "", header_row: int = 0) -> Table:
    """Read a sheet of an XLSX workbook: the named one, else the first visible one with a value."""
    check_workbook(file, limits)
    file.seek(0)
    try:
        book = calamine.load_workbook(file)
        visible = calamine.SheetVisibleEnum.Visible
        names = [entry.name for entry in book.sheets_metadata if entry.visible == visible and entry.typ == calamine.SheetTypeEnum.WorkSheet]
        if len(names) > limits.workbook_sheets or any(len(name) > limits.name_characters for name in names):
            raise UnreadableFile(f"the workbook has {len(names)} sheets; it may have {limits.workbook_sheets} with names of usual length")
        if sheet and sheet not in names:
            raise UnreadableFile(f"the workbook has no sheet {sheet[:100]!r}; its sheets are {', '.join(names[:20])[:1_000]}")
        for name in [sheet] if sheet else names:
            rows = _rows(book.get_sheet_by_name(name))
            if (first := next(rows, None)) is not None:
                header, row, below = split_header(_checked(chain([first], rows), limits), header_row, limits)
                return Table("xlsx", header, below, sheet=name, sheets=names, header_row=row.number)
    except calamine.PasswordError:
        raise UnreadableFile("the workbook has a password: save it without one") from None
    except (calamine.CalamineError, OSError) as error:
        raise UnreadableFile(f"the workbook is damaged: {str(error)[:200]}") from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # which pyo3 derives from BaseException
            raise
        raise UnreadableFile("the workbook is damaged, or has what cannot be read; save the sheet as CSV") from None
    raise UnreadableFile("the workbook has no row with names of columns")


def check_workbook(file: BinaryIO, limits: TableLimits) -> None:
    """Raise `UnreadableFile` if the file is no workbook, or its parts or a sheet would take too much memory."""
    if _directory_size(file) > limits.workbook_directory:
        raise UnreadableFile(_too_many_parts(limits))
    file.seek(0)
    try:
        parts = zipfile.ZipFile(file).infolist()
    except (zipfile.BadZipFile, RuntimeError, ValueError, NotImplementedError):
        raise UnreadableFile(_NOT_XLSX) from None
    if len(parts) > limits.workbook_parts:
        raise UnreadableFile(_too_many_parts(limits))
    if not any(part.filename.lower().lstrip("/") == "xl/workbook.xml" for part in parts):
        raise UnreadableFile(_NOT_XLSX)
    total = 0
    for part in parts:
        extent = _Extent(_FAR, _USUAL_ROWS, _USUAL_COLUMNS)
        for chunk in _decompressed(file, part):
            total += len(chunk)
            if total > limits.workbook_bytes:
                raise UnreadableFile(f"the workbook is larger than {limits.workbook_bytes} bytes when decompressed; save it as CSV")
            extent.add(chunk)
        if extent.is_sheet and extent.cells > limits.sheet_cells:
            extent = _Extent(_ANY, 1, 1)
            for chunk in _decompressed(file, part):
                extent.add(chunk)
            if extent.cells > limits.sheet_cells:
                raise UnreadableFile(
                    f"a sheet has values down to row {extent.rows} and to column {column_letters(extent.columns - 1)}; a workbook may have "
                    f"{limits.sheet_cells} cells. Delete the cells outside of the table, or save the sheet as CSV"
                )


def _directory_size(file: BinaryIO) -> int:
    """Return how many bytes the list of the parts has, by the record at the end of the file, without reading the list."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _END_WITHIN))
    end = file.read()
    at = end.rfind(_END_MARK)
    if at < 0 or len(end) - at < _END.size:
        raise UnreadableFile(_NOT_XLSX)
    directory: int = _END.unpack_from(end, at)[0]
    at64 = end.rfind(_END64_MARK, 0, at)
    if directory == _IN_ZIP64 and at64 >= 0 and len(end) - at64 >= _END64.size:
        directory = _END64.unpack_from(end, at64)[0]
    return directory


def _too_many_parts(limits: TableLimits) -> str:
    return f"the workbook has more than {limits.workbook_parts} parts; save the sheet as CSV"


def _decompressed(file: BinaryIO, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """Return a part in chunks, to its real end: the size in the archive's directory may be false."""
    file.seek(max(part.header_offset, 0))
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size or part.flag_bits & 1 or part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UnreadableFile("the workbook is encrypted or damaged: save it again without a password")
    _, name, extra = _HEADER.unpack(header)
    file.seek(name + extra, 1)
    left = part.compress_size
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        while left > 0 and (data := file.read(min(left, 65_536))):
            left -= len(data)
            if part.compress_type == zipfile.ZIP_STORED:
                yield data
                continue
            while data and not inflate.eof:
                yield inflate.decompress(data, _CHUNK)
                data = inflate.unconsumed_tail
    except zlib.error as error:
        raise UnreadableFile(f"the workbook is damaged: {error}") from None


class _Extent:
    """The last row and column of a sheet that may have a value, from the text of its part."""

    def __init__(self, place: re.Pattern[bytes], rows: int, columns: int) -> None:
        self.rows, self.columns, self.is_sheet = rows, columns, False
        self._place, self._width, self._unplaced, self._open = place, 0, 0, b""

    @property
    def cells(self) -> int:
        """The number of cells from A1 to there."""
        return self.rows * (self.columns + min(self._unplaced, _FEW))

    def add(self, chunk: bytes) -> None:
        """Count the next part of the text."""
        text = self._open + chunk
        end = text.rfind(b"<")  # a tag that is cut is completed by the next chunk
        self._open = text[end:] if end >= 0 and len(text) - end < _CHUNK else b""
        text = text[: len(text) - len(self._open)]
        self.is_sheet = self.is_sheet or b"sheetData" in text
        if not self.is_sheet:
            return
        end = 0
        for match in self._place.finditer(text):
            if end >= 0:
                end = text.find(b">", match.end())  # after the last one there is none to look for: it would take quadratic time
            if end < 0 or text[end - 1 : end] != b"/":  # else it has a format and no value
                self.rows = max(self.rows, int(match[2]))
                self.columns = max(self.columns, _column(match[1]))
        self._unplaced += text.count(b"<c") - text.count(b"<c r=") + text.count(b":c")
        if self._unplaced <= _FEW:
            return
        # Cells may stand without a place, each after the one before it.
        for index, row in enumerate(text.split(b"row")):
            self._width = row.count(b"<c") + row.count(b":c") // 2 + (0 if index else self._width)
            self.columns = max(self.columns, self._width)


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


def _rows(sheet: calamine.CalamineSheet) -> Iterator[Row]:
    """Return the rows that have a value."""
    for number, values in enumerate(sheet.iter_rows(), 1):
        cells = [value if type(value) is str else _text(value) for value in values]
        if any(cells):
            yield Row(number, cells)


def _checked(rows: Iterator[Row], limits: TableLimits) -> Iterator[Row]:
    for row in rows:
        if len(row.cells) > limits.columns:
            check_columns(len(row.cells), row.number, limits)
        if sum(map(len, row.cells)) > limits.row_characters:
            raise UnreadableFile(f"is too long: a row may have {limits.row_characters} characters", row.number)
        yield row


def _text(value: object) -> str:
    """Return a value as text: a whole number without a point, dates and times in ISO 8601."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime):
        # Excel's numbers have milliseconds at most; what is finer is their rounding.
        return value.isoformat(" ", "milliseconds" if value.microsecond else "seconds")
    return value.isoformat() if isinstance(value, date | time) else str(value)
