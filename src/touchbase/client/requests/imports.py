"""Requests of `imports`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import File, Request

if TYPE_CHECKING:
    from touchbase.client.models.contacts import StartImport
    from touchbase.client.models.records import ImportMode, MappingList
    from touchbase.client.models.shared import JobOut


def import_contacts(
    body: File, *, start: bool | None = None, dry_run: bool | None = None, mode: ImportMode | None = None, match: str | None = None,
    mapping: str | None = None, delimiter: str | None = None, encoding: str | None = None, sheet: str | None = None,
) -> Request[JobOut]:
    """Upload a file of contacts (CSV, XLSX, NDJSON or Parquet)."""
    return Request(
        "import_contacts", "POST", "/public/v2/contacts/imports", query={"start": start, "dry_run": dry_run, "mode": mode, "match": match,
        "mapping": mapping, "delimiter": delimiter, "encoding": encoding, "sheet": sheet}, body=body, of_client=True, is_file=True,
    )


def import_companies(
    body: File, *, start: bool | None = None, dry_run: bool | None = None, mode: ImportMode | None = None, match: str | None = None,
    mapping: str | None = None, delimiter: str | None = None, encoding: str | None = None, sheet: str | None = None,
) -> Request[JobOut]:
    """Upload a file of companies (CSV, XLSX, NDJSON or Parquet)."""
    return Request(
        "import_companies", "POST", "/public/v2/companies/imports", query={"start": start, "dry_run": dry_run, "mode": mode,
        "match": match, "mapping": mapping, "delimiter": delimiter, "encoding": encoding, "sheet": sheet}, body=body, of_client=True,
        is_file=True,
    )


def start_import(id: int, body: StartImport, *, idempotency_key: str | None = None) -> Request[JobOut]:
    """Start the import of an uploaded file."""
    return Request(
        "start_import", "POST", "/public/v2/jobs/{id}/start", in_path={"id": id}, headers={"Idempotency-Key": idempotency_key}, body=body,
        of_client=True, takes_key=True,
    )


def list_contact_import_mappings() -> Request[MappingList]:
    """List the stored mappings of imports of contacts."""
    return Request("list_contact_import_mappings", "GET", "/public/v2/import-mappings/contacts", of_client=True)


def delete_contact_import_mapping(name: str) -> Request[None]:
    """Delete a stored mapping of imports of contacts."""
    return Request(
        "delete_contact_import_mapping", "DELETE", "/public/v2/import-mappings/contacts/{name}", in_path={"name": name}, of_client=True,
    )


def list_company_import_mappings() -> Request[MappingList]:
    """List the stored mappings of imports of companies."""
    return Request("list_company_import_mappings", "GET", "/public/v2/import-mappings/companies", of_client=True)


def delete_company_import_mapping(name: str) -> Request[None]:
    """Delete a stored mapping of imports of companies."""
    return Request(
        "delete_company_import_mapping", "DELETE", "/public/v2/import-mappings/companies/{name}", in_path={"name": name}, of_client=True,
    )
