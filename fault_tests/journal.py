"""Journal of sent and acknowledged requests, written by the clients of a fault test, independent of the server."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(slots=True)
class Patched:
    """A contact that one client increments with PATCH."""

    acknowledged: int = 0
    sent: int = 0


@dataclass
class Journal:
    """Requests of one client; names and addresses are unique, so each request can be found in the store."""

    client: str
    created: dict[str, int | None] = field(default_factory=dict)
    """First name of each contact sent → its id, or None until acknowledged."""
    created_once: dict[str, int | None] = field(default_factory=dict)
    """The same for requests with an `Idempotency-Key`, which is the name."""
    patched: dict[int, Patched] = field(default_factory=dict)
    webhooks: dict[str, bool] = field(default_factory=dict)
    """E-mail address in each webhook sent → acknowledged."""
    erased: dict[int, bool] = field(default_factory=dict)
    """Id of each contact to erase → acknowledged."""
    seconds: list[float] = field(default_factory=list)
    """Seconds of each acknowledged request."""
    never_stored: set[str] = field(default_factory=set)
    """First names of refused contacts that were not resent; the store must not have them."""
    refused: int = 0
    """Responses 429 and 503: nothing was stored."""
    unanswered: int = 0
    unknown: int = 0
    """Responses that say that the outcome is unknown."""
    odd: list[str] = field(default_factory=list)
    """Unexpected responses."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def acknowledged(self) -> int:
        """Count of 2xx responses."""
        return len(self.seconds)

    def note(self, status: int, seconds: float, what: str) -> bool:
        """Record a response; return True if it acknowledges the request."""
        with self._lock:
            if 200 <= status < 300:
                self.seconds.append(seconds)
                return True
            if status in (429, 503):
                self.refused += 1
            else:
                self.odd.append(f"{what}: {status}")
            return False

    def note_odd(self, what: str) -> None:
        """Record an unexpected response."""
        with self._lock:
            self.odd.append(what)

    def note_unanswered(self) -> None:
        """Record a request that got no response."""
        with self._lock:
            self.unanswered += 1

    def note_unknown(self) -> None:
        """Record a response with unknown outcome."""
        with self._lock:
            self.unknown += 1


def p99_ms(seconds: list[float]) -> float:
    """The 99th percentile in milliseconds; 0 for an empty list."""
    times = sorted(seconds)
    return times[min(len(times) - 1, int(0.99 * len(times)))] * 1000 if times else 0.0
