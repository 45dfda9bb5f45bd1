"""Commands of merges by request and of the bin."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.history.events import NO_AUTHOR, Author
from touchbase.merging.models import Merge, Policy, Undone
from touchbase.records.models import Company, Contact
from touchbase.sql.operation import Command


@dataclass(slots=True)
class MergeRecords(Command[Merge]):
    """Merge records of one kind into another: values, custom fields, histories, links, and a company's contacts.

    It is an entry of the survivor's history, with the values that the policy chose in place of the last written ones, so that every
    order of webhooks and merges gives the same record. `NotFound` for a record that does not exist; `data["id"]` is its id.
    `PreconditionFailed` if `if_updated_us` is not the survivor's `updated_us`.
    """

    client: int
    kind: int
    id: int
    absorbed: list[int]
    policy: Policy
    at: Micros
    key: str
    """The key of its entry in the history, from `new_write_key`."""
    by: Author = NO_AUTHOR
    if_updated_us: Micros | None = None


@dataclass(slots=True)
class UndoMerge(Command[Undone]):
    """Divide a merged record into the records that were merged.

    Events from before go back to the record that they came from. Of those since, a webhook's event goes to the record whose address, or
    else object, it names; API writes stay with the survivor. `NotFound` when there is no such merge into this record; `WrongState` when
    it was undone or is too old; `Conflict` when another record has an address of one of them now.
    """

    client: int
    kind: int
    id: int
    merge: int
    since_us: Micros
    """Merges before this time cannot be undone."""
    at: Micros
    key: str
    by: Author = NO_AUTHOR


@dataclass(slots=True)
class DeleteRecord(Command[Contact | Company]):
    """Move one record into the bin; the result is the record as it was.

    Its addresses and object ids are free at once. The contacts of a company lose their `company_id`. `NotFound`; `PreconditionFailed` if
    `if_updated_us` is not the record's `updated_us`.
    """

    client: int
    kind: int
    id: int
    at: Micros
    key: str
    """The key of its entry in the history, from `new_write_key`."""
    by: Author = NO_AUTHOR
    if_updated_us: Micros | None = None


@dataclass(slots=True)
class RestoreRecord(Command[Contact | Company]):
    """Take one record out of the bin, and project it again from its whole history.

    `NotFound` when it is not in the bin. `Conflict` with `existing_id` when another record has one of its addresses now. An object id
    or former address that belongs to another record now stays there. `PreconditionFailed` as in `DeleteRecord`.
    """

    client: int
    kind: int
    id: int
    at: Micros
    key: str
    by: Author = NO_AUTHOR
    if_updated_us: Micros | None = None
