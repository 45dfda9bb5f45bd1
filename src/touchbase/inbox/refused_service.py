"""Refused webhook calls: noted in memory, stored once a second, so that a flood of them costs a bounded number of rows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from touchbase.clients.commands import FindClient
from touchbase.clients.models import Client
from touchbase.common.field_limits import CLIENT_ID
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.connections.models import Connection
from touchbase.errors import Overloaded
from touchbase.inbox.queries import ListDeliveries
from touchbase.inbox.refused import CAUSES, NO_CLIENT, UNKNOWN_CLIENT, ListRefusals, NoteRefusals, RefusedWebhook
from touchbase.sql.store import Store

LOG = logging.getLogger("touchbase.refusals")

EACH = 20
"""Refused calls that are alike and stored one by one until the next flush; the last one stands for more and counts them."""
GROUPS = 500
"""Groups of like calls that wait for a flush; further groups are counted in the metrics only, and the log says so."""
LONGEST_VALUE = 200
_SHOWN = frozenset({"user-agent", "content-type", "content-encoding", "origin", "sec-fetch-site"})
_NAMED = ("signature", "hash", "token", "secret", "authorization", "api-key")
_SAID = ("-event", "-topic", "-version", "timestamp", "webhook-id")

LATELY: Micros = 7 * 86_400 * SECOND
LATELY_CALLS = 1_000
"""How far back, and through how many calls, it is looked for those that a new secret would refuse."""
Reason = Literal["must_prove", "not_recognised", "verification_required"]

Counter = Callable[[str, str | None, str], None]
"""Counts a refused call by channel, likely tool and cause."""
_Group = tuple[int, str, str, str | None, str]


def not_counted(channel: str, tool: str | None, cause: str) -> None:
    """Counts nothing."""


def shown_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers that help to find a refused call's sender. Of those that may hold a secret, only that they were there."""
    found: dict[str, str] = {}
    for raw, value in headers:
        name = raw.lower().decode("latin-1")
        if any(word in name for word in _NAMED) and not name.endswith(_SAID):
            found[name[:LONGEST_VALUE]] = "(present)"
        elif name in _SHOWN or name.endswith(_SAID):
            found[name[:LONGEST_VALUE]] = value.decode("latin-1").replace("\0", "")[:LONGEST_VALUE]
        if len(found) == EACH:
            break
    return found


class RefusedWebhooks:
    """The refused calls of this process that are not stored yet. One event loop owns it."""

    def __init__(self, clock: Clock, count: Counter = not_counted) -> None:
        self._clock = clock
        self._count = count
        self._waiting: dict[_Group, list[RefusedWebhook]] = {}
        self._left_out = 0

    def note_refusal(
        self,
        client: Client | str,
        channel: str,
        cause: str,
        *,
        headers: Iterable[tuple[bytes, bytes]] = (),
        size: int = 0,
        tool: str | None = None,
        at: Micros | None = None,
    ) -> None:
        """Note one refused call, and count it. Quick, never raises for what a caller sent, and writes nothing by itself.

        `client` is the client, or the id in the address where the client was not looked up. `cause` is one of
        `inbox.refused.CAUSES`, `size` that of the body as far as it is known, `tool` the one that the call looks like.
        """
        assert cause in CAUSES
        self._count(channel, tool, cause)
        number, client_id = (NO_CLIENT, client[:CLIENT_ID]) if isinstance(client, str) else (client.number, client.client_id)
        group = (number, "" if cause == UNKNOWN_CLIENT else client_id, channel, tool, cause)
        alike = self._waiting.get(group)
        if alike is None:
            if len(self._waiting) >= GROUPS:
                self._left_out += 1
                return
            alike = self._waiting[group] = []
        if len(alike) >= EACH:
            alike[-1].calls += 1
            return
        at = self._clock() if at is None else at
        client_id = client_id.replace("\0", "").encode("utf-8", "replace").decode()
        alike.append(RefusedWebhook(number, at, channel, cause, tool, size, shown_headers(headers), client_id))

    async def flush(self, store: Store) -> None:
        """Store what waits; what cannot be stored now waits on."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, {}
        if self._left_out:
            LOG.warning("%d refused calls are not listed: too many different ones came within a second", self._left_out)
            self._left_out = 0
        try:
            by_client = await self._by_client(store, waiting)
        except BaseException as error:
            self._wait_on(waiting, lambda _: True)
            if isinstance(error, Overloaded):
                return
            raise
        done = await asyncio.gather(*(store.write(NoteRefusals(*one)) for one in by_client.items()), return_exceptions=True)
        failed = {client: error for client, error in zip(by_client, done, strict=True) if error is not None}
        self._wait_on(waiting, failed.__contains__)
        for failure in failed.values():
            if not isinstance(failure, Overloaded):
                raise failure

    def _wait_on(self, waiting: Mapping[_Group, list[RefusedWebhook]], holds: Callable[[int], bool]) -> None:
        """Let the calls of these clients wait for the next flush, beside those that came since."""
        for group, alike in waiting.items():
            if holds(alike[0].client):
                merged = [*alike, *self._waiting.get(group, [])]
                if len(merged) > EACH:
                    merged[EACH - 1].calls = sum(one.calls for one in merged[EACH - 1 :])
                self._waiting[group] = merged[:EACH]

    async def _by_client(self, store: Store, waiting: Mapping[_Group, list[RefusedWebhook]]) -> dict[int, list[RefusedWebhook]]:
        """The calls of each client; an id that nobody looked up is looked up now."""
        found: dict[int, list[RefusedWebhook]] = {}
        for alike in waiting.values():
            if alike[0].client == NO_CLIENT and alike[0].cause != UNKNOWN_CLIENT:
                client = await store.read(FindClient(alike[0].client_id, self._clock()))
                alike[0].client = NO_CLIENT if client is None else client.number
            found.setdefault(alike[0].client, []).extend(alike)
        return found


async def list_refusals(store: Store, sought: ListRefusals) -> tuple[list[RefusedWebhook], tuple[Micros, int] | None]:
    """A page of refused calls, newest first, and where the next, older one begins."""
    limit = sought.limit
    found = await store.read(ListRefusals(limit + 1, sought.client, sought.channel, sought.tool, sought.cause, sought.before))
    page = found[:limit]
    return page, (page[-1].received_us, page[-1].id) if len(found) > limit else None


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls of one tool that came lately and would be refused from now; `tool` is None for calls that nothing recognised."""

    tool: str | None
    calls: int
    last_us: Micros
    reason: Reason


async def refused_from_now(store: Store, client: Client, connection: Connection, since_us: Micros) -> list[Caller]:
    """Who called on a connection's channel since then in a way that its secrets, which are about to hold, would refuse."""
    if not connection.secrets:
        return []
    lately = await store.read(ListDeliveries(LATELY_CALLS, client.number, connection.channel, received_since_us=since_us))
    required = client.settings.require_verification.on(connection.channel)
    found: dict[str | None, list[Micros]] = {}
    for one in lately:
        tool = None if one.tool == "generic" and connection.tool != "generic" else one.tool
        if not one.verified and (required or tool in (None, connection.tool)):
            found.setdefault(tool, []).append(one.received_us)
    why: dict[str | None, Reason] = {connection.tool: "must_prove", None: "not_recognised"}
    made = [Caller(tool, len(times), max(times), why.get(tool, "verification_required")) for tool, times in found.items()]
    return sorted(made, key=lambda one: (-one.calls, one.tool or ""))
