"""Records of an export as responses of the API show them, in lines of CSV or NDJSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from touchbase.clients import ClientSettings, FieldType
from touchbase.common.timestamps import Micros
from touchbase.exports.encoders import CsvFormat, csv_page
from touchbase.exports.sql import unpacked
from touchbase.records import json_value

Rows = Sequence[tuple[Any, ...]]
CSV, NDJSON = "csv", "ndjson"
FORMATS = (CSV, NDJSON)
MEDIA = {CSV: "text/csv; charset=utf-8", NDJSON: "application/x-ndjson"}
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


def encoder(
    record: str, form: ExportFormat, settings: ClientSettings, custom_fields: Sequence[str], *, with_header: bool
) -> Callable[[Rows], bytes]:
    """Return the function that encodes a page; the first page of CSV has the header."""
    is_contact = record == "contact"
    typed = settings.contact_fields if is_contact else settings.company_fields
    typed = {name: field for name, field in typed.items() if field.type in ("number", "boolean")}
    custom: Callable[[str | None], Custom] = partial(_typed, typed) if typed else unpacked
    made: Callable[..., Sequence[Struct]] = _contacts if is_contact else _companies
    if form.format == NDJSON:
        return lambda rows: _lines(made(rows, custom))
    kind = ExportedContact if is_contact else ExportedCompany
    member = f"{record}_custom_fields"
    columns = CsvFormat([name for name in kind.__struct_fields__ if name != member], member, custom_fields, form.formulas)
    return lambda rows: csv_page(made(rows, custom), columns, with_header=with_header)


def _typed(typed: dict[str, FieldType], packed: str | None) -> Custom:
    found: Custom = unpacked(packed)
    for name, field in typed.items():
        if name in found:
            found[name] = json_value(found[name], field)
    return found
