"""Processing the inbox: kept deliveries become events and events become changed records.

The store does a turn (claim, translate, apply, mark) in one transaction; this decides whose turn it is.
Clients take turns of a bounded size (`turns.py`), so a client with a million waiting deliveries delays nobody. While
many callers write, keeping comes before thinking: the worker rests between turns, until
deliveries have waited for `PATIENCE`, or those of a client that has only a few for `LITTLE_PATIENCE`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

from touchbase.domain.bulk import refuse_bulk
from touchbase.domain.connection import Connection
from touchbase.domain.delivery import Delivery, WebhookRequest
from touchbase.domain.encoding import decoded
from touchbase.domain.errors import Overloaded
from touchbase.domain.events import Translation
from touchbase.domain.ports import Clock, Store, WorkReport
from touchbase.domain.queries import BusyClients
from touchbase.domain.times import SECOND, Micros, has_passed
from touchbase.service.turns import TURN, Turns

LOG = logging.getLogger("touchbase.inbox")

SWEEP_SECONDS = 0.5
"""How often we look for deliveries that nobody told us of: left by a crash, due again, or kept by another process."""

REST = 8
"""How many times as long as its turn the worker rests while many callers write."""
LONGEST_REST = 0.1
MANY = 1_000
"""Commands of callers in a second, from which on the worker rests."""
PATIENCE: Micros = 30 * SECOND
"""A delivery that waited so long is worth making callers wait."""
LITTLE_PATIENCE: Micros = SECOND // 4
"""The same for a client with less waiting than fits into a turn: nobody notices what that costs, and its callers expect to see it."""

Read = Callable[[WebhookRequest], Translation]
ConnectionsOf = Callable[[int], Awaitable[Sequence[Connection]]]
Chore = Callable[[Micros], Awaitable[object]]
"""Something to be done now and then; told the time, it decides whether it is due. It must be short, as deliveries wait meanwhile."""


async def no_connections(client: int) -> Sequence[Connection]:
    """Nobody has connected anything."""
    return ()


def translator(read: Read, connections: Sequence[Connection] = ()) -> Callable[[Delivery], Translation]:
    """What a kept delivery says, from what adapters make of a request and of what its client has connected."""

    def translate(delivery: Delivery) -> Translation:
        body = decoded(delivery.headers.get("content-encoding", ""), delivery.body)
        refuse_bulk(body)
        proved = delivery.tool if delivery.verified else None
        return read(WebhookRequest(delivery.channel, delivery.headers, delivery.query, body, proved, connections))

    return translate


def rest_seconds(took_us: Micros, commands: int, behind_us: Micros, patience: Micros = PATIENCE) -> float:
    """How long to leave the store to callers after a turn that took so long and saw so many of their commands.

    Nothing when callers are few, or when deliveries have waited longer than is good.
    """
    took_us = max(1, took_us)
    callers_are_many = commands > 1 and commands * SECOND > MANY * took_us
    return min(LONGEST_REST, REST * took_us / SECOND) if callers_are_many and behind_us < patience else 0


class InboxWorker:
    """Applies deliveries as they come, client by client, until it is stopped."""

    def __init__(
        self,
        store: Store,
        read: Read,
        clock: Clock,
        *,
        connections: ConnectionsOf = no_connections,
        turn: int = TURN,
        on_report: Callable[[WorkReport], None] | None = None,
        chores: Sequence[Chore] = (),
    ) -> None:
        self._store = store
        self._read = read
        self._connections = connections
        self._clock = clock
        self._turn = turn
        self._on_report = on_report
        self._chores = chores
        self._turns = Turns(turn)
        self._bell = asyncio.Event()
        self._looked_us: Micros = 0
        self._resting = False
        self._stopping = False

    def wake(self, client: int) -> None:
        """Tell that this client has a new delivery."""
        self._turns.woken(client)
        self._bell.set()

    def stop(self) -> None:
        """Finish the turn at hand, then return from `run`."""
        self._stopping = True
        self._bell.set()

    async def run(self) -> None:
        """Work until stopped. A store that cannot write now is asked again; nothing is lost meanwhile."""
        while not self._stopping:
            try:
                await self._round()
            except Overloaded as error:
                LOG.warning("the inbox waits: %s", error.detail)
                await asyncio.sleep(error.retry_after)
            except Exception:
                LOG.exception("a turn of the inbox failed; its deliveries are kept and tried again")
                await asyncio.sleep(SWEEP_SECONDS)

    async def drain(self) -> WorkReport:
        """Apply everything that is due now, then return what was done."""
        total = WorkReport()
        while busy := await self._store.read(BusyClients(self._clock())):
            for client in busy:
                add(total, await self._take_turn(client, self._turn))
        await self._do_chores()
        return total

    async def _round(self) -> None:
        if not self._turns:
            await self._await_news()
        if has_passed(int(SWEEP_SECONDS * SECOND), self._looked_us, self._clock()):
            await self._look_around()
        for client in self._turns.round():
            if self._stopping:
                return
            began, commands = self._clock(), self._store.commands_taken
            limit = self._turns.begin(client)
            if self._resting:
                limit = min(limit, self._turns.shortest)
            report = await self._take_turn(client, limit)
            now, commands = self._clock(), self._store.commands_taken - commands
            self._turns.end(client, limit, report.taken, now - began)
            if report.oldest_us is not None:
                patience = PATIENCE if report.taken >= limit else LITTLE_PATIENCE
                rest = rest_seconds(now - began, commands, now - report.oldest_us, patience)
                self._resting = rest > 0
                await asyncio.sleep(rest)

    async def _await_news(self) -> None:
        self._bell.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._bell.wait(), SWEEP_SECONDS)

    async def _look_around(self) -> None:
        self._looked_us = self._clock()
        for client in await self._store.read(BusyClients(self._looked_us)):
            self._turns.woken(client)
        await self._do_chores()

    async def _do_chores(self) -> None:
        for chore in self._chores:
            try:
                await chore(self._clock())
            except Exception:
                LOG.exception("a chore failed; the inbox goes on, and the chore is tried again")

    async def _take_turn(self, client: int, limit: int) -> WorkReport:
        translate = translator(self._read, await self._connections(client))
        report = await self._store.work(client, limit, translate, self._clock())
        if report.taken and self._on_report is not None:
            self._on_report(report)
        return report


def add(total: WorkReport, report: WorkReport) -> None:
    """Count one report into another."""
    total.taken += report.taken
    total.created += report.created
    for state, count in report.ended.items():
        total.ended[state] = total.ended.get(state, 0) + count
