"""`touchbase contacts, companies import, export`: records from files, and into files."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from touchbase.cli.options import ALWAYS_JSON, json_option
from touchbase.cli.output import output_file, print_json, print_record, print_table
from touchbase.cli.through_api import end_of, through_api
from touchbase.errors import Fault, Invalid

if TYPE_CHECKING:
    from touchbase.imports.job import ImportSettings
    from touchbase.imports.preview import FilePreview
    from touchbase_client import Touchbase

Record = Literal["contact", "company"]
DELIMITERS = {"tab": "\t", "\\t": "\t"}
PLURALS: dict[Record, str] = {"contact": "contacts", "company": "companies"}


def add_import(group: click.Group, record: Record) -> None:
    """Add the command `import` to a group."""
    matches = ("email", "linkedin_url", "external_id") if record == "contact" else ("domain", "external_id")

    @group.command("import")
    @through_api(client="needed")
    @click.argument("file", type=click.Path(path_type=Path), required=False)
    @click.option(
        "--airtable", metavar="BASE", help="Import a table of this base (app...) in place of a file; the token is AIRTABLE_API_KEY."
    )
    @click.option("--table", help="With --airtable: the table, by its name or id.")
    @click.option("--view", help="With --airtable: only the records of this view.")
    @click.option("--map", "pairs", multiple=True, metavar="COLUMN=FIELD", help="Field of a column, such as 'E-mail=email'; blank: ignore.")
    @click.option("--mapping", help="A stored mapping, by its name, in place of the guessed one.")
    @click.option("--save-as", help="Store the mapping under this name.")
    @click.option(
        "--mode", type=click.Choice(("upsert", "create", "update")), default="upsert", show_default=True, help="Which rows are imported."
    )
    @click.option("--match", type=click.Choice(matches), help="The only field by which existing records are found.")
    @click.option("--day-order", type=click.Choice(("day_first", "month_first")), help="The order in dates such as 11/12/2026.")
    @click.option("--time-zone", help="IANA zone of times without one; default: UTC.")
    @click.option("--repeated", type=click.Choice(("first", "last")), help="Which value counts where rows are about one record.")
    @click.option("--join-statuses/--no-join-statuses", default=None, help="Whether statuses that differ only in case are one.")
    @click.option(
        "--opt-outs",
        "opt_out_columns",
        multiple=True,
        metavar="COLUMN",
        help="A column that says who opted out, in place of the guessed ones.",
    )
    @click.option("--no-opt-outs", is_flag=True, help="Take no column for one of opt-outs.")
    @click.option("--sheet", help="The sheet of a workbook; default: the first.")
    @click.option("--header-row", type=click.IntRange(1, 1_000_000), help="The row with the names of the columns; default: detected.")
    @click.option("--encoding", help="Of a CSV file, such as windows-1252; default: detected.")
    @click.option("--delimiter", help="Of a CSV file: one character, or tab; default: detected.")
    @click.option("--report", type=click.Path(path_type=Path, dir_okay=False), help="Write the outcome of every row to this file.")
    @click.option("--bad-rows", type=click.Path(path_type=Path, dir_okay=False), help="Write the rows that were refused to this file.")
    @click.option("--preview", "only_preview", is_flag=True, help="Only print the columns and their fields.")
    @click.option("--dry-run", is_flag=True, help="Count the outcomes of the import, and write no record.")
    @json_option()
    def import_(tb: Touchbase, as_json: bool, **options: Any) -> None:
        """Import a file: CSV, XLSX, NDJSON or Parquet.

        Fields of columns are guessed by their names; --map changes some. The same file twice changes nothing. Ctrl+C stops the import
        after its current step; a running server, or `touchbase worker`, continues it. Ends with status 1 if rows were refused.
        """
        with _source(record, options) as (file, pairs):
            _import(tb, record, {**options, "file": file, "pairs": [*pairs, *options["pairs"]]}, as_json)

    import_.help = (import_.help or "").replace("a file:", f"a file of {PLURALS[record]}:")


def add_export(group: click.Group, record: Record) -> None:
    """Add the command `export` to a group."""

    @group.command("export")
    @through_api(client="needed")
    @click.option(
        "--format", "form", type=click.Choice(("csv", "ndjson", "parquet")), default="csv", show_default=True, help="Format of the file."
    )
    @click.option("--status", help="Only records with this status.")
    @click.option("--fields", help="Only these members, separated by commas; `suppressed` is there only on request.")
    @click.option("--suppressed", type=click.Choice(("true", "false")), help="Only records on a do-not-contact list, or only others.")
    @click.option("--bom/--no-bom", default=None, help="CSV: begin with the mark by which spreadsheets know UTF-8; default: with --out.")
    @click.option("--formulas", is_flag=True, help="CSV: write texts that a spreadsheet would compute as they are.")
    @click.option("--out", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
    @json_option(ALWAYS_JSON.replace("always JSON", "the file"))
    def export(tb: Touchbase, out: Path | None, as_json: bool, **options: Any) -> None:
        """Export all records of a client as CSV, NDJSON or Parquet."""
        _export(tb, record, options, out)

    export.help = f"Export {PLURALS[record]} of a client as CSV, NDJSON or Parquet."


@contextmanager
def _source(record: Record, options: Mapping[str, Any]) -> Iterator[tuple[Path, list[str]]]:
    """Yield the file to import, or one with the records of a table of Airtable, and fields of columns as in `--map`."""
    if (options["airtable"] is None) == (options["file"] is None):
        raise click.UsageError("give a FILE, or --airtable BASE with --table TABLE")
    if options["airtable"] is None:
        if options["table"] or options["view"]:
            raise click.UsageError("--table and --view go with --airtable")
        yield options["file"], []
        return
    from touchbase.cli.airtable import ENDPOINT_VARIABLE, TOKEN_VARIABLE, AirtableBase, write_records

    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        raise click.UsageError(f"--airtable needs a token in the environment variable {TOKEN_VARIABLE}")
    if not options["table"]:
        raise click.UsageError("--airtable needs --table, the name of the table")
    with tempfile.TemporaryDirectory(prefix="touchbase-") as folder:
        path = Path(folder) / "airtable.ndjson"
        reading = closing(AirtableBase(options["airtable"], token, os.environ.get(ENDPOINT_VARIABLE, "")))
        with path.open("w+b") as file, reading as base:
            count, targets = write_records(base, options["table"], options["view"] or "", record, file)
        if not count:
            raise click.ClickException(f"the table {options['table']!r} has no records" + (" in this view" if options["view"] else ""))
        yield path, [f"{column}={target}" for column, target in targets.items()]


def _import(tb: Touchbase, record: Record, options: Mapping[str, Any], as_json: bool) -> None:
    import msgspec

    from touchbase.imports.file_tasks import preview_file
    from touchbase.imports.preview import PreviewRequest, ReadOptions

    stored = None if options["mapping"] is None else _chosen(options["mapping"], _mappings(tb, record))
    read = {name: options[name] for name in ("delimiter", "encoding", "sheet", "header_row") if options[name]}
    request = PreviewRequest(record, ReadOptions(**{**read, "delimiter": DELIMITERS.get(text := read.get("delimiter", ""), text)}))
    with options["file"].open("rb") as file:
        preview = preview_file(file, request)
        settings = _settings(record, preview, options, stored)
        if settings.mapping != preview.mapping:
            preview = preview_file(file, msgspec.structs.replace(request, mapping=settings.mapping))
            settings.mapping = preview.mapping
    if options["only_preview"]:
        _print_preview(preview, settings, as_json)
        return
    upload = tb.imports.contacts if record == "contact" else tb.imports.companies
    mapping = msgspec.to_builtins(settings.mapping)
    del mapping["record"]
    body: Any = {"mapping": mapping, "mode": settings.mode, "dry_run": settings.dry_run}
    body |= {name: options[name] for name in ("match", "save_as") if options[name]}
    job = end_of(tb, tb.imports.start(upload(options["file"], file_name=options["table"], **read)["id"], body))
    for name, call in (("bad_rows", tb.jobs.bad_rows), ("report", tb.jobs.report)):
        if options[name] is not None and name in job["files"]:
            with output_file(options[name], "wb") as out:
                out.writelines(call.stream(job["id"]))
    _print_end(job, options["bad_rows"], as_json)


def _mappings(tb: Touchbase, record: Record) -> dict[str, Mapping[str, Any]]:
    """Return the stored mappings by their names."""
    stored = tb.imports.list_contact_mappings() if record == "contact" else tb.imports.list_company_mappings()
    return {mapping["name"]: mapping["mapping"] for mapping in stored["data"]}


def _chosen(name: str, stored: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    if name not in stored:
        raise click.UsageError(f"--mapping {name!r} is not stored; there are: {', '.join(sorted(stored)) or 'none'}")
    return stored[name]


def _settings(record: Record, preview: FilePreview, options: Mapping[str, Any], stored: Mapping[str, Any] | None) -> ImportSettings:
    """Return the settings of the import, by the stored mapping or the guessed one; fail with all faults of its mapping."""
    import msgspec

    from touchbase.imports.columns import Mapping, resolve
    from touchbase.imports.job import ImportSettings

    mapping = preview.mapping if stored is None else msgspec.convert({**stored, "record": record}, Mapping)
    columns = dict(mapping.columns)
    for pair in options["pairs"]:
        column, mark, field = pair.rpartition("=")
        if not mark:
            raise click.UsageError(f"--map {pair!r} must be COLUMN=FIELD")
        columns[column] = field.strip()
    changes = {name: options[name] for name in ("day_order", "time_zone", "repeated", "join_statuses") if options[name] is not None}
    if options["opt_out_columns"] or options["no_opt_outs"]:
        changes["opt_outs"] = [*options["opt_out_columns"]]
    mapping = msgspec.structs.replace(mapping, columns=columns, **changes)
    try:
        resolve(mapping, preview.header)
    except Invalid as invalid:
        raise click.UsageError("\n".join(map(_in_words, invalid.faults))) from invalid
    return ImportSettings(mapping, options["mode"], options["match"] or "", options["dry_run"])


def _in_words(fault: Fault) -> str:
    """Return a mapping's fault after its option; a column's fault names the column itself."""
    place = fault.pointer.removeprefix("/").partition("/")[0]
    return fault.detail if place == "columns" else f"--{place.replace('_', '-')}: {fault.detail}"


def _print_preview(preview: FilePreview, settings: ImportSettings, as_json: bool) -> None:
    if as_json:
        print_json({"preview": preview, "mapping": settings.mapping})
        return
    click.echo(_how_read(preview), err=True)
    first = preview.rows[0] if preview.rows else []
    columns = settings.mapping.columns
    cells = [*first, *[""] * len(preview.header)]
    rows = [(name, columns.get(name) or "(ignored)", cell) for name, cell in zip(preview.header, cells, strict=False)]
    print_table(("column", "field", "first row"), rows)
    for dates in preview.dates:
        order = settings.mapping.day_order.replace("_", " ") or "left out: state --day-order"
        click.echo(f"dates of {dates.column!r} such as {' and '.join(dates.examples)}: {order}", err=True)
    for status in preview.statuses if settings.mapping.join_statuses else ():
        click.echo(f"one status: {', '.join(status.spellings)} -> {status.status}", err=True)
    for column in preview.status_columns:
        field = columns[column.column] or "left out"
        click.echo(f"{column.column!r} with {', '.join(column.values)}: {field}; --map '{column.column}=FIELD' changes that", err=True)
    for opt_out in [opt_out for opt_out in preview.opt_outs if opt_out.rows]:
        count = "1 row" if opt_out.rows == 1 else f"{opt_out.rows} rows"
        click.echo(f"opt-outs by {opt_out.column!r}: {count}, such as {', '.join(opt_out.values)}", err=True)


def _how_read(preview: FilePreview) -> str:
    """Return how the file was read, in the words of the options that change it."""
    delimiter = {"\t": "tab"}.get(preview.delimiter, preview.delimiter)
    shown = {"encoding": preview.encoding, "delimiter": delimiter, "sheet": preview.sheet, "header row": preview.header_row}
    of = f" (of {', '.join(preview.sheets)})" if len(preview.sheets) > 1 else ""
    return f"{preview.format}: " + ", ".join(f"{name} {value}" for name, value in shown.items() if value) + of


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
        click.echo(f"{'1 row was' if refused == 1 else f'{refused} rows were'} refused: {where}", err=True)
        sys.exit(1)


def _export(tb: Touchbase, record: Record, options: Mapping[str, Any], out: Path | None) -> None:
    fields = [name.strip() for name in (options["fields"] or "").split(",") if name.strip()]
    more: Any = {
        "format": options["form"],
        "formulas": options["formulas"] or None,
        "bom": options["bom"] if options["bom"] is not None else out is not None,
        "fields": ["id", *fields] if fields else None,
        "suppressed": None if options["suppressed"] is None else options["suppressed"] == "true",
        f"{record}_status": options["status"],
    }
    export = tb.exports.contacts if record == "contact" else tb.exports.companies
    with output_file(out, "wb") as file:
        file.writelines(export.stream(**more))
