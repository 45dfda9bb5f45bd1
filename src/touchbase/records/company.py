"""A company: an organisation known by its domain."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.history.last_writer_wins import Stamps
from touchbase.records.custom_field import CustomField


@dataclass(slots=True)
class Company:
    """One company as the store keeps it; `domain` is stored and answered in its normal form."""

    client: int
    id: int
    created_us: Micros
    updated_us: Micros
    domain: str
    name: str | None = None
    from_api: bool = True
    initial_status: str | None = None
    status: str | None = None
    previous_status: str | None = None
    status_changed_us: Micros | None = None
    status_entry_us: Micros | None = None
    status_entry_key: str | None = None
    status_cause: str | None = None
    stamps: Stamps = field(default_factory=dict)
    custom_fields: list[CustomField] = field(default_factory=list)
