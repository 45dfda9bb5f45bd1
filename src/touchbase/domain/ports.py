"""Ports: the sockets that edges plug into. `service` knows these and never an engine or a tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

from touchbase.domain.commands import Command
from touchbase.domain.connection import NO_SETTINGS, Arrival, Connection, ConnectionSettings
from touchbase.domain.delivery import Delivery, WebhookRequest
from touchbase.domain.events import Event, Translation
from touchbase.domain.fetching import ApiAnswer, ApiCall
from touchbase.domain.grants import Grant
from touchbase.domain.links import Ref
from touchbase.domain.packing import packs_by_position
from touchbase.domain.queries import Query
from touchbase.domain.times import Micros

T = TypeVar("T")

Clock = Callable[[], Micros]
"""The present time in microseconds; time enters as a value."""


@dataclass(slots=True)
class WorkReport:
    """What one turn of the inbox did: deliveries by the state they ended in, and records created."""

    taken: int = 0
    ended: dict[str, int] = field(default_factory=dict)
    created: int = 0
    oldest_us: Micros | None = field(default=None, compare=False)
    """When the oldest of them was received: how far the inbox is behind."""
    more: bool = False
    """Whether deliveries of the client are left that the turn could have taken: it ends early after a large one."""
    failing: int = 0
    """Clients whose turns failed, so that what waits for them still waits; the log says why."""
    problems: dict[str, int] = field(default_factory=dict)
    """Deliveries that have a problem now and had not before, by its code."""
    outcomes: dict[tuple[str, str, str], int] = field(default_factory=dict, compare=False)
    """`ended` by channel, tool (empty where none was recognised) and state."""
    applied_since_us: list[Micros] = field(default_factory=list, compare=False)
    """For each delivery that was applied, since when it waited: its receipt, or its replay."""


@dataclass(slots=True)
class Rehearsed:
    """What one delivery would come to if it were applied again."""

    id: int
    was: str
    """Its state now."""
    state: str
    """Its state then."""
    events: int
    """Events that would be its own then."""
    error: str | None


@dataclass(slots=True)
class Rehearsal:
    """What applying deliveries again would change."""

    deliveries: list[Rehearsed] = field(default_factory=list)
    created: int = 0
    """Records that would be made."""
    changed: int = 0
    """Records that would show other values."""
    fields: dict[str, int] = field(default_factory=dict)
    """In how many records each value would be another."""


class TooManyEvents(Exception):
    """More events than are tried out in one transaction."""


Translate = Callable[[Delivery], Translation]
"""Reads one kept delivery; raises `UnrecognisedPayload` when nobody understands it."""


@packs_by_position
@dataclass(slots=True)
class Looked:
    """What came of looking at one delivery in a process apart: what the store's part of that process has made of it, or why nothing."""

    seen: Any = None
    told: set[Ref] | None = None
    """The addresses that stand anywhere in it, if it was looked through for them."""
    why: str | None = None
    for_good: bool = False
    """Whether it need not be tried again: it exceeded its budget."""


@runtime_checkable
class ReadsApart(Protocol):
    """A `Translate` that looks at many deliveries at once, in a process that can be stopped."""

    async def looked(self, deliveries: Sequence[Delivery]) -> list[Looked]:
        """What came of looking at each of these; raises `Overloaded` when no process can be started."""
        ...


class Writes(Protocol):
    """The part of a store that carries out commands."""

    async def write(self, command: Command[T]) -> T:
        """Carry out one command, as `Store.write` does."""
        ...


class Store(Protocol):
    """Where records are kept. Every engine keeps the same promises; `tests/storage` holds them to it."""

    warnings: Sequence[str]
    """What an operator should change about the place where it keeps them, a sentence each; as it was when it was opened."""

    turn_beside_callers: int
    """Deliveries that one turn should take at the most while many callers write: so many hold up no write for long."""

    held_up_by_turn: float
    """Of the commands that come during such a turn, the part that waits until it is over; between 0 and 1."""

    async def write(self, command: Command[T]) -> T:
        """Carry out one command, in a transaction shared with its neighbours; returns after the flush.

        Raises the command's own errors, and `Overloaded` when the queue is full or the engine cannot
        write: then nothing was kept. `OutcomeUnknown` when the engine went away while it committed.
        """
        ...

    async def read(self, query: Query[T]) -> T:
        """Answer a query from what is flushed; sees every write that has returned."""
        ...

    async def work(self, client: int, limit: int, translate: Translate, now_us: Micros) -> WorkReport:
        """Apply up to `limit` waiting deliveries of one client, oldest first, in one transaction.

        Safe beside other workers: a delivery is applied by one of them. One that fails keeps the reason
        and is tried again later; it never harms its neighbours.
        """
        ...

    async def work_on(self, client: int, ids: Sequence[int], translate: Translate, now_us: Micros) -> WorkReport:
        """Apply those of these deliveries that wait, due or not, as `touchbase worker` does, though their client be suspended.

        For an erasure, which cannot wait: what it takes tells of erased people.
        """
        ...

    async def rehearse(self, client: int, ids: Sequence[int], translate: Translate, now_us: Micros) -> Rehearsal:
        """What applying these deliveries of one client again would change; nothing of it is kept.

        Raises what applying them raises, so whoever asks for several may ask for fewer.
        """
        ...

    async def migrate(self) -> list[str]:
        """Bring the schema up to date; answers the names of the migrations that ran."""
        ...

    async def scrub(self, *, whole: bool = False) -> bool:
        """Leave nothing of what was removed beside the records, as far as that is in our hands; False: ask again later.

        What would hold up writers for long is left, unless `whole`.
        """
        ...

    async def check(self) -> None:
        """Raise `Overloaded` unless the store can write now."""
        ...

    async def close(self) -> None:
        """Finish what is queued, then let go of the engine."""
        ...

    @property
    def queue_depth(self) -> int:
        """Commands waiting for a transaction."""
        ...

    @property
    def commands_taken(self) -> int:
        """Commands accepted since the store was opened: by its growth the inbox worker knows how busy callers are."""
        ...


