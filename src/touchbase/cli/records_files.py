"""`touchbase contacts, companies import, export`: records from files, and into files."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import click

from touchbase.cli.failures import STOPPED
from touchbase.cli.jobs import as_values
from touchbase.cli.options import ALWAYS_JSON, json_option, read_settings, setting_options
from touchbase.cli.output import output_file, print_json, print_record, print_table
from touchbase.cli.records_files_remote import export_at_server, mappings_at_server, run_at_server
from touchbase.cli.remote import fetch, through_server
from touchbase.cli.server_options import CLIENT
from touchbase.cli.store import find_client, now_us, opened, run_fast
from touchbase.errors import Invalid

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.clients.models import Client
    from touchbase.events.work import ProcessingStore
    from touchbase.exports.job import ExportSettings
    from touchbase.imports.job import ImportSettings
    from touchbase.imports.preview import Preview
    from touchbase.jobs.models import Job

Record = Literal["contact", "company"]
PLURALS: dict[Record, str] = {"contact": "contacts", "company": "companies"}
SHOW_SECONDS = 0.5
"""Time between two lines of progress."""


def add_import(group: click.Group, record: Record) -> None:
    """Add the command `import` to a group."""
    matches = ("email", "linkedin_url", "external_id") if record == "contact" else ("domain", "external_id")

    @group.command("import")
    @through_server(client="needed")
    @setting_options("database")
    @click.argument("file", type=click.Path(path_type=Path))
    @click.option("--client", "client_id", help=CLIENT)
    @click.option("--map", "pairs", multiple=True, metavar="COLUMN=FIELD", help="Field of a column, such as 'E-mail=email'; blank: ignore.")
    @click.option("--mapping", help="A stored mapping, by its name, in place of the guessed one.")
    @click.option("--save-as", help="Store the mapping under this name.")
    @click.option("--mode", type=click.Choice(("upsert", "create", "update")), default="upsert", show_default=True)
    @click.option("--match", type=click.Choice(matches), help="The only field by which existing records are found.")
    @click.option("--day-order", type=click.Choice(("day_first", "month_first")), help="The order in dates such as 11/12/2026.")
    @click.option("--time-zone", help="IANA zone of times without one; default: UTC.")
    @click.option("--bad-rows", type=click.Path(path_type=Path, dir_okay=False), help="Write the rows that were refused to this file.")
    @click.option("--preview", "only_preview", is_flag=True, help="Only print the columns and their fields.")
    @click.option("--dry-run", is_flag=True, help="Count what the import would do, and write no record.")
    @json_option()
    def import_(database: str | None, client_id: str, as_json: bool, **options: Any) -> None:
        """Import a file: CSV, XLSX, NDJSON or Parquet.

        Fields of columns are guessed by their names; --map changes some. The same file twice changes nothing. Ctrl+C stops the import
        after its current step; a running server, or `touchbase worker`, continues it. Ends with status 1 if rows were refused.
        """
        fetch(
            lambda tb: _import_at_server(tb, record, options, as_json),
            lambda: _import(database, client_id, record, options, as_json),
            run_fast,
        )

    import_.help = (import_.help or "").replace("a file:", f"a file of {PLURALS[record]}:")


def add_export(group: click.Group, record: Record) -> None:
    """Add the command `export` to a group."""

    @group.command("export")
    @through_server(client="needed")
    @setting_options("database")
    @click.option("--client", "client_id", help=CLIENT)
    @click.option("--format", "form", type=click.Choice(("csv", "ndjson", "parquet")), default="csv", show_default=True)
    @click.option("--status", help="Only records with this status.")
    @click.option("--fields", help="Only these members, separated by commas; `suppressed` is there only on request.")
    @click.option("--suppressed", type=click.Choice(("true", "false")), help="Only records on a do-not-contact list, or only others.")
    @click.option("--formulas", is_flag=True, help="CSV: write texts that a spreadsheet would compute as they are.")
    @click.option("--out", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
    @json_option(ALWAYS_JSON.replace("always JSON", "the file"))
    def export(database: str | None, client_id: str, out: Path | None, as_json: bool, **options: Any) -> None:
        """Export all records of a client as CSV, NDJSON or Parquet."""
        fetch(
            lambda tb: export_at_server(tb, record, _export_settings(record, options), out),
            lambda: _export(database, client_id, record, options, out),
            run_fast,
        )

    export.help = f"Export {PLURALS[record]} of a client as CSV, NDJSON or Parquet."


async def _import(database: str | None, client_id: str, record: Record, options: Mapping[str, Any], as_json: bool) -> None:
    from touchbase.imports.preview import Previews

    file: Path = options["file"]
    async with opened(database) as store:
        client = await find_client(store, client_id, lasting=True)
        with closing(Previews()) as previews, file.open("rb") as opened_file:
            seen = await previews.read(client.number, opened_file, record)
            settings = _settings(record, seen, options, await _stored_mapping(store, client, record, options["mapping"]))
            if options["save_as"] is not None:
                await _save_mapping(store, client, settings, options["save_as"])
            if options["only_preview"]:
                _print_preview(seen, settings, as_json)
                return
            job = await _upload(store, client, record, settings, opened_file)
        job = await run_job(database, store, job)
        if options["bad_rows"] is not None:
            await _write_bad_rows(store, job, options["bad_rows"])
    _print_end(as_values(job, client_id), options["bad_rows"], as_json)


def _import_at_server(tb: Touchbase, record: Record, options: Mapping[str, Any], as_json: bool) -> None:
    from touchbase.imports.file_tasks import preview_file

    name = options["mapping"]
    stored = None if name is None else _chosen(name, mappings_at_server(tb, record))
    with options["file"].open("rb") as file:
        seen = preview_file(file, record)
        settings = _settings(record, seen, options, stored)
        if options["only_preview"]:
            _print_preview(seen, settings, as_json)
            return
    job = run_at_server(tb, record, settings, options)
    _print_end(job, options["bad_rows"], as_json)


async def _stored_mapping(store: ProcessingStore, client: Client, record: Record, name: str | None) -> Mapping[str, Any] | None:
    from touchbase.imports.sql import list_mappings

    if name is None:
        return None
    return _chosen(name, {one.name: one.mapping for one in await store.read(list_mappings(client.number, record))})


def _chosen(name: str, stored: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    if name not in stored:
        raise click.UsageError(f"--mapping {name!r} is not stored; there are: {', '.join(sorted(stored)) or 'none'}")
    return stored[name]


async def _save_mapping(store: ProcessingStore, client: Client, settings: ImportSettings, name: str) -> None:
    import msgspec

    from touchbase.imports.commands import StoredMapping
    from touchbase.imports.sql import save_mapping

    values = msgspec.to_builtins(settings.mapping)
    record = values.pop("record")
    await store.write(save_mapping(client.number, StoredMapping(record, name, values, now_us())))


def _settings(record: Record, seen: Preview, options: Mapping[str, Any], stored: Mapping[str, Any] | None) -> ImportSettings:
    """Return the settings of the import, by the stored mapping or the guessed one; fail with all faults of its mapping."""
    import msgspec

    from touchbase.imports.columns import Mapping, resolve
    from touchbase.imports.job import ImportSettings

    mapping = seen.mapping if stored is None else msgspec.convert({**stored, "record": record}, Mapping)
    columns = dict(mapping.columns)
    for pair in options["pairs"]:
        column, mark, field = pair.rpartition("=")
        if not mark:
            raise click.UsageError(f"--map {pair!r} must be COLUMN=FIELD")
        columns[column] = field.strip()
    day_order, zone = options["day_order"] or mapping.day_order, options["time_zone"] or mapping.time_zone
    mapping = Mapping(record, columns, mapping.others, day_order, zone, mapping.without_key)
    try:
        resolve(mapping, seen.header)
    except Invalid as invalid:
        raise click.UsageError("\n".join(f"{fault.pointer}: {fault.detail}" for fault in invalid.faults)) from invalid
    return ImportSettings(mapping, options["mode"], options["match"] or "", options["dry_run"])


async def _upload(store: ProcessingStore, client: Client, record: Record, settings: ImportSettings, file: BinaryIO) -> Job:
    """Store the file in pieces, as the API does; return its job, ready to run."""
    import msgspec

    from touchbase.common.timestamps import DAY
    from touchbase.jobs.commands import CreateJob
    from touchbase.jobs.models import INPUT, QUEUED, UPLOADING, Job
    from touchbase.jobs.runner import PIECE
    from touchbase.jobs.sql import append_to_file, change_job

    at = now_us()
    new = Job(client.number, 0, f"{PLURALS[record]}.import", UPLOADING, at, at, msgspec.to_builtins(settings), files_until_us=at + DAY)
    job = await store.write(CreateJob(new))
    file.seek(0)
    while piece := file.read(PIECE):
        await store.write(append_to_file(job.client, job.id, INPUT, piece, now_us()))
    return await store.write(change_job(job.client, job.id, (UPLOADING,), QUEUED, now_us()))


async def run_job(database: str | None, store: ProcessingStore, job: Job) -> Job:
    """Run a job here, or wait for the server that has taken it; show its progress on a terminal."""
    from touchbase.jobs.models import ENDED
    from touchbase.jobs.sql import get_job
    from touchbase.workers import job_worker

    worker = job_worker(read_settings(database=database), store, now_us)
    running = asyncio.create_task(worker.run_job(job.client, job.id))
    try:
        with _progress() as show:
            while job.state not in ENDED:
                await asyncio.wait([running], timeout=SHOW_SECONDS)
                found: Job | None = await store.read(get_job(job.client, job.id))
                job = found or job
                show(job)
                if running.done():
                    running.result()
                    await asyncio.sleep(SHOW_SECONDS if job.state not in ENDED else 0)
    except (asyncio.CancelledError, KeyboardInterrupt):
        worker.stop()
        await asyncio.wait([running])
        click.echo(f"\nstopped; job {job.id} continues in a running server, or with `touchbase worker`", err=True)
        sys.exit(STOPPED)
    return job


@contextmanager
def _progress() -> Iterator[Any]:
    """Yield a function that shows a job's progress in one line of a terminal."""
    is_shown = sys.stderr.isatty()

    def show(job: Job) -> None:
        if is_shown:
            done = job.progress
            line = f"\r{done.get('percent', 0):3} %  {_counts(done)} "
            click.echo(line, nl=False, err=True)

    yield show
    if is_shown:
        click.echo("\r" + " " * 60 + "\r", nl=False, err=True)


