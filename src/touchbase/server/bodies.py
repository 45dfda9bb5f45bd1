"""The memory that the bodies of requests in progress take, over all connections.

Each body has a limit of its own, but hundreds of them at once filled the memory. Counted is what has come of a body, from its first byte
until the request is answered; what would go over the room is answered 503 at once, and its bytes are free for the others.
"""

from __future__ import annotations

from touchbase.common.fair_quota import SHARE


class Bodies:
    """Counts the bytes of bodies, by the address that they come from: none can take all of the room. With `room` 0 nothing is limited."""

    __slots__ = ("_held", "room", "taken")

    def __init__(self, room: int = 0) -> None:
        self.room = room
        self.taken = 0
        self._held: dict[str, int] = {}

    def take(self, peer: str, size: int) -> bool:
        """Count so many bytes more, unless they are too many for the room or for the share of this address."""
        held = self._held.get(peer, 0) + size
        free = self.room - self.taken - size
        if self.room and (free < 0 or held > SHARE * free):
            return False
        self._held[peer] = held
        self.taken += size
        return True

    def give(self, peer: str, size: int) -> None:
        """So many bytes are gone."""
        held = self._held.get(peer, 0) - size
        if held > 0:
            self._held[peer] = held
        else:
            self._held.pop(peer, None)
        self.taken -= size
