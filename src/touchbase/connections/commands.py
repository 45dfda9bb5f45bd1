"""Commands and queries on connections and on their fetch queue."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.connections.fetch_state import FetchRequest
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.sql.operation import Command


@dataclass(slots=True)
class ChangeConnection(Command[Connection]):
    """Replace a connection's settings, and its secrets and access token unless they are None. `NotFound`.

    A change lets stopped fetching start again; a new token also queues the records again that were not found.
    """

    client: int
    channel: str
    tool: str
    secrets: list[str] | None = field(repr=False)
    settings: ConnectionSettings
    at: Micros
    access_token: str | None = field(default=None, repr=False)
    """Empty: remove it."""
    known: Connection | None = field(default=None, repr=False)
    """The connection that the change was decided on; `PreconditionFailed` if it has changed since. None: no check."""


@dataclass(slots=True)
class RemoveConnection(Command[None]):
    """Disconnect a tool and forget its rhythm and silences; its deliveries and records stay. `NotFound`."""

    client: int
    channel: str
    tool: str


@dataclass(slots=True)
class FinishFetch(Command[bool]):
    """Store the result of a fetch and release the claim that ends at `until_us`.

    `done` leaves the queue, unless a webhook requested it again since; `not_found` is not fetched until a webhook requests it again;
    `retries` are fetched at the given times. Returns False when the claim had expired: then the queue's times are those of the worker
    that claimed it next.
    """

    client: int
    tool: str
    until_us: Micros
    next_us: Micros
    """The queue is paused until then."""
    failures: int = 0
    """Requests in a row that failed."""
    stopped: bool = False
    """The queue is paused until the connection is changed."""
    error: str | None = None
    at: Micros = 0
    fetched_us: Micros | None = None
    done: list[FetchRequest] = field(default_factory=list)
    not_found: list[FetchRequest] = field(default_factory=list)
    retries: list[tuple[FetchRequest, Micros]] = field(default_factory=list)
