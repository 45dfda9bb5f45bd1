"""Rows of open tables: the columns of a row as fields of a record, and the base of tools whose webhooks carry rows."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar, NamedTuple

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, DELETED, NOUNS, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter, chosen_kind
from touchbase.adapters.kit.crm_values import as_list, linked_id, query_parameter
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.times import first_time
from touchbase.common.timestamps import Micros
from touchbase.connections.models import IGNORE
from touchbase.history.events import Event

USUAL = {
    "email": "email", "e_mail": "email", "email_address": "email", "work_email": "email",
    "first_name": "first_name", "firstname": "first_name", "last_name": "last_name", "lastname": "last_name", "surname": "last_name",
    "name": "name", "full_name": "name", "linkedin": "linkedin", "linkedin_url": "linkedin", "linkedin_profile": "linkedin",
    "website": "website", "domain": "website", "url": "website", "company": "company", "company_name": "company", "account": "company",
    "status": "status", "stage": "status",
}  # fmt: skip
"""Names of columns in lower case with underscores -> the properties of `SHAPES`. A client's `fields` come first."""
_MAPPED = {
    "email": "email", "first_name": "first_name", "last_name": "last_name", "name": "name", "linkedin_url": "linkedin", "domain": "website",
    "status": "status", "company": "company", "company_id": "company_row_id",
}  # fmt: skip
"""A client's name of a field, in the setting `fields` -> the property."""
SHAPES = {
    CONTACT: RecordShape(
        CONTACT, email=("email",), first_name=("first_name",), last_name=("last_name",), full_name=("name",), linkedin=("linkedin",),
        company=("company",), useful=None,
    ),
    COMPANY: RecordShape(COMPANY, domain=("website",), company=("name", "company"), useful=None),
}  # fmt: skip
_COLUMN = re.compile(r"[\W_]+")
_ROW = "table:"
"""Before a table's id or name: the object type of its rows."""


class RowChange(NamedTuple):
    """Rows of one table that changed in the same way."""

    what: str
    """Created, updated or deleted."""
    table: str | None
    """The table's id, under which a client declares its type; its name where no id is sent; None if neither is."""
    name: str
    """The table's name, or nothing."""
    rows: Sequence[object]
    source: str | None
    key: str | None = None
    """The id of the webhook's event, which a repeated webhook has too."""


class OpenTable(CrmAdapter):
    """Reads webhooks that carry rows; the client, the table's name or the columns decide between contact and company."""

    status: ClassVar[tuple[str, ...]] = ("status",)
    row_id: ClassVar[str | None] = "id"
    """The column with a row's id; None if rows have none."""
    hidden: ClassVar[frozenset[str]] = frozenset()
    """Columns of the tool's own, such as the place of a row."""
    times: ClassVar[tuple[str, ...]] = ()
    """Columns with the time of a row's last change."""

    @abstractmethod
    def changes(self, body: Body, webhook: ParsedWebhook) -> RowChange | None:
        """Return the rows of a body; None if it has none."""

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence for a body: none for a client who reads its rows by the generic adapter."""
        tools = {connection.tool for connection in webhook.request.connections if connection.channel == self.channel}
        is_generic = "generic" in tools and self.tool not in tools
        return 0 if is_generic or self.changes(body, webhook) is None else 90

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of all rows."""
        change = self.changes(body, webhook)
        if change is None:
            return [other_event("unrecognised", text(first(body, "event_type", "type", "event")))]
        rows = [row for row in change.rows if isinstance(row, dict)]
        return [event for row in rows for event in self._events_of(row, change, webhook)] or [other_event("ignored", change.source)]

    def _events_of(self, row: Body, change: RowChange, webhook: ParsedWebhook) -> list[Event]:
        kind = _kind(row, change, webhook)
        word = _ROW + change.table if change.table else kind
        number = None if self.row_id is None else text(row.get(self.row_id))
        if kind is None or kind == IGNORE:
            return [other_event("unrecognised" if kind is None else "ignored", change.source, word, number)]
        at: Micros | None = None if change.what == DELETED else first_time(row, *self.times)
        key = None if change.key is None else f"{change.key} {number}"
        companies = _company_table(webhook) if kind == CONTACT else ""
        shape = _with_employer(companies) if companies else SHAPES[kind]
        item = CrmItem(shape, change.what, word, number, change.source, at, key)
        cells = {name: value for name, value in row.items() if name != self.row_id and name not in self.hidden}
        item.record, item.status = read_row(cells, self.statuses(webhook, kind, word), webhook, has_employer=bool(companies))
        return item.events()


