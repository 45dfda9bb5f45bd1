"""Requests of `exports`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Request, Text, Time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from touchbase.client.models.records import ExportFormat
    from touchbase.client.models.shared import JobOut


def export_contacts(
    *, format: ExportFormat | None = None, formulas: bool | None = None, fields: Text | None = None, suppressed: bool | None = None,
    q: str | None = None, email: str | None = None, linkedin_url: str | None = None, contact_status: str | None = None,
    company_id: int | None = None, external_id: str | None = None, updated_since: Time | None = None,
    filters: Mapping[str, str] | None = None,
) -> Request[bytes]:
    """Export contacts as CSV, NDJSON or Parquet, streamed."""
    return Request(
        "export_contacts", "GET", "/public/v2/contacts/export", query={"format": format, "formulas": formulas, "fields": fields,
        "suppressed": suppressed, "q": q, "email": email, "linkedin_url": linkedin_url, "contact_status": contact_status,
        "company_id": company_id, "external_id": external_id, "updated_since": updated_since, "filters": filters}, of_client=True,
        answer="bytes",
    )


def export_companies(
    *, format: ExportFormat | None = None, formulas: bool | None = None, fields: Text | None = None, suppressed: bool | None = None,
    q: str | None = None, domain: str | None = None, company_status: str | None = None, external_id: str | None = None,
    updated_since: Time | None = None, filters: Mapping[str, str] | None = None,
) -> Request[bytes]:
    """Export companies as CSV, NDJSON or Parquet, streamed."""
    return Request(
        "export_companies", "GET", "/public/v2/companies/export", query={"format": format, "formulas": formulas, "fields": fields,
        "suppressed": suppressed, "q": q, "domain": domain, "company_status": company_status, "external_id": external_id,
        "updated_since": updated_since, "filters": filters}, of_client=True, answer="bytes",
    )


def start_contacts_export(
    *, format: ExportFormat | None = None, formulas: bool | None = None, fields: Text | None = None, suppressed: bool | None = None,
    q: str | None = None, email: str | None = None, linkedin_url: str | None = None, contact_status: str | None = None,
    company_id: int | None = None, external_id: str | None = None, updated_since: Time | None = None,
    filters: Mapping[str, str] | None = None, idempotency_key: str | None = None,
) -> Request[JobOut]:
    """Export contacts as CSV, NDJSON or Parquet, as a job with a result file."""
    return Request(
        "start_contacts_export", "POST", "/public/v2/contacts/exports", query={"format": format, "formulas": formulas, "fields": fields,
        "suppressed": suppressed, "q": q, "email": email, "linkedin_url": linkedin_url, "contact_status": contact_status,
        "company_id": company_id, "external_id": external_id, "updated_since": updated_since, "filters": filters},
        headers={"Idempotency-Key": idempotency_key}, of_client=True, takes_key=True,
    )


def start_companies_export(
    *, format: ExportFormat | None = None, formulas: bool | None = None, fields: Text | None = None, suppressed: bool | None = None,
    q: str | None = None, domain: str | None = None, company_status: str | None = None, external_id: str | None = None,
    updated_since: Time | None = None, filters: Mapping[str, str] | None = None, idempotency_key: str | None = None,
) -> Request[JobOut]:
    """Export companies as CSV, NDJSON or Parquet, as a job with a result file."""
    return Request(
        "start_companies_export", "POST", "/public/v2/companies/exports", query={"format": format, "formulas": formulas, "fields": fields,
        "suppressed": suppressed, "q": q, "domain": domain, "company_status": company_status, "external_id": external_id,
        "updated_since": updated_since, "filters": filters}, headers={"Idempotency-Key": idempotency_key}, of_client=True, takes_key=True,
    )
