"""Fair quota: a shared capacity of which no client can take so much that none is left for another."""

from __future__ import annotations

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
        """Give a unit to a client; return False if it has its share."""
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
