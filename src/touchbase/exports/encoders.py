"""Encoder of records as CSV, page by page, so that an export of any size takes constant memory.

Records are the bodies of responses (`structure=FLAT`), so that an export shows what the API shows.
"""

from __future__ import annotations

import csv
import io
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from touchbase.common.formulas import SUSPECT, harmless

CUSTOM = "cf."
"""Prefix of the columns of custom fields: one named `email` is not the contact's address. Imports and filters use the same."""

SUPPRESSED = "suppressed"
"""The member that says why a record must not be contacted; it is there only on request."""


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """The columns of a CSV file and how they are written."""

    fields: Sequence[str]
    """Members of the records, in the order of columns."""
    custom_member: str = ""
    """The member with the custom fields, an object by name."""
    custom_fields: Sequence[str] = ()
    """Names of custom fields, each a column after the others. The caller gives them, so that all files of a client have equal columns."""
    formulas: bool = False
    """Write texts that a spreadsheet would compute as they are, for readers that are no spreadsheets."""
    byte_order_mark: bool = False
    """Begin with the mark by which Excel recognises UTF-8."""

    @property
    def header(self) -> list[str]:
        """The names of the columns."""
        return [*self.fields, *(f"{CUSTOM}{name}" for name in self.custom_fields)]


def csv_page(records: Iterable[msgspec.Struct], form: CsvFormat, *, with_header: bool) -> bytes:
    """Return some records as CSV in UTF-8, after the header where it is wanted."""
    text = io.StringIO()
    writer = csv.writer(text)
    if with_header:
        writer.writerow(form.header if form.formulas else map(harmless, form.header))
    writer.writerows(_cells(record, form) for record in records)
    return (BOM_UTF8 if with_header and form.byte_order_mark else b"") + text.getvalue().encode()


def _cells(record: msgspec.Struct, form: CsvFormat) -> list[str]:
    values: list[Any] = [getattr(record, name) for name in form.fields]
    if form.custom_member:
        custom: Mapping[str, Any] = getattr(record, form.custom_member) or {}
        values += [custom.get(name) for name in form.custom_fields]
    texts = [value if type(value) is str else _text(value) for value in values]
    if form.formulas:
        return texts
    # A number with a sign is computed by no spreadsheet, and is to stay a number.
    return [
        harmless(text) if text[:1] in SUSPECT and type(value) in (str, list) else text for value, text in zip(values, texts, strict=True)
    ]


def _text(value: Any) -> str:
    """Return a value that is no text: blank for none, texts of a list in one cell, numbers and booleans as in JSON, structures as JSON."""
    if value is None or value is UNSET:
        return ""
    if type(value) is list:
        return "; ".join(value)
    return msgspec.json.encode(value).decode()
