"""Records of an export as responses of the API show them: lines of CSV or NDJSON, or columns of Parquet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Struct, defstruct

from touchbase.clients.models import ClientSettings, FieldType
from touchbase.common.compiled import compiled
from touchbase.common.timestamps import Micros
from touchbase.exports.encoders import SUPPRESSED, CsvFormat, csv_page
from touchbase.exports.parquet_file import Columns
from touchbase.exports.sql import COLUMNS, unpacked
from touchbase.records.fields import ABSENT, CUSTOM, as_shown, shown
from touchbase.records.further_emails import all_emails
from touchbase.records.record_type import RECORD_TYPES, RecordType
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


def _text(at: Micros) -> str:
    return f"{(_EPOCH + timedelta(0, 0, at)).isoformat()}Z"


class _Exported:
    """Records of one type as exports write them: the members of the API's response with `structure=FLAT`, in its order."""

    def __init__(self, kind: RecordType[Any]) -> None:
        self.kind, self.custom = kind, f"{kind.name}_custom_fields"
        fields = shown(kind.members, self.custom)
        members = [(field.name, Any, UNSET) if field.unset == ABSENT and field.kind != CUSTOM else (field.name, Any) for field in fields]
        exported = defstruct(f"Exported{kind.name.title()}", [*members, (SUPPRESSED, Any, UNSET)], gc=False)
        self.members = exported.__struct_fields__
        values = ", ".join("custom(packed)" if field.kind == CUSTOM else as_shown(field, field.column) for field in fields)
        names: dict[str, object] = {"exported": exported, "text": _text, "emails": all_emails, "blank": "", "UNSET": UNSET}
        expression = f"[exported({values}) for {', '.join(COLUMNS[kind.kind])}, packed in rows]"
        self.records: Callable[[Rows, Callable[[str | None], Custom]], list[Any]] = compiled("rows, custom", expression, **names)
        """Rows of `exports.sql`, and the function that unpacks custom fields -> records."""


_TYPES = {kind.name: _Exported(kind) for kind in RECORD_TYPES.values()}


class ExportFormat(Struct, frozen=True):
    """How records are written."""

    format: str = NDJSON
    formulas: bool = False
    """CSV: write texts that a spreadsheet would compute as they are."""
    fields: tuple[str, ...] = ()
    """The members of each record; empty for all but `suppressed`."""
    bom: bool = False
    """CSV: begin with the byte order mark, without which Excel takes UTF-8 for another encoding."""


def members(record: str) -> tuple[str, ...]:
    """Return the members that an exported record can have, in their order."""
    return _TYPES[record].members


def encoder(
    record: str, form: ExportFormat, settings: ClientSettings, custom_fields: Sequence[str], *, with_header: bool
) -> Callable[[Rows, Reasons], bytes]:
    """Return the function that encodes a page; the first page of CSV has the header."""
    if form.format == PARQUET:
        return parquet_columns(record, form, custom_fields).encode
    exported = _TYPES[record]
    typed = {name: field for name, field in exported.kind.field_types(settings).items() if field.type in ("number", "boolean")}
    custom: Callable[[str | None], Custom] = partial(_typed, typed) if typed else unpacked
    chosen = _shown(record, form)

    def encode(rows: Rows, reasons: Reasons) -> Sequence[Any]:
        records: Sequence[Any] = exported.records(rows, custom)
        if SUPPRESSED in form.fields:
            for shown, reason in zip(records, reasons, strict=True):
                shown.suppressed = reason
        return records

    if form.format == NDJSON:
        return lambda rows, reasons: _lines(_chosen(encode(rows, reasons), chosen) if form.fields else encode(rows, reasons))
    fields, names = _columns(record, form, custom_fields)
    columns = CsvFormat(fields, exported.custom if names else "", names, form.formulas, form.bom)
    return lambda rows, reasons: csv_page(encode(rows, reasons), columns, with_header=with_header)


def parquet_columns(record: str, form: ExportFormat, custom_fields: Sequence[str]) -> Columns:
    """Return the columns of an export as Parquet, as in CSV."""
    return Columns(_TYPES[record].kind, *_columns(record, form, custom_fields))


def _shown(record: str, form: ExportFormat) -> list[str]:
    return [name for name in members(record) if (name in form.fields if form.fields else name != SUPPRESSED)]


def has_custom_columns(record: str, form: ExportFormat) -> bool:
    """Return whether the custom fields of the records are columns."""
    return form.format != NDJSON and _TYPES[record].custom in _shown(record, form)


def _columns(record: str, form: ExportFormat, custom_fields: Sequence[str]) -> tuple[list[str], Sequence[str]]:
    """Return the members that are columns, and the custom fields that are."""
    member = _TYPES[record].custom
    return [name for name in _shown(record, form) if name != member], custom_fields if has_custom_columns(record, form) else ()


def _chosen(records: Sequence[Any], members: Sequence[str]) -> list[dict[str, Any]]:
    """Return the chosen members of records that have a value or null."""
    return [{name: value for name in members if (value := getattr(record, name)) is not UNSET} for record in records]


def _typed(typed: dict[str, FieldType], packed: str | None) -> Custom:
    custom: Custom = unpacked(packed)
    for name, field in typed.items():
        if name in custom:
            custom[name] = json_value(custom[name], field)
    return custom
