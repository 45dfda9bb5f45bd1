"""Rows: from the cells of a row to the command that stores its record, by the rules of the API, or to its faults."""

from __future__ import annotations

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
from touchbase.company_links.domains import no_company_domain
from touchbase.errors import MOST_FAULTS, Fault, Invalid
from touchbase.history.status_words import SERVICE_WORDS
from touchbase.imports.cells import NOTHING, addresses_in, is_footer, is_opt_out_header, opt_out_reason
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
from touchbase.imports.guessing import MORE_ADDRESSES, STATES, words_of
from touchbase.imports.table import Row, is_encodable
from touchbase.records.create import creation_of
from touchbase.records.fields import NUMBER, OWNER_ID, TEXT
from touchbase.records.models import Company
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE, RecordType
from touchbase.records.writes import Creation

LINKEDIN_OF_NOBODY = "linkedin_of_nobody"
"""Notice: the cell of `linkedin_url` is no person's profile, such as a company's page; it became a custom field named by its column."""
_COMPANIES = 5_000
"""Companies of recent rows, which are checked once."""
_REASONS = 5_000
"""Different cells of opt-outs, which are looked at once."""
_LONGEST_CUSTOM = limits.NAME
_FIELDS = [field for kind in (CONTACT_TYPE, COMPANY_TYPE) for field in kind.members if field.value is not None]
_NUMBERS = frozenset(field.name for field in _FIELDS if field.kind == NUMBER)
_LENGTHS = {field.name: field.longest for field in _FIELDS if field.kind == TEXT}
_LENGTHS |= {FULL_NAME: 2 * limits.NAME + 1, "email": limits.VALUE, "emails": limits.VALUE}
"""The API's limits by target, in characters; dates and numbers have NAME, custom fields VALUE."""


class RowFault(NamedTuple):
    """A fault of a row: the column, blank for the row as a whole; a stable code; the fault and its cure."""

    column: str
    code: str
    detail: str


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


class LeftOutCell(NamedTuple):
    """A cell that was not imported, although its row was."""

    row: int
    column: str
    value: str
    reason: str


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
    """Code of the change; blank for none."""
    opt_out: str = ""
    """Why the person must not be contacted (`do_not_contact.models.REASONS`), as the file says; blank: it does not."""
    same_as: int = 0
    """The first row of the file about the same record; 0: this one."""
    filled_before: frozenset[str] = frozenset()
    """The targets that earlier rows about the record have filled, which stay."""
    adds: bool = True
    """Whether it has anything that the earlier rows about its record lack."""
    profile_left_out: bool = False
    """Whether its profile is listed as left out, because of an earlier row."""


@packs_by_position
@dataclass(slots=True)
class InvalidRow:
    """A row that cannot be imported, and why."""

    row: Row
    faults: list[RowFault]
    is_row: bool = True
    """False for a blank line, a repeated header or a line below the table."""

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
        """Return the column that a fault's JSON pointer is about; of all custom fields together the longest."""
        name, _, below = pointer[1:].partition("/")
        if name == "emails":  # also of a cell of `email` with several addresses
            return self.fields.get("emails", self.fields.get("email"))
        if "custom_fields" not in name:
            return self.fields.get(name)
        number = below.partition("/")[0]
        filled = [index for _, index, _ in self.custom if cells[index].strip()]
        if number.isdigit():
            return filled[int(number)] if int(number) < len(filled) else None
        return max(filled, key=lambda index: len(cells[index]), default=None)


class _Checked:
    """The cells of a row that is being checked; a bad one is blanked and listed."""

    def __init__(self, row: Row, cells: list[str], header: Sequence[str]) -> None:
        self.row, self.cells = row, cells
        self.left_out: list[LeftOutCell] = []
        self.faults: list[RowFault] = []
        self._header = header

    def leave_out(self, index: int, code: str, detail: str, value: str | None = None) -> None:
        """Blank a cell, and list it with the reason; `value` is the part that is left out if it is not all of it."""
        column, text = self._header[index], self.cells[index] if value is None else value
        self.left_out.append(LeftOutCell(self.row.number, column, text, detail))
        self.faults.append(RowFault(column, code, detail))
        if value is None:
            self.cells[index] = ""


