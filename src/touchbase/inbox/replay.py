"""Replay of many deliveries, page by page, for real or as a dry run.

An interrupted replay continues at the cursor of the last page: a client and the id below which its deliveries are still to come.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from touchbase.clients.models import Client
from touchbase.clients.sql.clients import list_clients
from touchbase.common.timestamps import Clock, Micros
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.connections.sql.connections import list_connections
from touchbase.deliveries.delivery import FAILED, RECEIVED, Delivery
from touchbase.deliveries.work import DryRunDelivery, DryRunResult, ProcessingStore, TooManyEvents
from touchbase.errors import Overloaded
from touchbase.inbox.service import DeliveryFilter, list_deliveries
from touchbase.inbox.sql.commands import replay_deliveries, replay_many
from touchbase.inbox.sql.queries import count_deliveries
from touchbase.inbox.worker import Read, translator
from touchbase.projection.inbox_batch import failure_reason
from touchbase.sql.store import Store, Writes

PAGE = 500
DRY_RUN_SIZE, DRY_RUN_BYTES = 100, 8 * 1024 * 1024
"""Small, because a dry run blocks the store's writers."""

Cursor = tuple[str, int | None]
"""A client's id, and the delivery id below which to continue (None: from the newest)."""


@dataclass(frozen=True, slots=True)
class ReplayPage:
    """Deliveries of one client that are replayed together, and the cursor after them; None at the end."""

    client: Client
    deliveries: list[Delivery]
    cursor: Cursor | None


async def count(store: Store, filters: DeliveryFilter, cursor: Cursor | None = None) -> int:
    """Count the matching deliveries from this cursor on."""
    total = 0
    for client, before in await _clients(store, filters, cursor):
        wanted = (filters.channel, filters.tool, filters.state, before, filters.received_since_us, filters.like)
        total += await store.read(count_deliveries(client.number, *wanted))
    return total


async def pages(store: Store, filters: DeliveryFilter, cursor: Cursor | None = None, size: int = PAGE) -> AsyncIterator[ReplayPage]:
    """Yield the matching deliveries by client, each client's newest first.

    One client at a time keeps a page cheap in a store of any size. Empty pages are skipped.
    """
    clients = await _clients(store, filters, cursor)
    for number, (client, start) in enumerate(clients):
        following = (clients[number + 1][0].client_id, None) if number + 1 < len(clients) else None
        before, more = start, True
        while more:
            page, end = await list_deliveries(store, replace(filters, client=client.number), size, before)
            before = end if isinstance(end, int) else None  # of one client it is one id
            more = before is not None
            if page:
                yield ReplayPage(client, page, (client.client_id, before) if more else following)


async def replay_page(store: Store, page: ReplayPage, now: Micros) -> int:
    """Set a page's deliveries to be applied again; return how many could be."""
    return await store.write(replay_deliveries(page.client.number, [delivery.id for delivery in page.deliveries], now))


async def replay_pages(store: Writes, chosen: Sequence[ReplayPage], now: Micros) -> int:
    """Set the deliveries of several pages to be applied again, all or none; return how many could be."""
    return await store.write(replay_many([(page.client.number, delivery.id) for page in chosen for delivery in page.deliveries], now))


@dataclass(frozen=True, slots=True)
class Proposed:
    """Settings that a dry run uses in place of the connection's settings."""

    channel: str
    tool: str
    settings: ConnectionSettings


class DryRunner:
    """Previews replays, without storing anything."""

    def __init__(self, store: ProcessingStore, read: Read, clock: Clock) -> None:
        self._store = store
        self._read = read
        self._clock = clock

    async def dry_run(
        self, client: int, ids: Sequence[int], proposed: Proposed | None = None, sizes: Mapping[int, int] | None = None
    ) -> DryRunResult:
        """Preview the replay of these deliveries; each group of `DRY_RUN_SIZE`, or of `DRY_RUN_BYTES`, ignores the changes of the others.

        `sizes`: the bytes of their bodies.
        """
        connections: Sequence[Connection] = await self._store.read(list_connections(client))
        if proposed is not None:
            connections = _under(connections, proposed, client, self._clock())
        translate = translator(self._read, connections)

        async def attempt(portion: Sequence[int]) -> DryRunResult:
            return await self._store.dry_run(client, portion, translate, self._clock())

        total = DryRunResult()
        for group in _groups(ids, sizes or {}):
            add_result(total, await _bisect(attempt, group))
        return total


def _groups(ids: Sequence[int], sizes: Mapping[int, int]) -> Iterator[list[int]]:
    """Divide deliveries: all bodies of a group are in memory at once."""
    group: list[int] = []
    size = 0
    for number in ids:
        more = sizes.get(number, 0)
        if group and (len(group) >= DRY_RUN_SIZE or size + more > DRY_RUN_BYTES):
            yield group
            group, size = [], 0
        group.append(number)
        size += more
    if group:
        yield group


def _under(connections: Sequence[Connection], proposed: Proposed, client: int, now: Micros) -> list[Connection]:
    """Return the connections as they would be with the proposed settings."""
    key = proposed.channel, proposed.tool
    current = next(
        (connection for connection in connections if (connection.channel, connection.tool) == key), Connection(client, *key, now, now)
    )
    others = [connection for connection in connections if (connection.channel, connection.tool) != key]
    return sorted([*others, replace(current, settings=proposed.settings)], key=lambda connection: (connection.channel, connection.tool))


async def _bisect(attempt: Callable[[Sequence[int]], Awaitable[DryRunResult]], ids: Sequence[int]) -> DryRunResult:
    """Do a dry run of all; on a failure halve them, until the failing delivery is alone."""
    try:
        return await attempt(ids)
    except Overloaded:
        raise
    except Exception as error:
        if len(ids) == 1:
            if isinstance(error, TooManyEvents):
                return DryRunResult([DryRunDelivery(ids[0], "", RECEIVED, 0, str(error))])
            return DryRunResult([DryRunDelivery(ids[0], "", FAILED, 0, failure_reason(error))])
    half = len(ids) // 2
    total = await _bisect(attempt, ids[:half])
    add_result(total, await _bisect(attempt, ids[half:]))
    return total


def add_result(total: DryRunResult, more: DryRunResult) -> None:
    """Add one result to the total."""
    total.deliveries += more.deliveries
    total.created += more.created
    total.changed += more.changed
    for name, records in more.fields.items():
        total.fields[name] = total.fields.get(name, 0) + records


async def _clients(store: Store, filters: DeliveryFilter, cursor: Cursor | None) -> list[tuple[Client, int | None]]:
    clients = [client for client in await store.read(list_clients()) if filters.client is None or client.number == filters.client]
    if cursor is None:
        return [(client, None) for client in clients]
    return [(client, cursor[1] if client.client_id == cursor[0] else None) for client in clients if client.client_id >= cursor[0]]
