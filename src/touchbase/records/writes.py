"""Writes of contacts and companies: creations, updates and upserts, as `records/operations.py` executes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from touchbase.common.frames import packs_by_position
from touchbase.common.timestamps import Micros
from touchbase.common.unique_ids import UniqueIds
from touchbase.errors import PreconditionFailed
from touchbase.history.events import NO_AUTHOR, VIA_API, Author, Detail, StoredEvent
from touchbase.history.last_writer_wins import API_KEY
from touchbase.history.status_words import PLAIN, StatusWords
from touchbase.records.models import Company, Contact, Record
from touchbase.records.record_type import RECORD_TYPES
from touchbase.sql.operation import T_co

R = TypeVar("R", Contact, Company)

CHANGED = "the record has changed since you read it; read it again and repeat the change"
_serials = UniqueIds()


def new_write_key() -> str:
    """Return a key unique among all writes of all processes: it orders writes of equal time in a record's history."""
    process, number = _serials.next()
    return f"{API_KEY}{process}:{number:06x}"  # of one width: keys are compared as texts


def request_entry(kind: int, record_id: int, what: str, at: Micros, key: str, by: Author) -> StoredEvent:
    """Return the entry of a request in a record's history that sets no value: `deleted`, `merged` and the like."""
    detail: Detail = {"by": by} if any(by) else {}
    return StoredEvent(
        record_kind=kind, record_id=record_id, occurred_us=at, key=key, event=f"{RECORD_TYPES[kind].name}.{what}", effect="", status=None,
        tool="api", channel="api", campaign=None, delivery_id=None, received_us=at, via=VIA_API, detail=detail,
    )  # fmt: skip


def changed_since(record: Record, updated_us: Micros | None) -> PreconditionFailed | None:
    """Return the error of a write that expects another state of the record; None if it expects this one, or any."""
    if updated_us is None or updated_us == record.updated_us:
        return None
    return PreconditionFailed(CHANGED)


@dataclass(slots=True)
class Created(Generic[T_co]):
    """A record, and whether it is new (else it existed and was returned or updated)."""

    record: T_co
    is_new: bool


@packs_by_position
@dataclass(slots=True)
class Creation(Generic[R]):
    """A new record; the store assigns `record.id`."""

    record: R
    custom: list[tuple[str, str]] = field(default_factory=list)
    on_duplicate: str = "error"
    by: Author = NO_AUTHOR
    guarded: bool = False
    """The client has erasures: `PersonErased` when this person is one of them."""
    restore: bool = False
    """With `guarded`: store an erased person again and lift the erasure."""
    opts_out: bool = False
    """The status opts out: the contact is put on the client's do-not-contact list in the same transaction."""

    @property
    def client(self) -> int:
        """The client's number."""
        return self.record.client


@dataclass(slots=True)
class RecordUpdate(Generic[R]):
    """Changes of one record; a field set to None is unset.

    `changes` holds columns of the record (fields with the columns of their normal forms, and `status`). `custom` holds
    custom fields by name; None removes one; `clear_custom` first removes all.
    """

    client: int
    id: int
    changes: dict[str, str | int | None]
    custom: dict[str, str | None]
    at: Micros
    key: str
    clear_custom: bool = False
    if_updated_us: Micros | None = None
    transitions: dict[str, list[str]] | None = None
    """Where the client has declared them: status -> the statuses that may follow."""
    creates: bool = False
    """A creation that met an existing record: the result is as if the creation had come first."""
    by: Author = NO_AUTHOR
    words: StatusWords = PLAIN
    """The names of the client's statuses."""
    guarded: bool = False
    """The client has erasures: `PersonErased` when a new address belongs to one of them."""
    restore: bool = False
    """As in `Creation`."""
    by_key: bool = False
    """The record was found by one of its keys: a key among `changes` that it has as a further one does not become its first."""
    is_person: bool = False
    """With `by_key`: the caller has compared the record's keys with the write's (`records/sql/same_person.py`)."""
    further: dict[str, str] | None = None
    """Of a contact, the further e-mail addresses by their normal forms; None: they stay."""
    adds: bool = False
    """Further addresses join the present ones, as in a creation that met an existing contact; else they replace them."""


@dataclass(slots=True)
class RecordUpsert(Generic[R]):
    """The change of a record that has a key of the new one, or else its creation.

    `match` is the column of the key that decides; None: any of them, the first one that a record has.
    """

    create: Creation[R]
    update: RecordUpdate[R]
    """The change of a record that exists; its `id` is set when the record is read."""
    match: str | None

    @property
    def client(self) -> int:
        """The client's number."""
        return self.create.record.client


def record_of(outcome: object) -> Record | None:
    """Return the record in the result of a write; None for an error."""
    record = outcome.record if isinstance(outcome, Created) else outcome
    return record if isinstance(record, Contact | Company) else None
