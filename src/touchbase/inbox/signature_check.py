"""Signature check: accept, drop or refuse a webhook before anything of it is stored.

Fast checks (a secret in the request, a hash of a small body) run on the event loop. Decoding and parsing the body of an unverified
sender runs in one thread, with a bounded queue.
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
from touchbase.deliveries.limits import INLINE_BYTES
from touchbase.errors import StoreBusy

MAX_WAITING = 200
"""Webhooks queued for the thread; more get a 503."""


class SenderChecks:
    """Checks the senders of one server process's webhooks."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._thread = ThreadPoolExecutor(1, "touchbase-sender-check")
        self._waiting = 0

    async def check(self, client: Client, connections: Sequence[Connection], arrival: Arrival, now: Micros) -> Sender:
        """Return the verified sender, or that the webhook is dropped or refused. Raises `StoreBusy` when the queue is full.

        A secret protects its own tool. A webhook that is certainly another tool's is accepted unverified, unless the client requires
        verification on the channel. If no connection has a secret and verification is not required, nothing is checked.
        """
        required = client.settings.require_verification.on(arrival.channel)
        guarded = [connection for connection in connections if connection.channel == arrival.channel and connection.secrets]
        if not guarded and not required:
            return UNPROVEN
        # A public key is not secret and may appear in a webhook.
        secrets = tuple(
            shown for connection in guarded for secret, shown in zip(connection.secrets, self._tools.secrets_of(connection), strict=True)
            if not self._tools.is_public(connection.channel, connection.tool, secret)
        )  # fmt: skip
        if len(arrival.body) <= INLINE_BYTES:
            for connection in guarded:
                if self._tools.verify_signature_quickly(connection, arrival, now):
                    return Sender(connection.tool, True, secrets)
        tool, outcome, verified = await self._in_thread(partial(self._judge, guarded, arrival, now, required))
        return Sender(tool, verified, secrets, outcome)

    async def _in_thread(self, work: partial[tuple[str | None, str, bool]]) -> tuple[str | None, str, bool]:
        if self._waiting >= MAX_WAITING:
            raise StoreBusy("too many webhooks wait for their signature check; send this again in a moment")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting -= 1

    def _judge(self, guarded: Sequence[Connection], arrival: Arrival, now: Micros, required: bool) -> tuple[str | None, str, bool]:
        tools = self._tools
        for connection in guarded:
            if tools.verify_signature(connection, arrival, now):
                return connection.tool, ACCEPTED, True
        for connection in guarded:
            if tools.is_test_webhook(connection, arrival, now):
                return connection.tool, DROPPED, False
        tool, is_foreign = tools.guess_tool(arrival, {connection.tool for connection in guarded})
        return (None, ACCEPTED, False) if is_foreign and not required else (tool, REFUSED, False)
