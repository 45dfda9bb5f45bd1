"""Custom fields: a user-defined name and value on a record, with an id and a time of its own."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros


@dataclass(slots=True)
class CustomField:
    """One custom field of one record.

    `value` is None once the field was taken away: the row stays, so that a late, older event cannot
    bring the value back; such a field is never answered. `priority`, `stamped_us` and `stamp_key` are
    the field's stamp (`history/last_writer_wins.py`).
    """

    id: int
    name: str
    value: str | None
    updated_us: Micros
    priority: int = 1
    stamped_us: Micros = 0
    stamp_key: str = ""
    created_us: Micros = 0
    """When the record got the field; fields are answered in this order, those of one write in the order of ids."""