class RowChecker:
    """Checks rows of one file by its mapping and the client's settings; raises `Invalid` at once if the mapping has faults.

    `spellings` are statuses in use: a status that differs from one of them only in case is that one. `owners`: as in `ImportSettings`.
    """

    def __init__(
        self, mapping: Mapping, header: Sequence[str], client: Client, spellings: Sequence[str] = (), owners: dict[str, str] | None = None
    ) -> None:
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
        self.names = {index: self._filled_by(target) for index, target in enumerate(targets) if target}
        """By column, the fields that it fills; a custom field by its present name."""
        self._company_columns = [*self._company.fields.values(), *(index for _, index, _ in self._company.custom)]
        self._companies: dict[tuple[str, ...], tuple[Creation[Company] | None, list[tuple[int, str]]]] = {}
        self._least = min((most for _, most in self._limits), default=0)
        kind = CONTACT_TYPE if mapping.record == "contact" else COMPANY_TYPE
        self._status = self._own.fields.get(kind.status)
        self._owner, self._owners = self._own.fields.get(OWNER_ID.name), owners or {}
        self._statuses = _spellings(client, kind.kind, spellings) if mapping.join_statuses else None
        self._opt_outs = opt_out_columns(mapping, header) if mapping.record == "contact" else []
        self._more_addresses = [
            index for index, name in enumerate(header) if targets[index].startswith(CUSTOM) and MORE_ADDRESSES.fullmatch(words_of(name))
        ]
        self._reasons: dict[tuple[int, str], str] = {}
        self._check: Callable[[_Checked, Micros], ValidRow | None]
        self._check = self._contact if mapping.record == "contact" else self._own_company
        self.left_out: list[LeftOutCell] = []
        """The cells of the last valid row that were left out."""
        self.filled: tuple[bool, ...] = ()
        """Of each column of the last valid row, whether its cell was taken."""

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

    def _filled_by(self, target: str) -> tuple[str, ...]:
        if target == FULL_NAME:
            return ("first_name", "last_name")
        if not target.startswith(CUSTOM):
            return (target,)
        settings, name = self._client.settings, target.removeprefix(CUSTOM).strip()
        renamed = settings.contact_field_names if self._mapping.record == "contact" else settings.company_field_names
        return (f"{CUSTOM}{renamed.get(name, name)}",)

    def check(self, row: Row, at: Micros) -> ValidRow | InvalidRow:
        """Check a row; `at` is the time of the write. A cell that cannot be imported is left out, a row without any identity refused."""
        raw, width = row.cells, len(self._header)
        cells = ["" if (text := cell.strip()) in NOTHING else text for cell in raw]
        if len(cells) != width:
            if any(cells[width:]):
                detail = f"has {len(cells)} cells, and the header has {width}; perhaps a cell with a delimiter is not quoted"
                return InvalidRow(row, [RowFault("", "cells", detail)])
            cells = [*cells[:width], *[""] * (width - len(cells))]
        text = "".join([cells[index] for index in self._used])
        if not text:
            is_blank = not any(map(str.strip, raw))
            detail = "the row is empty" + ("" if is_blank else " in all columns that are imported")
            return InvalidRow(row, [RowFault("", "empty", detail)], is_row=False)
        checked = _Checked(row, cells, self._header)
        is_long = len(text) > self._least and max(map(len, raw)) > self._least
        if is_long or "\0" in text or not (text.isascii() or is_encodable(text)):
            self._check_texts(checked)
        valid = self._check(checked, at)
        if valid is None:
            if not any("@" in cell for cell in raw) and self._is_no_row(row):
                return InvalidRow(row, [RowFault("", "not_a_row", "is a line of the report, and no row of its table")], is_row=False)
            return InvalidRow(row, _listed(checked.faults))
        self.left_out, self.filled = checked.left_out, tuple(map(bool, checked.cells))
        return valid

    def _is_no_row(self, row: Row) -> bool:
        """Return whether a row without an identity is none: the header again, or a line below the table."""
        if is_footer(row.cells) or [" ".join(cell.split()) for cell in row.cells] == self._header:
            return True
        # A line that is shorter than the table and has one cell, such as the name of the company that runs the report.
        return len(self._header) > 2 and len(row.cells) == 1

    def _check_texts(self, checked: _Checked) -> None:
        """Leave out the cells whose text cannot be stored."""
        for index, most in self._limits:
            cell = checked.row.cells[index] if index < len(checked.row.cells) else ""
            if not checked.cells[index]:
                continue
            if len(cell) > most:
                checked.leave_out(index, "too_long", f"must have at most {most} characters, and has {len(cell)}")
            elif "\0" in cell or not (cell.isascii() or is_encodable(cell)):
                is_foreign = any("\udc80" <= char <= "\udcff" for char in cell)
                detail = "has bytes that are not of the file's encoding; save the file as UTF-8" if is_foreign else None
                checked.leave_out(index, "unusable_text", detail or limits.why_not_storable(cell) or "")

    def _contact(self, checked: _Checked, at: Micros) -> ValidRow | None:
        cells, own = checked.cells, self._own.fields
        if self._full_name is not None and max(map(len, split_name(cells[self._full_name]))) > limits.NAME:
            checked.leave_out(self._full_name, "too_long", f"first and last name must have at most {limits.NAME} characters each")
        for name in _NUMBERS & own.keys():
            if cells[own[name]] and _integer(cells[own[name]]) is None:
                checked.leave_out(own[name], "range", f"must be an integer from 1 to {limits.LARGEST_ID}")
        if (index := own.get("email")) is not None and self._more_addresses and find_email_key(cells[index]) is None:
            self._take_other_address(checked, index)
        self._join_status(checked)
        self._name_owner(checked)
        dates = self._read_dates(checked, at) if self._dates else {}
        notice = ""

        def request() -> Any:
            nonlocal notice
            person = ContactCells()
            for name, index in own.items():
                setattr(person, name, _integer(cells[index]) if name in _NUMBERS else cells[index])
            if self._full_name is not None:
                person.first_name, person.last_name = split_name(cells[self._full_name])
            person.custom_fields = self._custom_fields(self._own, cells)
            if "@" in (person.emails or "") or person.email.count("@") > 1:
                _read_emails(person)
            else:
                person.emails = None
            notice = self._set_aside_linkedin(person)
            return person

        command = self._command(CONTACT_TYPE, request, self._own, checked, at, "update")
        if command is None:
            return None
        if not keys_of(command) and not self._mapping.without_key:
            if not checked.faults:
                detail = (
                    "has no e-mail or LinkedIn address and no external_id, which identify a contact: importing it twice would create two"
                )
                checked.faults.append(RowFault("", "no_key", detail))
            return None
        company = self._company_of(checked, at) if self._company.fields else None
        return ValidRow(checked.row, command, company, dates, notice, self._opt_out(cells) if self._opt_outs else "")

    def _take_other_address(self, checked: _Checked, index: int) -> None:
        """Take the address of another column of the person where the own one has none."""
        if addresses_in(checked.cells[index]):
            return
        for column in self._more_addresses:
            addresses = addresses_in(checked.cells[column]) or [checked.cells[column]]
            if find_email_key(addresses[0]) is not None:
                if checked.cells[index]:
                    checked.leave_out(index, "email", f"is not an e-mail address; that of {self._header[column]!r} is taken")
                checked.cells[index] = addresses[0]
                return

    def _join_status(self, checked: _Checked) -> None:
        """Spell a status as the client does, or as the first row of the file that has it."""
        if self._status is not None and self._statuses is not None and (text := checked.cells[self._status]):
            checked.cells[self._status] = self._statuses.setdefault(fold_status(text), text)

    def _name_owner(self, checked: _Checked) -> None:
        """Put the id of a user in place of the owner's e-mail address."""
        if self._owner is not None and (text := checked.cells[self._owner]):
            if (owner := self._owners.get(text.lower())) is None:
                checked.leave_out(self._owner, "user", f"there is no user {text[:60]!r} who may see the client")
            else:
                checked.cells[self._owner] = owner

    def _opt_out(self, cells: Sequence[str]) -> str:
        """Return why the person must not be contacted, as the columns of opt-outs and the status say; blank: they do not."""
        for index, is_flag in self._opt_outs:
            text = cells[index]
            if text:
                reason = self._reasons.get((index, text))
                if reason is None:
                    reason = opt_out_reason(text, self._header[index], is_flag=is_flag)
                    if len(self._reasons) < _REASONS:
                        self._reasons[index, text] = reason
                if reason:
                    return reason
        return ""

    def _set_aside_linkedin(self, person: Any) -> str:
        """Move a LinkedIn address that identifies nobody to a custom field named by its column; return the notice, blank for none."""
        text = person.linkedin_url.strip()
        if not text or linkedin_key(text) is not None or is_nothing(text):
            return ""
        column = self._header[self._own.fields["linkedin_url"]][:_LONGEST_CUSTOM]
        if column not in {cell.field_name for cell in person.custom_fields}:
            person.custom_fields.append(CustomCell(column, text))
        person.linkedin_url = ""
        return LINKEDIN_OF_NOBODY

    def _own_company(self, checked: _Checked, at: Micros) -> ValidRow | None:
        self._join_status(checked)
        self._name_owner(checked)
        command = self._company_command(self._own, checked, at, "update")
        if command is None:
            if not checked.faults:
                checked.faults.append(RowFault("", "no_key", "has no domain and no name, which identify a company"))
            return None
        return ValidRow(checked.row, command)

    def _company_of(self, checked: _Checked, at: Micros) -> Creation[Company] | None:
        """Return the company of a contact; None if its cells name none."""
        cells = checked.cells
        values = tuple([cells[index] for index in self._company_columns])
        if not any(values):
            return None
        company = self._companies.get(values)
        if company is None:
            before = len(checked.left_out)
            creation = self._company_command(self._company, checked, at, "return")
            company = creation, [(self._header.index(cell.column), cell.reason) for cell in checked.left_out[before:]]
            if len(self._companies) >= _COMPANIES:
                self._companies.clear()
            self._companies[values] = company
        else:
            for index, detail in company[1]:
                checked.leave_out(index, "company", detail)
        return company[0]

    def _company_command(self, part: _Part, checked: _Checked, at: Micros, on_duplicate: str) -> Creation[Company] | None:
        cells = checked.cells
        domain = part.fields.get("domain")
        if domain is not None and (text := cells[domain]) and (why := no_company_domain(text)) is not None:
            checked.leave_out(domain, "no_company", why)
        if not any(cells[part.fields[name]] for name in ("domain", "name") if name in part.fields):
            return None

        def request() -> Any:
            company = CompanyCells(custom_fields=self._custom_fields(part, cells))
            for name, index in part.fields.items():
                setattr(company, name, cells[index])
            return company

        creation: Creation[Company] | None = self._command(COMPANY_TYPE, request, part, checked, at, on_duplicate)
        return creation

    def _command(
        self, kind: RecordType[Any], request: Callable[[], Any], part: _Part, checked: _Checked, at: Micros, on_duplicate: str
    ) -> Any:
        """Return the command of a record, without the cells that the API refuses; None if a fault is of no cell."""
        while True:
            try:
                return creation_of(kind, request(), self._client, at, on_duplicate, by_name=True)
            except Invalid as invalid:
                bad = {part.column(fault.pointer, checked.cells): fault for fault in reversed(invalid.faults)}
                for index, fault in bad.items():
                    if index is None or not checked.cells[index]:
                        checked.faults.append(RowFault("" if index is None else self._header[index], fault.code, fault.detail))
                        return None
                    checked.leave_out(index, fault.code, fault.detail)

    def _custom_fields(self, part: _Part, cells: list[str]) -> list[CustomCell]:
        """Return the custom fields that have a value; a date is written as the API wants it if the field is declared as one."""
        return [
            CustomCell(name, self._as_date(value) if declared is not None and declared.type == "date" else value)
            for name, index, declared in part.custom
            if (value := cells[index])
        ]

    def _as_date(self, value: str) -> str:
        try:
            return to_text(parse_date(value, self._mapping.day_order))[:10]
        except BadDate:
            return value  # the rules of the API refuse it

    def _read_dates(self, checked: _Checked, at: Micros) -> dict[str, Micros]:
        dates: dict[str, Micros] = {}
        columns = dict(self._dates)
        for name, index in self._dates:
            text = checked.cells[index]
            if text:
                try:
                    when = parse_date(text, self._mapping.day_order, self._zone)
                except BadDate as error:
                    checked.leave_out(index, "date", str(error))
                    continue
                if when > at + DAY:
                    checked.leave_out(index, "date", f"{text!r} is in the future")
                else:
                    dates[name] = when
        if dates.get(FIRST_SENT, 0) > dates.get(LAST_SENT, at + 2 * DAY):
            checked.leave_out(columns[FIRST_SENT], "date", f"is after {LAST_SENT}")
            del dates[FIRST_SENT]
        return dates


