"""Contacts, companies and their custom fields, as the store holds them.

The fields of a dataclass up to `stamps` are the columns of its table, in the same order (`records/sql/rows.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.common.frames import packs_by_position
from touchbase.common.timestamps import Micros
from touchbase.history.last_writer_wins import Stamp, Stamps


@dataclass(slots=True)
class CustomField:
    """A user-defined name and value on one record, with an id and timestamps.

    `priority`, `stamped_us` and `stamp_key` are the field's stamp (`history/last_writer_wins.py`).
    """

    id: int
    name: str
    value: str | None
    """None once the field was removed: the row stays as a tombstone, so that a late, older event cannot restore the value.
    Responses leave such a field out."""
    updated_us: Micros
    priority: int = 1
    stamped_us: Micros = 0
    stamp_key: str = ""
    created_us: Micros = 0
    """When the record got the field; responses list fields in this order, then by id."""

    @property
    def stamp(self) -> Stamp:
        """Decides which write of the value wins."""
        return self.priority, self.stamped_us, self.stamp_key


@packs_by_position
@dataclass(slots=True)
class Contact:
    """One person that a client mails, with status and dates of mails.

    Text is as the client sent it; `email_key` and `linkedin_key` are the normal forms that match.
    The fields from `status` to `last_reply_us` are derived: a projection of the record's history
    (`records/projection.py`), never set directly.
    """

    client: int
    id: int
    created_us: Micros
    updated_us: Micros
    email: str | None = None
    email_key: str | None = None
    further_emails: str | None = None
    """JSON list of the person's further addresses, sorted, in the form in which they came (`records/sql/address_book.py`)."""
    linkedin_url: str | None = None
    linkedin_key: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    company_id: int | None = None
    origin: str | None = None
    external_id: str | None = None
    """The caller's own id, unique within the client; other text than an address, it identifies no person to webhooks."""
    owner_id: str | None = None
    """The user who looks after it; requests may name one by an e-mail address, until the edge has found the id."""
    from_api: bool = True
    """Created through the API or an import, not by an event: never merged into another record."""
    initial_status: str | None = None
    """The status given at creation: the entry of the status history at `created_us`."""
    status: str | None = None
    previous_status: str | None = None
    status_changed_us: Micros | None = None
    status_entry_us: Micros | None = None
    """Time and key of the newest status entry folded so far: an older entry requires a new fold of the whole history."""
    status_entry_key: str | None = None
    status_cause: str | None = None
    """Effect of the entry that set the present status (`history/status.py`)."""
    status_path: str | None = None
    """JSON: every status that it has had, by the time at which it got it. Reports read it (`history/status.py`)."""
    first_sent_us: Micros | None = None
    last_sent_us: Micros | None = None
    last_reply_us: Micros | None = None
    stamps: Stamps = field(default_factory=dict)
    custom_fields: list[CustomField] = field(default_factory=list)
    suppressed: str | None = field(default=None, compare=False)
    """After a write: why it must not be contacted (`do_not_contact`); no column."""


@packs_by_position
@dataclass(slots=True)
class Company:
    """An organisation identified by its domain, in normal form; blank for one of which only the name is known (imports)."""

    client: int
    id: int
    created_us: Micros
    updated_us: Micros
    domain: str
    name: str | None = None
    external_id: str | None = None
    """As in `Contact`."""
    owner_id: str | None = None
    """As in `Contact`."""
    from_api: bool = True
    initial_status: str | None = None
    status: str | None = None
    previous_status: str | None = None
    status_changed_us: Micros | None = None
    status_entry_us: Micros | None = None
    status_entry_key: str | None = None
    status_cause: str | None = None
    status_path: str | None = None
    stamps: Stamps = field(default_factory=dict)
    custom_fields: list[CustomField] = field(default_factory=list)
    suppressed: str | None = field(default=None, compare=False)
    """After a write: why it must not be contacted (`do_not_contact`); no column."""


Record = Contact | Company