def read_row(cells: Body, status: tuple[str, ...], webhook: ParsedWebhook, *, has_employer: bool = False) -> tuple[Body, tuple[str, ...]]:
    """Return a row by the properties of `SHAPES`, and the status properties; other columns keep their names."""
    names = {path: _MAPPED.get(name, name.removeprefix("custom.")) for name, path in webhook.settings.fields.items()}
    record: Body = {}
    properties: dict[str, str] = {}
    for column, value in cells.items():
        ours = names.get(column) or USUAL.get(usual_column(column), column)
        if ours in record and column not in names:
            ours = column
        properties[column] = ours
        if has_employer and ours == "company" and (number := _linked_row(value)) is not None:
            record.setdefault("company_row_id", number)
        if ours != "company" or not isinstance(value, int):  # the number of a row is no name of a company
            record[ours] = linked_id(value) if ours == "company_row_id" else plain_cell(value)
    return record, tuple(properties.get(name, name) for name in status)


def usual_column(name: str) -> str:
    """Return a column's name in lower case with underscores."""
    return _COLUMN.sub("_", name).strip("_").lower()


def plain_cell(value: object) -> object:
    """Return a cell's value: the name of a choice, person, link or button, the link of an attachment; of lists with commas between."""
    if isinstance(value, list):
        return ", ".join(part for part in map(text, map(plain_cell, value)) if part) or None
    return first(value, "name", "url", "text", "value", "email", "Title", "title") if isinstance(value, dict) else value


def _linked_row(value: object) -> str | None:
    """Return the row that a cell links to: its number, or the only one of a list of rows with their ids."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return text(value) if value > 0 else None
    linked = as_list(value) if isinstance(value, list) else [value]
    return linked_id(linked[0]) if len(linked) == 1 and isinstance(linked[0], dict) and "color" not in linked[0] else None


def _kind(row: Body, change: RowChange, webhook: ParsedWebhook) -> str | None:
    """Return a row's record type: the client's choice, else by the address, the table's name or the columns."""
    query = webhook.request.query
    words = (change.name, query_parameter(query, "object"), query_parameter(query, "event"))
    return (
        chosen_kind(webhook, change.table)
        or chosen_kind(webhook, change.name or None)
        or next(filter(None, (_noun_in(word or "") for word in reversed(words))), None)
        or _by_columns(row, webhook)
    )


def _noun_in(name: str) -> str | None:
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    return next((kind for kind, nouns in NOUNS.items() if not words.isdisjoint(nouns)), None)


def _by_columns(row: Body, webhook: ParsedWebhook) -> str | None:
    mapped = webhook.settings.fields
    usual = {USUAL.get(usual_column(name)) for name in row} | {_MAPPED.get(name) for name, column in mapped.items() if column in row}
    return CONTACT if "email" in usual else COMPANY if "website" in usual else None


def _company_table(webhook: ParsedWebhook) -> str:
    """Return the object type of the client's only table of companies; nothing if there are several or none is declared."""
    tables = [table for table, kind in webhook.settings.objects.items() if kind == COMPANY]
    return _ROW + tables[0] if len(tables) == 1 else ""


@lru_cache(maxsize=1_000)
def _with_employer(companies: str) -> RecordShape:
    return replace(SHAPES[CONTACT], employer=("company_row_id",), employer_type=companies)
