"""Record types: nothing that one of their fields needs can be forgotten when a field is added."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from touchbase.common.timestamps import SECOND
from touchbase.history.identity_links import Links
from touchbase.history.last_writer_wins import DELIBERATE
from touchbase.identity.resolution import Resolver
from touchbase.records.models import Company, Contact, Record
from touchbase.records.primary_keys import shown_values
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql import rows

NOON = 1_790_000_000 * SECOND
FIELDS = [(kind, field.name) for kind, record_type in RECORD_TYPES.items() for field in record_type.fields]
UNSHOWN = {
    "client", "id", "created_us", "updated_us", "email_key", "linkedin_key", "from_api", "initial_status", "status_entry_us",
    "status_entry_key", "status_cause", "status_path", "stamps", "custom_fields", "suppressed",
}  # fmt: skip
"""Columns that responses do not show, besides the id, the time of the change, and the custom fields."""
RECORDS: list[Record] = [Contact(1, 1, NOON, NOON), Company(1, 1, NOON, NOON, "a.example")]
SHOWN = [(record, item.name) for record in RECORDS for item in fields(record) if item.name not in UNSHOWN]


def record_of(kind: int, number: int, **values: object) -> Record:
    """Return a record that events have created."""
    required = {"domain": f"{number}.example"} if "domain" in {field.name for field in RECORD_TYPES[kind].fields} else {}
    record: Record = RECORD_TYPES[kind].model(1, number, NOON, NOON, **required | values, from_api=False)
    return record


def changed(record: Record, name: str) -> Record:
    values: dict[str, Any] = {name: 99}
    return replace(record, **values)


@pytest.mark.parametrize(("kind", "name"), FIELDS)
def test_merge__takes_over_the_later_value_of_each_field(kind: int, name: str) -> None:
    """The value that is lost with the absorbed record would be lost silently."""
    value: object = 7 if name.endswith("_id") else "later.example"
    key = next(field.key for field in RECORD_TYPES[kind].fields if field.name == name)
    survivor, absorbed = record_of(kind, 1), record_of(kind, 2, **{name: value, **({key: value} if key else {})})
    absorbed.stamps[name] = (DELIBERATE, NOON + 1, "k")
    ids = iter(range(3, 99))
    resolver = Resolver(1, kind, lambda: next(ids), Links(kind, lambda: next(ids)), True)
    resolver.by_id |= {1: survivor, 2: absorbed}

    merged = resolver.unite(survivor, absorbed)

    assert merged is survivor
    assert getattr(merged, name) == value
    assert merged.stamps[name] == (DELIBERATE, NOON + 1, "k")


@pytest.mark.parametrize(("kind", "name"), FIELDS)
def test_merge__leaves_a_later_value_of_the_survivor(kind: int, name: str) -> None:
    value: object = 7 if name.endswith("_id") else "later.example"
    survivor, absorbed = record_of(kind, 1, **{name: value}), record_of(kind, 2)
    survivor.stamps[name] = (DELIBERATE, NOON + 1, "k")
    ids = iter(range(3, 99))
    resolver = Resolver(1, kind, lambda: next(ids), Links(kind, lambda: next(ids)), True)
    resolver.by_id |= {1: survivor, 2: absorbed}

    assert getattr(resolver.unite(survivor, absorbed), name) == value


@pytest.mark.parametrize(("record", "name"), SHOWN, ids=str)
def test_shown_values__differ_by_each_column_that_responses_show(record: Record, name: str) -> None:
    """A change of a column that is left out would not change `updated_time`, and the next synchronisation would miss it."""
    assert shown_values(changed(record, name)) != shown_values(record)


@pytest.mark.parametrize("name", sorted(UNSHOWN))
def test_shown_values__are_equal_where_only_other_columns_differ(name: str) -> None:
    assert shown_values(changed(Contact(1, 1, NOON, NOON), name)) == shown_values(Contact(1, 1, NOON, NOON))


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_rows__have_every_column_and_give_the_same_record_back(record: Record) -> None:
    filled = replace(record, stamps={"name": (DELIBERATE, NOON, "k")})
    for number, item in enumerate(fields(record)):
        if item.name not in ("stamps", "custom_fields"):
            setattr(filled, item.name, f"{number}" if "str" in str(item.type) else number % 2 == 0 if item.type == "bool" else number)

    if isinstance(filled, Contact):
        assert rows.contact_of(rows.contact_row(filled)) == filled
    else:
        assert rows.company_of(rows.company_row(filled)) == filled
