"""Fair scheduling: which client's batch comes next, and how long the worker pauses between two batches.

A client is *quiet* until a batch finds as many deliveries as it may take; then it is *loaded*, until a batch takes fewer. In each
round every quiet client gets a small batch, then one loaded client gets a large one. So a quiet client waits for the other quiet
ones and one large batch at most, whatever the backlog and number of other clients. Loaded clients share the remaining capacity in
round-robin order.
"""

from __future__ import annotations

from touchbase.common.timestamps import SECOND, Micros

BATCH_SIZE = 512
"""Deliveries in a batch of a loaded client: some 0.03 s, the time that other clients may have to wait."""
SMALL_BATCH_SIZE = 32
"""Deliveries in a batch of a quiet client: a few milliseconds."""
BATCH_TIME: Micros = SECOND // 10
"""Target duration of a batch; the size of a client's next batch follows from the speed of its last one."""


class FairScheduler:
    """The clients known to have waiting deliveries; not thread-safe, one event loop owns it."""

    def __init__(self, max_batch: int = BATCH_SIZE) -> None:
        self.max_batch = max_batch
        self.small_batch = min(max_batch, SMALL_BATCH_SIZE)
        self._quiet: dict[int, None] = {}
        self._loaded: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._quiet or self._loaded)

    @property
    def has_quiet_clients(self) -> bool:
        """Whether a quiet client waits for its batch."""
        return bool(self._quiet)

    def add(self, client: int) -> bool:
        """Add a client that has waiting deliveries; return whether it is quiet."""
        if client in self._loaded:
            return False
        self._quiet[client] = None
        return True

    def round(self) -> list[int]:
        """Return the clients of one round, in order."""
        return [*self._quiet, *list(self._loaded)[:1]]

    def begin(self, client: int) -> int:
        """Begin a client's batch; return how many deliveries it may take."""
        self._quiet.pop(client, None)
        return self._loaded.pop(client, self.small_batch)

    def end(self, client: int, limit: int, taken: int, took: Micros) -> None:
        """End a client's batch that took `taken` of at most `limit` deliveries in `took` microseconds."""
        if taken < limit:
            return
        self._quiet.pop(client, None)
        self._loaded[client] = max(1, min(self.max_batch, taken * BATCH_TIME // max(1, took)))


FULL_PAUSE_REQUESTS = 12.6
"""Blocked requests at which the worker pauses 1 s after a batch; the pause grows with the 4th power.

Blocked requests wait for the batch and then for each other. With few of them the processor is mostly idle and a pause gains nothing.
"""
MAX_PAUSE = 1.0
"""Seconds."""
SHORT_PAUSE = 0.1
"""Seconds; the longest pause while a quiet client waits for its batch."""
BUSY_REQUESTS_PER_SECOND = 1_000
"""Requests per second above which the worker pauses."""
MAX_LAG: Micros = 30 * SECOND
"""Age of the oldest delivery from which the worker does not pause."""
QUIET_MAX_LAG: Micros = SECOND // 4
"""The same for a client whose backlog fits into one batch: that costs little, and the client expects to see its changes soon."""


def pause_seconds(took_us: Micros, requests: int, lag_us: Micros, blocked_share: float = 1.0, max_lag: Micros = MAX_LAG) -> float:
    """Return the seconds to pause after a batch of this duration, during which this many requests came.

    `blocked_share` is the part of the requests that waited for the batch. The pause is at least as long as the batch, because a series
    of batches of one or two deliveries costs more than it applies. It is 0 with few requests, or at a lag of `max_lag`.
    """
    took_us = max(1, took_us)
    is_busy = requests > 1 and requests * SECOND > BUSY_REQUESTS_PER_SECOND * took_us
    if not is_busy or lag_us >= max_lag:
        return 0
    return min(MAX_PAUSE, max(took_us / SECOND, (requests * blocked_share / FULL_PAUSE_REQUESTS) ** 4))
