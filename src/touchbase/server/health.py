"""Endpoints for operators and monitoring: `/metrics`, `/health/live` and `/health/ready`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec

from touchbase.clients.sql.stored_bytes import count_stored
from touchbase.common.threads import on_thread
from touchbase.common.timestamps import Clock
from touchbase.connections.sql.silence import count_silent
from touchbase.deliveries.sql.objects import count_objects
from touchbase.erasure.sql.persons import open_erasures
from touchbase.errors import TouchbaseError
from touchbase.inbox.sql.queries import count_inbox
from touchbase.metrics import HTTP_CONNECTIONS, HTTP_REQUESTS_IN_PROGRESS, LOG_LINES_DROPPED, STORE_QUEUE_DEPTH
from touchbase.outgoing.sql.backlog import count_outgoing
from touchbase.projection.bin_rows import asked_erasures
from touchbase.server.error_responses import ErrorResponse, request_id_in, send_error_response
from touchbase.server.logs import LineWriter
from touchbase.server.metrics import (
    Exposition,
    ProcessMetrics,
    SharedMetrics,
    objects_metrics,
    read_database_metric,
    spool_metrics,
    storage_metrics,
    store_metrics,
)
from touchbase.spool.spool import Spool
from touchbase.sql.store import Store, check_in_time
from touchbase.storage.postgres.standby import Standby, StandbyFailed

LOG = logging.getLogger("touchbase")

Result = tuple[str, bytes] | ErrorResponse
"""Content type and body, or an error response."""
Load = Callable[[], tuple[int, int]]
"""Open connections, and requests in progress."""

CANNOT_WRITE = "The store cannot write now. The reason is in the log and at /admin/v1/status."
WRONG_METHOD = ErrorResponse(405, "method_not_allowed", "Use GET.", (("allow", "GET, HEAD"),))


class Operations:
    """Serves `/metrics`, `/health/live` and `/health/ready`, each with an ASGI application.

    With `shared`, `/metrics` covers all processes that share it. With `hide_details`, the readiness response has no
    reasons and warnings; they are in the log and at `/admin/v1/status`.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        metrics: ProcessMetrics,
        *,
        version: str = "",
        hide_details: bool = False,
        shared: SharedMetrics | None = None,
        spool: Spool | None = None,
        standby: Standby | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.metrics = metrics
        self._spool = spool
        self._standby = standby
        self._hide_details = hide_details
        self._last_reason: str | None = None
        self.writer: LineWriter | None = None
        self._dropped = 0
        """Dropped log lines that are counted already."""
        self.load: Load = lambda: (0, 0)
        self.stopping: Callable[[], bool] = lambda: False
        self._one_scrape = asyncio.Lock()
        self._exposition = Exposition(metrics, version, shared)
        self.by_path = {
            "/metrics": self._route("/metrics", "metrics", self._metrics),
            "/health/live": self._route("/health/live", "health.live", self._live),
            "/health/ready": self._route("/health/ready", "health.ready", self._ready),
        }

    def publish(self) -> None:
        """Set this process's gauges, so that every process can expose them; call it about once a second."""
        connections, requests = self.load()
        self.metrics.set(HTTP_CONNECTIONS, connections)
        self.metrics.set(HTTP_REQUESTS_IN_PROGRESS, requests)
        self.metrics.set(STORE_QUEUE_DEPTH, self.store.queue_depth)
        dropped = self.writer.dropped if self.writer else 0
        self.metrics.count(LOG_LINES_DROPPED, amount=dropped - self._dropped)
        self._dropped = dropped

    async def _metrics(self, scope: Any) -> Result:
        self.publish()
        try:
            inbox, silent = await self.store.read(count_inbox()), await self.store.read(count_silent())
            outgoing, stored = await self.store.read(count_outgoing(self.clock())), await self.store.read(count_stored())
            objects = await self.store.read(count_objects())
            erasures = {"searching": 0, "cleaning": 0, "confirmation": len(await self.store.read(asked_erasures()))}
            for erasure in await self.store.read(open_erasures()):
                erasures["searching" if erasure.searched_us is None else "cleaning"] += 1
        except TouchbaseError:
            inbox, silent, outgoing, stored, objects, erasures = (
                None,
                {},
                None,
                None,
                None,
                {},
            )  # the other metrics are useful while the store cannot be read
        spool = None if self._spool is None else await self._spool.counts()
        now = self.clock()
        counted = store_metrics(len(self.store.warnings), inbox, silent, now, outgoing, erasures)
        lag: float | None = None
        with suppress(StandbyFailed):
            lag = None if self._standby is None else await self._standby.lag_seconds()
        store = [*counted, *storage_metrics(stored), *objects_metrics(objects, now), *spool_metrics(spool, now), read_database_metric(lag)]
        accept = b",".join(value for name, value in scope["headers"] if name == b"accept").decode("latin-1")
        # One scrape at a time, on a thread: with many series it takes tens of milliseconds, which must not block requests.
        async with self._one_scrape:
            return await on_thread("metrics", self._exposition.text, accept, store)

    async def _live(self, scope: Any) -> Result:
        return "application/json", b'{"status":"live"}'

    async def _ready(self, scope: Any) -> Result:
        if self.stopping():
            return ErrorResponse(503, "shutting_down", "The server is stopping.")
        refusal = await self._check()
        self._log_readiness(refusal)
        if refusal is not None:
            return replace(refusal, detail=CANNOT_WRITE) if self._hide_details else refusal
        warnings = () if self._hide_details else self.store.warnings
        return "application/json", msgspec.json.encode({"status": "ready", **({"warnings": list(warnings)} if warnings else {})})

    async def _check(self) -> ErrorResponse | None:
        try:
            await check_in_time(self.store)
        except TouchbaseError as error:
            return ErrorResponse(503, error.code, error.detail)
        return None

    def _log_readiness(self, refusal: ErrorResponse | None) -> None:
        """Log why the server is not ready, each reason once, and when it is ready again."""
        reason = None if refusal is None else refusal.detail
        if reason == self._last_reason:
            return
        self._last_reason = reason
        if reason is None:
            LOG.info("ready again")
        else:
            LOG.warning("not ready: %s", reason)

    def _route(self, path: str, name: str, respond: Callable[[Any], Awaitable[Result]]) -> Callable[[Any, Any, Any], Awaitable[None]]:
        async def handle(scope: Any, receive: Any, send: Any) -> None:
            scope["touchbase.route"], scope["touchbase.template"] = name, path
            response = await respond(scope) if scope["method"] in ("GET", "HEAD") else WRONG_METHOD
            if isinstance(response, ErrorResponse):
                await send_error_response(scope, send, response)
                return
            content_type, body = response
            headers = [
                (b"content-type", content_type.encode("latin-1")),
                (b"content-length", b"%d" % len(body)),
                (b"cache-control", b"no-store"),
                (b"x-request-id", request_id_in(scope).encode()),
            ]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})

        return handle