def _counts(done: Mapping[str, Any]) -> str:
    return f"{done['rows']:,} rows, {done.get('invalid', 0):,} refused" if "rows" in done else f"{done.get('records', 0):,} records"


async def _write_bad_rows(store: ProcessingStore, job: Job, out: Path) -> None:
    from touchbase.jobs.models import BAD_ROWS
    from touchbase.jobs.runner import pieces_of

    with output_file(out, "wb") as file:
        async for piece in pieces_of(store, job.client, job.id, BAD_ROWS):
            file.write(piece)


def _print_preview(seen: Preview, settings: ImportSettings, as_json: bool) -> None:
    if as_json:
        print_json({"preview": seen, "mapping": settings.mapping})
        return
    first = seen.rows[0] if seen.rows else []
    columns = settings.mapping.columns
    cells = [*first, *[""] * len(seen.header)]
    rows = [(name, columns.get(name) or "(ignored)", cell) for name, cell in zip(seen.header, cells, strict=False)]
    print_table(("column", "field", "first row"), rows)


def _print_end(job: Mapping[str, Any], bad_rows: Path | None, as_json: bool) -> None:
    number, state, progress = job["id"], job["state"], job["progress"]
    if as_json:
        print_json(job)
    elif job["error"] is None:
        print_record({"job": number, "state": state, **{name: value for name, value in progress.items() if name != "percent"}})
    if job["error"] is not None:
        raise click.ClickException(f"job {number} is {state}: {job['error']}")
    if refused := progress.get("invalid", 0):
        where = f"in {bad_rows}" if bad_rows else f"GET /public/v2/jobs/{number}/bad-rows, or --bad-rows FILE"
        click.echo(f"{refused} rows were refused: {where}", err=True)
        sys.exit(1)


