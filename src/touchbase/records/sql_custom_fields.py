"""Loading what belongs to records: their custom fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from touchbase.records import statements as records_sql
from touchbase.records.company import Company
from touchbase.records.contact import Contact
from touchbase.records.rows import custom_field_of
from touchbase.sql.statement import Execute, Plan

R = TypeVar("R", Contact, Company)


def with_custom_fields(kind: int, records: Sequence[R]) -> Plan[list[R]]:
    """The records with all their custom fields, also those that were taken away, in the order in which they came."""
    if records:
        by_record = {(record.client, record.id): record for record in records}
        rows = yield Execute(records_sql.CUSTOM_FIELDS_OF, [(client, kind, number) for client, number in by_record])
        for row in sorted(rows, key=lambda row: (row[10], row[4])):
            by_record[row[0], row[2]].custom_fields.append(custom_field_of(row))
    return list(records)
