"""Replaying many deliveries, page by page: put back to be applied again, or only rehearsed.

Whoever stops between two pages goes on at the *place* that the last page left: a client and the id below
which its deliveries are still to come.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from touchbase.clients.commands import ListClients
from touchbase.clients.models import Client
from touchbase.common.timestamps import Clock, Micros
from touchbase.connections.commands import ListConnections
from touchbase.connections.models import Connection
from touchbase.errors import Overloaded
from touchbase.events.work import DryRunDelivery, DryRunResult, ProcessingStore, TooManyEvents
from touchbase.events.worker import Read, translator
from touchbase.inbox.commands import ReplayDeliveries, ReplayMany
from touchbase.inbox.delivery import FAILED, RECEIVED, Delivery
from touchbase.inbox.queries import CountDeliveries
from touchbase.inbox.service import DeliveryFilter, list_deliveries
from touchbase.sql.store import Writes

PAGE = 500
REHEARSED_AT_ONCE = 100
"""A rehearsal holds the store's writers up, so it is short."""

Place = tuple[str, int | None]
"""A client's id, and the delivery below whose id to go on (None: from the newest)."""


@dataclass(frozen=True, slots=True)
class Page:
    """Deliveries of one client that were found together, and the place behind them; None when they are the last."""

    client: Client
    deliveries: list[Delivery]
    place: Place | None


async def count(store: ProcessingStore, sought: DeliveryFilter, place: Place | None = None) -> int:
    """How many deliveries are found from this place on."""
    total = 0
    for client, before in await _clients(store, sought, place):
        wanted = (sought.channel, sought.tool, sought.state, before, sought.received_since_us)
        total += await store.read(CountDeliveries(client.number, *wanted))
    return total


async def pages(store: ProcessingStore, sought: DeliveryFilter, place: Place | None = None, size: int = PAGE) -> AsyncIterator[Page]:
    """What is sought, client by client, each client's newest first.

    Going client by client keeps a page cheap in a store of any size. Empty pages are left out.
    """
    clients = await _clients(store, sought, place)
    for number, (client, start) in enumerate(clients):
        following = (clients[number + 1][0].client_id, None) if number + 1 < len(clients) else None
        before, more = start, True
        while more:
            found, before = await list_deliveries(store, replace(sought, client=client.number), size, before)
            more = before is not None
            if found:
                yield Page(client, found, (client.client_id, before) if more else following)


async def put_back(store: ProcessingStore, page: Page, now: Micros) -> int:
    """Let a page's deliveries be applied again; answers how many could be."""
    return await store.write(ReplayDeliveries(page.client.number, [delivery.id for delivery in page.deliveries], now))


async def put_back_all(store: Writes, chosen: Sequence[Page], now: Micros) -> int:
    """Let the deliveries of several pages be applied again, all or none of them; answers how many could be."""
    return await store.write(ReplayMany([(page.client.number, delivery.id) for page in chosen for delivery in page.deliveries], now))


class DryRunner:
    """Says what a replay would change; keeps nothing."""

    def __init__(self, store: ProcessingStore, read: Read, clock: Clock) -> None:
        self._store = store
        self._read = read
        self._clock = clock

    async def dry_run(self, client: int, ids: Sequence[int]) -> DryRunResult:
        """What applying these deliveries again would change, in pieces that each know nothing of the others."""
        connections: Sequence[Connection] = await self._store.read(ListConnections(client))
        translate = translator(self._read, connections)

        async def attempt(some: Sequence[int]) -> DryRunResult:
            return await self._store.dry_run(client, some, translate, self._clock())

        total = DryRunResult()
        for first in range(0, len(ids), REHEARSED_AT_ONCE):
            add(total, await _halving(attempt, ids[first : first + REHEARSED_AT_ONCE]))
        return total


async def _halving(attempt: Callable[[Sequence[int]], Awaitable[DryRunResult]], ids: Sequence[int]) -> DryRunResult:
    """A rehearsal of all; one that breaks is halved until the delivery that breaks it is alone."""
    try:
        return await attempt(ids)
    except Overloaded:
        raise
    except Exception as error:
        if len(ids) == 1:
            if isinstance(error, TooManyEvents):
                return DryRunResult([DryRunDelivery(ids[0], "", RECEIVED, 0, str(error))])
            return DryRunResult([DryRunDelivery(ids[0], "", FAILED, 0, f"{type(error).__name__}: {error}")])
    half = len(ids) // 2
    total = await _halving(attempt, ids[:half])
    add(total, await _halving(attempt, ids[half:]))
    return total


def add(total: DryRunResult, more: DryRunResult) -> None:
    """Count one rehearsal into another."""
    total.deliveries += more.deliveries
    total.created += more.created
    total.changed += more.changed
    for name, records in more.fields.items():
        total.fields[name] = total.fields.get(name, 0) + records


async def _clients(store: ProcessingStore, sought: DeliveryFilter, place: Place | None) -> list[tuple[Client, int | None]]:
    clients = [each for each in await store.read(ListClients()) if sought.client is None or each.number == sought.client]
    if place is None:
        return [(each, None) for each in clients]
    return [(each, place[1] if each.client_id == place[0] else None) for each in clients if each.client_id >= place[0]]