def _integer(text: str) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) <= 16 and 1 <= int(text) <= limits.LARGEST_ID
    return int(text) if is_number else None


def opt_out_columns(mapping: Mapping, header: Sequence[str]) -> list[tuple[int, bool]]:
    """Return the columns that say of each person whether they opted out, each with whether that is all that it says."""
    if mapping.opt_outs is None:
        flags = [(index, is_opt_out_header(name)) for index, name in enumerate(header)]
        status = CONTACT_TYPE.status
        return [
            (index, is_flag)
            for index, is_flag in flags
            if is_flag or mapping.columns.get(header[index]) == status or words_of(header[index]) in STATES
        ]
    return [(index, is_opt_out_header(name)) for index, name in enumerate(header) if name in mapping.opt_outs]


def _spellings(client: Client, kind: int, used: Sequence[str]) -> dict[str, str]:
    """Return the client's spelling by folded status: its declared set, former names, the service's words, then statuses in use."""
    settings = client.settings
    declared, words = settings.declared(kind), settings.words(kind)
    spelled: dict[str, str] = {}
    for status in (*(declared.statuses if declared else ()), *words.names, *(SERVICE_WORDS if declared is None else ()), *used):
        spelled.setdefault(fold_status(status), status)
    return spelled


def fold_status(status: str) -> str:
    """Return the comparison key of a status: without case, underscores and spaces."""
    return " ".join(status.casefold().replace("_", " ").split())


