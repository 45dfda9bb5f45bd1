"""Tasks of imports, which run in sandbox processes: only they and their imports parse files."""

from __future__ import annotations

import gc
import io
import marshal
import os
from collections.abc import Iterator
from itertools import chain, islice
from operator import attrgetter
from typing import BinaryIO

import msgspec

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.errors import Invalid
from touchbase.imports.columns import Mapping, spread
from touchbase.imports.csv_rows import read_csv
from touchbase.imports.guessing import guess
from touchbase.imports.job import BATCH, Batch, ImportSettings
from touchbase.imports.ndjson_rows import read_ndjson
from touchbase.imports.parquet_rows import read_parquet
from touchbase.imports.preview import CheckedLine, CheckedRows, FilePreview, PreviewRequest, ReadOptions
from touchbase.imports.repeats import Repeats
from touchbase.imports.report import CELLS_LEFT_OUT, DUPLICATE, INVALID, NOT_A_ROW, same_as
from touchbase.imports.rows import InvalidRow, LeftOutCell, RowChecker
from touchbase.imports.scan import Scan
from touchbase.imports.table import Row, Table, TableLimits, UnreadableFile
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
    """Read a file as a table, its format by the first bytes; raise `UnreadableFile` if it is none.

    CSV, NDJSON and Parquet are read in constant memory, workbooks up to `TableLimits.sheet_cells`. The file must be seekable: it is
    read before its rows are returned, for its encoding (CSV), its columns (NDJSON, Parquet) or its size (XLSX).
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


SAMPLE = 50
"""Rows by which columns are guessed."""
SCANNED = 20_000
"""Rows in which a preview looks for orders of dates, spellings of statuses and opt-outs."""
SHOWN = 5
"""Rows that a preview shows."""
CELL = 200
"""Characters of a cell that a preview shows."""
LISTED = 10
"""Lines of each outcome that a preview shows."""
SHEETS = 100
"""Names of sheets that a preview shows."""
BATCH_CHARACTERS = 1_000_000
"""Characters and cells of a batch, which bound the memory of the server."""
BATCH_CELLS = 20_000
"""Cells of a batch, as texts."""
BATCH_FIELDS = 4_096
"""Custom fields of a batch, each a row of its transaction: more would hold up other writes for longer than rows of usual width."""
NICE = 5
"""How far behind the server the processes stand when the processor is short."""
GARBAGE = 200_000
"""Objects after which garbage is collected; with the usual 700 it takes a third of the time."""


def preload() -> None:
    """Lower this process's priority, and collect garbage rarely: rows have no cycles. The modules are imported by then."""
    os.nice(NICE)
    gc.set_threshold(GARBAGE)


def preview_steps(file: BinaryIO, request: PreviewRequest) -> Iterator[FilePreview]:
    """Yield the preview of a file."""
    yield preview_file(file, request)


def preview_file(file: BinaryIO, request: PreviewRequest) -> FilePreview:
    """Read the beginning of a file; raise `UnreadableFile` if it is no table."""
    table = _table(file, request.reading)
    sample = [row.cells for row in islice(table.rows, SAMPLE)]
    guessed = guess(table.header, request.record, sample)
    mapping = guessed.mapping if request.mapping is None else spread(request.mapping, table.header)
    rows = [[_shown(cell) for cell in cells] for cells in sample[:SHOWN]]
    preview = FilePreview(
        table.format, table.header, rows, mapping, guessed.source, table.encoding, table.delimiter, table.sheet,
        table.sheets[:SHEETS], table.header_row,
    )  # fmt: skip
    scan = Scan(mapping, table.header, request.spellings)
    for cells in chain(sample, (row.cells for row in islice(table.rows, SCANNED - len(sample)))):
        scan.add(cells)
    scan.finish(preview)
    if request.client is not None:
        preview.checked = _check(file, preview.mapping, request, request.client)
    return preview


