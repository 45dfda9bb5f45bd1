"""The job of an import: a sandbox process reads its file in batches, and each is written with its counts and bad rows at once."""

from __future__ import annotations

import asyncio
import io
import marshal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

import msgspec

from touchbase.clients.models import Client
from touchbase.common.frames import packs_by_position
from touchbase.common.timestamps import Micros
from touchbase.history.events import Author
from touchbase.imports.columns import Mapping
from touchbase.imports.preview import READING_SECONDS, too_costly
from touchbase.imports.report import DUPLICATE, INVALID, BadRows, Mode, Report, RowOutcome
from touchbase.imports.rows import InvalidRow, ValidRow
from touchbase.imports.sql import import_rows
from touchbase.imports.table import Row, UnreadableFile
from touchbase.jobs.models import BAD_ROWS, INPUT, Checkpoint
from touchbase.jobs.runner import JobRun
from touchbase.sandbox.pool import SandboxSession
from touchbase.sandbox.task import Task, TaskStopped

BATCH = 1_000
"""Rows in one transaction: the flush costs little more than nothing then, and other writes wait some 30 ms."""


class ImportSettings(msgspec.Struct):
    """What an import does, as its job stores it."""

    mapping: Mapping
    mode: Mode = "upsert"
    match: str = ""
    dry_run: bool = False
    delimiter: str = ""
    encoding: str = ""
    sheet: str = ""


class ImportPosition(msgspec.Struct):
    """How far an import is: rows of the file, and whether the file of bad rows has its header."""

    rows: int = 0
    has_bad_rows: bool = False


@packs_by_position
@dataclass(slots=True)
class Batch:
    """The next rows of a file, checked."""

    rows: int = 0
    """All rows, also bad ones and duplicates."""
    valid: list[ValidRow] = field(default_factory=list)
    """Without the cells of their rows."""
    cells: bytes = b""
    """The cells of the valid rows, marshalled, which are needed for those that the store refuses."""
    invalid: list[InvalidRow] = field(default_factory=list)
    duplicates: int = 0
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
        at, written = run.job.started_us or run.clock(), msgspec.convert(run.job.position, ImportPosition).rows
        file = await run.copy(INPUT)
        try:
            # The rows before the checkpoint are read again: later ones may be duplicates of them.
            async with run.sandbox.session(READ_BATCHES, file, settings, run.client, at, written, BATCH) as session:
                await self._import(run, session, settings)
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

    async def _write(self, run: JobRun, header: Sequence[str], settings: ImportSettings, batch: Batch) -> None:
        job, client = run.job, run.client
        command = import_rows(
            job.client, self._record, batch.valid, settings.mode, settings.match, run.clock(), client.settings,
            Author(job.made_by, f"job:{job.id}"), settings.dry_run,
        )  # fmt: skip
        at, progress = msgspec.convert(job.position, ImportPosition), job.progress

        def checkpoint(results: list[Any]) -> Checkpoint:
            return _reached(at, progress, batch, header, results[0])

        await run.step([command], checkpoint)


async def _next(session: SandboxSession[Batch]) -> Batch | None:
    return await anext(session, None)


def _reached(
    at: ImportPosition, progress: dict[str, Any], batch: Batch, header: Sequence[str], outcomes: Sequence[RowOutcome]
) -> Checkpoint:
    """Return the checkpoint after a batch: counts, and the bad rows as a piece of their file."""
    report = msgspec.convert(progress, Report)
    bad = [(one.row, one.reason) for one in batch.invalid]
    cells: list[list[str]] | None = None
    for index, (valid, outcome) in enumerate(zip(batch.valid, outcomes, strict=True)):
        setattr(report, outcome.word, getattr(report, outcome.word) + 1)
        report.suppressed += outcome.suppressed is not None
        report.kept_opt_outs += outcome.keeps_opt_out
        if outcome.word == INVALID:
            if cells is None:
                cells = marshal.loads(batch.cells)  # noqa: S302 (of a process of our own)
            bad.append((Row(valid.row.number, cells[index]), outcome.reason))
        elif valid.notice and outcome.word != DUPLICATE:
            report.notice(valid.notice)
    report.invalid += len(batch.invalid)
    report.duplicate_in_file += batch.duplicates
    files = [(BAD_ROWS, _csv(header, bad, with_header=not at.has_bad_rows))] if bad else []
    position = ImportPosition(at.rows + batch.rows, at.has_bad_rows or bool(bad))
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