def _read_emails(person: Any) -> None:
    """Divide cells with several addresses, such as `ann@example.com; a.lee@example.org`: the first one is primary."""
    first, further = _addresses(person.email), _addresses(person.emails or "")
    further_keys = {key for text in further if (key := find_email_key(text)) is not None}
    if first and further_keys and find_email_key(first[0]) in further_keys:  # also if a column of all addresses has them in another order
        further = [text for text in further if find_email_key(text) != find_email_key(first[0])]
    person.emails = [*first, *further]
    person.email = first[0] if first else ""


def _addresses(cell: str) -> list[str]:
    """Return the addresses of a cell; the cell as it is if a part of it is no address."""
    text = cell.strip()
    if text.startswith("[") and '"' in text:
        text = text.strip("[]").replace('"', " ").strip()
    return addresses_in(text) or ([] if not text or is_nothing(text) else [text])


def _listed(faults: list[RowFault]) -> list[RowFault]:
    """Return the first `MOST_FAULTS` faults of a row, and one that counts the others."""
    listed = faults[:MOST_FAULTS]
    more = len(faults) - len(listed)
    return [*listed, RowFault("", "more", f"and {more:,} more {'fault' if more == 1 else 'faults'}")] if more else listed


def split_name(name: str) -> tuple[str, str]:
    """Return first and last name: "Jane van Dyk" and "van Dyk, Jane" are the same."""
    last, comma, first = name.partition(",")
    if comma and first.strip():
        return " ".join(first.split()), " ".join(last.split())
    words = name.replace(",", " ").split()
    return (words[0], " ".join(words[1:])) if words else ("", "")
