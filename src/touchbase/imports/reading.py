"""Reading of files: the format by the first bytes, then the header and a stream of rows.

CSV, NDJSON and Parquet are read in constant memory, workbooks up to `TableLimits.sheet_cells`. The file must be seekable: it is read
before its rows are returned, for its encoding (CSV), its columns (NDJSON, Parquet) or its size (XLSX).
"""

from __future__ import annotations

from typing import BinaryIO

from touchbase.imports.csv_rows import read_csv
from touchbase.imports.ndjson_rows import read_ndjson
from touchbase.imports.parquet_rows import read_parquet
from touchbase.imports.table import Table, TableLimits, UnreadableFile
from touchbase.imports.workbook import read_workbook

_OTHERS = (
    (b"\xd0\xcf\x11\xe0", "is an .xls file, or a workbook with a password; save it as .xlsx without a password, or as CSV"),
    (b"\x1f\x8b", "is compressed with gzip; send it decompressed"),
    (b"%PDF", "is a PDF; send the table as CSV or XLSX"),
    (b"<", "is a web page or XML; save the table as CSV or XLSX"),
    (b"[", "is a JSON list; send NDJSON, one object per line"),
)


def read_table(
    file: BinaryIO, limits: TableLimits | None = None, *, delimiter: str = "", encoding: str = "", sheet: str = "", header_row: int = 0
) -> Table:
    """Read a file as a table; raise `UnreadableFile` if it is none.

    `delimiter` and `encoding` are for CSV, `sheet` is for XLSX and `header_row` for both; what is left out is detected.
    """
    limits = limits or TableLimits()
    file.seek(0)
    head = file.read(1_024).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"PK\x03\x04"):
        _refuse("a workbook", delimiter=delimiter, encoding=encoding)
        return read_workbook(file, limits, sheet, header_row)
    if head.startswith(b"{"):
        _refuse("NDJSON", delimiter=delimiter, encoding=encoding, sheet=sheet, header_row=header_row)
        return read_ndjson(file, limits)
    if head.startswith(b"PAR1"):
        _refuse("a Parquet file", delimiter=delimiter, encoding=encoding, sheet=sheet, header_row=header_row)
        return read_parquet(file, limits)
    for mark, detail in _OTHERS:
        if head.startswith(mark):
            raise UnreadableFile(f"the file {detail}")
    if not head:
        raise UnreadableFile("the file is empty")
    _refuse("a CSV file", sheet=sheet)
    return read_csv(file, limits, delimiter, encoding, header_row)


def _refuse(kind: str, **options: object) -> None:
    stated = [name.replace("_", " ") for name, value in options.items() if value]
    if stated:
        raise UnreadableFile(f"the file is {kind}, which has no {' and no '.join(stated)} to choose; leave that out")
