"""Inbox worker: stored deliveries become events, and events become changed records.

The store processes a batch of one client (claim, translate, apply, mark) in one transaction; the worker decides which client is
next (`fair_scheduler.py`). Batches are bounded, so a client with a large backlog does not delay the others. Under many requests
the worker pauses between batches, until deliveries are `MAX_LAG` old, or `QUIET_MAX_LAG` for a client with a small backlog.
After a failed batch the client is skipped for `BACKOFF_SECONDS`.
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
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.webhook_request import request_of_delivery
from touchbase.deliveries.work import ProcessingStore, WorkReport
from touchbase.errors import Overloaded
from touchbase.history.events import Translation
from touchbase.inbox.fair_scheduler import BATCH_SIZE, MAX_LAG, QUIET_MAX_LAG, SHORT_PAUSE, FairScheduler, pause_seconds
from touchbase.inbox.sql.queries import busy_clients
from touchbase.inbox.translator_pool import TranslatorPool
from touchbase.metrics import DELIVERIES_PROCESSED, DELIVERY_APPLY_DELAY, DELIVERY_PROBLEMS, RECORDS_CREATED, Metrics
from touchbase.sql.outage import Outage
from touchbase.sql.worker import Worker

LOG = logging.getLogger("touchbase.inbox")
BATCH, CLEANUP = "the inbox of a client", "removing expired keys"
"""Labels in the log of an outage."""

BACKOFF_SECONDS = 10.0
"""How long a client is skipped after its batch failed: longer than the pause after the store was overloaded."""
MAX_CONSECUTIVE_OVERLOADS = 8
"""Overloaded errors in a row after which the worker pauses for all clients."""

LONG_BATCH_SECONDS = 0.25
"""Duration after which a batch continues in the background and the next one begins."""
MAX_LONG_BATCHES = 3
"""Limit of concurrent background batches."""

Read = Callable[[WebhookRequest], Translation]
ConnectionsOf = Callable[[int], Awaitable[Sequence[Connection]]]
PeriodicTask = Callable[[Micros], Awaitable[object]]
"""A maintenance task that gets the time and decides whether it is due. It must be short, because deliveries wait for it."""


async def no_connections(client: int) -> Sequence[Connection]:
    """Return no connections."""
    return ()


def translator(read: Read, connections: Sequence[Connection] = ()) -> Callable[[Delivery], Translation]:
    """Return the function that translates a client's stored deliveries with its connections."""
    if isinstance(read, TranslatorPool):
        return read.for_client(connections)
    return lambda delivery: read(request_of_delivery(delivery, connections))


