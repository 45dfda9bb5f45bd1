"""Commands that write contacts and companies, and queries that read them and their histories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from touchbase.common.frames import packs_by_position
from touchbase.common.timestamps import Micros
from touchbase.common.unique_ids import UniqueIds
from touchbase.errors import PreconditionFailed
from touchbase.history.events import NO_AUTHOR, Author
from touchbase.history.last_writer_wins import API_KEY
from touchbase.history.status_words import PLAIN, StatusWords
from touchbase.records.models import Company, Contact, Record
from touchbase.sql.operation import Command, Query, T_co

R = TypeVar("R", Contact, Company)

CHANGED = "the record has changed since you read it; read it again and repeat the change"
_serials = UniqueIds()


def new_write_key() -> str:
    """Return a key unique among all writes of all processes: it orders writes of equal time in a record's history."""
    process, number = _serials.next()
    return f"{API_KEY}{process}:{number:x}"


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


@dataclass(slots=True)
class CreateRecord(Command[Created[R]], Generic[R]):
    """Store a new record; the store assigns `record.id`.

    `Conflict` when its e-mail, LinkedIn key or domain belongs to another record, unless `on_duplicate` is
    "return": then the result is the other record. (Merging into it is an `UpdateRecord`, which the service
    sends.) `Invalid` when `company_id` is not a company of this client.
    """

    record: R
    custom: list[tuple[str, str]] = field(default_factory=list)
    on_duplicate: str = "error"
    by: Author = NO_AUTHOR

    @property
    def client(self) -> int:
        """The client's number."""
        return self.record.client


@packs_by_position
@dataclass(slots=True)
class CreateContact(CreateRecord[Contact]):
    """Store a new contact."""

    guarded: bool = False
    """The client has erasures: `PersonErased` when this person is one of them."""
    restore: bool = False
    """With `guarded`: store an erased person again and lift the erasure."""


@packs_by_position
@dataclass(slots=True)
class CreateCompany(CreateRecord[Company]):
    """Store a new company."""


@dataclass(slots=True)
class UpdateRecord(Command[R], Generic[R]):
    """Change fields of one record; a field set to None is unset.

    `changes` holds columns of the record (fields with the columns of their normal forms, and `status`). `custom` holds
    custom fields by name; None removes one; `clear_custom` first removes all. `NotFound`, `Conflict`, `Invalid`
    (company_id, a transition that is not allowed), `PreconditionFailed` (`if_updated_us` is not the record's `updated_us`).
    It is an entry of the history at `at` (after the record's last write when the clock was put back), even if it changes
    nothing; a value of a later entry stays.
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


@dataclass(slots=True)
class UpdateContact(UpdateRecord[Contact]):
    """Change fields of one contact."""

    guarded: bool = False
    """The client has erasures: `PersonErased` when a new address belongs to one of them."""
    restore: bool = False
    """As in `CreateContact`."""


@dataclass(slots=True)
class UpdateCompany(UpdateRecord[Company]):
    """Change fields of one company."""


@dataclass(slots=True)
class UpsertRecord(Command[Created[R]], Generic[R]):
    """Change the record that has a key of the new one, or create it, as one step.

    `match` is the column of the key that decides; None: any of them, the first one that is known. The result says whether the
    record is new. Errors are those of the creation and of the change; `Conflict` if another key belongs to another record.
    """

    create: CreateRecord[R]
    update: UpdateRecord[R]
    """The change of a record that exists; its `id` is set when the record is known."""
    match: str | None

    @property
    def client(self) -> int:
        """The client's number."""
        return self.create.client


@dataclass(slots=True)
class UpsertContact(UpsertRecord[Contact]):
    """Change or create a contact."""


@dataclass(slots=True)
class UpsertCompany(UpsertRecord[Company]):
    """Change or create a company."""


@dataclass(slots=True)
class GetRecord(Query[R | None], Generic[R]):
    """One record of one client, with its custom fields."""

    client: int
    id: int


@dataclass(slots=True)
class GetContact(GetRecord[Contact]):
    """One contact."""


@dataclass(slots=True)
class GetCompany(GetRecord[Company]):
    """One company."""


@dataclass(slots=True)
class ListRecords(Query[list[R]], Generic[R]):
    """Records in order of (created_us, id), newest last, or of (updated_us, id) when `updated_since_us` is given.

    `after` is the same pair of the last record of the previous page. Further members are filters: columns that must
    have the given value. None: no filter.
    """

    client: int
    limit: int
    after: tuple[Micros, int] | None = None
    updated_since_us: Micros | None = None
    page_bytes: int = 0
    """Bytes of custom fields after which the page ends, as a `Cut`; 0: no limit."""

    def filters(self) -> Iterator[tuple[str, object]]:
        """Yield the filters: column and value, or None."""
        return ((name, getattr(self, name)) for name in self.__match_args__[_PAGE_MEMBERS:])


_PAGE_MEMBERS = len(ListRecords.__match_args__)
"""The members of a query that are no filters; they come first."""


@dataclass(slots=True)
class ListContacts(ListRecords[Contact]):
    """Contacts; `email_key` and `linkedin_key` are normal forms."""

    email_key: str | None = None
    linkedin_key: str | None = None
    status: str | None = None
    company_id: int | None = None
    external_id: str | None = None


@dataclass(slots=True)
class ListCompanies(ListRecords[Company]):
    """Companies."""

    domain: str | None = None
    status: str | None = None
    external_id: str | None = None
