"""Commands and queries on endpoints, their progress and attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.outgoing.models import ACTIVE, Attempt, Pending
from touchbase.sql.operation import Command


@dataclass(frozen=True, slots=True)
class Leadership:
    """The shards that a process has, and how many are its fair share."""

    shards: frozenset[int]
    fair: int


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


@dataclass(frozen=True, slots=True)
class Backlog:
    """Events that endpoints that are not disabled will be sent, of all active clients, and endpoints by state."""

    waiting: int
    oldest_us: Micros | None
    endpoints: dict[str, int]
    failing: int


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


@dataclass(frozen=True, slots=True)
class MailEndpoint:
    """Client, id and `mailto:` URL of an endpoint of the kind email."""

    client_id: str
    endpoint_id: int
    url: str


@dataclass(frozen=True, slots=True)
class WriteBack:
    """What decides whether a contact's status is written to a tool."""

    objects: list[str]
    """Ids of the tool's objects that are this contact."""
    is_theirs: bool
    """Whether webhooks or fetched records of the tool have set the present status."""
