"""Connections of a client's tools: connect, change, disconnect, and cache them for incoming webhooks."""

from __future__ import annotations

from collections.abc import Callable, Collection
from secrets import token_urlsafe

from touchbase.common.cache import Cache
from touchbase.common.timestamps import Clock, Micros
from touchbase.connections.fetch_state import FetchState
from touchbase.connections.models import CACHE_TTL, GENERATED_PREFIX, Connection, ConnectionSettings
from touchbase.connections.rhythm import CallStatistics
from touchbase.connections.sql.connections import add_connection, change_connection, list_connections, remove_connection
from touchbase.connections.sql.fetching import list_fetching
from touchbase.connections.sql.silence import list_calls
from touchbase.errors import NotFound, Overloaded, PreconditionFailed
from touchbase.history.events import NO_AUTHOR, Author
from touchbase.sql.store import Store, Writes

MAX_TRIES = 5
"""Attempts of a change, each decided again because the connection changed at the same time."""
Decide = Callable[[Connection], tuple[list[str] | None, ConnectionSettings, str | None]]
"""Decides a change from the present connection: secrets (None: unchanged), settings, access token (None: unchanged)."""


def new_secret() -> str:
    """Return a random secret, valid in a URL and in a header."""
    return GENERATED_PREFIX + token_urlsafe(32)


class Connections:
    """Connections of one store's clients, cached per client for `CACHE_TTL`; a change made through this object shows at once."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._cache: Cache[int, list[Connection]] = Cache(clock, CACHE_TTL)
        self.cached: Callable[[int, Micros], list[Connection] | None] = self._cache.get
        """Return the client's cached connections, or None when they are missing or too old."""

    async def of(self, client: int) -> list[Connection]:
        """Return the client's connections, cached or loaded, by channel and tool."""
        connections = self._cache.get(client, self._clock())
        return await self._cache.read(client, lambda: self.all(client)) or [] if connections is None else connections

    async def all(self, client: int) -> list[Connection]:
        """Return the client's connections from the store, by channel and tool."""
        return await self._store.read(list_connections(client))

    async def get(self, client: int, channel: str, tool: str) -> Connection:
        """Return one connection from the store. Raises `NotFound`."""
        for connection in await self.all(client):
            if (connection.channel, connection.tool) == (channel, tool):
                return connection
        raise NotFound(f"no tool {tool[:100]!r} is connected on the channel {channel[:100]!r}")

    async def connect(self, connection: Connection, writes: Writes | None = None, by: Author = NO_AUTHOR) -> Connection:
        """Connect a tool, through `writes` if given. Raises `Conflict` when it is already connected on that channel."""
        created = await (writes or self._store).write(add_connection(connection, by))
        self._cache.forget(connection.client)
        return created

    async def fetching(self, client: int) -> dict[str, FetchState]:
        """Return the state of enrichment by tool."""
        return {state.tool: state for state in await self._store.read(list_fetching(client))}

    async def calls(self, client: int) -> dict[tuple[str, str], CallStatistics]:
        """Return the call statistics of connections, by channel and tool."""
        return {
            (statistics.channel, statistics.tool): statistics for statistics in await self._store.read(list_calls(client, self._clock()))
        }

    async def change(self, current: Connection, decide: Decide, by: Author = NO_AUTHOR) -> Connection:
        """Change a connection as `decide` says; concurrent changes are applied one after another. Raises `NotFound`, `Overloaded`."""
        for _ in range(MAX_TRIES):
            secrets, settings, token = decide(current)
            command = change_connection(current.client, current.channel, current.tool, secrets, settings, self._clock(), token, current, by)
            try:
                changed = await self._store.write(command)
            except PreconditionFailed:
                current = await self.get(current.client, current.channel, current.tool)
                continue
            self._cache.forget(current.client)
            return changed
        raise Overloaded("this connection is being changed by others; send this again in a moment")

    def forget(self, client: int) -> None:
        """Forget the client's cached connections: a command has changed them."""
        self._cache.forget(client)

    async def disconnect(self, client: int, channel: str, tool: str, tags: Collection[str] | None = None) -> None:
        """Disconnect a tool; its deliveries and records stay. Raises `NotFound`, and `PreconditionFailed` if it has none of `tags`."""
        await self._store.write(remove_connection(client, channel, tool, tags))
        self._cache.forget(client)