def _check(file: BinaryIO, mapping: Mapping, request: PreviewRequest, client: Client) -> CheckedRows | None:
    """Check the first rows of a file; return None if the mapping has faults."""
    settings = ImportSettings(mapping, **msgspec.structs.asdict(request.reading), spellings=[*request.spellings], owners={**request.owners})
    try:
        source = RowSource(file, settings, client, request.at)
    except Invalid:
        return None
    checked = CheckedRows()
    while checked.rows < SCANNED and (batch := source.next(min(BATCH, SCANNED - checked.rows))).rows:
        checked.rows += batch.rows
        lines = [CheckedLine(line.row.number, INVALID if line.is_row else NOT_A_ROW, _shown(line.reason)) for line in batch.invalid]
        repeated = batch.repeated + [(line.row.number, line.same_as) for line in batch.valid if line.same_as]
        lines += [CheckedLine(row, DUPLICATE, same_as(request.record, first)) for row, first in repeated]
        lines += [CheckedLine(row, CELLS_LEFT_OUT, *map(_shown, (reason, column, value))) for row, column, value, reason in batch.left_out]
        for line in sorted(lines, key=attrgetter("row")):
            checked.add(line, LISTED)
    return checked


def _table(file: BinaryIO, reading: ReadOptions, limits: TableLimits | None = None) -> Table:
    return read_table(
        file, limits, delimiter=reading.delimiter, encoding=reading.encoding, sheet=reading.sheet, header_row=reading.header_row
    )


def _shown(cell: str) -> str:
    return cell[:CELL].replace("\0", "").encode("utf-8", "replace").decode()


def read_batches(file: BinaryIO, settings: ImportSettings, client: Client, at: Micros, skipped: int, limit: int) -> Iterator[Batch]:
    """Yield an empty batch with the header, then one for each `limit` rows; batches of the first `skipped` rows are empty."""
    source = RowSource(file, settings, client, at)
    yield Batch(header=source.header)
    while skipped > 0 and (rows := source.next(min(skipped, limit)).rows):
        skipped -= rows
        yield Batch()
    while (batch := source.next(limit)).rows:
        yield batch


class RowSource:
    """Reads the rows of a file in batches, checks them and finds duplicates; used by one thread at a time."""

    def __init__(self, file: BinaryIO, settings: ImportSettings, client: Client, at: Micros, limits: TableLimits | None = None) -> None:
        self._file, self._at = file, at
        self._limits = limits or TableLimits()
        file.seek(0, io.SEEK_END)
        self._size = max(1, file.tell())
        self._most_characters = max(self._limits.characters, self._size * self._limits.unfolding)
        self._table = _table(file, settings.reading, self._limits)
        self.header = self._table.header
        self._checker = RowChecker(settings.mapping, self.header, client, settings.spellings, settings.owners)
        self._repeats = Repeats(self._checker.names, keeps_first=settings.mapping.repeated == "first")
        self._columns = {name: self.header[index] for index, names in self._checker.names.items() for name in names}
        self._rows = self._characters = 0

    def next(self, limit: int = BATCH) -> Batch:
        """Return the next rows; none at the end of the file."""
        batch, texts = Batch(), list[list[str]]()
        characters = cells = fields = 0
        for row in self._table.rows:
            checked = self._checker.check(row, self._at)
            if isinstance(checked, InvalidRow):
                batch.invalid.append(checked)
            else:
                batch.left_out += self._checker.left_out
                for name, reason in self._repeats.note(checked, self._checker.filled):
                    value = row.cells[self.header.index(self._columns[name])] if name in self._columns else ""
                    batch.left_out.append(LeftOutCell(row.number, self._columns.get(name, name), value.strip(), reason))
                if checked.adds:
                    checked.row = Row(row.number, [])
                    batch.valid.append(checked)
                    fields += len(checked.creation.custom) + (0 if checked.company is None else len(checked.company.custom))
                    texts.append(row.cells)
                else:
                    batch.repeated.append((row.number, checked.same_as))
            batch.rows += 1
            cells += len(row.cells)
            characters += sum(map(len, row.cells))
            if batch.rows >= limit or cells >= BATCH_CELLS or fields >= BATCH_FIELDS or characters >= BATCH_CHARACTERS:
                break
        batch.cells = marshal.dumps(texts)
        self._count(batch, characters)
        return batch

    def _count(self, batch: Batch, characters: int) -> None:
        self._rows += batch.rows
        self._characters += characters
        if self._rows > self._limits.rows:
            raise UnreadableFile(f"the file has more than {self._limits.rows} rows; import it in parts")
        if self._characters > self._most_characters:
            raise UnreadableFile(
                f"the rows up to this one have {self._characters} characters, in a file of {self._size} bytes; save it as CSV", self._rows
            )
        at, size = (self._rows, count) if (count := self._table.row_count) else (self._file.tell(), self._size)
        batch.percent = min(99, at * 100 // size)
