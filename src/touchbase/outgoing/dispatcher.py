"""The dispatcher: sends the events of the log to the endpoints that this process serves.

Processes divide the clients among themselves by leases in the store; one process serves an endpoint at a time. What an endpoint
has got is stored moments after its response; a kill in between repeats these events, under the same ids.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from secrets import token_hex
from typing import Any

from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.do_not_contact.sql.copies import list_revision
from touchbase.errors import Overloaded
from touchbase.event_log.sql.queries import find_new_events, list_newest_events
from touchbase.http.actors import ActorNames
from touchbase.metrics import WEBHOOK_ATTEMPT_DURATION, WEBHOOK_ATTEMPTS, Metrics, NoMetrics
from touchbase.outgoing.attempts import FailedAttempt, Outbox, PostsWebhooks, judged, warn_of_trimmed
from touchbase.outgoing.audit_log import newest_act
from touchbase.outgoing.blocklists import SHARED
from touchbase.outgoing.filters import UnreadableFilter
from touchbase.outgoing.http_client import ReceiverAnswer
from touchbase.outgoing.line import EndpointQueue, WaitingEvent
from touchbase.outgoing.models import BLOCKLIST, EVERY_CLIENT, NOWHERE, PAUSED, SHARDS, Attempt, Installation
from touchbase.outgoing.results import STORING, Key, Results
from touchbase.outgoing.rounds import POLL_SECONDS, UNUSED_POLL_SECONDS, SignalledWorker
from touchbase.outgoing.shared_reads import LogReader, Shown
from touchbase.outgoing.sql.announced import announce_installation_list
from touchbase.outgoing.sql.dispatch import endpoint_versions, lead_shards, read_served
from touchbase.outgoing.sql.shared import copy_shared, newest_client, read_shared, shared_versions
from touchbase.sql.outage import Outage
from touchbase.sql.store import Store
from touchbase.sql.worker import GRACE_SECONDS
from touchbase.tracing.interface import Tracing

FAST = 128
FAST_SECONDS = 0.5
MAX_SLOW = min(2_000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
"""At most half of the files that the process may have open."""


class Slots:
    """Slots for requests in progress, for which endpoints take turns; `start` begins one request and returns whether there was one.

    A request holds a fast slot for at most `FAST_SECONDS`; then it counts as slow, and the slot is another endpoint's. So endpoints
    that do not respond delay others at most so long, until there are `MAX_SLOW` slow requests.
    """

    def __init__(self, start: Callable[[EndpointQueue], bool]) -> None:
        self._start = start
        self._waiting: deque[EndpointQueue] = deque()
        self.fast = 0
        self.slow = 0

    def offer(self, line: EndpointQueue) -> None:
        """Queue an endpoint for the next free slot."""
        if not line.is_queued:
            line.is_queued = True
            self._waiting.append(line)
        self._fill()

    def _fill(self) -> None:
        while self._waiting and self.fast < FAST:
            line = self._waiting.popleft()
            line.is_queued = False
            if self._start(line):
                self.fast += 1
                line.is_queued = True
                self._waiting.append(line)

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Hold the slot that `start` was called for, until the end of the request."""
        loop, is_slow = asyncio.get_running_loop(), False
        timer: asyncio.TimerHandle

        def become_slow() -> None:
            nonlocal timer, is_slow
            if self.slow >= MAX_SLOW:
                timer = loop.call_later(FAST_SECONDS, become_slow)
                return
            is_slow = True
            self.slow += 1
            self.fast -= 1
            self._fill()

        timer = loop.call_later(FAST_SECONDS, become_slow)
        try:
            yield
        finally:
            timer.cancel()
            if is_slow:
                self.slow -= 1
            else:
                self.fast -= 1
                self._fill()


LOG = logging.getLogger("touchbase.outgoing")
LEAVING = "leaving outgoing webhooks to other processes"
LEASE: Micros = 10 * SECOND
RENEW_SECONDS = 3.0
MARGIN: Micros = SECOND
"""Nothing is sent in the last moment of a lease that could not be renewed."""
FEW_CLIENTS = 200
"""Clients up to which their counters are read one by one."""
LOADS = 2
"""Clients whose endpoints are read at once."""
COPIED_EVERY: Micros = 60 * SECOND
"""How often to look for clients without a copy that were suspended or moved."""
COPY_PAGES = 5
"""Pages of copies of one round."""
ENDED_EVERY: Micros = 600 * SECOND
"""How often to look for entries of the installation's list that have ended."""


