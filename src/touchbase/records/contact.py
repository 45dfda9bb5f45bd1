"""A contact: one person that a client mails, and what has happened with them."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.history.last_writer_wins import Stamps
from touchbase.records.custom_field import CustomField


@dataclass(slots=True)
class Contact:
    """One contact as the store keeps it.

    Text is as the client gave it; `email_key` and `linkedin_key` are the normal forms that match.
    The fields from `status` down to `last_reply_us` are derived: folded from the record's history
    (`records/projection.py`), never set by hand.
    """

    client: int
    id: int
    created_us: Micros
    updated_us: Micros
    email: str | None = None
    email_key: str | None = None
    linkedin_url: str | None = None
    linkedin_key: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    company_id: int | None = None
    origin: str | None = None
    from_api: bool = True
    """Created through the API or an import, not by an event: never merged away."""
    initial_status: str | None = None
    """The status given at creation: the entry of the status history at `created_us`."""
    status: str | None = None
    previous_status: str | None = None
    status_changed_us: Micros | None = None
    status_entry_us: Micros | None = None
    """Time and key of the newest status entry folded so far: an older entry means folding anew."""
    status_entry_key: str | None = None
    status_cause: str | None = None
    """What kind of entry set the present status (`history/status.py`)."""
    first_sent_us: Micros | None = None
    last_sent_us: Micros | None = None
    last_reply_us: Micros | None = None
    stamps: Stamps = field(default_factory=dict)
    custom_fields: list[CustomField] = field(default_factory=list)
