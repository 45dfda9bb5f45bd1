"""Rhythm of a connection: how many calls are usual in each hour of the week, and when a silence begins. No I/O; all times are UTC.

An hour is its number since 1970. `docs/explanation/silence.md` says why the figures are as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from touchbase.common.timestamps import DAY, SECOND, Micros

HOUR: Micros = 3600 * SECOND
WEEK = 168
"""Hours of a week."""
WEEKS = 6
"""Weeks that count: older calls of a connection are forgotten."""
MIN_WEEKS = 2
"""Weeks of calls before a silence can be recognised."""
MISSING = 20
"""Usual calls that did not come when a connection is silent. If half as many are usual as thought, chance does it once in 22,000 times."""
MARGIN: Micros = HOUR
"""Left out after the last call and before now: a rhythm may be an hour early or late, as twice a year with summer time."""
HORIZON = 4 * WEEK
"""Hours after which a connection that would still not be silent is called irregular."""
CHECK_INTERVAL: Micros = 60 * SECOND
"""Time between two checks, of all processes together."""
MAX_CHECK_GAP: Micros = 600 * SECOND
"""After a longer time without checks Touchbase was down, and calls before it prove nothing."""
MAX_SILENCES = 50
"""Silences stored of each connection: the newest."""
Call = tuple[int, str, str, Micros]
"""Client, channel, tool, and when it was received."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The calls of a connection by hour, hours without calls left out, up to its last call."""

    calls: Mapping[int, int]
    first: int = field(init=False)
    last: int = field(init=False)
    """The hours of the first and the last call."""
    _usual: list[float] = field(default_factory=list, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", min(self.calls, default=0))
        object.__setattr__(self, "last", max(self.calls, default=0))

    @property
    def has_pattern(self) -> bool:
        """Whether there are calls of at least `MIN_WEEKS`."""
        return self.last - self.first >= MIN_WEEKS * WEEK

    def usual(self, hour: int) -> float:
        """Return the calls that are usual in an hour: the average of that hour in the last weeks, without the highest; 0 if not known.

        Without the highest, a single large import does not become a habit.
        """
        if not self.has_pattern:
            return 0.0
        if not self._usual:
            self._usual.extend(self._average(self.last + offset) for offset in range(1, WEEK + 1))
        return self._usual[(hour - self.last - 1) % WEEK]

    def _average(self, hour: int) -> float:
        counts = sorted(
            self.calls.get(earlier, 0) for earlier in range(hour - WEEK, hour - WEEK * (WEEKS + 1), -WEEK) if earlier >= self.first
        )
        return sum(counts[:-1]) / (len(counts) - 1)

    def silent_from(self, since_us: Micros) -> Micros | None:
        """Return when a connection without calls after `since_us` is silent; None if it calls too rarely or is not known yet."""
        at, missing = since_us + MARGIN, 0.0
        first = at // HOUR
        for hour in range(first, first + HORIZON if self.has_pattern else first):
            usual, end = self.usual(hour), (hour + 1) * HOUR
            more = usual * (end - at) / HOUR
            if missing + more >= MISSING:
                return at + math.ceil((MISSING - missing) / usual * HOUR) + MARGIN
            missing, at = missing + more, end
        return None

    @property
    def week(self) -> int:
        """The calls of the seven days up to the last one."""
        return sum(count for hour, count in self.calls.items() if hour > self.last - WEEK)

    def usual_interval_seconds(self, now: Micros) -> int | None:
        """Return the usual time between two calls at this hour of the week; None if less than one call is usual in it."""
        usual = self.usual(now // HOUR)
        return round(3600 / usual) if usual >= 1 else None


@dataclass(frozen=True, slots=True)
class CallStatistics:
    """Statistics of a connection's calls."""

    channel: str
    tool: str
    last_us: Micros
    week: int
    """Calls of the seven days up to the last one."""
    usual_interval_seconds: int | None
    """At this hour of the week; None if less than one call is usual in it, or if that is not known yet."""
    silent_since_us: Micros | None
    """The last call before a silence that has not ended."""


@dataclass(frozen=True, slots=True)
class Silence:
    """A time without calls from a connection that usually calls."""

    client: int
    channel: str
    tool: str
    noticed_us: Micros
    since_us: Micros
    """The last call before it."""
    ended_us: Micros | None
    """The next call, or when the alarm was turned off; None while it lasts."""
    week: int
    """Calls of the seven days before."""
    usual_interval_seconds: int | None
    """At the hour at which it was noticed; None if less than one call was usual in it."""


def per_day(week: int) -> float:
    """Return the calls of an average day."""
    return round(week / 7, 1)


def keep_from(last_us: Micros) -> int:
    """Return the first hour whose calls still count after a call at this time."""
    return (last_us - (WEEKS * 7 + 1) * DAY) // HOUR


@dataclass(slots=True)
class ClientCalls:
    """New calls of one client's connections."""

    client: int
    hours: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """Calls by channel, tool and hour."""
    last_us: dict[tuple[str, str], Micros] = field(default_factory=dict)
    """The last call by channel and tool."""
