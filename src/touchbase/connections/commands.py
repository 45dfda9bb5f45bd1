"""Commands and queries about connections and about fetching their records."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.connections.fetch_state import ClaimedFetch, FetchRequest, FetchState
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.sql.command import Command, Query


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
class ClaimFetch(Command[ClaimedFetch | None]):
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
    done: list[FetchRequest] = field(default_factory=list)
    noted: list[FetchRequest] = field(default_factory=list)
    again: list[tuple[FetchRequest, Micros]] = field(default_factory=list)


@dataclass(slots=True)
class ListConnections(Query[list[Connection]]):
    """All connections of one client, by channel and tool."""

    client: int


@dataclass(slots=True)
class DueFetches(Query[list[tuple[int, str]]]):
    """Active clients (by number) and tools with an access token, of which records are wanted and may be asked for by `now_us`.

    Those first that may be asked for the longest.
    """

    now_us: Micros


@dataclass(slots=True)
class ListFetching(Query[list[FetchState]]):
    """How asking each of a client's tools for records goes; without those that nothing was ever wanted of."""

    client: int
