"""Rows: from the cells of a row to the command that stores its record, by the rules of the API, or to its faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from touchbase.clients.models import Client, FieldType
from touchbase.common import field_limits as limits
from touchbase.common.frames import packs_by_position
from touchbase.common.normalize import find_email_key, is_nothing, linkedin_key
from touchbase.common.timestamps import DAY, Micros, to_text
from touchbase.errors import MOST_FAULTS, Fault, Invalid
from touchbase.imports.columns import (
    COMPANY,
    COMPANY_FIELDS,
    CONTACT_FIELDS,
    CUSTOM,
    DATES,
    FIRST_SENT,
    FULL_NAME,
    LAST_SENT,
    Mapping,
    resolve,
)
from touchbase.imports.dates import BadDate, parse_date
from touchbase.imports.duplicates import keys_of
from touchbase.imports.table import Row, is_encodable
from touchbase.records.create import creation_of
from touchbase.records.fields import NUMBER, TEXT
from touchbase.records.models import Company
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE, RecordType
from touchbase.records.writes import Creation

NAME_WITHOUT_DOMAIN = "company_without_domain"
"""Notice: the row names a company and not its domain, so no company is made or linked."""
LINKEDIN_OF_NOBODY = "linkedin_of_nobody"
"""Notice: the cell of `linkedin_url` is no person's profile, such as a company's page; it became a custom field named by its column."""
_COMPANIES = 5_000
"""Companies of recent rows, which are checked once."""
_FIELDS = [field for kind in (CONTACT_TYPE, COMPANY_TYPE) for field in kind.members if field.value is not None]
_NUMBERS = frozenset(field.name for field in _FIELDS if field.kind == NUMBER)
_LENGTHS = {field.name: field.longest for field in _FIELDS if field.kind == TEXT}
_LENGTHS |= {FULL_NAME: 2 * limits.NAME + 1, "email": limits.VALUE, "emails": limits.VALUE}
"""The API's limits by target, in characters; dates and numbers have NAME, custom fields VALUE."""


class RowFault(NamedTuple):
    """A fault of a row: the column, blank for the row as a whole; a stable code; what is wrong and what to do."""

    column: str
    code: str
    detail: str


_SEPARATORS, _SPACE = re.compile(r"[;,|/\n]"), re.compile(r"[;,|/\s]+")
"""Between the addresses of one cell; white space only if it does not divide names from addresses."""
_COUNTED = RowFault("", "counted", "")
"""In place of a fault that has no text."""


class CustomCell(NamedTuple):
    """A custom field of a row."""

    field_name: str
    field_value: str


class _Cells(msgspec.Struct, gc=False):
    """The request for a record that a row makes (`records.create.NewRecord`)."""

    custom_pointer: ClassVar[str]
    """Where faults say that the custom fields are."""
    body_faults: ClassVar[tuple[Fault, ...]] = ()
    """None: a row has them once."""
    custom_fields: list[CustomCell] = []


def _cells(kind: RecordType[Any]) -> Any:
    members = [(field.name, Any, "" if field.kind == TEXT else None) for field in kind.members if field.value is not None]
    pointer = {"custom_pointer": f"/{kind.custom_fields}"}
    return msgspec.defstruct(f"{kind.name.title()}Cells", members, bases=(_Cells,), namespace=pointer, gc=False)


ContactCells, CompanyCells = _cells(CONTACT_TYPE), _cells(COMPANY_TYPE)


@packs_by_position
@dataclass(slots=True)
class ValidRow:
    """A row that can be imported."""

    row: Row
    creation: Creation[Any]
    company: Creation[Company] | None = None
    """The company of a contact, to be created unless there is one with its domain. Rows with equal cells often have the same object."""
    dates: dict[str, Micros] = field(default_factory=dict)
    """Dates of a contact (`columns.DATES`), for events of its history."""
    notice: str = ""
    """Code of what was left out; blank for nothing."""


@packs_by_position
@dataclass(slots=True)
class InvalidRow:
    """A row that cannot be imported, and why."""

    row: Row
    faults: list[RowFault]

    @property
    def reason(self) -> str:
        """All faults as one text."""
        return "; ".join(f"{fault.column}: {fault.detail}" if fault.column else fault.detail for fault in self.faults)


