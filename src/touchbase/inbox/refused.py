"""Refused webhooks: recorded in memory, stored once a second, listed.

A flood of them costs a bounded number of rows. The body of one that did not prove its sender is stored encrypted (`refused_bodies.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from touchbase.clients.models import Client
from touchbase.clients.sql.clients import find_client
from touchbase.common.field_limits import CLIENT_ID
from touchbase.common.threads import on_thread
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.connections.models import Connection, UnverifiedReason
from touchbase.errors import Overloaded
from touchbase.identity.pii_scan import Unsearchable
from touchbase.inbox.queries import RefusedWebhook
from touchbase.inbox.refused_bodies import (
    MAX_CLIENT_BYTES,
    MAX_WAITING_BYTES,
    SAFE_SUFFIXES,
    RefusedBody,
    content_of,
    digest_of,
    may_be_secret,
)
from touchbase.inbox.sql.queries import list_deliveries
from touchbase.inbox.sql.refused import list_refusals, store_refusals
from touchbase.metrics import DELIVERIES_REFUSED, Metrics, NoMetrics
from touchbase.sql.store import Store

NO_CLIENT = 0
"""The client number of webhooks to an unknown client id. No client has it."""
NOT_VERIFIED = "not_verified"
TEST_CALL = "test_call"
UNKNOWN_CLIENT = "unknown_client"
TOO_LARGE = "too_large"
FOREIGN_ORIGIN = "foreign_origin"
RATE = "rate"
STORAGE = "storage"
CAUSES: Mapping[str, str] = {
    NOT_VERIFIED: "the signature is missing or wrong",
    TEST_CALL: "the tool's own test request, answered 200 and dropped",
    UNKNOWN_CLIENT: "the URL names no existing client",
    TOO_LARGE: "the body exceeds a limit",
    FOREIGN_ORIGIN: "a web page of another site sent it",
    RATE: "a rate limit was reached",
    STORAGE: "the client stores more bytes than its limit, and than the room above it that is for webhooks",
}
"""Each cause with its explanation."""


LOG = logging.getLogger("touchbase.refusals")

MAX_ALIKE = 20
"""Like webhooks stored one by one in a flush; the last one counts the rest."""
MAX_GROUPS = 500
"""Groups of like webhooks that wait for a flush; further groups are counted in the metrics only, and logged."""
LONGEST_VALUE = 200
_SHOWN_HEADERS = frozenset({"user-agent", "content-type", "content-encoding", "origin", "sec-fetch-site"})

LOOKBACK: Micros = 7 * 86_400 * SECOND
LOOKBACK_DELIVERIES = 1_000
"""How far back, and in how many deliveries, to search for senders that a new secret would refuse."""

_Group = tuple[int, str, str, str | None, str]


def shown_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the headers that help to find a refused webhook's sender; the values of possible secrets are replaced by `(present)`."""
    shown: dict[str, str] = {}
    for raw, value in headers:
        name = raw.lower().decode("latin-1")
        if may_be_secret(name):
            shown[name[:LONGEST_VALUE]] = "(present)"
        elif name in _SHOWN_HEADERS or name.endswith(SAFE_SUFFIXES):
            shown[name[:LONGEST_VALUE]] = value.decode("latin-1").replace("\0", "")[:LONGEST_VALUE]
        if len(shown) == MAX_ALIKE:
            break
    return shown


