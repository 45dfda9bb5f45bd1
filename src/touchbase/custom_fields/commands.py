"""Commands that change custom fields of a client, and queries about their use."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros


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