@dataclass(slots=True)
class _Part:
    """The columns of a file that belong to one record: the contact, or the company of a contact."""

    fields: dict[str, int] = field(default_factory=dict)
    custom: list[tuple[str, int, FieldType | None]] = field(default_factory=list)

    def column(self, pointer: str, cells: Sequence[str]) -> int | None:
        """Return the column that a fault's JSON pointer is about."""
        name, _, rest = pointer[1:].partition("/")
        if name == "emails":  # also of a cell of `email` with several addresses
            return self.fields.get("emails", self.fields.get("email"))
        if name in self.fields:
            return self.fields[name]
        number = rest.partition("/")[0]
        filled = [index for _, index, _ in self.custom if cells[index].strip()]
        return filled[int(number)] if number.isdigit() and int(number) < len(filled) else None


class RowChecker:
    """Checks rows of one file by its mapping and the client's settings; raises `Invalid` at once if the mapping has faults."""

    def __init__(self, mapping: Mapping, header: Sequence[str], client: Client) -> None:
        targets = resolve(mapping, header)
        self._mapping, self._client, self._header = mapping, client, list(header)
        self._zone = ZoneInfo(mapping.time_zone)
        self._own, self._company = _Part(), _Part()
        self._dates: list[tuple[str, int]] = []
        self._full_name: int | None = None
        self._limits: list[tuple[int, int]] = []
        self._used: list[int] = []
        for index, target in enumerate(targets):
            if target:
                self._add(target, index)
        self._company_columns = [*self._company.fields.values(), *(index for _, index, _ in self._company.custom)]
        self._companies: dict[tuple[str, ...], Creation[Company]] = {}
        self._is_whole = len(self._used) == len(self._header)
        self._least = min((most for _, most in self._limits), default=0)
        self._check: Callable[[Row, list[str], Micros, list[RowFault]], ValidRow | None]
        self._check = self._contact if mapping.record == "contact" else self._own_company

    def _add(self, target: str, index: int) -> None:
        settings, is_contact = self._client.settings, self._mapping.record == "contact"
        of_company = is_contact and target.startswith(COMPANY)
        bare = target.removeprefix(COMPANY) if of_company else target
        part = self._company if of_company else self._own
        self._used.append(index)
        self._limits.append((index, limits.VALUE if bare.startswith(CUSTOM) else _LENGTHS.get(bare, limits.NAME)))
        if bare.startswith(CUSTOM):
            declared = settings.contact_fields if is_contact and not of_company else settings.company_fields
            name = bare.removeprefix(CUSTOM).strip()
            renamed = settings.contact_field_names if is_contact and not of_company else settings.company_field_names
            name = renamed.get(name, name)
            part.custom.append((name, index, declared.get(name)))
        elif bare in DATES:
            self._dates.append((bare, index))
        elif bare == FULL_NAME:
            self._full_name = index
        else:
            assert bare in (COMPANY_FIELDS if of_company or not is_contact else CONTACT_FIELDS)
            part.fields[bare] = index

    def check(self, row: Row, at: Micros) -> ValidRow | InvalidRow:
        """Check a row; `at` is the time of the write."""
        faults: list[RowFault] = []
        cells, width = row.cells, len(self._header)
        if len(cells) != width:
            if any(cells[width:]):
                detail = f"has {len(cells)} cells, and the header has {width}; perhaps a cell with a delimiter is not quoted"
                return InvalidRow(row, [RowFault("", "cells", detail)])
            cells = [*cells[:width], *[""] * (width - len(cells))]
        text = "".join(cells) if self._is_whole else "".join([cells[index] for index in self._used])
        if not text or text.isspace():
            return InvalidRow(row, [RowFault("", "empty", "the row is empty in all columns that are imported")])
        is_long = len(text) > self._least and max(map(len, cells)) > self._least
        if is_long or "\0" in text or not (text.isascii() or is_encodable(text)):
            cells = self._check_texts(cells, faults)
        made = self._check(row, cells, at, faults)
        return InvalidRow(row, _listed(faults)) if faults or made is None else made

    def _check_texts(self, cells: list[str], faults: list[RowFault]) -> list[str]:
        """Return the cells without those whose text cannot be stored, which are faults."""
        storable = cells[:]
        for index, most in self._limits:
            cell = cells[index]
            before = len(faults)
            if len(cell) > most:
                self._fault(index, "too_long", f"must have at most {most} characters, and has {len(cell)}", faults)
            elif "\0" in cell or not (cell.isascii() or is_encodable(cell)):
                is_foreign = any("\udc80" <= char <= "\udcff" for char in cell)
                detail = "has bytes that are not of the file's encoding; save the file as UTF-8" if is_foreign else None
                self._fault(index, "unusable_text", detail or limits.why_not_storable(cell) or "", faults)
            if len(faults) > before:
                storable[index] = ""
        return storable

    def _contact(self, row: Row, cells: list[str], at: Micros, faults: list[RowFault]) -> ValidRow | None:
        asked = ContactCells()
        for name, index in self._own.fields.items():
            setattr(asked, name, self._integer(cells, index, faults) if name in _NUMBERS else cells[index])
        if self._full_name is not None:
            asked.first_name, asked.last_name = parts = split_name(cells[self._full_name])
            if max(map(len, parts)) > limits.NAME:
                detail = f"first and last name must have at most {limits.NAME} characters each"
                self._fault(self._full_name, "too_long", detail, faults)
        asked.custom_fields = self._custom_fields(self._own, cells)
        if "@" in (asked.emails or "") or asked.email.count("@") > 1:
            _read_emails(asked)
        else:
            asked.emails = None
        notice = self._set_aside_linkedin(asked)
        dates = self._read_dates(cells, at, faults) if self._dates else {}
        command = self._made(lambda: creation_of(CONTACT_TYPE, asked, self._client, at, "update"), self._own, cells, faults)
        company, of_company = self._company_of(cells, at, faults) if self._company.fields else (None, "")
        if command is None:
            return None
        if not keys_of(command) and not self._mapping.without_key and not faults:
            detail = "has no e-mail or LinkedIn address and no external_id, which identify a contact: importing it twice would create two"
            faults.append(RowFault("", "no_key", detail))
        return ValidRow(row, command, company, dates, notice or of_company)

    def _set_aside_linkedin(self, asked: Any) -> str:
        """Move a LinkedIn address that identifies nobody to a custom field named by its column; return the notice, blank for none."""
        text = asked.linkedin_url.strip()
        if not text or linkedin_key(text) is not None or is_nothing(text):
            return ""
        column = self._header[self._own.fields["linkedin_url"]]
        if column not in {cell.field_name for cell in asked.custom_fields}:
            asked.custom_fields.append(CustomCell(column, text))
        asked.linkedin_url = ""
        return LINKEDIN_OF_NOBODY

    def _own_company(self, row: Row, cells: list[str], at: Micros, faults: list[RowFault]) -> ValidRow | None:
        command = self._company_command(self._own, cells, at, "update", faults)
        return None if command is None else ValidRow(row, command)

    def _company_of(self, cells: list[str], at: Micros, faults: list[RowFault]) -> tuple[Creation[Company] | None, str]:
        """Return the company of a contact, and the notice if one is named without its domain."""
        values = tuple([cells[index] for index in self._company_columns])
        known = self._companies.get(values)
        if known is not None:
            return known, ""
        if not cells[self._company.fields["domain"]].strip():
            return None, NAME_WITHOUT_DOMAIN if any(value.strip() for value in values) else ""
        made = self._company_command(self._company, cells, at, "return", faults)
        if made is not None:
            if len(self._companies) >= _COMPANIES:
                self._companies.clear()
            self._companies[values] = made
        return made, ""

    def _company_command(
        self, part: _Part, cells: list[str], at: Micros, on_duplicate: str, faults: list[RowFault]
    ) -> Creation[Company] | None:
        asked = CompanyCells(custom_fields=self._custom_fields(part, cells))
        for name, index in part.fields.items():
            setattr(asked, name, cells[index])
        made: Creation[Company] | None = self._made(
            lambda: creation_of(COMPANY_TYPE, asked, self._client, at, on_duplicate), part, cells, faults
        )
        return made

    def _made(self, make: Callable[[], object], part: _Part, cells: list[str], faults: list[RowFault]) -> Any:
        """Return the command, or None with its faults; a column that has a fault already gets no second one."""
        try:
            return make()
        except Invalid as invalid:
            known = {fault.column for fault in faults}
            for fault in invalid.faults:
                index = part.column(fault.pointer, cells)
                column = "" if index is None else self._header[index]
                if not column or column not in known:
                    faults.append(RowFault(column, fault.code, fault.detail))
            faults += [_COUNTED] * invalid.more
            return None

    def _custom_fields(self, part: _Part, cells: list[str]) -> list[CustomCell]:
        """Return the custom fields that have a value; a date is written as the API wants it if the field is declared as one."""
        return [
            CustomCell(name, self._as_date(value) if declared is not None and declared.type == "date" else value)
            for name, index, declared in part.custom
            if (value := cells[index]) and not value.isspace()
        ]

    def _as_date(self, value: str) -> str:
        try:
            return to_text(parse_date(value, self._mapping.day_order))[:10]
        except BadDate:
            return value  # the rules of the API refuse it

    def _read_dates(self, cells: list[str], at: Micros, faults: list[RowFault]) -> dict[str, Micros]:
        dates: dict[str, Micros] = {}
        for name, index in self._dates:
            text = cells[index]
            if text and not text.isspace():
                try:
                    dates[name] = when = parse_date(text, self._mapping.day_order, self._zone)
                except BadDate as error:
                    self._fault(index, "date", str(error), faults)
                    continue
                if when > at + DAY:
                    self._fault(index, "date", f"{text.strip()!r} is in the future", faults)
        if dates.get(FIRST_SENT, 0) > dates.get(LAST_SENT, at + 2 * DAY):
            index = next(index for name, index in self._dates if name == FIRST_SENT)
            self._fault(index, "date", f"is after {LAST_SENT}", faults)
        return dates

    def _integer(self, cells: list[str], index: int, faults: list[RowFault]) -> int | None:
        text = cells[index].strip()
        if not text:
            return None
        if text.isascii() and text.isdigit() and len(text) <= 16 and 1 <= int(text) <= limits.LARGEST_ID:
            return int(text)
        self._fault(index, "range", f"must be an integer from 1 to {limits.LARGEST_ID}", faults)
        return None

    def _fault(self, index: int, code: str, detail: str, faults: list[RowFault]) -> None:
        faults.append(RowFault(self._header[index], code, detail))


