"""Memory for the bodies of requests in progress, shared by all connections.

Each body has its own limit, but hundreds of bodies at once could fill the memory. The received bytes of a body count from
the first byte until the request has its response. A request that would exceed the capacity gets a 503, and its bytes are freed.
"""

from __future__ import annotations

from touchbase.common.fair_quota import SHARE


class BodyMemory:
    """Bytes of bodies in memory, by peer address, so that no address can use all of them; `capacity` 0 means no limit."""

    __slots__ = ("_by_peer", "capacity", "used")

    def __init__(self, capacity: int = 0) -> None:
        self.capacity = capacity
        self.used = 0
        self._by_peer: dict[str, int] = {}

    def acquire(self, peer: str, size: int) -> bool:
        """Count `size` more bytes; return False if they exceed the capacity or the share of this address."""
        of_peer = self._by_peer.get(peer, 0) + size
        free = self.capacity - self.used - size
        if self.capacity and (free < 0 or of_peer > SHARE * free):
            return False
        self._by_peer[peer] = of_peer
        self.used += size
        return True

    def release(self, peer: str, size: int) -> None:
        """Count `size` fewer bytes."""
        of_peer = self._by_peer.get(peer, 0) - size
        if of_peer > 0:
            self._by_peer[peer] = of_peer
        else:
            self._by_peer.pop(peer, None)
        self.used -= size
