"""Comparison of their records with the store, field by field."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from touchbase.common.timestamps import to_text
from touchbase.imports.rows import ValidRow
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.lookup import match_records
from touchbase.revyops_import.models import Difference, ListName
from touchbase.revyops_import.their_records import TheirRecord
from touchbase.sql.store import Store

_COLUMNS: dict[ListName, tuple[str, ...]] = {"contacts": ("email_key", "linkedin_key"), "companies": ("domain",)}
_DATES = {"first_campaign_email_sent": "first_sent_us", "last_campaign_email_sent": "last_sent_us", "last_reply_received": "last_reply_us"}
Pair = tuple[TheirRecord, ValidRow]


async def differences(store: Store, client: int, name: ListName, pairs: Sequence[Pair]) -> list[list[Difference]]:
    """Return the differences of each record: one without a field if it is not in the store. Blank values of theirs are not compared."""
    keys = [[(column, key) for column in _COLUMNS[name] if (key := getattr(row.command.record, column))] for _, row in pairs]
    kind: Any = CONTACT_TYPE if name == "contacts" else COMPANY_TYPE
    found = await store.read(match_records(client, kind.kind, sorted({key for each in keys for key in each})))
    matches = [next((found[key] for key in each if key in found), None) for each in keys]
    ids = sorted({match.id for match in matches if match is not None})
    records = dict(zip(ids, await asyncio.gather(*[store.read(kind.get(client, number)) for number in ids]), strict=True))
    made: list[list[Difference]] = []
    for (theirs, row), match in zip(pairs, matches, strict=True):
        stored = None if match is None else records[match.id]
        if match is None or stored is None:
            made.append([Difference(theirs.client, name, theirs.id, None, theirs.key, "", "", "")])
            continue
        compared = _compared(row, stored, match.company_domain, kind)
        differing = [each for each in compared if each[1] != each[2]]
        made.append([Difference(theirs.client, name, theirs.id, match.id, theirs.key, *each) for each in differing])
    return made


def _compared(row: ValidRow, stored: Any, domain: str | None, kind: Any) -> Iterator[tuple[str, str, str]]:
    """Yield each field that their record has, its value and the one in the store."""
    record: Any = row.command.record
    for each in kind.fields:
        value = getattr(record, each.name)
        if value is not None and each.name != "company_id":
            yield each.name, str(value), str(getattr(stored, each.name) or "")
    if record.status is not None:
        yield kind.status, record.status, stored.status or ""
    for name, at in row.dates.items():
        here = getattr(stored, _DATES[name])
        yield name, to_text(at), "" if here is None else to_text(here)
    if row.company is not None:
        yield "company.domain", row.company.record.domain, domain or ""
    present = {one.name: one.value for one in stored.custom_fields}
    for name, value in row.command.custom:
        yield f"cf.{name}", value, present.get(name) or ""