def _read_emails(asked: Any) -> None:
    """Divide cells with several addresses, such as `ann@example.com; a.lee@example.org`: the first one is primary."""
    first, further = _addresses(asked.email), _addresses(asked.emails or "")
    known = {key for text in further if (key := find_email_key(text)) is not None}
    if first and known and find_email_key(first[0]) in known:  # also if a column of all addresses has them in another order
        further = [text for text in further if find_email_key(text) != find_email_key(first[0])]
    asked.emails = [*first, *further]
    asked.email = first[0] if first else ""


def _addresses(cell: str) -> list[str]:
    """Return the addresses of a cell; the cell as it is if a part of it is no address."""
    text = cell.strip()
    if text.startswith("[") and '"' in text:
        text = text.strip("[]").replace('"', " ")
    for separators in (_SEPARATORS, _SPACE):
        parts = [part for each in separators.split(text) if (part := each.strip()) and not is_nothing(part)]
        if all(find_email_key(part) is not None for part in parts):
            return parts
    return [text]


def _listed(faults: list[RowFault]) -> list[RowFault]:
    """Return the first `MOST_FAULTS` faults of a row, and one that counts the others."""
    listed = [fault for fault in faults if fault is not _COUNTED][:MOST_FAULTS]
    more = len(faults) - len(listed)
    return [*listed, RowFault("", "more", f"and {more:,} more {'fault' if more == 1 else 'faults'}")] if more else listed


def split_name(name: str) -> tuple[str, str]:
    """Return first and last name: "Jane van Dyk" and "van Dyk, Jane" are the same."""
    last, comma, first = name.partition(",")
    if comma and first.strip():
        return " ".join(first.split()), " ".join(last.split())
    words = name.replace(",", " ").split()
    return (words[0], " ".join(words[1:])) if words else ("", "")
