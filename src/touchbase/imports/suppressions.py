"""The do-not-contact list, as imports see it: rows of suppressed people and domains are imported, and counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.sql.lookup import listed_kinds, mark_records
from touchbase.imports.rows import ValidRow
from touchbase.records.models import Company, Contact
from touchbase.sql.statement import Plan


@dataclass(slots=True)
class _Imported:
    """The addresses of a contact after its row is imported, and its status."""

    client: int
    id: int
    email_key: str | None = None
    linkedin_key: str | None = None
    company_id: int | None = None
    status: str | None = None
    domain: str | None = None
    suppressed: str | None = None


@dataclass(slots=True)
class _ImportedCompany:
    client: int
    domain: str
    suppressed: str | None = None


def suppressed_rows(client: int, rows: Mapping[int, tuple[ValidRow, Contact | Company | None]], at: Micros) -> Plan[dict[int, str]]:
    """Return the indexes of rows whose person or domain must not be contacted, each with the reason.

    `rows` has each row by its index, with the record that existed before: it has the addresses that the row leaves out.
    """
    listed = (yield from listed_kinds([client])) if rows else {}
    if rows and not listed[client].any:  # then only a status can say so
        opts_out = listed[client].opts_out
        rows = {index: (row, existing) for index, (row, existing) in rows.items() if opts_out(_status(row, existing))}
    marked = {index: _imported(row, existing) for index, (row, existing) in rows.items()}
    if marked:
        yield from mark_records(list(marked.values()), at, listed)
    return {index: record.suppressed for index, record in marked.items() if record.suppressed is not None}


def _status(row: ValidRow, existing: Contact | Company | None) -> str | None:
    return row.creation.record.status or (None if existing is None else existing.status)


def _imported(row: ValidRow, existing: Contact | Company | None) -> _Imported | _ImportedCompany:
    record = row.creation.record
    if isinstance(record, Company):
        return _ImportedCompany(record.client, record.domain)
    imported = _Imported(record.client, record.id, record.email_key, record.linkedin_key, record.company_id, record.status)
    if isinstance(existing, Contact):
        imported = replace(
            imported,
            id=existing.id,
            status=imported.status or existing.status,
            email_key=imported.email_key or existing.email_key,
            linkedin_key=imported.linkedin_key or existing.linkedin_key,
            company_id=imported.company_id or existing.company_id,
        )
    imported.domain = None if row.company is None else row.company.record.domain
    return imported
