"""Commands and queries of the bin."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.history.events import NO_AUTHOR, Author
from touchbase.records.models import Company, Contact
from touchbase.sql.operation import Command


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
