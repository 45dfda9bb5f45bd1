"""Shares: room that all clients have in common, of which no client can take so much that none is left for another."""

from __future__ import annotations

GREED = 3
"""A client may hold so many times what is free. One that is alone gets three quarters of the room, two get three
sevenths each, and something is always left: whoever holds nothing gets in until the room is full to the last place."""


class FairQuota:
    """Counts who holds how much of a room. While less than three quarters of it are taken, nobody notices."""

    __slots__ = ("_held", "room", "taken")

    def __init__(self, room: int) -> None:
        self.room = room
        self.taken = 0
        self._held: dict[int, int] = {}

    def take(self, client: int) -> bool:
        """Give a place to a client, unless it has its share."""
        held = self._held.get(client, 0)
        if held >= GREED * (self.room - self.taken):
            return False
        self._held[client] = held + 1
        self.taken += 1
        return True

    def give(self, client: int) -> None:
        """Take back a place that the client was given."""
        held = self._held[client] - 1
        if held:
            self._held[client] = held
        else:
            del self._held[client]
        self.taken -= 1