class RefusedWebhooks:
    """Refused webhooks of this process that are not stored yet. Not thread-safe: one event loop owns it."""

    def __init__(self, clock: Clock, metrics: Metrics | None = None) -> None:
        self._clock = clock
        self._metrics = metrics or NoMetrics()
        self._waiting: dict[_Group, list[RefusedWebhook]] = {}
        self._left_out = 0
        self._bodies: dict[tuple[int, str], RefusedBody] = {}
        self._erasing: set[int] = set()
        """Clients with waiting bodies that have erased people."""
        self._bytes: Counter[int] = Counter()
        """Bytes of the waiting bodies of each client."""

    def record_refusal(
        self,
        client: Client | str,
        channel: str,
        cause: str,
        *,
        headers: Iterable[tuple[bytes, bytes]] = (),
        size: int = 0,
        tool: str | None = None,
        at: Micros | None = None,
        query: str = "",
        body: bytes | None = None,
    ) -> None:
        """Count and record one refused webhook in memory. Fast; raises for no input; `flush` stores it.

        `client`: the client, or the id in the URL if it was not looked up. `cause`: one of `CAUSES`. `size`: bytes of the body
        that were received. `tool`: guessed from the webhook. `body`: to be stored, if there is room.
        """
        assert cause in CAUSES
        self._metrics.count(DELIVERIES_REFUSED, channel, tool or "", cause)
        number, client_id = (NO_CLIENT, client[:CLIENT_ID]) if isinstance(client, str) else (client.number, client.client_id)
        at = self._clock() if at is None else at
        digest = None if body is None or isinstance(client, str) else self._keep(client, channel, tool, headers, query, body, at)
        group = (number, "" if cause == UNKNOWN_CLIENT else client_id, channel, tool, cause)
        alike = self._waiting.get(group)
        if alike is None:
            if len(self._waiting) >= MAX_GROUPS:
                self._left_out += 1
                return
            alike = self._waiting[group] = []
        if len(alike) >= MAX_ALIKE:
            alike[-1].calls += 1
            return
        client_id = client_id.replace("\0", "").encode("utf-8", "replace").decode()
        alike.append(RefusedWebhook(number, at, channel, cause, tool, size, shown_headers(headers), client_id, body=digest))

    def _keep(
        self, client: Client, channel: str, tool: str | None, headers: Iterable[tuple[bytes, bytes]], query: str, body: bytes, at: Micros
    ) -> str | None:
        """Hold a body for the next flush; return its id, or None if there is no room for it."""
        content = content_of(headers, query, body)
        if content is None or (client.has_erased and "content-encoding" in content.headers):
            return None  # what it unpacks to is not searched for erased people, because it may be long
        key = (client.number, digest_of(channel, content))
        if (waiting := self._bodies.get(key)) is not None:
            waiting.calls, waiting.received_us = waiting.calls + 1, at
            return key[1]
        if self._bytes[client.number] + content.size > MAX_CLIENT_BYTES or self._bytes.total() + content.size > MAX_WAITING_BYTES:
            return None
        self._bytes[client.number] += content.size
        self._bodies[key] = RefusedBody(client.number, key[1], channel, tool, at, at, 1, content.size, content)
        if client.has_erased:
            self._erasing.add(client.number)
        return key[1]

    async def _take_bodies(self) -> dict[int, list[RefusedBody]]:
        """Return the waiting bodies by client, and forget them; of clients that have erased people with the identities in them."""
        bodies, erasing = self._bodies, self._erasing
        self._bodies, self._erasing, self._bytes = {}, set(), Counter()
        by_client: dict[int, list[RefusedBody]] = {}
        for body in bodies.values():
            if body.client in erasing and body.content is not None:
                try:
                    body.erased_refs = sorted(await on_thread("refusals", body.content.identities))
                except Unsearchable:
                    continue  # it may name anybody
            by_client.setdefault(body.client, []).append(body)
        return by_client

    async def flush(self, store: Store) -> None:
        """Store the recorded webhooks; if a write fails, its webhooks stay for the next flush."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, {}
        if self._left_out:
            LOG.warning("%d refused webhooks are not listed: too many different ones arrived within a second", self._left_out)
            self._left_out = 0
        try:
            by_client = await self._by_client(store, waiting)
        except BaseException as error:
            self._requeue(waiting, lambda _: True)
            if isinstance(error, Overloaded):
                return
            raise
        bodies = await self._take_bodies()
        writes = (store.write(store_refusals(client, refused, bodies=bodies.get(client, ()))) for client, refused in by_client.items())
        done = await asyncio.gather(*writes, return_exceptions=True)
        failed = {client: error for client, error in zip(by_client, done, strict=True) if error is not None}
        self._requeue(waiting, failed.__contains__)
        self._bodies |= {(body.client, body.digest): body for client in failed for body in bodies.get(client, ())}
        self._bytes.update({client: sum(body.size for body in bodies.get(client, ())) for client in failed})
        for failure in failed.values():
            if not isinstance(failure, Overloaded):
                raise failure

    def _requeue(self, waiting: Mapping[_Group, list[RefusedWebhook]], has_failed: Callable[[int], bool]) -> None:
        """Put the webhooks of clients whose write failed back, before newer ones."""
        for group, alike in waiting.items():
            if has_failed(alike[0].client):
                merged = [*alike, *self._waiting.get(group, [])]
                if len(merged) > MAX_ALIKE:
                    merged[MAX_ALIKE - 1].calls = sum(refusal.calls for refusal in merged[MAX_ALIKE - 1 :])
                self._waiting[group] = merged[:MAX_ALIKE]

    async def _by_client(self, store: Store, waiting: Mapping[_Group, list[RefusedWebhook]]) -> dict[int, list[RefusedWebhook]]:
        """Group the webhooks by client; look up the client ids that were only recorded."""
        by_client: dict[int, list[RefusedWebhook]] = {}
        for alike in waiting.values():
            if alike[0].client == NO_CLIENT and alike[0].cause != UNKNOWN_CLIENT:
                client = await store.read(find_client(alike[0].client_id, self._clock()))
                alike[0].client = NO_CLIENT if client is None else client.number
            by_client.setdefault(alike[0].client, []).extend(alike)
        return by_client


async def page_of_refusals(
    store: Store, limit: int, client: int | None = None, **filters: Any
) -> tuple[list[RefusedWebhook], tuple[Micros, int] | None]:
    """Return a page of refused webhooks, newest first, and the cursor of the next page; `filters` as in `list_refusals`."""
    refusals = await store.read(list_refusals(limit + 1, client, **filters))
    page = refusals[:limit]
    return page, place_of(page[-1]) if len(refusals) > limit else None


def place_of(refusal: RefusedWebhook) -> tuple[Micros, int]:
    """Return where a list goes on behind this one."""
    return refusal.received_us, refusal.id


@dataclass(frozen=True, slots=True)
class AffectedSender:
    """Recent webhooks of one tool that would be refused from now on; `tool` is None for unrecognised ones."""

    tool: str | None
    calls: int
    last_us: Micros
    reason: UnverifiedReason


async def find_affected_senders(store: Store, client: Client, connection: Connection, since_us: Micros) -> list[AffectedSender]:
    """Return the senders on a connection's channel since then whose webhooks its new secrets would refuse."""
    if not connection.secrets:
        return []
    recent = await store.read(list_deliveries(LOOKBACK_DELIVERIES, client.number, connection.channel, received_since_us=since_us))
    required = client.settings.require_verification.on(connection.channel)
    times_by_tool: dict[str | None, list[Micros]] = {}
    for delivery in recent:
        tool = None if delivery.tool == "generic" and connection.tool != "generic" else delivery.tool
        if not delivery.verified and (required or tool in (None, connection.tool)):
            times_by_tool.setdefault(tool, []).append(delivery.received_us)
    reasons: dict[str | None, UnverifiedReason] = {connection.tool: "must_prove", None: "not_recognised"}
    senders = [
        AffectedSender(tool, len(times), max(times), reasons.get(tool, "verification_required")) for tool, times in times_by_tool.items()
    ]
    return sorted(senders, key=lambda sender: (-sender.calls, sender.tool or ""))
