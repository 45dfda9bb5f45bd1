"""Commands and queries on endpoints, their progress and attempts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.outgoing.models import ACTIVE, Attempt, Endpoint, Pending, Progress, Secret, Served
from touchbase.sql.operation import Command, Query


@dataclass(slots=True)
class AddEndpoint(Command[Endpoint]):
    """Store an endpoint; the store assigns its id. It gets the events that are logged from now on. `Conflict` above `MAX_ENDPOINTS`."""

    endpoint: Endpoint


@dataclass(slots=True)
class ChangeEndpoint(Command[Endpoint]):
    """Replace the values of an endpoint, decided on `known`; `NotFound`, and `PreconditionFailed` if it has changed since."""

    endpoint: Endpoint
    """With the new values."""
    known: int
    """The version that the change was decided on."""


@dataclass(slots=True)
class RotateSecret(Command[Endpoint]):
    """Add a secret; the present one signs too until `until_us`, older ones no more. `NotFound`."""

    client: int
    id: int
    secret: Secret = field(repr=False)
    until_us: Micros
    at: Micros


@dataclass(slots=True)
class RemoveEndpoint(Command[None]):
    """Remove an endpoint with what it misses and its attempts. `NotFound`."""

    client: int
    id: int


@dataclass(slots=True)
class ResumeEndpoint(Command[Endpoint]):
    """Make an endpoint active; what waited is sent, in order. `NotFound`."""

    client: int
    id: int
    at: Micros


@dataclass(slots=True)
class Replay(Command[int]):
    """Send events to an endpoint again; return how many. `NotFound`, and `Invalid` for more than `MAX_UNDONE`.

    One of: an event, whatever became of it; events that began to fail since a time; events since a time that were never delivered,
    also skipped ones and those from before the endpoint was made.
    """

    client: int
    id: int
    at: Micros
    sequence: int | None = None
    failed_since_us: Micros | None = None
    missing_since_us: Micros | None = None


@dataclass(frozen=True, slots=True)
class Leadership:
    """The shards that a process has, and how many are its fair share."""

    shards: frozenset[int]
    fair: int


@dataclass(slots=True)
class LeadShards(Command[Leadership]):
    """Renew the leases of a process and take free shards up to its share; `give_back` releases some, and `leaving` all."""

    token: str
    at: Micros
    until_us: Micros
    give_back: Collection[int] = ()
    leaving: bool = False


@dataclass(slots=True)
class StoreProgress(Command[bool]):
    """Store what a process has done for an endpoint; False, and nothing is stored, if it does not lead the client's shard any more."""

    client: int
    id: int
    token: str
    at: Micros
    position: int
    save: Sequence[Pending] = ()
    remove: Sequence[int] = ()
    """Sequences that are delivered."""
    attempts: Sequence[Attempt] = ()
    failing_since_us: Micros | None = None
    delivered_us: Micros | None = None
    """None leaves it."""
    state: str = ACTIVE
    """Another one pauses or disables the endpoint, if it is active."""
    reason: str | None = None


@dataclass(slots=True)
class StoreAttempt(Command[None]):
    """Store one attempt, of a test."""

    attempt: Attempt


@dataclass(slots=True)
class ForgetAttempts(Command[int]):
    """Remove a client's attempts from before a time, up to a number; return how many."""

    client: int
    before_us: Micros
    limit: int = 1_000


@dataclass(slots=True)
class GetEndpoint(Query[Endpoint | None]):
    """One endpoint."""

    client: int
    id: int


@dataclass(slots=True)
class ListEndpoints(Query[list[tuple[Endpoint, Progress]]]):
    """A client's endpoints with their progress, oldest first, after an id."""

    client: int
    limit: int
    at: Micros
    """Now, for filters on times."""
    after: int | None = None


@dataclass(slots=True)
class ListAttempts(Query[list[Attempt]]):
    """A client's attempts, newest first, before an id; None: no filter."""

    client: int
    limit: int
    before: int | None = None
    endpoint_id: int | None = None
    sequence: int | None = None
    outcome: str | None = None


@dataclass(slots=True)
class EndpointVersions(Query[dict[tuple[int, int], int]]):
    """The active endpoints of active clients in some shards: client and id -> version."""

    shards: Collection[int]


@dataclass(slots=True)
class ReadServed(Query[list[Served]]):
    """Endpoints of a client as the process that serves them reads them; missing ones are left out."""

    client: int
    ids: list[int]


@dataclass(frozen=True, slots=True)
class Backlog:
    """Events that endpoints that are not disabled will be sent, of all active clients, and endpoints by state."""

    waiting: int
    oldest_us: Micros | None
    endpoints: dict[str, int]
    failing: int


@dataclass(slots=True)
class CountOutgoing(Query[Backlog]):
    """The backlog of all clients."""

    at: Micros
    """Now, for filters on times."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """An endpoint that does not work."""

    client_id: str
    endpoint_id: int
    url: str
    state: str
    reason: str | None
    failing_since_us: Micros | None
    state_us: Micros


@dataclass(slots=True)
class ListTroubles(Query[list[Trouble]]):
    """Endpoints that are paused, were disabled because of a response, or have been failing since a time before `failing_before_us`."""

    failing_before_us: Micros
    limit: int = 100


@dataclass(frozen=True, slots=True)
class MailEndpoint:
    """Client, id and `mailto:` URL of an endpoint of the kind email."""

    client_id: str
    endpoint_id: int
    url: str


@dataclass(slots=True)
class ListMailEndpoints(Query[list[MailEndpoint]]):
    """Endpoints of the kind email that are not disabled, of all clients; for the operator."""


@dataclass(frozen=True, slots=True)
class WriteBack:
    """What decides whether a contact's status is written to a tool."""

    objects: list[str]
    """Ids of the tool's objects that are this contact."""
    is_theirs: bool
    """Whether webhooks or fetched records of the tool have set the present status."""


@dataclass(slots=True)
class FindWriteBack(Query[WriteBack]):
    """The objects that a CRM has of a contact, and whether its status came from there."""

    client: int
    contact: int
    tool: str
    object_type: str
    """The tool's word for contacts."""


@dataclass(slots=True)
class OldAttempts(Query[list[int]]):
    """Numbers of the clients with attempts from before a time."""

    before_us: Micros


@dataclass(slots=True)
class LowestNeeded(Query[int | None]):
    """The lowest sequence of a client that an active or paused endpoint has not got; None: there is no such endpoint."""

    client: int
