"""Turns: whose deliveries are taken next.

A client is *quiet* until a turn of it finds more than it may take; from then on it is *loaded*, until a turn takes the
last of what waits. In a round every quiet client has a short turn, and then one of the loaded ones a long one. So
whoever has little to say waits for the quiet ones before it and for one long turn, whatever lies in the inboxes of
others and however many others there are; and the loaded ones share what the quiet ones leave, one after the other.
"""

from __future__ import annotations

from touchbase.common.timestamps import SECOND, Micros

TURN = 512
"""Deliveries of one loaded client in one turn: a few hundredths of a second, which is what another client may have to wait."""
SHORT_TURN = 32
"""Deliveries in a turn of a quiet client: over in a few thousandths of a second."""
TURN_TIME: Micros = SECOND // 10
"""A turn of a client whose deliveries take long gets so many of them as its last turn would have done in this time."""


class FairScheduler:
    """The clients that have deliveries waiting, as far as we have heard."""

    def __init__(self, longest: int = TURN) -> None:
        self.longest = longest
        self.shortest = min(longest, SHORT_TURN)
        self._quiet: dict[int, None] = {}
        self._loaded: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._quiet or self._loaded)

    @property
    def quiet_wait(self) -> bool:
        """Whether a quiet client waits for its turn."""
        return bool(self._quiet)

    def woken(self, client: int) -> bool:
        """Tell that deliveries of this client wait; answers whether it is a quiet one."""
        if client in self._loaded:
            return False
        self._quiet[client] = None
        return True

    def round(self) -> list[int]:
        """The clients of one round, in order."""
        return [*self._quiet, *list(self._loaded)[:1]]

    def begin(self, client: int) -> int:
        """A client's turn begins; answers how many deliveries it may take."""
        self._quiet.pop(client, None)
        return self._loaded.pop(client, self.shortest)

    def end(self, client: int, limit: int, taken: int, took: Micros) -> None:
        """A client's turn is over, in which it took `taken` of the `limit` that it could."""
        if taken < limit:
            return
        self._quiet.pop(client, None)
        self._loaded[client] = max(1, min(self.longest, taken * TURN_TIME // max(1, took)))
