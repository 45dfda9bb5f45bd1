"""Commands that write contacts and companies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic

from touchbase.common.timestamps import Micros
from touchbase.history.author import NO_AUTHOR, Author
from touchbase.records.company import Company
from touchbase.records.contact import Contact
from touchbase.sql.command import Command, T_co


@dataclass(slots=True)
class Created(Generic[T_co]):
    """A record, and whether it was made now (else it existed and was returned or updated)."""

    record: T_co
    is_new: bool


@dataclass(slots=True)
class CreateContact(Command[Created[Contact]]):
    """Store a new contact; `contact.id` is given by the store.

    `Conflict` when its e-mail or LinkedIn key belongs to another contact, unless `on_duplicate` is
    "return": that answers the other contact. (Merging into it is an `UpdateContact`, for the service to
    send.) `Invalid` when `company_id` is none of this client's.
    """

    contact: Contact
    custom: list[tuple[str, str]] = field(default_factory=list)
    on_duplicate: str = "error"
    guarded: bool = False
    """Its client has erased somebody: `PersonErased` when it is this person."""
    restore: bool = False
    """With `guarded`: an erased person comes back, and their erasure is lifted."""
    by: Author = NO_AUTHOR

    @property
    def client(self) -> int:
        """The client's number."""
        return self.contact.client


@dataclass(slots=True)
class CreateCompany(Command[Created[Company]]):
    """Store a new company; the same promises as `CreateContact`, with the domain as identity."""

    company: Company
    custom: list[tuple[str, str]] = field(default_factory=list)
    on_duplicate: str = "error"
    by: Author = NO_AUTHOR

    @property
    def client(self) -> int:
        """The client's number."""
        return self.company.client


@dataclass(slots=True)
class UpdateContact(Command[Contact]):
    """Change fields of one contact; a field set to None is unset.

    `changes` holds columns of `Contact` (email with email_key, linkedin_url with linkedin_key,
    first_name, last_name, company_id, origin, status). `custom` holds custom fields by name; None
    takes one away; `clear_custom` first takes all away. `NotFound`, `Conflict`, `Invalid` (company_id,
    a transition that is not allowed), `PreconditionFailed` (`if_updated_us` is not the record's `updated_us`).
    It is an entry at `at` (after the last write where our clock was put back), also where it changes nothing; a later entry's value stays.
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
    """Where the client has declared them: status -> those that may follow."""
    guarded: bool = False
    """Its client has erased somebody: `PersonErased` when the new address is theirs."""
    restore: bool = False
    """As in `CreateContact`."""
    creates: bool = False
    """It is a creation that met an existing record: then that is as if the creation had come first."""
    by: Author = NO_AUTHOR


@dataclass(slots=True)
class UpdateCompany(Command[Company]):
    """Change fields of one company (domain, name, status); the same promises as `UpdateContact`."""

    client: int
    id: int
    changes: dict[str, str | int | None]
    custom: dict[str, str | None]
    at: Micros
    key: str
    clear_custom: bool = False
    if_updated_us: Micros | None = None
    transitions: dict[str, list[str]] | None = None
    creates: bool = False
    by: Author = NO_AUTHOR
