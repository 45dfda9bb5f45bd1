"""Check of connections that fell silent."""

from __future__ import annotations

import logging

from touchbase.common.timestamps import Clock, Micros, has_passed
from touchbase.connections.rhythm import Silence
from touchbase.connections.silence import CHECK_INTERVAL, duration, usual_text
from touchbase.connections.sql.silence import claim_check, due_judgements, judge_connection
from touchbase.errors import Overloaded
from touchbase.sql.store import Store

LOG = logging.getLogger("touchbase.connections")


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
            LOG.warning("client %d: no call from %s (%s) for %s; usually %s; see `touchbase doctor`", client, tool, channel, passed, usual)
    return begun
