"""The job of an import: a sandbox process reads its file in batches, and each is written with its counts and bad rows at once."""

from __future__ import annotations

import asyncio
import contextlib
import io
import marshal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

import msgspec

from touchbase.clients.models import Client
from touchbase.common.frames import packs_by_position
from touchbase.common.timestamps import Micros
from touchbase.errors import NotFound
from touchbase.event_log.sql.changes import IMPORT, begin_change
from touchbase.history.events import COMPANY, CONTACT, Author
from touchbase.imports.columns import Mapping
from touchbase.imports.preview import READING_SECONDS, ReadOptions, too_costly
from touchbase.imports.report import (
    CELLS_LEFT_OUT,
    DUPLICATE,
    ERASED,
    INVALID,
    NOT_A_ROW,
    BadRows,
    ImportOptions,
    Mode,
    Report,
    RowOutcome,
    report_line,
    report_lines,
    same_as,
)
from touchbase.imports.rows import InvalidRow, LeftOutCell, ValidRow
from touchbase.imports.sql import import_rows, named_twins
from touchbase.imports.table import Row, UnreadableFile
from touchbase.jobs.models import BAD_ROWS, INPUT, REPORT, Checkpoint
from touchbase.jobs.runner import JobRun
from touchbase.merging.models import IF_EMPTY, Policy
from touchbase.merging.sql.merge import merge_records
from touchbase.records.sql.lookup import used_statuses
from touchbase.records.writes import new_write_key
from touchbase.sandbox.pool import SandboxSession
from touchbase.sandbox.task import Task, TaskStopped

BATCH = 500
"""Rows in one transaction. Other writes of SQLite wait some 50 ms for it; with 1,000 they wait twice as long and a row costs the same, with
250 a row costs PostgreSQL's process a third more."""


class ImportSettings(msgspec.Struct):
    """Options of an import, as its job stores them."""

    mapping: Mapping
    mode: Mode = "upsert"
    match: str = ""
    dry_run: bool = False
    delimiter: str = ""
    encoding: str = ""
    sheet: str = ""
    header_row: int = 0
    file_name: str = ""
    """As the upload named it; blank: it did not."""
    test_id: int | msgspec.UnsetType = msgspec.UNSET
    """The test run whose file and mapping it has."""
    spellings: list[str] = []
    """The statuses in use when the import began."""
    owners: dict[str, str] = {}
    """Ids of the users who may see the client, by ids and e-mail addresses; empty unless a column has owners."""

    @property
    def reading(self) -> ReadOptions:
        """How the file is read."""
        return ReadOptions(self.delimiter, self.encoding, self.sheet, self.header_row)


class ImportPosition(msgspec.Struct):
    """How far an import is: rows of the file, and whether the file of bad rows has its header."""

    rows: int = 0
    has_bad_rows: bool = False
    has_report: bool = False


@packs_by_position
@dataclass(slots=True)
class Batch:
    """The next rows of a file, checked."""

    rows: int = 0
    """All rows, also bad ones and duplicates."""
    valid: list[ValidRow] = field(default_factory=list)
    """Without the cells of their rows."""
    cells: bytes = b""
    """The cells of the valid rows, marshalled, needed for rows that the store refuses."""
    invalid: list[InvalidRow] = field(default_factory=list)
    repeated: list[tuple[int, int]] = field(default_factory=list)
    """Rows that add nothing to an earlier row about the same record, each with the number of that one."""
    left_out: list[LeftOutCell] = field(default_factory=list)
    percent: int = 0
    """How much of the file has been read by then."""
    header: list[str] = field(default_factory=list)
    """In the first batch, which has no rows."""


READ_BATCHES: Task[[BinaryIO, ImportSettings, Client, Micros, int, int], Iterator[Batch]] = Task(
    "touchbase.imports.file_tasks:read_batches", READING_SECONDS
)


