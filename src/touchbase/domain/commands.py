"""Commands: everything that writes. A list of commands goes in, one transaction, a list of results comes out.

Commands carry values that are already checked and normalised (`service/`). Each names its client by
number. The result type stands in the class: `Command[Contact]` answers a `Contact` or one of the errors
named in its docstring.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from touchbase.domain.author import NO_AUTHOR, Author
from touchbase.domain.client import BY_CALL, Client, ClientSettings
from touchbase.domain.company import Company
from touchbase.domain.connection import Connection, ConnectionSettings
from touchbase.domain.contact import Contact
from touchbase.domain.fetching import Claimed, Wanted
from touchbase.domain.once import KeptAnswer, RequestKey
from touchbase.domain.times import Micros

T = TypeVar("T")
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


@dataclass(slots=True)
class Kept:
    """A delivery is on disk: its id, and whether it is a repeat of one we had."""

    id: int
    is_repeat: bool


@dataclass(slots=True)
class KeepDelivery(Command[Kept]):
    """Keep one webhook call byte for byte. The same `key` within `REPEAT_WINDOW` is the same delivery, later it is another one."""

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
class ForgetCalls(Command[int]):
    """Recognise calls of these keys no longer, if they were received before `before_us`; answers how many were. Deliveries stay."""

    client: int
    keys: list[bytes]
    before_us: Micros


@dataclass(slots=True)
class CountRepeat(Command[None]):
    """Note that a delivery arrived again."""

    client: int
    id: int


@dataclass(slots=True)
class ReplayDeliveries(Command[int]):
    """Put deliveries back to `received`, with no attempts, waiting since now; answers how many were."""

    client: int
    ids: list[int]
    at: Micros


@dataclass(slots=True)
class ReplayMany(Command[int]):
    """Put deliveries (client and id) back as `ReplayDeliveries` does, all of them or none; answers how many were."""

    deliveries: list[tuple[int, int]]
    at: Micros


@dataclass(slots=True)
class EnsureClient(Command[Client]):
    """The client of this `client_id`, made now if there is none.

    A former id answers its client while it is honoured, and is `NotFound` afterwards: it stays that client's. With `first_use`, a
    client that is not there is `NotFound` too where an administrator has made any: then an unknown id is a mistyped one.
    """

    client_id: str
    at: Micros
    made_by: str = BY_CALL
    first_use: bool = False


@dataclass(slots=True)
class SetClientSettings(Command[Client]):
    """Replace a client's settings. `NotFound`, and `Forbidden` when the client itself wants other limits than it has."""

    client_id: str
    settings: ClientSettings
    keep_limits: bool = False
    """The client itself decides: its limits stay as they are in the store."""


@dataclass(slots=True)
class AddConnection(Command[Connection]):
    """Connect a tool. `Conflict` when the client has connected it on that channel already."""

    connection: Connection


@dataclass(slots=True)
class ChangeConnection(Command[Connection]):
    """Replace a connection's settings, and its secrets and access token unless they are None. `NotFound`.

    A change lets a worker that had stopped asking the tool try again; a new token also asks once more for
    what was not found.
    """

    client: int
    channel: str
    tool: str
    secrets: list[str] | None = field(repr=False)
    settings: ConnectionSettings
    at: Micros
    access_token: str | None = field(default=None, repr=False)
    """Empty: take it away."""
    known: Connection | None = field(default=None, repr=False)
    """The connection as it was when the change was made up; `PreconditionFailed` if it has changed since. None: whatever it is now."""


@dataclass(slots=True)
class RemoveConnection(Command[None]):
    """Disconnect a tool; what it has sent stays. `NotFound`."""

    client: int
    channel: str
    tool: str


@dataclass(slots=True)
class ClaimFetch(Command[Claimed | None]):
    """Become the one worker that asks a client's tool for records, until `until_us` at the latest.

    Answers which records are wanted now, those that events wait for first; None when another worker asks,
    or when nobody may before a later time.
    """

    client: int
    tool: str
    now_us: Micros
    until_us: Micros
    limit: int


@dataclass(slots=True)
class FinishFetch(Command[bool]):
    """Say how asking went and give up the claim that ends at `until_us`.

    What came (`done`) is wanted no more, unless it was wanted anew meanwhile; what is `noted` is not asked for
    again until a call is about it; `again` holds what to ask for at a later time. Answers False when the
    claim had ended before: then another worker may ask already, and its times stay.
    """

    client: int
    tool: str
    until_us: Micros
    next_us: Micros
    """Nobody asks before."""
    failures: int = 0
    """Calls in a row that failed."""
    stopped: bool = False
    """Nobody asks until the connection is changed."""
    error: str | None = None
    at: Micros = 0
    fetched_us: Micros | None = None
    done: list[Wanted] = field(default_factory=list)
    noted: list[Wanted] = field(default_factory=list)
    again: list[tuple[Wanted, Micros]] = field(default_factory=list)


@dataclass(slots=True)
class StoreKey(Command[None]):
    """Keep an API key: its id, the SHA-256 of its text, its scopes and its client (None: any).

    `NotFound` when there is no such client, or it is being deleted.
    """

    key_id: str
    digest: bytes
    scopes: list[str]
    client: int | None
    name: str
    at: Micros
    env: str = "live"
    expires_us: Micros | None = None


@dataclass(slots=True)
class Once(Command[T | KeptAnswer], Generic[T]):
    """Carry out another command and keep the answer to it, in one transaction, unless that was done for this key.

    Then it changes nothing and answers what was kept; `KeyReused` when that belongs to another request.
    """

    request: RequestKey
    command: Command[T] | None
    """None only keeps an answer."""
    answer: Callable[[object], KeptAnswer | None]
    """The answer to keep for the command's result or error; None keeps nothing, so the key stays free.

    Called inside the transaction, and again when that is run again: it must be quick and change nothing.
    """

    @property
    def client(self) -> int:
        """The client that the key belongs to."""
        return self.request.client


@dataclass(slots=True)
class ForgetAnswers(Command[int]):
    """Take away those of these kept answers whose time is over by `now_us`; answers how many were."""

    client: int
    keys: list[str]
    now_us: Micros