class Sealer(Protocol):
    """Encrypts what must not be read from the store's files, bound to the place where it is kept."""

    @property
    def can_seal(self) -> bool:
        """Whether there is an encryption key to seal with."""
        ...

    def seal(self, text: str, bound_to: Sequence[object]) -> str:
        """The text sealed for this place: table, column, and the row's key. `Invalid`, naming the column, without an encryption key."""
        ...

    def open(self, sealed: str, bound_to: Sequence[object]) -> str:
        """The text that was sealed for this very place; `Overloaded` when it cannot be opened, never an empty text instead."""
        ...

    def current_id(self) -> str:
        """The id of the encryption key that seals; empty when there is none."""
        ...


class Adapter(Protocol):
    """Reads one tool's webhook calls. A folder in `adapters/` holds one.

    It may also say how the tool proves who it is (`proofs`) and what body its protocol demands (`demands`);
    see `adapters/kit/proof.py` and `adapters/__init__.py`.
    """

    tool: str
    """The tool's name in our vocabulary, as in `email_campaign/<tool>/`."""
    channel: str
    signs: frozenset[str]
    """Keys of a body's first object, or header names, of which every call of the tool shows one; empty: always ask."""

    def recognise(self, call: Call) -> int:
        """How sure we are that this call is the tool's: 0 not at all, 100 certain. The surest adapter wins."""
        ...

    def translate(self, call: Call) -> list[Event]:
        """The call's events; an item that cannot be read gives an event `unknown`, never an exception."""
        ...


@dataclass(slots=True)
class Call:
    """A webhook call with its body parsed once: what adapters look at.

    `data` is the parsed body: a dict, a list, or None when it is neither JSON nor a form; `form` says
    that it came as form fields. Header names are lower case.
    """

    request: WebhookRequest
    headers: Mapping[str, str]
    data: object
    form: bool = False
    settings: ConnectionSettings = NO_SETTINGS
    """What the client has decided about the tool that reads it."""
    found: dict[int, tuple[object, list[Any]]] = field(default_factory=dict, compare=False, repr=False)
    """What an adapter has found in a body when it was asked whose it is, by the body's identity, beside that body."""


class Renewal(Protocol):
    """How one tool is asked for an access token with a refresh token. Pure, like a fetcher."""

    def call(self, base: str, grant: Grant) -> tuple[str, ApiCall]:
        """The call that asks for one, and the address that it goes to, for an API at this base address."""
        ...

    def token(self, answer: ApiAnswer) -> str:
        """The access token in an answer. Raises `NotAnswered`, which never quotes the answer."""
        ...


class Fetcher(Protocol):
    """How one tool's API is asked for whole records. Pure: it makes calls and reads answers, and sends nothing."""

    @property
    def base(self) -> str:
        """The usual address of the API."""
        ...

    @property
    def most(self) -> int:
        """Records of one kind in one call."""
        ...

    @property
    def pause_us(self) -> Micros:
        """Time from one call to the next: well below the tool's limit."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of settings without which the API cannot be asked."""
        ...

    @property
    def renewal(self) -> Renewal | None:
        """How it is asked for access tokens; None: a connection has one that lasts."""
        ...

    def call(self, connection: Connection, object_type: str, ids: Sequence[str]) -> ApiCall | None:
        """The call that asks for these objects, all of one type; None when the API knows no such type."""
        ...

    def records(self, answer: ApiAnswer, ids: Sequence[str]) -> Mapping[str, bytes]:
        """The records in a good answer, by id, as JSON; those left out are not there. Raises `NotAnswered`."""
        ...


Ask = Callable[[str, ApiCall], Awaitable[ApiAnswer]]
"""Sends a call to an API at this base address; raises `NotAnswered`."""


class Senders(Protocol):
    """What is known of the tools that send us calls: the adapters, seen from the door."""

    def tools(self, channel: str) -> Sequence[str]:
        """The names of the channel's tools."""
        ...

    def proves_at_once(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Whether a call proves to know one of the connection's secrets by what is quick to check."""

    def kinds(self, channel: str, tool: str, settings: ConnectionSettings) -> Sequence[str] | None:
        """The kinds of records that `status_property` may name for a tool; None where it has no records."""
        ...

    def proves(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """The same in every way of its tool; it may parse the body."""
        ...

    def is_test_call(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Whether a call is the tool's test call, which proves nothing else."""
        ...

    def likely(self, arrival: Arrival, guarded: Collection[str]) -> tuple[str | None, bool]:
        """The tool that a call looks like, and whether it is plainly not one of the guarded ones; it may parse the body."""
        ...

    def secrets_of(self, connection: Connection) -> Sequence[str]:
        """The connection's secrets as a call would show them."""
        ...

    def most_secrets(self, channel: str, tool: str) -> int:
        """How many secrets a connection of this tool may have."""
        ...

    def why_not_secret(self, channel: str, tool: str, secret: str) -> str | None:
        """The forms that a secret of this tool may have, where this one could never fit; else None."""
        ...

    def is_public(self, channel: str, tool: str, secret: str) -> bool:
        """Whether a secret of this tool is a public key, which proves nothing by being known."""
        ...

    def has_window(self, channel: str, tool: str) -> bool:
        """Whether the tool's signatures have a time."""
        ...

    def fetcher(self, channel: str, tool: str) -> Fetcher | None:
        """How the tool's API is asked for records; None: it never is."""
        ...