def _export_settings(record: Record, options: Mapping[str, Any]) -> ExportSettings:
    from touchbase.exports.job import ExportSettings
    from touchbase.exports.writer import ExportFormat, members

    fields = tuple(each.strip() for each in (options["fields"] or "").split(",") if each.strip())
    if unknown := [each for each in fields if each not in members(record)]:
        raise click.UsageError(f"--fields: there is no field {unknown[0]!r}; there are {', '.join(members(record))}")
    form = ExportFormat(options["form"], options["formulas"], ("id", *fields) if fields else ())
    filters = {} if options["status"] is None else {"status": options["status"]}
    only = None if options["suppressed"] is None else options["suppressed"] == "true"
    return ExportSettings(form, filters, suppressed=only, at_us=now_us())


async def _export(database: str | None, client_id: str, record: Record, options: Mapping[str, Any], out: Path | None) -> None:
    from touchbase.common.parquet import check_installed
    from touchbase.exports.job import Position, pages
    from touchbase.exports.writer import PARQUET

    settings = _export_settings(record, options)
    if settings.format.format == PARQUET:
        check_installed(click.ClickException)
    async with opened(database) as store:
        client = await find_client(store, client_id)
        found: AsyncIterator[Any] = pages(store, record, client, settings, Position(), read_settings().page_bytes)
        with output_file(out, "wb") as file:
            async for page, _ in found:
                file.write(page.body)
            file.flush()