class ImportKind:
    """The jobs `contacts.import` and `companies.import`."""

    def __init__(self, record: Literal["contact", "company"], name: str) -> None:
        self._record = record
        self.name = name

    async def run(self, run: JobRun) -> None:
        """Import the rows behind the last checkpoint."""
        settings = msgspec.convert(run.job.settings, ImportSettings)
        kind = CONTACT if self._record == "contact" else COMPANY
        settings.spellings = await run.store.read(used_statuses(run.job.client, kind)) if settings.mapping.join_statuses else []
        at, written = run.job.started_us or run.clock(), msgspec.convert(run.job.position, ImportPosition).rows
        if not settings.dry_run:
            by = Author(run.job.made_by, f"job:{run.job.id}")
            await run.store.write(begin_change(run.job.client, IMPORT, by, run.clock(), run.job.id))
        file = await run.copy(INPUT)
        try:
            # The rows before the checkpoint are read again: later ones may be duplicates of them.
            async with run.sandbox.session(READ_BATCHES, file, settings, run.client, at, written, BATCH) as session:
                await self._import(run, session, settings)
            if not settings.dry_run:
                await self._join_companies(run)
        except TaskStopped as stopped:
            if not stopped.for_good:
                raise
            rows = msgspec.convert(run.job.position, ImportPosition).rows
            raise UnreadableFile(f"the import ended after {rows} rows: {too_costly(stopped)}") from stopped
        finally:
            file.close()

    async def _import(self, run: JobRun, session: SandboxSession[Batch], settings: ImportSettings) -> None:
        header: list[str] = []
        reading = asyncio.create_task(_next(session))
        try:
            while (batch := await reading) is not None:
                reading = asyncio.create_task(_next(session))  # while this batch is written
                if batch.rows:
                    await self._write(run, header, settings, batch)
                else:
                    header = header or batch.header
                    run.check()
        finally:
            reading.cancel()
            await asyncio.wait([reading])

    async def _join_companies(self, run: JobRun) -> None:
        """Merge companies with only a name into the company with this name and a domain; the merges can be undone."""
        client, by = run.job.client, Author(run.job.made_by, f"job:{run.job.id}")
        for named, owner in await run.store.read(named_twins(client)):
            merge = merge_records(client, COMPANY, owner, [named], Policy(IF_EMPTY), run.clock(), new_write_key(), by)
            with contextlib.suppress(NotFound):  # deleted or merged in between
                await run.store.write(merge)

    async def _write(self, run: JobRun, header: Sequence[str], settings: ImportSettings, batch: Batch) -> None:
        job, client = run.job, run.client
        keeps_first = settings.mapping.repeated == "first"
        options = ImportOptions(settings.mode, settings.match, settings.dry_run, keeps_first, job.started_us or 0)
        by = Author(job.made_by, f"job:{job.id}")
        command = import_rows(job.client, self._record, batch.valid, options, run.clock(), client.settings, by)
        at, progress = msgspec.convert(job.position, ImportPosition), job.progress
        columns = {target: name for name, target in settings.mapping.columns.items()}

        def checkpoint(results: list[Any]) -> Checkpoint:
            return _Reached(self._record, header, columns, batch).checkpoint(at, progress, results[0])

        await run.step([command], checkpoint)


async def _next(session: SandboxSession[Batch]) -> Batch | None:
    return await anext(session, None)


