"""The application, assembled: settings -> store, adapters, inbox worker, web application.

The only place that knows every room. End-to-end tests use this same assembly.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import touchbase
from touchbase.adapters.registry import load_adapters
from touchbase.auth.auth_throttle import KeyThrottle, WebhookThrottle
from touchbase.auth.commands import AnyKey
from touchbase.auth.last_used import KeyUsage
from touchbase.auth.service import add_first_key
from touchbase.common.timestamps import Clock
from touchbase.config import Settings
from touchbase.connections.service import Connections
from touchbase.encryption.keys import EncryptionKeys
from touchbase.enrichment.http_client import HttpClient
from touchbase.enrichment.worker import FetchWorker
from touchbase.erasure.service import Eraser
from touchbase.events.translator_pool import TranslatorPool
from touchbase.events.work import ProcessingStore, WorkReport
from touchbase.events.worker import InboxWorker, PeriodicTask, add_report
from touchbase.http.app import build_app
from touchbase.http.dependencies import Dependencies, Limits
from touchbase.idempotency.cleanup import ResponseCleanup
from touchbase.inbox.api.webhooks import RECEIVERS
from touchbase.inbox.cleanup import DedupeCleanup
from touchbase.inbox.refused import FOREIGN_ORIGIN
from touchbase.inbox.refused_service import RefusedWebhooks
from touchbase.maintenance import Maintenance
from touchbase.rate_limit.rate_limiter import RateLimiter, Rates
from touchbase.retention.service import Retention, Unproven
from touchbase.server.access_log import AccessLog
from touchbase.server.bodies import Bodies
from touchbase.server.exposition import SharedMetrics
from touchbase.server.health import Operations
from touchbase.server.limits import ServerLimits
from touchbase.server.logs import LineWriter
from touchbase.server.metrics import Metrics
from touchbase.server.origin_guard import Cors, CorsHeaders, OriginGuard
from touchbase.server.proxy_headers import Proxies
from touchbase.server.server import TICKS_A_SECOND, Server, Tick, freeze_gc, make_server
from touchbase.server.text_logs import is_text
from touchbase.storage import open_store
from touchbase.storage.sqlite.process_lock import Role

LOG = logging.getLogger("touchbase")


def clock() -> int:
    """The present time in microseconds."""
    return time.time_ns() // 1000


async def _store(settings: Settings, parts: Sequence[Role] = ()) -> ProcessingStore:
    keys = EncryptionKeys(settings.encryption_key, settings.encryption_key_old)
    return await open_store(settings.database, encryption_keys=keys, parts=parts, copies=settings.migration_copy)


@dataclass(frozen=True, slots=True)
class Application:
    """Everything that runs in one server process."""

    settings: Settings
    store: ProcessingStore
    worker: InboxWorker
    metrics: Metrics
    operations: Operations
    """The ASGI application: metrics and health, and in front of everything else the web application."""
    refused: RefusedWebhooks


def periodic_tasks(store: ProcessingStore) -> list[PeriodicTask]:
    """What the inbox does beside: whoever applies calls also takes away what needs no looking at any more."""
    return [ResponseCleanup(store), DedupeCleanup(store)]


@contextlib.asynccontextmanager
async def assembled(settings: Settings, clock: Clock = clock, *, shared: SharedMetrics | None = None) -> AsyncIterator[Application]:
    """The application on an open store, its worker running; on the way out the worker stops, then the store closes."""
    parts_played = [Role.SERVER, Role.WORKER] if settings.inbox_worker else [Role.SERVER]
    store = await _store(settings, parts_played)
    async with contextlib.AsyncExitStack() as ending:
        ending.push_async_callback(store.close)
        _warn(store)
        metrics = Metrics(clock)
        adapters, connections, reader = load_adapters(), Connections(store, clock), TranslatorPool()
        ending.callback(reader.close)
        worker = InboxWorker(store, reader, clock, connections=connections.of, on_report=metrics.worked, tasks=periodic_tasks(store))
        uses, refused = KeyUsage(), RefusedWebhooks(clock, metrics.delivery_refused)
        keeper = Maintenance(store, clock, uses=uses, refused=refused, removes=settings.inbox_worker)
        await ending.enter_async_context(_at_work(keeper, "housekeeping"))
        caller = _caller(settings)
        ending.push_async_callback(caller.close)
        fetcher = FetchWorker(store, adapters, caller.ask, clock, on_stored=worker.wake, on_fetched=metrics.fetched)
        if settings.inbox_worker:
            await ending.enter_async_context(_at_work(worker, "inbox"))
            await ending.enter_async_context(_at_work(fetcher, "fetch"))
            await ending.enter_async_context(_at_work(retention(settings, store, reader, connections, clock), "retention"))
        parts = Dependencies(
            store=store,
            clock=clock,
            auth="none" if settings.open_mode else "api-key",
            limits=body_limits(settings),
            version=touchbase.__version__,
            on_stored=worker.wake,
            read=reader,
            senders=adapters,
            connections=connections,
            public_url=settings.public_url.rstrip("/"),
            fetch_allowed=settings.fetch_allowed,
            protocol_answer=adapters.protocol_answer,
            metrics=metrics,
            key_uses=uses,
            on_deleting=keeper.wake,
            limiter=limiter(settings),
            failed_keys=KeyThrottle(settings.rate_limit_failed_keys),
            refused=refused,
            failed_calls=WebhookThrottle(settings.rate_limit_failed_calls),
        )
        operations = _operations(parts, metrics, settings, shared)
        yield Application(settings, store, worker, metrics, operations, refused)


def body_limits(settings: Settings) -> Limits:
    """What the body of one request may cost this process."""
    return Limits(
        api_body_bytes=settings.max_api_body_bytes,
        webhook_body_bytes=settings.max_webhook_body_bytes,
        body_seconds=settings.body_timeout,
        body_idle_seconds=settings.body_idle_timeout,
    )


def _operations(parts: Dependencies, metrics: Metrics, settings: Settings, shared: SharedMetrics | None) -> Operations:
    # A caller that is not on this machine, or comes past a proxy in front of us, may be anybody.
    strangers = not settings.guards_browsers
    app = build_app(parts)
    return Operations(app, parts.store, parts.clock, metrics, version=parts.version, for_strangers=strangers, shared=shared)


def limiter(settings: Settings) -> RateLimiter:
    """What clients and keys may ask for in this process."""
    rates = Rates(
        key_requests=settings.rate_limit_key_requests,
        requests=settings.rate_limit_requests,
        rows=settings.rate_limit_rows,
        bytes=settings.rate_limit_bytes,
        webhooks=settings.rate_limit_webhooks,
        webhook_bytes=settings.rate_limit_webhook_bytes,
        burst_seconds=settings.rate_limit_burst,
    )
    return RateLimiter(rates, requests=settings.max_requests)


@dataclass(frozen=True, slots=True)
class Workers:
    """The inbox worker, and the one that fetches records, with no server around them."""

    inbox: InboxWorker
    fetch: FetchWorker

    async def run(self) -> None:
        """Work until stopped."""
        await asyncio.gather(self.inbox.run(), self.fetch.run())

    def stop(self) -> None:
        """Finish what is at hand, then return from `run`."""
        self.fetch.stop()
        self.inbox.stop()

    async def drain(self) -> tuple[WorkReport, int]:
        """Apply everything that is due and what that makes us fetch; answers what was done, and how many calls tools got."""
        report, calls = await self.inbox.drain(), 0
        while more := await self.fetch.drain():
            calls += more
            add_report(report, await self.inbox.drain())
        return report, calls


@contextlib.asynccontextmanager
async def worker_alone(settings: Settings, clock: Clock = clock, *, keeps_house: bool = False) -> AsyncIterator[Workers]:
    """The workers on an open store; with `keeps_house`, beside them those who remove what has to go some day."""
    parts_played = [Role.WORKER] if keeps_house else []
    store = await _store(settings, parts_played)
    async with contextlib.AsyncExitStack() as ending:
        ending.push_async_callback(store.close)
        adapters, connections, caller, reader = load_adapters(), Connections(store, clock), _caller(settings), TranslatorPool()
        ending.push_async_callback(caller.close)
        ending.callback(reader.close)
        _warn(store)
        if keeps_house:
            await ending.enter_async_context(_at_work(Maintenance(store, clock), "housekeeping"))
            await ending.enter_async_context(_at_work(retention(settings, store, reader, connections, clock), "retention"))
        inbox = InboxWorker(store, reader, clock, connections=connections.of, tasks=periodic_tasks(store))
        yield Workers(inbox, FetchWorker(store, adapters, caller.ask, clock, on_stored=inbox.wake))


def retention(settings: Settings, store: ProcessingStore, reader: TranslatorPool, connections: Connections, clock: Clock) -> Retention:
    """Whoever finishes what hurries nobody: searches of erasures, and bodies that were kept long enough."""
    unproven = Unproven(settings.keep_unrecognised_days, settings.keep_unrecognised_bytes)
    return Retention(store, Eraser(store, reader, clock, connections.of), clock, unproven=unproven)


def _caller(settings: Settings) -> HttpClient:
    return HttpClient(f"touchbase/{touchbase.__version__}", settings.fetch_allowed)


def _warn(store: ProcessingStore) -> None:
    for warning in store.warnings:
        LOG.warning("%s", warning)


async def first_key(store: ProcessingStore, clock: Clock = clock) -> str | None:
    """A new administrator's key if the store has no key: without one nobody could ever get in.

    Of several processes that start at once, one gets the key. No client is made: its id would be one that can be guessed.
    """
    if await store.read(AnyKey()):
        return None
    return await add_first_key(store, clock())


async def prepare(settings: Settings) -> str | None:
    """Make the store ready to be served; answers the first key if one had to be made."""
    store = await _store(settings)
    try:
        return None if settings.open_mode else await first_key(store)
    finally:
        await store.close()


async def serve(
    settings: Settings,
    listener: socket.socket,
    *,
    on_ready: Callable[[str | None], None] = lambda key: None,
    shared: SharedMetrics | None = None,
    process: int = 0,
) -> None:
    """Serve until told to stop; then finish what is in progress, the worker's turn and the store's queue.

    `on_ready` is called once calls are taken, with the first key if one had to be made. Several processes
    share their metrics; their store was prepared before.
    """
    if shared is not None:
        shared.join(process)
    async with assembled(settings, shared=shared) as application:
        with contextlib.ExitStack() as ending:
            writer = None
            if settings.access_log:
                writer = LineWriter(sys.stderr.fileno())
                ending.callback(writer.close)
            server = make_application_server(application, writer, None if shared is None else shared.parent)
            key = None
            if shared is None and not settings.open_mode:
                key = await first_key(application.store)
            server.on_started = partial(on_ready, key)
            freeze_gc()
            await server.serve([listener])


def make_application_server(application: Application, writer: LineWriter | None, parent: int | None = None) -> Server:
    """The HTTP server of an assembled application; it stops when it has another parent than this one."""
    settings, operations = application.settings, application.operations
    bounds = ServerLimits(
        header_timeout=settings.header_timeout,
        keep_alive=settings.keep_alive,
        send_timeout=settings.send_timeout,
        max_headers=settings.max_headers,
        max_header_bytes=settings.max_header_bytes,
        # How many requests may be in progress the application decides, which knows whose they are: a client that
        # fills the place must not shut the door for others. A connection has one request in progress at most.
        max_requests=max(settings.max_requests, settings.max_connections),
        max_connections=settings.max_connections,
        bodies=Bodies(settings.max_body_memory),
        max_connections_per_address=settings.max_connections_per_address,
        observe=AccessLog(application.metrics, writer, settings.log_level, as_text=is_text(settings.log_format)),
        proxies=Proxies(settings.proxies) if settings.proxies else None,
        own_sites=own_sites(settings),
        on_foreign=partial(note_foreign, application.refused),
    )
    ticks = [Tick(TICKS_A_SECOND, operations.publish)]
    if writer is not None:
        ticks.append(Tick(TICKS_A_SECOND // 5, writer.flush))
    if settings.origins:
        bounds.dress, bounds.grants = partial(Cors, origins=settings.origins), CorsHeaders(settings.origins)
    https = settings.public_url.startswith("https://")
    server = make_server(bounds.dress(operations), bounds, shutdown_timeout=settings.shutdown_timeout, ticks=ticks, https=https)
    if parent is not None:
        server.ticks = (*server.ticks, Tick(TICKS_A_SECOND, _stop_without(parent, server)))
    operations.writer, operations.load = writer, server.load
    operations.stopping = lambda: server.should_exit
    return server


def note_foreign(refused: RefusedWebhooks, scope: Mapping[str, Any]) -> None:
    """Note a webhook call that a page of another site sent."""
    _, _, receiver, client_id, *_ = [*str(scope["path"]).split("/"), "", "", "", ""]
    if receiver in RECEIVERS:
        refused.note_refusal(client_id, RECEIVERS[receiver], FOREIGN_ORIGIN, headers=scope["headers"])


def own_sites(settings: Settings) -> OriginGuard | None:
    """What is answered without keys; None with keys."""
    if not settings.open_mode:
        return None
    return OriginGuard(settings.own_names, settings.origins, public=settings.public_names, any_name=not settings.guards_browsers)


def _stop_without(parent: int, server: Server) -> Callable[[], None]:
    """Stop a server process whose parent is gone: nobody else would tell it to."""

    def check() -> None:
        if os.getppid() != parent:
            server.stop()

    return check


@contextlib.asynccontextmanager
async def _at_work(worker: InboxWorker | FetchWorker | Maintenance | Retention, name: str) -> AsyncIterator[None]:
    working = asyncio.create_task(worker.run(), name=name)
    try:
        yield
    finally:
        worker.stop()
        await working
