"""Their records as rows of an import: the same rows that files have, so the same rules decide."""

from __future__ import annotations

from collections.abc import Mapping as Members
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.errors import Invalid
from touchbase.imports.columns import Mapping
from touchbase.imports.rows import InvalidRow, RowChecker, RowFault, ValidRow
from touchbase.imports.table import Row, value_text
from touchbase.revyops_import.models import RECORDS, ListName

LARGEST_NUMBER = 2**32 - 1
"""The largest id that the table of seen keys can hold, and the number of all records with another one."""
_FIELDS: dict[ListName, tuple[str, ...]] = {
    "contacts": (
        "email", "linkedin_url", "first_name", "last_name", "origin", "contact_status", "first_campaign_email_sent",
        "last_campaign_email_sent", "last_reply_received",
    ),
    "companies": ("domain", "name", "company_status"),
    "emails": (
        "email_timestamp", "updated_time", "contact_email", "contact_id", "agent_email", "email_type", "subject", "body_text",
        "body_html", "campaign_id", "campaign_name", "interested", "origin",
    ),
}  # fmt: skip
_KEYS: dict[ListName, tuple[str, ...]] = {"contacts": ("email", "linkedin_url"), "companies": ("domain",)}
_CUSTOM: dict[ListName, str] = {"contacts": "contact_custom_fields", "companies": "company_custom_fields", "emails": "custom_fields"}
_READ = {"id", "client_id", "company_id"}
NOT_CARRIED = {"updated_time", "created_time", "previous_status", "status_changed_at"}
"""Members that the import sets itself, by what it writes."""
_DOMAIN = "company.domain"


@dataclass(slots=True)
class TheirRecord:
    """A record of one of their lists, as the targets of an import and their texts."""

    client: str
    """Their id of its client; blank: none."""
    id: str
    values: dict[str, str] = field(default_factory=dict)
    """Target (`imports.columns`) -> text."""
    fault: str = ""
    """Why it cannot be read."""
    notices: list[str] = field(default_factory=list)
    is_reported: bool = True
    """Whether a refusal is counted and listed: not again in the comparison."""

    @property
    def number(self) -> int:
        """Its id, or `LARGEST_NUMBER`."""
        is_small = self.id.isascii() and self.id.isdigit() and len(self.id) <= 10 and 0 < int(self.id) < LARGEST_NUMBER
        return int(self.id) if is_small else LARGEST_NUMBER

    @property
    def key(self) -> str:
        """The first value that identifies it."""
        return next((self.values[name] for name in ("email", "linkedin_url", "domain", "contact_email") if self.values.get(name)), "")


def their_record(value: Any, name: ListName, domains: Members[str, str], client: str | None = None) -> TheirRecord:
    """Return a record of a list; `domains` are those of the companies, by `company_key`. `client`: of a list that names none."""
    if not isinstance(value, dict):
        return TheirRecord(client or "", "", {"value": value_text(value)}, "is not a JSON object")
    record = TheirRecord(client if client is not None else value_text(value.get("client_id")), value_text(value.get("id")))
    for each in _FIELDS[name]:
        record.values[each] = value_text(value.get(each))
    if name == "contacts":
        _set_company(record, value.get("company_id"), domains)
    record.fault = _set_custom_fields(record, value.get(_CUSTOM[name]))
    known = {*_FIELDS[name], *_READ, *NOT_CARRIED, _CUSTOM[name]}
    record.notices += [f"{name}: the member {other!r} has no field here" for other, text in value.items() if other not in known and text]
    if client is None and not record.client and not record.fault:
        record.fault = "has no client_id"
    return record


def company_key(client: str, company_id: str) -> str:
    """Return the key of a company in the domains by company: its id, and that of its client."""
    return f"{company_id} {client}"


def _set_company(record: TheirRecord, company_id: Any, domains: Members[str, str]) -> None:
    company = value_text(company_id)
    domain = domains.get(company_key(record.client, company))
    if domain is not None:
        record.values[_DOMAIN] = domain
    elif company:
        record.notices.append("contacts: imported without a company, because theirs was not imported or is not in the list of companies")


def _set_custom_fields(record: TheirRecord, given: Any) -> str:
    """Set the custom fields, of either structure; return why they cannot be read, or blank."""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(given, dict):
        pairs = list(given.items())
    elif isinstance(given, list):
        for index, one in enumerate(given):
            if not isinstance(one, dict) or not isinstance(one.get("field_name"), str):
                return f"custom field {index + 1} has no field_name"
            pairs.append((one["field_name"], one.get("field_value")))
    elif given:
        return "the custom fields are neither an array nor an object"
    for name, value in pairs:
        target, text = f"cf.{str(name).strip()}", value_text(value)
        if not text.strip():
            continue
        if record.values.get(target, text) != text:
            record.notices.append("a custom field stood twice in a record, with two values; the last one was imported")
        record.values[target] = text
    return ""


class RowMaker:
    """Makes rows of an import from their records of one client."""

    def __init__(self, name: ListName, client: Client) -> None:
        self._name, self._client = name, client

    def rows(self, records: Sequence[TheirRecord], at: Micros) -> list[ValidRow | InvalidRow]:
        """Return a row for each record, checked."""
        made = self._checker(records)
        return [self._row(record, made, at) for record in records]

    def _row(self, record: TheirRecord, shared: tuple[list[str], RowChecker] | None, at: Micros) -> ValidRow | InvalidRow:
        if record.fault:
            return InvalidRow(Row(record.number, []), [RowFault("", "unreadable", record.fault)])
        try:
            header, checker = shared or self._made([record])
        except Invalid as invalid:  # names of custom fields that cannot be stored, or too many of them
            faults = [RowFault(fault.pointer.removeprefix("/columns/"), fault.code, fault.detail) for fault in invalid.faults]
            return InvalidRow(Row(record.number, []), faults)
        return checker.check(Row(record.number, [record.values.get(target, "") for target in header]), at)

    def _checker(self, records: Sequence[TheirRecord]) -> tuple[list[str], RowChecker] | None:
        """Return one checker for all records; None if a record has names of custom fields that others must not suffer from."""
        try:
            return self._made([record for record in records if not record.fault])
        except Invalid:
            return None

    def _made(self, records: Sequence[TheirRecord]) -> tuple[list[str], RowChecker]:
        targets = dict.fromkeys([*_KEYS[self._name], *(target for record in records for target in record.values)])
        header = list(targets)
        mapping = Mapping(RECORDS[self._name], {target: target for target in header}, "ignore")
        return header, RowChecker(mapping, header, self._client)
