"""When a request is sent again, and after which pause; without I/O."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

NOTHING_DONE = frozenset(
    {"rate_limited", "overloaded", "store_unavailable", "client_moving", "request_in_progress", "too_many_connections"}
)
"""Codes of problems after which the server has done nothing, so that every request may be repeated."""
GATEWAY = frozenset({429, 502, 503, 504})
"""Statuses that pass; without a code they come from a proxy, and the request may have been carried out."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how patiently a request is repeated."""

    attempts: int = 5
    """Requests for one call, the first one included; 1: no repetition."""
    first_pause: float = 0.5
    """Seconds before the second attempt; each later pause is twice as long, and a random part of it is left out."""
    longest_pause: float = 30.0
    """Seconds; where the server asks for a longer one with `Retry-After`, the call fails at once."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("attempts must be at least 1, which means no repetition")

    def pause(self, number: int, chance: float) -> float:
        """Return the pause after attempt `number`, from 1 on; `chance` is between 0 and 1."""
        return min(self.longest_pause, self.first_pause * 2.0 ** min(number - 1, 30)) * (1.0 - chance / 2.0)


NO_RETRIES = Retries(attempts=1)


@dataclass(frozen=True, slots=True)
class Received:
    """A complete HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    code: str = ""
    """The code of a problem; empty for other responses."""


@dataclass(eq=False)
class Broken(Exception):
    """A connection that failed."""

    reason: str
    sent: bool
    """Whether the request may have arrived."""


@dataclass(slots=True)
class Attempts:
    """The attempts of one call."""

    policy: Retries
    repeatable: bool
    key: str | None = None
    """The idempotency key of the call, if it has one."""
    chance: Callable[[], float] = random.random
    number: int = 0
    """Attempts that have ended."""
    lost: bool = False
    """Whether the outcome of an attempt is unknown: the request may have been carried out."""

    def pause(self, ended: Received | Broken) -> float | None:
        """Return the seconds to wait before the next attempt; None: this outcome is final."""
        self.number += 1
        is_certain = _nothing_done(ended)
        if not is_certain and not _passes(ended):
            return None
        self.lost = self.lost or not is_certain
        if self.number >= self.policy.attempts or not (is_certain or self.repeatable):
            return None
        wanted = _retry_after(ended)
        if wanted > self.policy.longest_pause:
            return None
        return max(wanted, self.policy.pause(self.number, self.chance()))


def _nothing_done(ended: Received | Broken) -> bool:
    return not ended.sent if isinstance(ended, Broken) else ended.status in (409, 429, 503) and ended.code in NOTHING_DONE


def _passes(ended: Received | Broken) -> bool:
    return isinstance(ended, Broken) or ended.status in GATEWAY


def _retry_after(ended: Received | Broken) -> float:
    text = "" if isinstance(ended, Broken) else ended.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0.0
