"""Records of an export as responses of the API show them: lines of CSV or NDJSON, or columns of Parquet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from touchbase.clients.models import ClientSettings, FieldType
from touchbase.common.timestamps import Micros
from touchbase.exports.encoders import SUPPRESSED, CsvFormat, csv_page
from touchbase.exports.parquet_file import Columns
from touchbase.exports.sql import unpacked
from touchbase.records.validation import json_value

Rows = Sequence[tuple[Any, ...]]
Reasons = Sequence[str | None]
"""Why each of some records must not be contacted; empty if that was not asked for."""
CSV, NDJSON, PARQUET = "csv", "ndjson", "parquet"
FORMATS = (CSV, NDJSON, PARQUET)
MEDIA = {CSV: "text/csv; charset=utf-8", NDJSON: "application/x-ndjson", PARQUET: "application/vnd.apache.parquet"}
_EPOCH = datetime(1970, 1, 1)
_lines = msgspec.json.Encoder().encode_lines
Custom = dict[str, Any]


class ExportedContact(Struct, gc=False):
    """A contact: the members of the API's response with `structure=FLAT`, in its order."""

    id: int
    updated_time: str
    first_name: str
    last_name: str
    origin: str
    first_campaign_email_sent: str | None
    last_campaign_email_sent: str | None
    last_reply_received: str | None
    previous_status: str | None
    status_changed_at: str | None
    contact_custom_fields: Custom
    email: str | UnsetType = UNSET
    linkedin_url: str | UnsetType = UNSET
    company_id: int | UnsetType = UNSET
    contact_status: str | UnsetType = UNSET
    external_id: str | UnsetType = UNSET
    suppressed: str | UnsetType | None = UNSET
    """Only on request: why it must not be contacted."""


class ExportedCompany(Struct, gc=False):
    """A company: the members of the API's response with `structure=FLAT`, in its order."""

    id: int
    updated_time: str
    domain: str
    previous_status: str | None
    status_changed_at: str | None
    company_custom_fields: Custom
    name: str | UnsetType = UNSET
    company_status: str | UnsetType = UNSET
    external_id: str | UnsetType = UNSET
    suppressed: str | UnsetType | None = UNSET
    """As in `ExportedContact`."""


def _text(at: Micros) -> str:
    return f"{(_EPOCH + timedelta(0, 0, at)).isoformat()}Z"


def _maybe(at: Micros | None) -> str | None:
    return None if at is None else f"{(_EPOCH + timedelta(0, 0, at)).isoformat()}Z"


def _contacts(rows: Rows, custom: Callable[[str | None], Custom]) -> list[ExportedContact]:
    return [
        ExportedContact(
            number, _text(updated), first or "", last or "", origin or "", _maybe(sent), _maybe(last_sent), _maybe(reply), previous,
            _maybe(changed), custom(packed), email or UNSET, linkedin or UNSET, company or UNSET, status or UNSET,
            external or UNSET,
        )
        for (
            number, _, updated, email, linkedin, first, last, company, origin, external, status, previous, changed, sent, last_sent, reply,
            packed,
        ) in rows
    ]  # fmt: skip


def _companies(rows: Rows, custom: Callable[[str | None], Custom]) -> list[ExportedCompany]:
    return [
        ExportedCompany(
            number, _text(updated), domain, previous, _maybe(changed), custom(packed), name or UNSET, status or UNSET, external or UNSET
        )
        for number, _, updated, domain, name, external, status, previous, changed, packed in rows
    ]  # fmt: skip


class ExportFormat(Struct, frozen=True):
    """How records are written."""

    format: str = NDJSON
    formulas: bool = False
    """CSV: write texts that a spreadsheet would compute as they are."""
    fields: tuple[str, ...] = ()
    """The members of each record; empty for all but `suppressed`."""


def members(record: str) -> tuple[str, ...]:
    """Return the members that an exported record can have, in their order."""
    return (ExportedContact if record == "contact" else ExportedCompany).__struct_fields__


def encoder(
    record: str, form: ExportFormat, settings: ClientSettings, custom_fields: Sequence[str], *, with_header: bool
) -> Callable[[Rows, Reasons], bytes]:
    """Return the function that encodes a page; the first page of CSV has the header."""
    if form.format == PARQUET:
        return parquet_columns(record, form, custom_fields).encode
    is_contact = record == "contact"
    typed = settings.contact_fields if is_contact else settings.company_fields
    typed = {name: field for name, field in typed.items() if field.type in ("number", "boolean")}
    custom: Callable[[str | None], Custom] = partial(_typed, typed) if typed else unpacked
    shown = _shown(record, form)

    def made(rows: Rows, reasons: Reasons) -> Sequence[Any]:
        records: Sequence[Any] = (_contacts if is_contact else _companies)(rows, custom)
        if SUPPRESSED in form.fields:
            for each, reason in zip(records, reasons, strict=True):
                each.suppressed = reason
        return records

    if form.format == NDJSON:
        return lambda rows, reasons: _lines(_chosen(made(rows, reasons), shown) if form.fields else made(rows, reasons))
    fields, names = _columns(record, form, custom_fields)
    columns = CsvFormat(fields, f"{record}_custom_fields" if names else "", names, form.formulas)
    return lambda rows, reasons: csv_page(made(rows, reasons), columns, with_header=with_header)


def parquet_columns(record: str, form: ExportFormat, custom_fields: Sequence[str]) -> Columns:
    """Return the columns of an export as Parquet, which are those of CSV."""
    return Columns(record, *_columns(record, form, custom_fields))


def _shown(record: str, form: ExportFormat) -> list[str]:
    return [name for name in members(record) if (name in form.fields if form.fields else name != SUPPRESSED)]


def _columns(record: str, form: ExportFormat, custom_fields: Sequence[str]) -> tuple[list[str], Sequence[str]]:
    """Return the members that are columns, and the custom fields that are."""
    shown, member = _shown(record, form), f"{record}_custom_fields"
    return [name for name in shown if name != member], custom_fields if member in shown else ()


def _chosen(records: Sequence[Any], shown: Sequence[str]) -> list[dict[str, Any]]:
    """Return the chosen members of records that have a value or null."""
    return [{name: value for name in shown if (value := getattr(record, name)) is not UNSET} for record in records]


def _typed(typed: dict[str, FieldType], packed: str | None) -> Custom:
    found: Custom = unpacked(packed)
    for name, field in typed.items():
        if name in found:
            found[name] = json_value(found[name], field)
    return found
