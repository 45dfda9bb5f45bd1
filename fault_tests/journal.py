"""What was sent and what was acknowledged, kept by the callers: the server's own word is not asked."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(slots=True)
class Patched:
    """A contact that one caller changes again and again, from one number to the next."""

    acknowledged: int = 0
    sent: int = 0


@dataclass
class Journal:
    """One client's calls. Names and addresses are unique, so each call can be told from all others in the store."""

    client: str
    created: dict[str, int | None] = field(default_factory=dict)
    """First name of a contact that was sent: its id once that was acknowledged."""
    created_once: dict[str, int | None] = field(default_factory=dict)
    """The same, sent with an Idempotency-Key that is the name."""
    patched: dict[int, Patched] = field(default_factory=dict)
    webhooks: dict[str, bool] = field(default_factory=dict)
    """E-mail address in a webhook call that was sent: whether it was acknowledged."""
    erased: dict[int, bool] = field(default_factory=dict)
    """Id of a contact whose erasure was asked for: whether it was acknowledged."""
    seconds: list[float] = field(default_factory=list)
    """How long each acknowledged call took."""
    never_stored: set[str] = field(default_factory=set)
    """First names of contacts that were refused and never sent again: they must not be there."""
    refused: int = 0
    """Answered with 429 or 503: nothing was done."""
    unanswered: int = 0
    unknown: int = 0
    """Answered with the word that nobody knows whether it was carried out."""
    odd: list[str] = field(default_factory=list)
    """Answers that nobody should get."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def acknowledged(self) -> int:
        """Calls that were answered with 2xx."""
        return len(self.seconds)

    def note(self, status: int, seconds: float, what: str) -> bool:
        """Note an answer; whether it acknowledges the call."""
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
        """Note an answer that nobody should get."""
        with self._lock:
            self.odd.append(what)

    def note_unanswered(self) -> None:
        """Note a call that was written and got no answer."""
        with self._lock:
            self.unanswered += 1

    def note_unknown(self) -> None:
        """Note a call whose answer did not say what became of it."""
        with self._lock:
            self.unknown += 1


def p99_ms(seconds: list[float]) -> float:
    """The 99th percentile of these times, in milliseconds; 0 of none."""
    times = sorted(seconds)
    return times[min(len(times) - 1, int(0.99 * len(times)))] * 1000 if times else 0.0
