"""Imports and exports: rows a second of a job in one process, next to the plain inserts of the same rows; processor time and memory."""

from __future__ import annotations

import asyncio
import io
import resource
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import uvloop

from bench.plan import Plan
from touchbase.clients.models import Client
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import clock
from touchbase.exports.job import ExportPosition, ExportSettings, pages
from touchbase.exports.writer import ExportFormat
from touchbase.imports.file_tasks import RowSource, preview_file
from touchbase.imports.job import KINDS, ImportSettings
from touchbase.imports.preview import PreviewRequest, new_file_sandbox
from touchbase.jobs.models import INPUT, QUEUED, UPLOADING, Job
from touchbase.jobs.runner import PIECE
from touchbase.jobs.sql import append_to_file, change_job, create_job, get_job
from touchbase.jobs.worker import JobWorker
from touchbase.records.operations import create_contact
from touchbase.server.server import freeze_gc
from touchbase.sql.store import Store
from touchbase.stores import open_store

IMPORT_ROWS = {"sqlite": 20_000, "postgresql": 15_000}
"""Rows a second that an import should do."""
EXPORT_ROWS = 100_000
AT_ONCE = 256
PAGE_BYTES = 8 * 1024 * 1024
"""Of a page of the export, as `TOUCHBASE_PAGE_BYTES` is by default."""


@dataclass(slots=True)
class Rate:
    """What a step took."""

    rows: int
    seconds: float
    processor: float
    """Of this process, which writes."""
    reader: float = 0.0
    """Of the sandbox process that reads the file."""

    def __str__(self) -> str:
        apart = f", and {self.reader / self.rows * 1e6:.0f} us of the process that reads the file" if self.reader else ""
        return (
            f"{self.rows / self.seconds:,.0f} rows/s ({self.processor / self.rows * 1e6:.0f} us of this process's processor a row{apart})"
        )


def measure(plan: Plan, engine: str) -> None:
    """Import a file of `plan.known` rows into a new store, import it again, and export the store."""
    print(f"files {engine}: {plan.known:,} rows", flush=True)
    folder = plan.new_folder()
    uvloop.run(_measure(plan, engine, plan.new_store(engine, folder, "plain"), plan.new_store(engine, folder, "imported")))


def file_of(rows: int) -> bytes:
    """A CSV file of ten columns: two addresses, names, a company with its domain, a status and three custom fields."""
    lines = ["email,first_name,last_name,company,website,Industry,Size,linkedin_url,contact_status,City"]
    for number in range(rows):
        company = number % 5_000
        names = f"person{number}@company{company}.example,First{number},Last{number},Company {company},company{company}.example"
        lines.append(f"{names},Software,{number % 500},https://www.linkedin.com/in/person-{number},new,Berlin")
    return "\n".join(lines).encode()


async def _measure(plan: Plan, engine: str, plain: str, imported: str) -> None:
    freeze_gc()
    data = file_of(plan.known)
    settings = ImportSettings(preview_file(io.BytesIO(data), PreviewRequest("contact")).mapping)
    limit = await _with_store(plain, lambda store, client: _plain(store, client, data, settings))
    before = _memory()
    first, again, exported = await _with_store(imported, lambda store, client: _files(store, client, data, settings))
    aim = IMPORT_ROWS[engine]
    plan.report.add(f"import, {engine}", f"{first}; plain creates {limit}", f"at least {aim:,} rows/s", first.rows / first.seconds >= aim)
    plan.report.add(f"import of the same file, {engine}", str(again), "-", None)
    met = exported.rows / exported.seconds >= EXPORT_ROWS
    plan.report.add(f"export to NDJSON, {engine}", str(exported), f"at least {EXPORT_ROWS:,} rows/s", met)
    plan.report.add(f"memory of import and export, {engine}", f"{_memory() - before} MB more", "-", None)


async def _with_store(address: str, work: Callable[[Store, Client], Awaitable[Any]]) -> Any:
    store = await open_store(address)
    try:
        return await work(store, await store.write(ensure_client("bench", clock())))
    finally:
        await store.close()


async def _plain(store: Store, client: Client, data: bytes, settings: ImportSettings) -> Rate:
    """Create contacts that are ready, 256 at once: what the store does at most with this statement."""
    source, rate = RowSource(io.BytesIO(data), settings, client, clock()), Rate(0, 0, 0)
    while (batch := source.next()).rows:
        commands = [create_contact(row.creation) for row in batch.valid]
        began, used = time.perf_counter(), time.process_time()
        for start in range(0, len(commands), AT_ONCE):
            await asyncio.gather(*map(store.write, commands[start : start + AT_ONCE]))
        rate = Rate(rate.rows + len(commands), rate.seconds + time.perf_counter() - began, rate.processor + time.process_time() - used)
    return rate


async def _files(store: Store, client: Client, data: bytes, settings: ImportSettings) -> tuple[Rate, Rate, Rate]:
    first, again = await _import(store, client, data, settings), await _import(store, client, data, settings)
    began, used, rows = time.perf_counter(), time.process_time(), 0
    async for page, _ in pages(store, "contact", client, ExportSettings(ExportFormat("ndjson")), ExportPosition(), PAGE_BYTES):
        rows += page.rows
    return first, again, Rate(rows, time.perf_counter() - began, time.process_time() - used)


async def _import(store: Store, client: Client, data: bytes, settings: ImportSettings) -> Rate:
    at = clock()
    job = await store.write(create_job(Job(client.number, 0, KINDS[0].name, UPLOADING, at, at, msgspec.to_builtins(settings))))
    for start in range(0, len(data), PIECE):
        await store.write(append_to_file(job.client, job.id, INPUT, data[start : start + PIECE], clock()))
    await store.write(change_job(job.client, job.id, (UPLOADING,), QUEUED, clock()))
    sandbox = new_file_sandbox()
    began, used, read = time.perf_counter(), time.process_time(), _of_children()
    await JobWorker(store, clock, KINDS, sandbox=sandbox).run_job(job.client, job.id)
    rate = Rate(0, time.perf_counter() - began, time.process_time() - used)
    sandbox.close()
    await asyncio.sleep(0.5)  # its process counts when a thread has waited for its end
    rate.reader = _of_children() - read
    result: Job | None = await store.read(get_job(job.client, job.id))
    assert result is not None
    assert result.state == "succeeded", result
    rate.rows = result.progress["rows"]
    return rate


def _of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
