"""`touchbase contacts, companies import, export`: records from files, and into files."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from touchbase.cli.options import ALWAYS_JSON, json_option
from touchbase.cli.output import output_file, print_json, print_record, print_table
from touchbase.cli.through_api import end_of, through_api
from touchbase.errors import Invalid

if TYPE_CHECKING:
    from touchbase.imports.job import ImportSettings
    from touchbase.imports.preview import FilePreview
    from touchbase_client import Touchbase

Record = Literal["contact", "company"]
PLURALS: dict[Record, str] = {"contact": "contacts", "company": "companies"}


def add_import(group: click.Group, record: Record) -> None:
    """Add the command `import` to a group."""
    matches = ("email", "linkedin_url", "external_id") if record == "contact" else ("domain", "external_id")

    @group.command("import")
    @through_api(client="needed")
    @click.argument("file", type=click.Path(path_type=Path))
    @click.option("--map", "pairs", multiple=True, metavar="COLUMN=FIELD", help="Field of a column, such as 'E-mail=email'; blank: ignore.")
    @click.option("--mapping", help="A stored mapping, by its name, in place of the guessed one.")
    @click.option("--save-as", help="Store the mapping under this name.")
    @click.option(
        "--mode", type=click.Choice(("upsert", "create", "update")), default="upsert", show_default=True, help="Which rows are imported."
    )
    @click.option("--match", type=click.Choice(matches), help="The only field by which existing records are found.")
    @click.option("--day-order", type=click.Choice(("day_first", "month_first")), help="The order in dates such as 11/12/2026.")
    @click.option("--time-zone", help="IANA zone of times without one; default: UTC.")
    @click.option("--bad-rows", type=click.Path(path_type=Path, dir_okay=False), help="Write the rows that were refused to this file.")
    @click.option("--preview", "only_preview", is_flag=True, help="Only print the columns and their fields.")
    @click.option("--dry-run", is_flag=True, help="Count what the import would do, and write no record.")
    @json_option()
    def import_(tb: Touchbase, as_json: bool, **options: Any) -> None:
        """Import a file: CSV, XLSX, NDJSON or Parquet.

        Fields of columns are guessed by their names; --map changes some. The same file twice changes nothing. Ctrl+C stops the import
        after its current step; a running server, or `touchbase worker`, continues it. Ends with status 1 if rows were refused.
        """
        _import(tb, record, options, as_json)

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
    @click.option("--formulas", is_flag=True, help="CSV: write texts that a spreadsheet would compute as they are.")
    @click.option("--out", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
    @json_option(ALWAYS_JSON.replace("always JSON", "the file"))
    def export(tb: Touchbase, out: Path | None, as_json: bool, **options: Any) -> None:
        """Export all records of a client as CSV, NDJSON or Parquet."""
        _export(tb, record, options, out)

    export.help = f"Export {PLURALS[record]} of a client as CSV, NDJSON or Parquet."


def _import(tb: Touchbase, record: Record, options: Mapping[str, Any], as_json: bool) -> None:
    import msgspec

    from touchbase.imports.file_tasks import preview_file

    stored = None if options["mapping"] is None else _chosen(options["mapping"], _mappings(tb, record))
    with options["file"].open("rb") as file:
        preview = preview_file(file, record)
    settings = _settings(record, preview, options, stored)
    if options["only_preview"]:
        _print_preview(preview, settings, as_json)
        return
    upload = tb.imports.contacts if record == "contact" else tb.imports.companies
    mapping = msgspec.to_builtins(settings.mapping)
    del mapping["record"]
    body: Any = {"mapping": mapping, "mode": settings.mode, "dry_run": settings.dry_run}
    body |= {name: options[name] for name in ("match", "save_as") if options[name]}
    job = end_of(tb, tb.imports.start(upload(options["file"])["id"], body))
    if options["bad_rows"] is not None and "bad_rows" in job["files"]:
        with output_file(options["bad_rows"], "wb") as out:
            out.writelines(tb.jobs.bad_rows.stream(job["id"]))
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
    day_order, zone = options["day_order"] or mapping.day_order, options["time_zone"] or mapping.time_zone
    mapping = Mapping(record, columns, mapping.others, day_order, zone, mapping.without_key)
    try:
        resolve(mapping, preview.header)
    except Invalid as invalid:
        raise click.UsageError("\n".join(f"{fault.pointer}: {fault.detail}" for fault in invalid.faults)) from invalid
    return ImportSettings(mapping, options["mode"], options["match"] or "", options["dry_run"])


def _print_preview(preview: FilePreview, settings: ImportSettings, as_json: bool) -> None:
    if as_json:
        print_json({"preview": preview, "mapping": settings.mapping})
        return
    first = preview.rows[0] if preview.rows else []
    columns = settings.mapping.columns
    cells = [*first, *[""] * len(preview.header)]
    rows = [(name, columns.get(name) or "(ignored)", cell) for name, cell in zip(preview.header, cells, strict=False)]
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


def _export(tb: Touchbase, record: Record, options: Mapping[str, Any], out: Path | None) -> None:
    fields = [name.strip() for name in (options["fields"] or "").split(",") if name.strip()]
    more: Any = {
        "format": options["form"],
        "formulas": options["formulas"] or None,
        "fields": ["id", *fields] if fields else None,
        "suppressed": None if options["suppressed"] is None else options["suppressed"] == "true",
        f"{record}_status": options["status"],
    }
    export = tb.exports.contacts if record == "contact" else tb.exports.companies
    with output_file(out, "wb") as file:
        file.writelines(export.stream(**more))
