"""Marks the results of writes of contacts and companies that must not be contacted, in the same transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.models import Addresses
from touchbase.do_not_contact.sql.lookup import Item, Listed, listed_kinds, suppressed_items
from touchbase.do_not_contact.sql.statements import DOMAIN_OF_COMPANY
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan

Run = Callable[[Any, Ids], Plan[list[object]]]
RecordOf = Callable[[object], "MarkedRecord | None"]
TimeOf = Callable[[Any], Micros]


class MarkedRecord(Protocol):
    """A contact or company."""

    client: int
    suppressed: str | None
    """Set to the reason, if it must not be contacted."""


def marking(run: Run, record_of: RecordOf, time_of: TimeOf) -> Run:
    """Return the plan, with the reason why it must not be contacted set on each record that it returns.

    `record_of` returns the record in a result, None for other results; `time_of` the time of a command.
    """

    def marked(commands: Sequence[Any], ids: Ids) -> Plan[list[object]]:
        results = yield from run(commands, ids)
        records = [record for result in results if (record := record_of(result)) is not None]
        if records:
            yield from mark_records(records, max(map(time_of, commands)))
        return results

    return marked


def mark_records(records: Sequence[MarkedRecord], now: Micros) -> Plan[None]:
    """Set `suppressed` on these records."""
    listed = yield from listed_kinds(record.client for record in records)
    if not any(each.any for each in listed.values()):
        return
    domains = yield from _company_domains(records, listed)
    items = [_item(record, domains) for record in records]
    for record, found in zip(records, (yield from suppressed_items(items, listed, now)), strict=True):
        record.suppressed = None if found is None else found.reason


def _company_domains(records: Sequence[MarkedRecord], listed: dict[int, Listed]) -> Plan[dict[tuple[int, int], str]]:
    """Return the domains of the contacts' companies, where entries of domains exist."""
    keys = {
        (record.client, company)
        for record in records
        if listed[record.client].has_domains and (company := getattr(record, "company_id", None)) is not None
    }
    rows = (yield Execute(DOMAIN_OF_COMPANY, sorted(keys))) if keys else []
    return {(row[0], row[1]): row[2] for row in rows}


def _item(record: MarkedRecord, domains: dict[tuple[int, int], str]) -> Item:
    own: str | None = getattr(record, "domain", None)
    company = domains.get((record.client, getattr(record, "company_id", None) or 0))
    return (record.client, Addresses(getattr(record, "email_key", None), getattr(record, "linkedin_key", None), own or company))