class Dispatcher(SignalledWorker):
    """Sends until it is stopped."""

    log, label, failure = LOG, "a round of outgoing webhooks", "a round of outgoing webhooks failed and will be retried"

    def __init__(
        self,
        store: Store,
        client: PostsWebhooks,
        clock: Clock,
        show: Shown,
        *,
        metrics: Metrics | None = None,
        place: Installation = NOWHERE,
        tracing: Tracing | None = None,
        outage: Outage | None = None,
        actors: ActorNames | None = None,
        home: Store | None = None,
    ) -> None:
        """`home`: the store that has the endpoints and the acts of all clients, which a cell has not."""
        super().__init__(outage)
        self._store = store
        self._home = home or store
        self._clock = clock
        self._outbox = Outbox(store, client.post, clock, show, place, tracing, actors, self._home)
        self._log = LogReader(store, self._home, clock)
        self._metrics = metrics or NoMetrics()
        self._token = token_hex(8)
        self._results = Results(store, self._token, clock, self._leave, self._outage)
        self._shards: frozenset[int] = frozenset()
        self._surplus: frozenset[int] = frozenset()
        """Shards of this process that another one is to have: nothing more is sent for them."""
        self._until: Micros = 0
        self._lines: dict[Key, EndpointQueue] = {}
        self._closing: dict[Key, EndpointQueue] = {}
        self._versions: dict[Key, int] = {}
        self._of_client: dict[int, set[Key]] = {}
        self._newest: dict[int, int] = {}
        self._busy: dict[Key, EndpointQueue] = {}
        self._announced: dict[Key, tuple[int, Micros]] = {}
        """Revision of the installation's list that an endpoint was told of completely, and when."""
        self._copied: tuple[object, Micros] = (None, 0)
        """Versions of the endpoints of all clients, and the newest client, for which all copies were made, and when."""
        self._slots = Slots(self._start)
        self._tasks: set[asyncio.Task[None]] = set()
        self._next_lead = self._next_poll = 0.0

    def wake(self) -> None:
        """Look for changed endpoints and new events now."""
        self._next_poll = 0.0
        super().wake()

    def stop(self) -> None:
        """Begin no request; `run` waits a while for requests in progress, stores their results, and returns."""
        super().stop()
        self._results.stop()

    def wants_events(self) -> bool:
        """Return whether there are endpoints."""
        return bool(self._lines)

    async def run(self) -> None:
        """Send until stopped."""
        storing = asyncio.create_task(self._results.run(), name="webhook-results")
        try:
            await super().run()
        finally:
            await self._end()
            await storing

    async def drain(self) -> int:
        """Send due requests; return their number."""
        before = self._outbox.sent
        while True:
            self._next_poll = self._next_lead = 0.0
            await self._round()
            while self._tasks:
                await asyncio.wait([*self._tasks])
            await self._results.flush()
            now = self._clock()
            if not any(line.has_work(now) for line in self._lines.values()):
                return self._outbox.sent - before

    async def _round(self) -> float:
        """Renew leases, read changed endpoints and new events where due, begin requests; return the seconds until the next round."""
        at = time.monotonic()
        if at >= self._next_lead:
            await self._lead()
        polls, has_logged = at >= self._next_poll, self.take_signal()
        pause = POLL_SECONDS if self._lines or self._closing else UNUSED_POLL_SECONDS
        if polls:
            self._next_poll = at + pause
            # A cell sends what it has while the home store is down.
            with contextlib.nullcontext() if self._home is self._store else contextlib.suppress(Overloaded):
                await self._copy_shared()
            await self._read_endpoints()
        if polls:
            await self._announce()
        if self._lines and (polls or has_logged):
            await self._look()
        now = self._clock()
        due = now + int(pause * SECOND)
        for key, line in [*self._busy.items()]:
            if line.is_idle:
                del self._busy[key]
            else:
                due = min(due, self._pump(line, now) or due)
        return self.plan(due, now)

    async def _lead(self) -> None:
        now = self._clock()
        returned = frozenset() if any(self._is_surplus(key) for key in (*self._lines, *self._closing)) else self._surplus
        lead = await self._store.write(lead_shards(self._token, now, now + LEASE, returned))
        self._until, self._next_lead = now + LEASE - MARGIN, time.monotonic() + RENEW_SECONDS
        self._shards = lead.shards
        self._surplus = frozenset(sorted(lead.shards)[lead.fair :])
        for key in [*self._lines]:
            if key[0] % SHARDS not in lead.shards or self._is_surplus(key):
                self._close(key)

    def _is_surplus(self, key: Key) -> bool:
        return key[0] % SHARDS in self._surplus

    async def _copy_shared(self) -> None:
        """Copy the endpoints of all clients, if one has changed, or if there is a new client."""
        versions, now = await self._home.read(shared_versions()), self._clock()
        shards = self._shards - self._surplus
        newest = await self._store.read(newest_client()) if versions else 0
        state = (versions, newest, shards)
        if not shards or (self._copied[0] == state and (not versions or now - self._copied[1] < COPIED_EVERY)):
            return
        shared = await self._home.read(read_shared()) if versions else []
        for _ in range(COPY_PAGES):
            if not await self._store.write(copy_shared(shared, shards, now)):
                self._copied = state, now
                return

    async def _read_endpoints(self) -> None:
        """Read endpoints that are new or have changed, and leave removed ones."""
        self._closing = {key: line for key, line in self._closing.items() if line.in_flight or line.has_news}
        present = await self._store.read(endpoint_versions(self._shards - self._surplus))
        for key in [*self._lines]:
            if key not in present:
                self._close(key)
        changed: dict[int, list[int]] = {}
        for key, version in present.items():
            if self._versions.get(key) != version and key not in self._closing:
                changed.setdefault(key[0], []).append(key[1])
        clients = [*changed]
        for first in range(0, len(clients), LOADS):
            await asyncio.gather(*(self._load(client, changed[client]) for client in clients[first : first + LOADS]))
        now = self._clock()
        for line in self._lines.values():
            if line.may_advance(now):
                self._results.of(line)

    async def _announce(self) -> None:
        """Log the installation's do-not-contact list for blocklists, if it has changed, or if entries may have ended."""
        lines = {key: line for key, line in self._lines.items() if line.endpoint.kind == BLOCKLIST and not line.has_backlog}
        if not lines:
            return
        revision, now = await self._store.read(list_revision()), self._clock()
        for key, line in lines.items():
            announced, at = self._announced.get(key, (0, 0))
            if (announced == revision and now - at < ENDED_EVERY) or not {*SHARED} & {*line.endpoint.types}:
                continue
            if not await self._store.write(announce_installation_list(*key, now)):
                self._announced[key] = (revision, now)

    async def _load(self, client: int, ids: list[int]) -> None:
        for served in await self._store.read(read_served(client, ids)):
            key = (client, served.endpoint.id)
            if (line := self._lines.get(key)) is None:
                line = self._lines[key] = EndpointQueue(served, self._clock())
                self._of_client.setdefault(client, set()).add(key)
                self._newest[client] = min(self._newest.get(client, line.read), line.read)
            else:
                line.use(served, self._clock())
            self._versions[key] = served.endpoint.version
            self._busy[key] = line

    def _leave(self, line: EndpointQueue) -> None:
        """Stop serving an endpoint, unless it was loaded again."""
        key = (line.endpoint.client, line.endpoint.id)
        if self._lines.get(key) is line:
            self._close(key)

    def _close(self, key: Key) -> None:
        line = self._lines.pop(key)
        line.is_closed = True
        self._closing[key] = line
        self._versions.pop(key, None)
        self._announced.pop(key, None)
        self._busy.pop(key, None)
        self._of_client[key[0]].discard(key)
        if not self._of_client[key[0]]:
            del self._of_client[key[0]], self._newest[key[0]]

    async def _look(self) -> None:
        """Find clients with new events."""
        if len(self._newest) <= FEW_CLIENTS:
            newest_by_client = await self._store.read(find_new_events(dict(self._newest)))
        else:
            every = await self._store.read(list_newest_events())
            newest_by_client = {client: newest for client, newest in every.items() if newest > self._newest.get(client, newest)}
        if EVERY_CLIENT in self._newest:
            with self._attempt("looking for acts", "looking for acts failed and will be retried"):  # a cell may be down
                newest_by_client[EVERY_CLIENT] = await newest_act(self._home, self._clock())
        for client, newest in newest_by_client.items():
            if client in self._newest:
                self._newest[client] = newest
                for key in self._of_client[client]:
                    self._lines[key].newest = newest
                    self._busy[key] = self._lines[key]

    def _pump(self, line: EndpointQueue, now: Micros) -> Micros | None:
        """Begin due requests of one endpoint; return the next time at which another may begin, if time alone decides it."""
        if self._stopping.is_set() or now >= self._until:
            return None
        if line.wants_events(now):
            line.is_reading = True
            self._spawn(self._read_log(line))
        at = line.next_time()
        if at is not None and at <= now:
            self._slots.offer(line)
            at = line.next_time()
        return at if at is not None and at > now else None

    async def _read_log(self, line: EndpointQueue) -> None:
        try:
            page = await self._log.after(line.endpoint, line.read)
            warn_of_trimmed(line.endpoint, line.read, page.oldest)
            line.newest = max(line.newest, page.newest)
            line.add_page(page.events, page.last, self._clock())
            self._outage.works("reading events")
        except Overloaded as error:
            self._outage.waits("reading events", error)
        finally:
            line.is_reading = False
        self.hasten(self._pump(line, self._clock()))

    def _start(self, line: EndpointQueue) -> bool:
        """Begin one request of an endpoint, if it may; return whether it did."""
        now = self._clock()
        item = None if self._stopping.is_set() or now >= self._until else line.take(now)
        if item is None:
            return False
        self._spawn(self._send(line, item))
        return True

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, line: EndpointQueue, item: WaitingEvent) -> None:
        with self._slots.taken():
            try:
                attempt = await self._outbox.send(line.endpoint, line.client_id, item)
            except asyncio.CancelledError:
                line.give_back(item)
                raise
            except Overloaded as error:
                self._outage.waits("sending webhooks", error)
                line.give_back(item, self._clock() + int(error.retry_after * SECOND))
                return
            except UnreadableFilter as error:
                line.give_back(item)
                line.stop(PAUSED, f"its filter is not valid now: {error}; events wait: change the filter, and resume the endpoint")
                LOG.warning("webhook endpoint %d of client %d is %s: %s", line.endpoint.id, line.endpoint.client, line.state, line.reason)
                self._results.of(line)
                return
            except Exception:
                LOG.exception("event %d of client %d could not be sent", item.sequence, line.endpoint.client)
                line.give_back(item, self._clock() + SECOND)
                return
        self._outage.works("sending webhooks")
        self._note(line, item, attempt)
        if line.has_news or line.may_advance(self._clock()):
            self._results.of(line)
        self.hasten(self._pump(line, self._clock()))

    def _note(self, line: EndpointQueue, item: WaitingEvent, outcome: tuple[Attempt, ReceiverAnswer] | None) -> None:
        if outcome is None:
            line.skip(item)
            return
        (attempt, answer), now = outcome, self._clock()
        self._metrics.count(WEBHOOK_ATTEMPTS, attempt.outcome)
        self._metrics.observe(WEBHOOK_ATTEMPT_DURATION, answer.latency_us / SECOND)
        verdict = judged(answer, now, line.endpoint.kind)
        if not isinstance(verdict, FailedAttempt):
            (line.succeeded if answer.status is not None else line.skip)(item, attempt, now)
            return
        was = line.state
        line.failed(item, attempt, now, verdict.retry_after, slow_down=verdict.slow_down)
        if verdict.stop is not None:
            line.stop(*verdict.stop)
        if line.state != was:
            LOG.warning("webhook endpoint %d of client %d is %s: %s", line.endpoint.id, line.endpoint.client, line.state, line.reason)

    async def _end(self) -> None:
        """Finish requests in progress as far as they do it in time, store results, and release the leases."""
        if self._tasks:
            await asyncio.wait([*self._tasks], timeout=GRACE_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for line in self._lines.values():
            if line.has_news or line.read > line.stored:
                self._results.of(line)
        with self._attempt(STORING, f"{STORING} failed and will be retried"):
            await self._results.flush()
        with self._attempt(LEAVING, f"{LEAVING} failed and will be retried"):
            await self._store.write(lead_shards(self._token, self._clock(), 0, leaving=True))
