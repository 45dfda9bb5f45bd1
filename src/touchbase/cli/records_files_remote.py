"""`touchbase contacts, companies import, export` through the API of a server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchbase.cli.output import output_file
from touchbase.cli.remote import ended

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.exports.job import ExportSettings
    from touchbase.imports.job import ImportSettings


def mappings_at_server(tb: Touchbase, record: str) -> dict[str, Mapping[str, Any]]:
    """Return the stored mappings by their names."""
    found = tb.imports.list_contact_mappings() if record == "contact" else tb.imports.list_company_mappings()
    return {each["name"]: each["mapping"] for each in found["data"]}


def run_at_server(tb: Touchbase, record: str, settings: ImportSettings, options: Mapping[str, Any]) -> dict[str, Any]:
    """Upload a file, import it and wait for the end; write the refused rows to their file."""
    import msgspec

    upload = tb.imports.contacts if record == "contact" else tb.imports.companies
    mapping = msgspec.to_builtins(settings.mapping)
    del mapping["record"]
    body: Any = {"mapping": mapping, "mode": settings.mode, "dry_run": settings.dry_run}
    body |= {name: options[name] for name in ("match", "save_as") if options[name]}
    job = ended(tb, tb.imports.start(upload(options["file"])["id"], body))
    if options["bad_rows"] is not None and "bad_rows" in job["files"]:
        with output_file(options["bad_rows"], "wb") as out:
            out.writelines(tb.jobs.bad_rows.stream(job["id"]))
    return job


def export_at_server(tb: Touchbase, record: str, settings: ExportSettings, out: Path | None) -> None:
    """Write the file that the server makes."""
    form, status = settings.format, settings.filters.get("status")
    more: Any = {
        "format": form.format,
        "formulas": form.formulas or None,
        "fields": [*form.fields] or None,
        "suppressed": settings.suppressed,
    }
    with output_file(out, "wb") as file:
        if record == "contact":
            file.writelines(tb.exports.contacts.stream(contact_status=status, **more))
        else:
            file.writelines(tb.exports.companies.stream(company_status=status, **more))
