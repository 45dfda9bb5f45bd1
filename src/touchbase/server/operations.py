"""What operators and their machines ask of the server: metrics and health, beside the application."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import msgspec

from touchbase.domain.delivery import RECEIVED
from touchbase.domain.errors import TouchbaseError
from touchbase.domain.ports import Clock, Store
from touchbase.domain.queries import CountInbox
from touchbase.domain.readiness import check_in_time
from touchbase.domain.times import SECOND
from touchbase.server.cycle import send_refusal
from touchbase.server.logs import LineWriter
from touchbase.server.metrics import Metrics, exposition
from touchbase.server.refusals import Refusal, request_id_in
from touchbase.server.shared import Page, SharedPages, add_up

LOG = logging.getLogger("touchbase")

Answer = tuple[str, bytes] | Refusal
Load = Callable[[], tuple[int, int]]
"""Open connections, and requests in progress."""

CANNOT_WRITE = "The store cannot write now. Its operator finds the reason in the log, and under /admin/v1/status."
WRONG_METHOD = Refusal(405, "method_not_allowed", "Ask with GET.", (("allow", "GET, HEAD"),))


class Operations:
    """Answers `/metrics`, `/health/live` and `/health/ready`; everything else is the application's.

    Where it is `for_strangers`, readiness is yes or no: reasons and warnings are for the log and `/admin/v1/status`.
    """

    def __init__(self, app: Any, store: Store, clock: Clock, metrics: Metrics, *, for_strangers: bool = False) -> None:
        self.app = app
        self.store = store
        self.clock = clock
        self.metrics = metrics
        self._for_strangers = for_strangers
        self._why_not: str | None = None
        self.writer: LineWriter | None = None
        self.load: Load = lambda: (0, 0)
        self.stopping: Callable[[], bool] = lambda: False
        self._pages: SharedPages | None = None
        self._process = 0
        self._before = Page({}, {})
        self._own = {
            "/metrics": self._route("metrics", self._metrics),
            "/health/live": self._route("health.live", self._live),
            "/health/ready": self._route("health.ready", self._ready),
        }

    def __call__(self, scope: Any, receive: Any, send: Any) -> Awaitable[None]:
        """The ASGI application. Not a coroutine itself, so that passing a request on costs one dictionary access."""
        return (self._own.get(scope.get("path")) or self.app)(scope, receive, send)

    def share(self, pages: SharedPages, process: int) -> None:
        """Add up metrics with other processes, going on from what this one's predecessor had counted."""
        self._pages, self._process = pages, process
        found = pages.read(process)
        counted = {series: value for series, value in found.values.items() if "_total" in series}
        self._before = Page(counted, found.latencies)

    def publish(self) -> None:
        """Show this process's counters to the others."""
        if self._pages is not None:
            self._pages.write(self._process, self._page())

    def _page(self) -> Page:
        connections, requests = self.load()
        values = self.metrics.counts | {
            "touchbase_connections": connections,
            "touchbase_requests_in_progress": requests,
            "touchbase_queue_depth": self.store.queue_depth,
            "touchbase_log_lines_dropped_total": self.writer.dropped if self.writer else 0,
        }
        return add_up([self._before, Page(values, self.metrics.latencies)])

    async def _metrics(self) -> Answer:
        pages = [self._page()]
        if self._pages is not None:
            pages += [self._pages.read(process) for process in range(self._pages.processes) if process != self._process]
        total = add_up(pages)
        total.values["touchbase_store_warnings"] = len(self.store.warnings)
        try:
            inbox = await self.store.read(CountInbox())
        except TouchbaseError:
            # The counters still tell a story when the store cannot be read; its gauges are then missing.
            return "text/plain; version=0.0.4; charset=utf-8", exposition(total.values, total.latencies).encode()
        for state, count in inbox.by_state.items():
            total.values[f'touchbase_inbox_deliveries{{state="{state}"}}'] = count
        now = self.clock()
        for state in inbox.by_state:
            age = max(0, now - inbox.oldest_us.get(state, now)) / SECOND
            total.values[f'touchbase_inbox_oldest_seconds{{state="{state}"}}'] = age
            if state == RECEIVED:
                total.values["touchbase_inbox_oldest_waiting_seconds"] = age
        return "text/plain; version=0.0.4; charset=utf-8", exposition(total.values, total.latencies).encode()

    async def _live(self) -> Answer:
        return "application/json", b'{"status":"live"}'

    async def _ready(self) -> Answer:
        if self.stopping():
            return Refusal(503, "shutting_down", "The server is being stopped.")
        refusal = await self._check()
        self._note(refusal)
        if refusal is not None:
            return replace(refusal, detail=CANNOT_WRITE) if self._for_strangers else refusal
        warnings = () if self._for_strangers else self.store.warnings
        return "application/json", msgspec.json.encode({"status": "ready", **({"warnings": list(warnings)} if warnings else {})})

    async def _check(self) -> Refusal | None:
        try:
            await check_in_time(self.store)
        except TouchbaseError as error:
            return Refusal(503, error.code, error.detail)
        return None

    def _note(self, refusal: Refusal | None) -> None:
        """Say in the log why the server is not ready, each reason once, and that it is again."""
        why_not = None if refusal is None else refusal.detail
        if why_not == self._why_not:
            return
        self._why_not = why_not
        if why_not is None:
            LOG.info("ready again")
        else:
            LOG.warning("not ready: %s", why_not)

    def _route(self, name: str, answer: Callable[[], Awaitable[Answer]]) -> Callable[[Any, Any, Any], Awaitable[None]]:
        async def handle(scope: Any, receive: Any, send: Any) -> None:
            scope["touchbase.route"] = name
            found = await answer() if scope["method"] in ("GET", "HEAD") else WRONG_METHOD
            if isinstance(found, Refusal):
                await send_refusal(scope, send, found)
                return
            content_type, body = found
            headers = [
                (b"content-type", content_type.encode()),
                (b"content-length", b"%d" % len(body)),
                (b"cache-control", b"no-store"),
                (b"x-request-id", request_id_in(scope).encode()),
            ]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})

        return handle
