"""Silence of connections: count calls in memory, write the counts in bulk, and recognise who has been silent for too long."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from touchbase.common.timestamps import SECOND, Clock, Micros, has_passed
from touchbase.connections.rhythm import HOUR, CallStatistics, Silence, per_day
from touchbase.errors import Overloaded
from touchbase.sql.operation import Command
from touchbase.sql.store import Store

LOG = logging.getLogger("touchbase.connections")
FLUSH_INTERVAL: Micros = 10 * SECOND
"""Time between two writes of counts. A process that is killed loses the counts since the last one."""
CHECK_INTERVAL: Micros = 60 * SECOND
"""Time between two checks, of all processes together."""
MAX_CHECK_GAP: Micros = 600 * SECOND
"""After a longer time without checks Touchbase was down, and calls before it prove nothing."""
MAX_SILENCES = 50
"""Silences stored of each connection: the newest."""
Call = tuple[int, str, str, Micros]
"""Client, channel, tool, and when it was received."""


@dataclass(slots=True)
class CountCalls(Command[list[Silence]]):
    """Add calls of a client's connections to their counts; return the silences that ended. Calls of tools not connected are left out."""

    client: int
    hours: dict[tuple[str, str, int], int]
    """Calls by channel, tool and hour."""
    last_us: dict[tuple[str, str], Micros]
    """The last call by channel and tool."""


@dataclass(slots=True)
class CallCounts:
    """The calls that this process has seen and not written yet."""

    clock: Clock
    _waiting: Counter[tuple[int, str, str, int]] = field(default_factory=Counter)
    _last: dict[tuple[int, str, str], Micros] = field(default_factory=dict)
    _flushed_us: Micros = 0

    def record(self, calls: Iterable[Call]) -> None:
        """Count calls."""
        for client, channel, tool, at in calls:
            self._waiting[client, channel, tool, at // HOUR] += 1
            key = client, channel, tool
            self._last[key] = max(at, self._last.get(key, at))

    def commands(self) -> list[CountCalls]:
        """Take what waits, as one command for each client."""
        made: dict[int, CountCalls] = {}
        for (client, channel, tool, hour), count in self._waiting.items():
            made.setdefault(client, CountCalls(client, {}, {})).hours[channel, tool, hour] = count
        for (client, channel, tool), at in self._last.items():
            made[client].last_us[channel, tool] = at
        self._waiting, self._last = Counter(), {}
        return list(made.values())

    async def flush_if_due(self, store: Store) -> None:
        """Write what waits, every `FLUSH_INTERVAL`."""
        if self._waiting and has_passed(FLUSH_INTERVAL, self._flushed_us, self.clock()):
            self._flushed_us = self.clock()
            await self.flush(store)

    async def flush(self, store: Store) -> None:
        """Write what waits; what could not be written stays for the next time."""
        commands = self.commands()
        try:
            outcomes = await asyncio.gather(*(store.write(command) for command in commands), return_exceptions=True)
        except BaseException:
            for each in commands:
                self._put_back(each)
            raise
        # One client's store may be down while those of others are not: theirs must not look silent.
        for command, outcome in zip(commands, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                self._put_back(command)
                if not isinstance(outcome, Overloaded):
                    LOG.error("calls of client %d could not be counted", command.client, exc_info=outcome)
                continue
            for one in outcome:
                LOG.info(
                    "client %d: %s (%s) calls again after %s", one.client, one.tool, one.channel, duration(one.ended_us or 0, one.since_us)
                )

    def _put_back(self, command: CountCalls) -> None:
        for (channel, tool, hour), count in command.hours.items():
            self._waiting[command.client, channel, tool, hour] += count
        for (channel, tool), at in command.last_us.items():
            key = command.client, channel, tool
            self._last[key] = max(at, self._last.get(key, at))


def usual_text(one: Silence | CallStatistics) -> str:
    """Return what is usual: the interval at the hour of the silence, or else the calls of a day."""
    if one.usual_interval_seconds is None:
        return f"{per_day(one.week):g} calls a day"
    return f"every {_span(one.usual_interval_seconds)} at this hour"


def duration(now: Micros, since: Micros) -> str:
    """Return the time between two times in words: minutes, hours, or days from 3 of them on."""
    return _span(max(0, now - since) // SECOND)


def _span(seconds: int) -> str:
    size, word = next(((size, word) for most, size, word in _UNITS if seconds < most), (86_400, "day"))
    count = round(seconds / size)
    return f"{count} {word}{'s' * (count != 1)}"


_UNITS = ((120, 1, "second"), (7_200, 60, "minute"), (3 * 86_400, 3_600, "hour"))
"""Below so many seconds, a time is given in this unit."""
