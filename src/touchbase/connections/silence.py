"""Silence of connections: count calls in memory, write the counts in bulk, and recognise who has been silent for too long."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from touchbase.common.timestamps import SECOND, Clock, Micros, has_passed
from touchbase.connections.rhythm import CHECK_INTERVAL, HOUR, Call, CallStatistics, ClientCalls, Silence, per_day
from touchbase.connections.sql.silence import claim_check, count_calls, due_judgements, judge_connection
from touchbase.errors import Overloaded
from touchbase.sql.store import Store

LOG = logging.getLogger("touchbase.connections")
FLUSH_INTERVAL: Micros = 10 * SECOND
"""Time between two writes of counts. A process that is killed loses the counts since the last one."""


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

    def take(self) -> list[ClientCalls]:
        """Take the waiting calls, by client."""
        by_client: dict[int, ClientCalls] = {}
        for (client, channel, tool, hour), count in self._waiting.items():
            by_client.setdefault(client, ClientCalls(client)).hours[channel, tool, hour] = count
        for (client, channel, tool), at in self._last.items():
            by_client[client].last_us[channel, tool] = at
        self._waiting, self._last = Counter(), {}
        return list(by_client.values())

    async def flush_if_due(self, store: Store) -> None:
        """Write the waiting calls, every `FLUSH_INTERVAL`."""
        if self._waiting and has_passed(FLUSH_INTERVAL, self._flushed_us, self.clock()):
            self._flushed_us = self.clock()
            await self.flush(store)

    async def flush(self, store: Store) -> None:
        """Write the waiting calls; calls that could not be written stay for the next time."""
        counts = self.take()
        try:
            outcomes = await asyncio.gather(*(store.write(count_calls(calls)) for calls in counts), return_exceptions=True)
        except BaseException:
            for calls in counts:
                self._put_back(calls)
            raise
        # One client's store may be down while those of others are not: theirs must not look silent.
        for calls, outcome in zip(counts, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                self._put_back(calls)
                if not isinstance(outcome, Overloaded):
                    LOG.error("calls of client %d could not be counted", calls.client, exc_info=outcome)
                continue
            for silence in outcome:
                pause = duration(silence.ended_us or 0, silence.since_us)
                LOG.info("client %d: %s (%s) calls again after %s", silence.client, silence.tool, silence.channel, pause)

    def _put_back(self, calls: ClientCalls) -> None:
        for (channel, tool, hour), count in calls.hours.items():
            self._waiting[calls.client, channel, tool, hour] += count
        for (channel, tool), at in calls.last_us.items():
            key = calls.client, channel, tool
            self._last[key] = max(at, self._last.get(key, at))


def usual_text(rhythm: Silence | CallStatistics) -> str:
    """Return the usual rhythm: the interval at the hour of the silence, or else the calls of a day."""
    if rhythm.usual_interval_seconds is None:
        return f"{per_day(rhythm.week):g} webhooks a day"
    return f"every {_span(rhythm.usual_interval_seconds)} at this hour"


def duration(now: Micros, since: Micros) -> str:
    """Return the time between two times in words: minutes, hours, or days from 3 of them on."""
    return _span(max(0, now - since) // SECOND)


def _span(seconds: int) -> str:
    size, word = next(((size, word) for most, size, word in _UNITS if seconds < most), (86_400, "day"))
    count = round(seconds / size)
    return f"{count} {word}{'s' * (count != 1)}"


_UNITS = ((120, 1, "second"), (7_200, 60, "minute"), (3 * 86_400, 3_600, "hour"))
"""Below so many seconds, a time is given in this unit."""


class SilenceCheck:
    """Looks for silent connections about once a minute, in one of the processes."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._claimed_us: Micros = 0

    async def run_if_due(self) -> list[Silence]:
        """Look for silent connections, unless this or another process did within a minute; return the silences that begin now."""
        now = self._clock()
        if not has_passed(CHECK_INTERVAL, self._claimed_us, now):
            return []
        self._claimed_us = now
        since = await self._store.write(claim_check(now))
        return [] if since is None else await begin_silences(self._store, now, since)


async def begin_silences(store: Store, now: Micros, checked_since_us: Micros) -> list[Silence]:
    """Judge the connections that are due; log and return the silences that begin now."""
    begun: list[Silence] = []
    for client, channel, tool in await store.read(due_judgements(now)):
        try:
            silence = await store.write(judge_connection(client, channel, tool, now, checked_since_us))
        except Overloaded:
            raise
        except Exception:
            LOG.exception("client %d: whether %s (%s) is silent could not be decided; it is tried again", client, tool, channel)
            continue
        if silence is not None:
            begun.append(silence)
            passed, usual = duration(now, silence.since_us), usual_text(silence)
            # The client's number: its id is part of an address that accepts webhooks.
            LOG.warning("client %d: nothing from %s (%s) for %s; usually %s; see `touchbase doctor`", client, tool, channel, passed, usual)
    return begun
