"""Processing the inbox: kept deliveries become events and events become changed records.

The store does a turn (claim, translate, apply, mark) in one transaction; this decides whose turn it is.
Clients take turns of a bounded size (`turns.py`), so a client with a million waiting deliveries delays nobody. While
many callers write, keeping comes before thinking: the worker rests between turns, until
deliveries have waited for `PATIENCE`, or those of a client that has only a few for `LITTLE_PATIENCE`.
A client whose turn fails is left alone for a while, and the others go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from touchbase.adapters.interface import WebhookRequest
from touchbase.common.backoff import Backoff
from touchbase.common.timestamps import SECOND, Clock, Micros, has_passed
from touchbase.connections.models import Connection
from touchbase.errors import Overloaded
from touchbase.events.adaptive_throttle import LITTLE_PATIENCE, PATIENCE, SHORT_REST, rest_seconds
from touchbase.events.fair_scheduler import TURN, FairScheduler
from touchbase.events.translator_pool import TranslatorPool
from touchbase.events.work import ProcessingStore, WorkReport
from touchbase.history.events import Translation
from touchbase.inbox.delivery import Delivery
from touchbase.inbox.queries import BusyClients
from touchbase.inbox.webhook_request import delivered

LOG = logging.getLogger("touchbase.inbox")

SWEEP_SECONDS = 0.5
"""How often we look for deliveries that nobody told us of: left by a crash, due again, or kept by another process."""

LEFT_ALONE_SECONDS = 10.0
"""For how long a client whose turn failed has no other one: longer than a store that cannot write is left alone."""
REFUSED = 8
"""Clients one after the other whose deliveries the store could not work on, after which it is the store that is left alone."""

LONG_TURN_SECONDS = 0.25
"""After which a turn goes on by itself, while others have theirs."""
MOST_AWAY = 3
"""Turns that may do so at once."""

Read = Callable[[WebhookRequest], Translation]
ConnectionsOf = Callable[[int], Awaitable[Sequence[Connection]]]
Chore = Callable[[Micros], Awaitable[object]]
"""Something to be done now and then; told the time, it decides whether it is due. It must be short, as deliveries wait meanwhile."""


async def no_connections(client: int) -> Sequence[Connection]:
    """Nobody has connected anything."""
    return ()


def translator(read: Read, connections: Sequence[Connection] = ()) -> Callable[[Delivery], Translation]:
    """What a kept delivery says, from what adapters make of a request and of what its client has connected."""
    if isinstance(read, TranslatorPool):
        return read.of(connections)
    return lambda delivery: read(delivered(delivery, connections))


class InboxWorker:
    """Applies deliveries as they come, client by client, until it is stopped."""

    def __init__(
        self,
        store: ProcessingStore,
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
        self._turns = FairScheduler(turn)
        self._left_alone = Backoff[int](clock)
        self._refused = 0
        self._away: dict[int, asyncio.Task[float | None]] = {}
        """Turns that take long, by their clients."""
        self._bell = asyncio.Event()
        self._quiet_came = asyncio.Event()
        self._looked_us: Micros = 0
        self._resting = False
        self._stopping = asyncio.Event()

    def wake(self, client: int) -> None:
        """Tell that this client has a new delivery."""
        if self._turns.woken(client):
            self._quiet_came.set()
        self._bell.set()

    def stop(self) -> None:
        """Finish the turn at hand, then return from `run`."""
        self._stopping.set()
        self._quiet_came.set()
        self._bell.set()

    async def run(self) -> None:
        """Work until stopped. A store that cannot write now is asked again; nothing is lost meanwhile."""
        while not self._stopping.is_set():
            try:
                await self._round()
            except Overloaded as error:
                LOG.warning("the inbox waits: %s", error.detail)
                await self._pause(error.retry_after)
            except Exception:
                LOG.exception("looking for deliveries failed; they are kept, and it is tried again")
                await self._pause(SWEEP_SECONDS)
        if self._away:
            await asyncio.wait([*self._away.values()])

    async def drain(self) -> WorkReport:
        """Apply everything that is due now, then return what was done; `failing` tells of clients whose turns failed.

        What another worker holds is left to it: asking for it again until it is done would only take its processor.
        """
        total, failing, taken = WorkReport(), set[int](), -1
        while total.taken > taken and (busy := [one for one in await self._store.read(BusyClients(self._clock())) if one not in failing]):
            taken = total.taken
            for client in busy:
                try:
                    add(total, await self._take_turn(client, self._turn))
                except Exception as error:
                    failing.add(client)
                    _tell(error)
        total.failing = len(failing)
        await self._do_chores()
        return total

    async def _round(self) -> None:
        if not self._turns:
            await self._await_news()
        if has_passed(int(SWEEP_SECONDS * SECOND), self._looked_us, self._clock()):
            await self._look_around()
        for client in self._turns.round():
            if self._stopping.is_set():
                return
            if client in self._left_alone or client in self._away:
                self._turns.begin(client)  # a later look around finds it again
            else:
                await self._try_turn(client)

    async def _try_turn(self, client: int) -> None:
        """A client's turn. One that takes long goes on by itself, and the others have theirs meanwhile."""
        turn = asyncio.create_task(self._timed_turn(client))
        if len(self._away) < MOST_AWAY:
            try:
                await asyncio.wait((turn,), timeout=LONG_TURN_SECONDS)
            except asyncio.CancelledError:
                turn.cancel()
                raise
            if not turn.done():
                self._away[client] = turn
                turn.add_done_callback(partial(self._back, client))
                return
        rest = await self._ended(turn)
        if rest is not None:
            self._resting = rest > 0
            await self._rest(rest)

    async def _ended(self, turn: asyncio.Task[float | None]) -> float | None:
        """How long to rest after a turn. One that fails is nobody else's business, unless the store refuses one after the other."""
        try:
            rest = await turn
        except Exception as error:
            self._refused = self._refused + 1 if isinstance(error, Overloaded) else 0
            if self._refused >= REFUSED:
                self._refused = 0
                raise
            _tell(error)
            return None
        self._refused = 0
        return rest

    def _back(self, client: int, turn: asyncio.Task[float | None]) -> None:
        """A turn that took long is over."""
        del self._away[client]
        error = None if turn.cancelled() else turn.exception()
        if isinstance(error, Exception):
            _tell(error)
        self.wake(client)  # more may have come meanwhile

    async def _timed_turn(self, client: int) -> float | None:
        """Take a client's turn; answers how long to rest then, None where nothing was there."""
        began, commands = self._clock(), self._store.commands_taken
        limit = self._turns.begin(client)
        if self._resting:
            limit = min(limit, self._store.turn_beside_callers)
        try:
            report = await self._take_turn(client, limit)
        except Exception:
            self._left_alone.leave(client, LEFT_ALONE_SECONDS)
            raise
        now, commands = self._clock(), self._store.commands_taken - commands
        self._turns.end(client, limit, limit if report.more else report.taken, now - began)
        if report.oldest_us is None:
            return None
        patience = PATIENCE if report.more or report.taken >= limit else LITTLE_PATIENCE
        return rest_seconds(now - began, commands, now - report.oldest_us, self._store.held_up_by_turn, patience)

    async def _rest(self, seconds: float) -> None:
        """Leave the store to callers; no longer than `SHORT_REST` while somebody waits who has little to say."""
        await asyncio.sleep(min(seconds, SHORT_REST))
        if seconds > SHORT_REST and not (self._turns.quiet_wait or self._stopping.is_set()):
            self._quiet_came.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._quiet_came.wait(), seconds - SHORT_REST)

    async def _await_news(self) -> None:
        self._bell.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._bell.wait(), SWEEP_SECONDS)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

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


def _tell(error: Exception) -> None:
    if isinstance(error, Overloaded):
        LOG.warning("the inbox of a client waits: %s", error.detail)
    else:
        LOG.error("a client's turn of the inbox failed; its deliveries are kept and tried again", exc_info=error)


def add(total: WorkReport, report: WorkReport) -> None:
    """Count one report into another."""
    total.taken += report.taken
    total.created += report.created
    total.failing = max(total.failing, report.failing)
    for state, count in report.ended.items():
        total.ended[state] = total.ended.get(state, 0) + count
    for code, count in report.problems.items():
        total.problems[code] = total.problems.get(code, 0) + count
