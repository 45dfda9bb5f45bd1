"""The job of an import: reads its file in batches, and writes each with the counts and the bad rows in one transaction."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

import msgspec

from touchbase.clients import Client
from touchbase.common.timestamps import Micros
from touchbase.history import Author
from touchbase.imports.columns import Mapping
from touchbase.imports.commands import DUPLICATE, INVALID, ImportRows, Mode, Outcome
from touchbase.imports.duplicates import SeenKeys, keys_of
from touchbase.imports.reading import read_table
from touchbase.imports.report import BadRows, Report
from touchbase.imports.rows import InvalidRow, RowChecker, ValidRow
from touchbase.imports.table import Row, Table
from touchbase.jobs import BAD_ROWS, INPUT, Checkpoint, JobRun

BATCH = 1_000
"""Rows in one transaction: the flush costs little more than nothing then, and other writes wait some 30 ms."""
BATCH_CHARACTERS = 4_000_000
"""Characters of the rows in one transaction, which bound the memory."""


class ImportSettings(msgspec.Struct):
    """What an import does, as its job stores it."""

    mapping: Mapping
    mode: Mode = "upsert"
    match: str = ""
    dry_run: bool = False
    delimiter: str = ""
    encoding: str = ""
    sheet: str = ""


class Position(msgspec.Struct):
    """How far an import is: rows of the file, and whether the file of bad rows has its header."""

    rows: int = 0
    has_bad_rows: bool = False


@dataclass(slots=True)
class Batch:
    """The next rows of a file, checked."""

    rows: int = 0
    """All rows, also bad ones and duplicates."""
    valid: list[ValidRow] = field(default_factory=list)
    invalid: list[InvalidRow] = field(default_factory=list)
    duplicates: int = 0
    percent: int = 0
    """How much of the file has been read by then."""


class RowSource:
    """Reads the rows of a file in batches, checks them and finds duplicates; used by one thread at a time."""

    def __init__(self, file: BinaryIO, settings: ImportSettings, client: Client, at: Micros) -> None:
        self._file, self._at = file, at
        file.seek(0, io.SEEK_END)
        self._size = max(1, file.tell())
        self._table: Table = read_table(file, delimiter=settings.delimiter, encoding=settings.encoding, sheet=settings.sheet)
        self.header = self._table.header
        self._checker = RowChecker(settings.mapping, self.header, client)
        self._seen = SeenKeys()
        self._rows = 0

    def next(self, limit: int = BATCH) -> Batch:
        """Return the next rows; none at the end of the file."""
        batch, characters = Batch(), 0
        for row in self._table.rows:
            checked = self._checker.check(row, self._at)
            if isinstance(checked, InvalidRow):
                batch.invalid.append(checked)
            elif self._seen.first_row(keys_of(checked.command), row.number) is not None:
                batch.duplicates += 1
            else:
                batch.valid.append(checked)
            batch.rows += 1
            characters += sum(map(len, row.cells))
            if batch.rows >= limit or characters >= BATCH_CHARACTERS:
                break
        self._rows += batch.rows
        at, size = (self._rows, count) if (count := self._table.row_count) else (self._file.tell(), self._size)
        batch.percent = min(99, at * 100 // size)
        return batch


class ImportKind:
    """The jobs `contacts.import` and `companies.import`."""

    def __init__(self, record: Literal["contact", "company"], name: str) -> None:
        self._record = record
        self.name = name

    async def run(self, run: JobRun) -> None:
        """Import the rows behind the last checkpoint."""
        settings = msgspec.convert(run.job.settings, ImportSettings)
        file = await run.copy(INPUT)
        try:
            source = await asyncio.to_thread(RowSource, file, settings, run.client, run.job.started_us or run.clock())
            await self._skip(run, source)
            await self._import(run, source, settings)
        finally:
            file.close()

    async def _skip(self, run: JobRun, source: RowSource) -> None:
        """Read the rows before the checkpoint again: later ones may be duplicates of them."""
        left = msgspec.convert(run.job.position, Position).rows
        while left > 0:
            run.check()
            left -= (await asyncio.to_thread(source.next, min(left, BATCH))).rows

    async def _import(self, run: JobRun, source: RowSource, settings: ImportSettings) -> None:
        reading = asyncio.create_task(asyncio.to_thread(source.next))
        try:
            while (batch := await reading).rows:
                reading = asyncio.create_task(asyncio.to_thread(source.next))  # while this batch is written
                await self._write(run, source.header, settings, batch)
        finally:
            await asyncio.wait([reading])  # it uses the file

    async def _write(self, run: JobRun, header: Sequence[str], settings: ImportSettings, batch: Batch) -> None:
        job, client = run.job, run.client
        command = ImportRows(
            job.client, self._record, batch.valid, settings.mode, settings.match, run.clock(), client.settings,
            Author(job.made_by, f"job:{job.id}"), settings.dry_run,
        )  # fmt: skip
        at, progress = msgspec.convert(job.position, Position), job.progress

        def checkpoint(results: list[Any]) -> Checkpoint:
            return _reached(at, progress, batch, header, results[0])

        await run.step([command], checkpoint)


def _reached(at: Position, progress: dict[str, Any], batch: Batch, header: Sequence[str], outcomes: Sequence[Outcome]) -> Checkpoint:
    """Return the checkpoint after a batch: counts, and the bad rows as a piece of their file."""
    report = msgspec.convert(progress, Report)
    bad = [(one.row, one.reason) for one in batch.invalid]
    for valid, outcome in zip(batch.valid, outcomes, strict=True):
        setattr(report, outcome.word, getattr(report, outcome.word) + 1)
        report.suppressed += outcome.suppressed is not None
        if outcome.word == INVALID:
            bad.append((valid.row, outcome.reason))
        elif valid.notice and outcome.word != DUPLICATE:
            report.notice(valid.notice)
    report.invalid += len(batch.invalid)
    report.duplicate_in_file += batch.duplicates
    files = [(BAD_ROWS, _csv(header, bad, with_header=not at.has_bad_rows))] if bad else []
    position = Position(at.rows + batch.rows, at.has_bad_rows or bool(bad))
    made = {**msgspec.to_builtins(report), "rows": position.rows, "percent": batch.percent}
    return Checkpoint(msgspec.to_builtins(position), made, files)


def _csv(header: Sequence[str], bad: list[tuple[Row, str]], *, with_header: bool) -> bytes:
    text = io.StringIO()
    writer = BadRows(text, header)
    start = 0 if with_header else text.tell()
    for row, reason in sorted(bad, key=lambda each: each[0].number):
        writer.add(row, reason)
    text.seek(start)
    return text.read().encode()


KINDS = (ImportKind("contact", "contacts.import"), ImportKind("company", "companies.import"))
