"""Enrichment worker: fetches the records that webhooks only name, outside the request, one request at a time for each queue.

The fetch queue is in the store, so a crash loses nothing; a claim keeps two workers from fetching for the same client and
tool. A fetched record is stored as a delivery, and the inbox worker applies it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from touchbase.clients.models import DELETING
from touchbase.clients.sql.clients import find_client_by_number
from touchbase.clients.stored_bytes import COUNT_INTERVAL, WEBHOOK_PERCENT, is_above, limit_of
from touchbase.common.backoff import Backoff
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.connections.fetch_state import FETCHED, FetchOutcome, FetchRequest, FetchResult
from touchbase.connections.models import Connection
from touchbase.connections.sql.connections import list_connections
from touchbase.connections.sql.fetching import claim_fetch, due_fetches, finish_fetch
from touchbase.connections.tools import PAGE_END, ApiResponse, Fetcher, FetchFailed, SendRequest, Tools
from touchbase.deliveries.limits import INLINE_BYTES, MAX_SECONDS
from touchbase.enrichment.oauth_tokens import AccessTokens
from touchbase.enrichment.retry_policy import GONE, LIMITED, RECORDS, RETRY, SPLIT, STOPPED, classify_response
from touchbase.errors import Overloaded
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import CRM
from touchbase.inbox.redaction import redact_secrets
from touchbase.inbox.sql.commands import StoredDelivery, store_delivery
from touchbase.metrics import FETCH_CALLS, RECORDS_FETCHED, Metrics
from touchbase.sandbox.pool import Sandbox
from touchbase.sandbox.task import Task, TaskStopped
from touchbase.sql.outage import Outage
from touchbase.sql.store import Store
from touchbase.sql.worker import Worker

LOG = logging.getLogger("touchbase.fetch")

FETCHED_RECORDS: Task[[str, ApiResponse, Sequence[str], Sequence[str]], Mapping[str, bytes] | FetchFailed] = Task(
    "touchbase.inbox.translation:fetched_records", MAX_SECONDS
)
CLAIM: Micros = 120 * SECOND
"""How long a claim lasts: time for one request and for storing its records."""
MAX_ATTEMPTS = 10
"""Failed requests for one record, after which it is not fetched until a webhook requests it again."""
CONCURRENCY, MOST_OF_CLIENT = 24, 3
"""Queues in progress in one process, and of one client: a tool may take `http_client.SECONDS` for each response."""
MAX_WAIT: Micros = 3600 * SECOND
FIRST_WAIT: Micros = 5 * SECOND
BUSY_POLL_SECONDS = 0.1
"""How often to look for due records while a batch is running."""
BACKOFF_SECONDS = 60.0
"""How long to skip a queue whose batch broke, or whose tool has no fetcher any more."""
FOLLOW_EVERY: Micros = 600 * SECOND
"""How often a list of changes is read without a webhook that asks for it: a lost one costs this time."""
MOST_FOLLOWED = 1_000
"""Pages of such a list that are read one after another; then it waits as if it had ended."""
DRAIN_WAIT: Micros = 5 * SECOND
"""How long `drain` waits for the pause between two requests to end."""


@dataclass(slots=True)
class _FetchBatch:
    """One request for a claimed queue, and the result to store."""

    connection: Connection
    fetcher: Fetcher
    until_us: Micros
    failures: int
    requests: list[FetchRequest]
    result: FetchResult


def count_fetch(metrics: Metrics, fetch: FetchOutcome) -> None:
    """Count a request to a tool's API in the metrics."""
    metrics.count(FETCH_CALLS, fetch.tool, fetch.outcome)
    if fetch.records:
        metrics.count(RECORDS_FETCHED, fetch.tool, amount=fetch.records)


