"""Fair quota: a shared capacity of which no client can take so much that none is left for another."""

from __future__ import annotations

import asyncio
from collections import deque

SHARE = 3
"""A client may use at most so many times the free units. A single client gets three quarters of the capacity, two get three
sevenths each, and a client that uses none is admitted until the last unit is in use."""


class FairQuota:
    """Counts the units that each client uses; no client is limited while less than three quarters are in use."""

    __slots__ = ("_by_client", "capacity", "used")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.used = 0
        self._by_client: dict[int, int] = {}

    def acquire(self, client: int) -> bool:
        """Take a unit for a client; return False if it has its share."""
        units = self._by_client.get(client, 0)
        if units >= SHARE * (self.capacity - self.used):
            return False
        self._by_client[client] = units + 1
        self.used += 1
        return True

    def release(self, client: int) -> None:
        """Take back a unit of a client."""
        units = self._by_client[client] - 1
        if units:
            self._by_client[client] = units
        else:
            del self._by_client[client]
        self.used -= 1


class FairTurns:
    """Places for concurrent work: a client with its share of them waits, and clients take turns. One event loop owns it."""

    __slots__ = ("_quota", "_waiting")

    def __init__(self, capacity: int) -> None:
        self._quota = FairQuota(capacity)
        self._waiting: dict[int, deque[asyncio.Future[None]]] = {}
        """Waiting work by client, in its order."""

    async def acquire(self, client: int) -> None:
        """Take a place for a client once it has less than its share."""
        if client not in self._waiting and self._quota.acquire(client):
            return
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(waiting)
        try:
            await waiting
        except asyncio.CancelledError:
            if not waiting.cancelled():  # it had got its place
                self.release(client)
            raise

    def release(self, client: int) -> None:
        """Return a client's place, and pass it to the next work."""
        self._quota.release(client)
        for waiting_client in list(self._waiting):
            queue = self._waiting.pop(waiting_client)
            while queue and (queue[0].done() or self._quota.acquire(waiting_client)):
                if not (first := queue.popleft()).done():
                    first.set_result(None)
            if queue:
                self._waiting[waiting_client] = queue
