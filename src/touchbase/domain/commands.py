"""Commands: everything that writes. A list of commands goes in, one transaction, a list of results comes out.

Commands carry values that are already checked and normalised (`service/`). Each names its client by
number. The result type stands in the class: `Command[Contact]` answers a `Contact` or one of the errors
named in its docstring.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from touchbase.domain.client import Client, ClientSettings
from touchbase.domain.company import Company
from touchbase.domain.connection import Connection, ConnectionSettings
from touchbase.domain.contact import Contact
from touchbase.domain.times import Micros

T_co = TypeVar("T_co", covariant=True)


class Command(Generic[T_co]):
    """Something asked for that writes; `T_co` is what carrying it out answers."""

    __slots__ = ()


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
    """Its client has erased somebody: `ErasedPerson` when it is this person."""
    restore: bool = False
    """With `guarded`: an erased person comes back, and their erasure is lifted."""


@dataclass(slots=True)
class CreateCompany(Command[Created[Company]]):
    """Store a new company; the same promises as `CreateContact`, with the domain as identity."""

    company: Company
    custom: list[tuple[str, str]] = field(default_factory=list)
    on_duplicate: str = "error"


@dataclass(slots=True)
class UpdateContact(Command[Contact]):
    """Change fields of one contact; a field set to None is unset.

    `changes` holds columns of `Contact` (email with email_key, linkedin_url with linkedin_key,
    first_name, last_name, company_id, origin, status). `custom` holds custom fields by name; None
    takes one away; `clear_custom` first takes all away. `NotFound`, `Conflict`, `Invalid` (company_id,
    a transition that is not allowed), `PreconditionFailed` (`if_updated_us` is not the record's `updated_us`).
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
    """Its client has erased somebody: `ErasedPerson` when the new address is theirs."""
    restore: bool = False
    """As in `CreateContact`."""


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


@dataclass(slots=True)
class Kept:
    """A delivery is on disk: its id, and whether it is a repeat of one we had.

    The same bytes long after the first (`REPEAT_WINDOW`) are news, not a repeat: then `keep_as` is the
    key under which to keep them, and nothing was kept yet.
    """

    id: int
    is_repeat: bool
    keep_as: bytes | None = None


@dataclass(slots=True)
class KeepDelivery(Command[Kept]):
    """Keep one webhook call byte for byte. The same `key` within the repeat window is the same delivery."""

    client: int
    channel: str
    key: bytes
    headers: bytes
    """A JSON object of the headers that matter, names in lower case."""
    query: str
    body: bytes
    received_us: Micros
    tool: str | None = None
    """The tool that has proved to send it."""
    verified: bool | None = None


@dataclass(slots=True)
class CountRepeat(Command[None]):
    """Note that a delivery arrived again."""

    client: int
    id: int


@dataclass(slots=True)
class ReplayDeliveries(Command[int]):
    """Put deliveries back to `received`, with no attempts; answers how many were."""

    client: int
    ids: list[int]


@dataclass(slots=True)
class EnsureClient(Command[Client]):
    """The client of this `client_id`, made now if there is none."""

    client_id: str
    at: Micros


@dataclass(slots=True)
class SetClientSettings(Command[Client]):
    """Replace a client's settings. `NotFound`."""

    client_id: str
    settings: ClientSettings


@dataclass(slots=True)
class AddConnection(Command[Connection]):
    """Connect a tool. `Conflict` when the client has connected it on that channel already."""

    connection: Connection


@dataclass(slots=True)
class ChangeConnection(Command[Connection]):
    """Replace a connection's settings, and its secrets unless they are None. `NotFound`."""

    client: int
    channel: str
    tool: str
    secrets: list[str] | None
    settings: ConnectionSettings
    at: Micros


@dataclass(slots=True)
class RemoveConnection(Command[None]):
    """Disconnect a tool; what it has sent stays. `NotFound`."""

    client: int
    channel: str
    tool: str


@dataclass(slots=True)
class StoreKey(Command[None]):
    """Keep an API key: its id, the SHA-256 of its secret, its scopes and its client (None: any)."""

    key_id: str
    digest: bytes
    scopes: list[str]
    client: int | None
    name: str
    at: Micros