class FetchWorker(Worker):
    """Fetches due records until it is stopped."""

    log, label, failure = LOG, "looking for fetches", "listing due fetches failed and will be retried"
    poll_seconds, slows_down = 1.0, True

    def __init__(
        self,
        store: Store,
        tools: Tools,
        send: SendRequest,
        clock: Clock,
        *,
        on_stored: Callable[[int], None] = lambda client: None,
        on_fetched: Callable[[FetchOutcome], None] = lambda fetched: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        outage: Outage | None = None,
        sandbox: Sandbox | None = None,
        stored_bytes: int = 0,
    ) -> None:
        """`sandbox` reads long responses; it has the adapters loaded. `stored_bytes`: limit of a client without its own."""
        self._sandbox = sandbox or Sandbox("fetch")
        super().__init__(outage)
        self._store = store
        self._tools = tools
        self._send = send
        self._tokens = AccessTokens(clock)
        self._clock = clock
        self._on_stored = on_stored
        self._on_fetched = on_fetched
        self._sleep = sleep
        self._running: dict[tuple[int, str], asyncio.Task[str | None]] = {}
        self._backoff = Backoff[tuple[int, str]](clock)
        self._stored_bytes = stored_bytes
        self._followed: dict[tuple[int, str, str, str], int] = {}
        """By list of changes, its pages that this process has read one after another."""

    async def run(self) -> None:
        """Fetch until stopped; then cancel the requests in progress: their records stay queued."""
        try:
            await super().run()
        finally:
            for task in self._running.values():
                task.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def drain(self) -> int:
        """Fetch everything that is due now or after a short pause; return the number of requests made.

        A queue whose request failed is skipped; its records stay queued.
        """
        requests, skipped = 0, set[tuple[int, str]]()
        while set(await self._store.read(due_fetches(self._clock() + DRAIN_WAIT))) - skipped:
            due = set(await self._store.read(due_fetches(self._clock()))) - skipped
            for client, tool in sorted(due):
                outcome = await self._try_batch(client, tool)
                requests += outcome is not None
                if outcome not in (RECORDS, GONE):
                    skipped.add((client, tool))
            if not due:
                await self._sleep(BUSY_POLL_SECONDS)
        return requests

    async def fetch_batch(self, client: int, tool: str) -> str | None:
        """Make one request for one client's tool and store the records.

        Returns the outcome (`FetchOutcome.outcome`), or None when nothing was due or another worker has the claim.
        """
        batch = await self._begin(client, tool)
        if batch is None:
            return None
        outcome: FetchOutcome | None = None
        try:
            if batch.requests:
                outcome = FetchOutcome(tool, *await self._fetch(batch))
        except Overloaded:
            raise
        except Exception as error:
            LOG.exception("fetching from %s broke", tool)
            outcome = FetchOutcome(tool, *self._failed(batch, FetchFailed(f"{type(error).__name__} while its response was read")))
        finally:
            # Also when the worker is stopped or breaks: otherwise the queue would wait until the claim expires.
            await self._store.write(finish_fetch(client, tool, batch.until_us, batch.result))
        if outcome is None:
            return None
        self._on_fetched(outcome)
        if batch.result.error is not None:
            LOG.warning("fetching from %s: %s", tool, batch.result.error)
        return outcome.outcome

    async def _round(self) -> float:
        due = [queue for queue in await self._store.read(due_fetches(self._clock())) if queue not in self._backoff]
        for client, tool in due:
            of_client = sum(1 for running, _ in self._running if running == client)
            if (client, tool) not in self._running and len(self._running) < CONCURRENCY and of_client < MOST_OF_CLIENT:
                task = asyncio.create_task(self._try_batch(client, tool), name=f"fetch {tool}")
                self._running[client, tool] = task
                task.add_done_callback(partial(self._ended, (client, tool)))
        return BUSY_POLL_SECONDS if due or self._running else self.poll_seconds

    def _ended(self, key: tuple[int, str], task: asyncio.Task[str | None]) -> None:
        self._running.pop(key, None)

    async def _try_batch(self, client: int, tool: str) -> str | None:
        """Run a batch; log its exception and back off, so that other queues go on."""
        try:
            outcome = await self.fetch_batch(client, tool)
        except Exception as error:
            if isinstance(error, Overloaded):
                self._outage.waits("fetching", error)
            else:
                LOG.error("fetching from %s broke and will be retried: %s", tool, type(error).__name__)
            self._backoff.delay((client, tool), BACKOFF_SECONDS)
            return None
        self._outage.works("fetching")
        return outcome

    async def _begin(self, client: int, tool: str) -> _FetchBatch | None:
        connections = await self._store.read(list_connections(client))
        connection = next((connection for connection in connections if (connection.channel, connection.tool) == (CRM, tool)), None)
        fetcher = self._tools.fetcher(CRM, tool)
        if fetcher is None:
            self._backoff.delay((client, tool), BACKOFF_SECONDS)
        if connection is None or fetcher is None or not connection.access_token:
            return None
        now = self._clock()
        claimed = await self._store.write(claim_fetch(client, tool, now, now + CLAIM, fetcher.most))
        if claimed is None:
            return None
        result = FetchResult(now + fetcher.pause_us, claimed.failures)  # if the batch breaks, the queue goes on after its usual pause
        return _FetchBatch(connection, fetcher, now + CLAIM, claimed.failures, _first_batch(claimed.requests), result)

    async def _fetch(self, batch: _FetchBatch) -> tuple[str, int]:
        connection, ids = batch.connection, [_requested_id(batch.fetcher, request) for request in batch.requests]
        missing = [name for name in batch.fetcher.needs if not getattr(connection.settings, name)]
        if missing:
            error = FetchFailed(f"{connection.tool} needs the setting {missing[0]}; connect it again with it", stop=True)
            return self._failed(batch, error)
        # The response is at least as new as this time.
        requested_us = self._clock()
        try:
            await self._check_space(connection.client)
            response = await self._tokens.fetch(self._send, connection, batch.fetcher, batch.requests[0].object_type, ids)
            if response is None:
                batch.result.not_found = batch.requests
                return GONE, 0
            return await self._store_response(batch, response, ids, requested_us)
        except FetchFailed as error:
            return self._failed(batch, error)

    async def _store_response(self, batch: _FetchBatch, response: ApiResponse, ids: Sequence[str], requested_us: Micros) -> tuple[str, int]:
        connection, result, now = batch.connection, batch.result, self._clock()
        tool = connection.tool
        verdict = classify_response(tool, response, single=batch.fetcher.most == 1, now_us=now)
        result.next_us, result.failures = now + batch.fetcher.pause_us, 0
        if isinstance(verdict, FetchFailed):
            return self._failed(batch, verdict)
        if verdict == GONE:
            result.not_found = batch.requests
            if batch.fetcher.follows(batch.requests[0].object_type):
                result.at, result.error = now, f"{tool} has lost the list of changes: make its webhook again, then load the table once"
            return GONE, 0
        if verdict == SPLIT:
            self._retry(batch, now, f"{tool} answered {response.status} to a request; its records are fetched one by one")
            return RETRY, 0
        if not await self._is_active(connection.client):
            return GONE, 0
        records = await self._records(batch, response, ids)
        read = zip(batch.requests, ids, strict=True)
        records_read = [(request, records[number]) for request, number in read if number in records]
        await asyncio.gather(
            *(store_fetched(self._store, connection, request.object_type, body, requested_us) for request, body in records_read)
        )
        if batch.fetcher.follows(batch.requests[0].object_type):
            if PAGE_END not in records:
                return self._failed(batch, FetchFailed(f"{tool} answered with no page of changes: is api_base the URL of its API?"))
            self._follow(batch, *json.loads(records[PAGE_END]))
        else:
            done = {id(request) for request, _ in records_read}
            result.done = [request for request, _ in records_read]
            result.not_found = [request for request in batch.requests if id(request) not in done]
        if records_read:
            result.fetched_us = requested_us
            self._on_stored(connection.client)
        return RECORDS if records_read else GONE, len(records_read)

    def _follow(self, batch: _FetchBatch, cursor: str, has_more: bool) -> None:
        """Go on with a list of changes: at once, or after a pause at its end and if it has none."""
        request, tool, now = batch.requests[0], batch.connection.tool, self._clock()
        place = (batch.connection.client, tool, request.object_type, request.object_id)
        pages = self._followed.pop(place, 0) + 1
        if has_more and (pages >= MOST_FOLLOWED or cursor == request.cursor):
            what = "the same page" if cursor == request.cursor else f"{MOST_FOLLOWED:,} pages"
            batch.result.at = now
            batch.result.error = f"{tool} sent {what} of changes in a row; its list is read on later. Is api_base the URL of its API?"
        elif has_more:
            self._followed[place] = pages
        batch.result.followed = [(request, cursor, now if place in self._followed else now + FOLLOW_EVERY)]

    async def _check_space(self, number: int) -> None:
        """Raise `FetchFailed` if the client may store no more, as webhooks are refused then."""
        client = await self._store.read(find_client_by_number(number))
        if client is not None and is_above(WEBHOOK_PERCENT, client.stored_bytes, limit_of(client, self._stored_bytes)):
            why = "the client stores more bytes than its limit; delete some, or have an administrator raise max_stored_bytes"
            raise FetchFailed(why, retry_after=COUNT_INTERVAL / SECOND)

    async def _records(self, batch: _FetchBatch, response: ApiResponse, ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return the redacted records in a response; a long or compressed one is read in a sandbox process. Raises `FetchFailed`."""
        secrets = self._tokens.secrets_of(batch.connection)
        if len(response.body) <= INLINE_BYTES and "content-encoding" not in response.headers:
            return {number: redact_secrets(secrets, body) for number, body in batch.fetcher.records(response, ids).items()}
        try:
            records = await self._sandbox.call(FETCHED_RECORDS, batch.connection.tool, response, ids, secrets)
        except TaskStopped as stopped:
            raise FetchFailed(f"the response cannot be used: {stopped.why}") from None
        if isinstance(records, FetchFailed):
            raise records
        return records

    async def _is_active(self, number: int) -> bool:
        """Return whether a client exists and is not being deleted: a record stored then would never be deleted."""
        client = await self._store.read(find_client_by_number(number))
        return client is not None and client.state != DELETING

    def _failed(self, batch: _FetchBatch, error: FetchFailed) -> tuple[str, int]:
        """Pause or stop the whole queue; its records stay queued."""
        result, now = batch.result, self._clock()
        result.at, result.error = now, str(error)
        if error.stop:
            result.stopped = True
            return STOPPED, 0
        if error.retry_after is not None:
            result.next_us = now + min(MAX_WAIT, max(batch.fetcher.pause_us, int(error.retry_after * SECOND)))
            return LIMITED, 0
        result.failures = batch.failures + 1
        result.next_us = now + _wait_after(batch.failures)
        self._retry(batch, result.next_us, str(error))
        return RETRY, 0

    def _retry(self, batch: _FetchBatch, at: Micros, reason: str) -> None:
        """Fetch these records later, one by one; give up on a record after `MAX_ATTEMPTS`."""
        batch.result.at, batch.result.error = self._clock(), reason
        for request in batch.requests:
            if request.attempts + 1 >= MAX_ATTEMPTS:
                batch.result.not_found.append(request)
            else:
                batch.result.retries.append((request, at))


def _first_batch(due: Sequence[FetchRequest]) -> list[FetchRequest]:
    """Return the records of one request: all of one type; a record that failed before goes alone."""
    if not due or due[0].attempts:
        return list(due[:1])
    return [request for request in due if request.object_type == due[0].object_type and not request.attempts]


def _requested_id(fetcher: Fetcher, request: FetchRequest) -> str:
    return f"{request.object_id}:{request.cursor or ''}" if fetcher.follows(request.object_type) else request.object_id


def _wait_after(failures: int) -> Micros:
    """Return the pause after a failed request: it doubles with each failure in a row."""
    return min(MAX_WAIT, FIRST_WAIT << min(failures, 20))


async def store_fetched(store: Store, connection: Connection, object_type: str, body: bytes, at: Micros) -> StoredDelivery:
    """Store one fetched record, already redacted, as a delivery; return when it is durable.

    The time is part of the dedupe key: the same record fetched later is a new delivery, because a record may not say when it changed.
    """
    headers = {"content-type": "application/json", FETCHED: object_type}
    command = store_delivery(
        client=connection.client,
        channel=CRM,
        key=body_key(CRM, "", f"{FETCHED}: {connection.tool} {object_type} {at}", body),
        headers=json.dumps(headers, separators=(",", ":")).encode(),
        query="",
        body=body,
        received_us=at,
        tool=connection.tool,
        verified=True,
    )
    return await store.write(command)