class InboxWorker(Worker):
    """Applies deliveries as they come, client by client, until it is stopped."""

    log, label, failure = LOG, "the inbox", "polling for deliveries failed; they stay in the inbox and polling is retried"
    slows_down = True
    poll_seconds = 0.5
    """Interval at which deliveries are read without a wake-up: after a crash, due for a retry, or stored by another process."""

    def __init__(
        self,
        store: ProcessingStore,
        read: Read,
        clock: Clock,
        *,
        connections: ConnectionsOf = no_connections,
        batch_size: int = BATCH_SIZE,
        on_report: Callable[[WorkReport], None] | None = None,
        tasks: Sequence[PeriodicTask] = (),
        outage: Outage | None = None,
    ) -> None:
        super().__init__(outage)
        self._store = store
        self._read = read
        self._connections = connections
        self._clock = clock
        self._batch_size = batch_size
        self._on_report = on_report
        self._periodic_tasks = tasks
        self._scheduler = FairScheduler(batch_size)
        self._backoff = Backoff[int](clock)
        self._overloads = 0
        self._long_batches: dict[int, asyncio.Task[float | None]] = {}
        """Background batches by client."""
        self._quiet_client_waits = asyncio.Event()
        self._polled_us: Micros = 0
        self._pausing = False

    def wake_client(self, client: int) -> None:
        """Start the next round now: this client has a new delivery."""
        if self._scheduler.add(client):
            self._quiet_client_waits.set()
        self.wake()

    def stop(self) -> None:
        """Finish the current batch, then return from `run`."""
        super().stop()
        self._quiet_client_waits.set()

    async def run(self) -> None:
        """Process batches until stopped, the long ones to their ends."""
        await super().run()
        if self._long_batches:
            await asyncio.wait([*self._long_batches.values()])

    async def drain(self) -> WorkReport:
        """Process all due deliveries not locked by another worker; `failing` of the report counts clients whose batches failed."""
        total, failing, taken = WorkReport(), set[int](), -1
        while total.taken > taken and (
            busy := [client for client in await self._store.read(busy_clients(self._clock())) if client not in failing]
        ):
            taken = total.taken
            for client in busy:
                try:
                    add_report(total, await self._process_batch(client, self._batch_size))
                except Exception as error:
                    failing.add(client)
                    self._log_failure(error)
        total.failing = len(failing)
        await self._run_periodic_tasks()
        return total

    async def _round(self) -> float:
        if has_passed(int(self.poll_seconds * SECOND), self._polled_us, self._clock()):
            await self._poll()
        for client in self._scheduler.round():
            if self._stopping.is_set():
                break
            if client in self._backoff or client in self._long_batches:
                self._scheduler.begin(client)  # a later poll adds it again
            else:
                await self._run_batch(client)
        return 0 if self._scheduler else self.poll_seconds

    async def _run_batch(self, client: int) -> None:
        """Run a client's batch; leave it to the background after `LONG_BATCH_SECONDS`, so that it does not block other clients."""
        self._idle_rounds = 0
        batch = asyncio.create_task(self._timed_batch(client))
        if len(self._long_batches) < MAX_LONG_BATCHES:
            try:
                await asyncio.wait((batch,), timeout=LONG_BATCH_SECONDS)
            except asyncio.CancelledError:
                batch.cancel()
                raise
            if not batch.done():
                self._long_batches[client] = batch
                batch.add_done_callback(partial(self._on_long_batch_done, client))
                return
        pause = await self._batch_result(batch)
        if pause is not None:
            self._pausing = pause > 0
            await self._yield_to_requests(pause)

    async def _batch_result(self, batch: asyncio.Task[float | None]) -> float | None:
        """Return the pause after a batch. Log a failure; raise it only at the `MAX_CONSECUTIVE_OVERLOADS`th overload in a row."""
        try:
            pause = await batch
        except Exception as error:
            self._overloads = self._overloads + 1 if isinstance(error, Overloaded) else 0
            if self._overloads >= MAX_CONSECUTIVE_OVERLOADS:
                self._overloads = 0
                raise
            self._log_failure(error)
            return None
        self._overloads = 0
        return pause

    def _on_long_batch_done(self, client: int, batch: asyncio.Task[float | None]) -> None:
        """End a background batch."""
        del self._long_batches[client]
        error = None if batch.cancelled() else batch.exception()
        if isinstance(error, Exception):
            self._log_failure(error)
        self.wake_client(client)  # more deliveries may have come during the batch

    async def _timed_batch(self, client: int) -> float | None:
        """Process a client's batch; return the seconds to pause, None if no delivery was due."""
        began, commands = self._clock(), self._store.commands_taken
        limit = self._scheduler.begin(client)
        if self._pausing:
            limit = min(limit, self._store.batch_size_under_load)
        try:
            report = await self._process_batch(client, limit)
        except Exception:
            self._backoff.delay(client, BACKOFF_SECONDS)
            raise
        now, commands = self._clock(), self._store.commands_taken - commands
        self._scheduler.end(client, limit, limit if report.more else report.taken, now - began)
        if report.oldest_us is None:
            return None
        max_lag = MAX_LAG if report.more or report.taken >= limit else QUIET_MAX_LAG
        return pause_seconds(now - began, commands, now - report.oldest_us, self._store.blocked_share, max_lag)

    async def _yield_to_requests(self, seconds: float) -> None:
        """Pause so that requests can use the store; no longer than `SHORT_PAUSE` while a quiet client waits."""
        await asyncio.sleep(min(seconds, SHORT_PAUSE))
        if seconds > SHORT_PAUSE and not (self._scheduler.has_quiet_clients or self._stopping.is_set()):
            self._quiet_client_waits.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._quiet_client_waits.wait(), seconds - SHORT_PAUSE)

    async def _poll(self) -> None:
        self._polled_us = self._clock()
        for client in await self._store.read(busy_clients(self._polled_us)):
            self._scheduler.add(client)
        await self._run_periodic_tasks()

    async def _run_periodic_tasks(self) -> None:
        for task in self._periodic_tasks:
            with self._attempt(CLEANUP, "a periodic task failed; the inbox continues and the task is retried"):
                await task(self._clock())

    async def _process_batch(self, client: int, limit: int) -> WorkReport:
        translate = translator(self._read, await self._connections(client))
        report = await self._store.work(client, limit, translate, began := self._clock())
        report.began_us = began
        self._outage.works(BATCH)
        if report.taken and self._on_report is not None:
            self._on_report(report)
        return report

    def _log_failure(self, error: Exception) -> None:
        if isinstance(error, Overloaded):
            self._outage.waits(BATCH, error)
        else:
            LOG.error("a client's batch failed; its deliveries stay in the inbox and are retried", exc_info=error)


def count_report(metrics: Metrics, clock: Clock, report: WorkReport) -> None:
    """Count the results of one batch in the metrics."""
    for labels, amount in report.outcomes.items():
        metrics.count(DELIVERIES_PROCESSED, *labels, amount=amount)
    for code, amount in report.problems.items():
        metrics.count(DELIVERY_PROBLEMS, code, amount=amount)
    metrics.count(RECORDS_CREATED, amount=report.created)
    now = clock()
    for since in report.applied_since_us:
        metrics.observe(DELIVERY_APPLY_DELAY, max(0, now - since) / SECOND)


def add_report(total: WorkReport, report: WorkReport) -> None:
    """Add a report to the total."""
    total.taken += report.taken
    total.created += report.created
    total.failing = max(total.failing, report.failing)
    for state, count in report.ended.items():
        total.ended[state] = total.ended.get(state, 0) + count
    for code, count in report.problems.items():
        total.problems[code] = total.problems.get(code, 0) + count
