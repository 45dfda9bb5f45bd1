"""Proving a sender: whether a call may come in, judged before anything of it is stored.

What is quick to check (a shown secret, a hash over a small body) is checked on the event loop. What unpacks or parses a body,
for callers who have proved nothing yet, runs on one thread beside it, a bounded number of calls at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.connections.models import ACCEPTED, DROPPED, REFUSED, UNPROVEN, Arrival, Connection, Sender
from touchbase.connections.tools import Tools
from touchbase.errors import Overloaded

AT_ONCE = 16 * 1024
"""Bytes of a body that is hashed on the event loop."""
MOST_WAITING = 200
"""Calls that wait for the thread; more are answered 503."""


class SenderChecks:
    """Checks who sends the calls of one server process."""

    def __init__(self, senders: Tools) -> None:
        self._senders = senders
        self._thread = ThreadPoolExecutor(1, "touchbase-sender-check")
        self._waiting = 0

    async def prove(self, client: Client, connections: Sequence[Connection], arrival: Arrival, now: Micros) -> Sender:
        """Who sends this call, or that it is to be dropped or refused. Raises `Overloaded` when too many calls wait to be checked.

        A secret concerns the calls of its tool. A call that is plainly another tool's is accepted unverified, unless the client
        requires verification on the channel. Where no connection has a secret and nothing is required, nothing is checked.
        """
        required = client.settings.require_verification.on(arrival.channel)
        guarded = [one for one in connections if one.channel == arrival.channel and one.secrets]
        if not guarded and not required:
            return UNPROVEN
        # A public key is no secret, and may well stand in a call.
        secrets = tuple(
            shown for one in guarded for secret, shown in zip(one.secrets, self._senders.secrets_of(one), strict=True)
            if not self._senders.is_public(one.channel, one.tool, secret)
        )  # fmt: skip
        if len(arrival.body) <= AT_ONCE:
            for one in guarded:
                if self._senders.proves_at_once(one, arrival, now):
                    return Sender(one.tool, True, secrets)
        tool, outcome, verified = await self._beside(partial(self._judge, guarded, arrival, now, required))
        return Sender(tool, verified, secrets, outcome)

    async def _beside(self, work: partial[tuple[str | None, str, bool]]) -> tuple[str | None, str, bool]:
        if self._waiting >= MOST_WAITING:
            raise Overloaded("too many calls wait for their signature to be checked; send this again in a moment")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting -= 1

    def _judge(self, guarded: Sequence[Connection], arrival: Arrival, now: Micros, required: bool) -> tuple[str | None, str, bool]:
        senders = self._senders
        for one in guarded:
            if senders.proves(one, arrival, now):
                return one.tool, ACCEPTED, True
        for one in guarded:
            if senders.is_test_call(one, arrival, now):
                return one.tool, DROPPED, False
        tool, is_plain = senders.likely(arrival, {one.tool for one in guarded})
        return (None, ACCEPTED, False) if is_plain and not required else (tool, REFUSED, False)