class _Reached:
    """A batch's additions to the counts and files of its job."""

    def __init__(self, record: str, header: Sequence[str], columns: dict[str, str], batch: Batch) -> None:
        self._record, self._header, self._columns, self._batch = record, header, columns, batch
        self._bad: list[tuple[Row, str]] = []
        self._lines: list[tuple[int, str]] = []
        self._cells: list[list[str]] | None = None

    def checkpoint(self, at: ImportPosition, progress: dict[str, Any], outcomes: Sequence[RowOutcome]) -> Checkpoint:
        """Return the checkpoint after the batch: counts, and pieces of the files of bad rows and of the report."""
        batch, report = self._batch, msgspec.convert(progress, Report)
        for bad_row in batch.invalid:
            self._refused(bad_row.row, INVALID if bad_row.is_row else NOT_A_ROW, bad_row.reason)
            report.invalid += bad_row.is_row
            report.not_a_row += not bad_row.is_row
        for row, first in batch.repeated:
            self._lines.append(report_line(row, DUPLICATE, reason=same_as(self._record, first)))
        for cell in batch.left_out:
            self._lines.append(report_line(cell.row, CELLS_LEFT_OUT, 0, cell.column, cell.value, cell.reason))
        report.duplicate_in_file += len(batch.repeated)
        report.cells_left_out += len(batch.left_out)
        for word, count in Counter([outcome.word for outcome in outcomes]).items():
            setattr(report, word, getattr(report, word) + count)
        for index, (valid, outcome) in enumerate(zip(batch.valid, outcomes, strict=True)):
            self._list(report, index, valid, outcome)
        files = []
        if self._bad:
            files.append((BAD_ROWS, _csv(self._header, self._bad, with_header=not at.has_bad_rows)))
        files.append((REPORT, report_lines(self._lines, with_header=not at.has_report).encode()))
        position = ImportPosition(at.rows + batch.rows, at.has_bad_rows or bool(self._bad), has_report=True)
        counts = {**msgspec.to_builtins(report), "rows": position.rows, "percent": batch.percent}
        return Checkpoint(msgspec.to_builtins(position), counts, files)

    def _list(self, report: Report, index: int, valid: ValidRow, outcome: RowOutcome) -> None:
        number = valid.row.number
        report.suppressed += outcome.suppressed is not None
        if outcome.word in (INVALID, ERASED):
            if self._cells is None:
                self._cells = marshal.loads(self._batch.cells)  # noqa: S302 (of a process of our own)
            reason = outcome.reason or "; ".join(self._in_words(field, detail) for field, detail in outcome.faults)
            self._refused(Row(number, self._cells[index]), outcome.word, reason)
            return
        self._lines.append(report_line(number, outcome.word, outcome.id, reason=outcome.reason))
        if outcome.suppressed is not None:
            self._lines.append(report_line(number, "suppressed", outcome.id, reason=outcome.suppressed))
        if outcome.joined:
            report.joined += 1
            self._lines.append(report_line(number, "joined", outcome.id, reason=outcome.joined))
        if outcome.opt_out:
            setattr(report, outcome.opt_out, getattr(report, outcome.opt_out) + 1)
            self._lines.append(report_line(number, outcome.opt_out, outcome.id, reason=valid.opt_out))
        for field_name, value, reason in outcome.cells:
            report.cells_left_out += 1
            column = self._columns.get(field_name, field_name)
            self._lines.append(report_line(number, CELLS_LEFT_OUT, outcome.id, column, value, reason))
        if valid.notice and outcome.word != DUPLICATE:
            report.notice(valid.notice)

    def _in_words(self, field: str, detail: str) -> str:
        """Return a fault with the name of its column; one of all custom fields has none."""
        column = self._columns.get(field)
        return f"{column}: {detail}" if column else detail

    def _refused(self, row: Row, word: str, reason: str) -> None:
        if word == INVALID:
            self._bad.append((row, reason))
        self._lines.append(report_line(row.number, word, reason=reason))


def _csv(header: Sequence[str], bad: list[tuple[Row, str]], *, with_header: bool) -> bytes:
    text = io.StringIO()
    writer = BadRows(text, header)
    start = 0 if with_header else text.tell()
    for row, reason in sorted(bad, key=lambda pair: pair[0].number):
        writer.add(row, reason)
    text.seek(start)
    return text.read().encode()


KINDS = (ImportKind("contact", "contacts.import"), ImportKind("company", "companies.import"))
