"""Commands that change custom fields of a client, and queries about their use."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.custom_fields.changes import FieldChange
from touchbase.history.events import Author
from touchbase.sql.operation import Command, Query


@dataclass(frozen=True, slots=True)
class FieldUse:
    """How records use a field: how many have a value, since when, and when one last changed."""

    records: int
    first_us: Micros
    last_us: Micros


@dataclass(frozen=True, slots=True)
class FieldValue:
    """The value of one record, and that of the field into which it may be merged."""

    record_id: int
    value: str | None
    other: str | None


@dataclass(slots=True)
class ReadValues(Query[list[FieldValue]]):
    """Values that a change concerns, in the order of the records' ids, from the one after `after`.

    `with_removed` adds fields that a write removed: a renaming takes the removal along, so that no older write undoes it.
    """

    client: int
    kind: int
    what: FieldChange
    limit: int
    after: int = 0
    with_removed: bool = False


@dataclass(slots=True)
class CountValues(Query[int]):
    """How many records have a value that a change concerns."""

    client: int
    kind: int
    what: FieldChange


@dataclass(slots=True)
class ChangePage(Command[int]):
    """Carry out a change on these records; return how many show other values than before."""

    client: int
    kind: int
    what: FieldChange
    numbers: list[int]
    key: str
    at: Micros
    by: Author
