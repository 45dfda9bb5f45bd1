"""Assembly of the application: settings -> store, adapters, inbox worker, web application, server.

The only module that imports every capability. End-to-end tests use the same assembly.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import touchbase
from touchbase.auth.last_used import KeyUsage
from touchbase.auth.service import add_first_key
from touchbase.auth.sql import any_key
from touchbase.cells.models import HOME, HOME_NAME
from touchbase.common.asgi import App
from touchbase.common.threads import close_threads
from touchbase.common.timestamps import Clock, clock
from touchbase.config import Settings
from touchbase.connections.silence import CallCounts
from touchbase.deliveries.work import ProcessingStore
from touchbase.encryption.keys import EncryptionKeys
from touchbase.errors import NotFound
from touchbase.fleet import Fleet, Shared, sharing, start_cell, web_parts
from touchbase.inbox.api.webhooks import RECEIVERS
from touchbase.inbox.refused import FOREIGN_ORIGIN, RefusedWebhooks
from touchbase.inbox.worker import InboxWorker
from touchbase.metrics import NoMetrics
from touchbase.objects.bodies import BodyLoader
from touchbase.objects.bucket import bucket_of
from touchbase.presence import facts_of, present
from touchbase.routing.cell_store import CellStore
from touchbase.routing.router import CellRouter
from touchbase.server.access_log import AccessLog, client_log_name
from touchbase.server.health import Operations
from touchbase.server.limits import BodyMemory, ServerLimits
from touchbase.server.logs import LineWriter, is_text
from touchbase.server.metrics import ProcessMetrics, SharedMetrics
from touchbase.server.origin_guard import Cors, CorsHeaders, OriginGuard
from touchbase.server.proxy_headers import TrustedProxies
from touchbase.server.server import TICKS_PER_SECOND, Server, Tick, freeze_gc, make_server
from touchbase.sql.worker import Worker
from touchbase.storage.sqlite.process_lock import Role
from touchbase.stores import open_store
from touchbase.web import Dependencies, build_app
from touchbase.workers import run_all, running

LOG = logging.getLogger("touchbase")


async def _open_store(settings: Settings, roles: Sequence[Role] | None = None) -> CellRouter:
    """Open the home store. With roles, also with none, it is a server's, and its problems are logged."""
    keys = EncryptionKeys(settings.encryption_key, settings.encryption_key_old)
    bucket = bucket_of(settings.objects, clock)
    load = BodyLoader(bucket)
    store = await open_store(
        settings.database,
        encryption_keys=keys,
        roles=roles or [],
        copies=settings.migration_copy,
        read_url=settings.read_database,
        load_bodies=load,
    )
    for warning in store.warnings if roles is not None else []:
        LOG.warning("%s", warning)
    return CellRouter(store, partial(open_store, encryption_keys=keys, upgrade=False, load_bodies=load), bucket)


@dataclass(frozen=True, slots=True)
class Application:
    """The parts of one server process."""

    settings: Settings
    store: ProcessingStore
    worker: InboxWorker
    metrics: ProcessMetrics
    operations: Operations
    app: App
    """The ASGI application: metrics, health and the API."""
    refused: RefusedWebhooks
    parts: Dependencies
    calls: CallCounts
    """Calls of connections that are counted and not written yet."""
    fleet: Fleet


@contextlib.asynccontextmanager
async def assembled(settings: Settings, clock: Clock = clock, *, shared: SharedMetrics | None = None) -> AsyncIterator[Application]:
    """Open the store, start the workers and yield the application; at the end the workers stop, then the store closes."""
    store = await _open_store(settings, [Role.SERVER, Role.WORKER] if settings.inbox_worker else [Role.SERVER])
    async with contextlib.AsyncExitStack() as ending:
        ending.callback(close_threads)
        ending.push_async_callback(store.close)
        metrics = ProcessMetrics()
        shared_parts = await ending.enter_async_context(sharing(settings, store, clock, metrics, client_log_name))
        uses, refused, fleet = KeyUsage(), RefusedWebhooks(clock, metrics), Fleet(store.placement.cell_of)
        worker = await _start_home(shared_parts, fleet, ending, uses, refused)
        store.on_opened = partial(start_cell, shared_parts, fleet, ending, settings.inbox_worker)
        await store.start()
        parts = web_parts(shared_parts, fleet, auth="none" if settings.open_mode else "api-key", uses=uses, refused=refused)
        yield _application(parts, metrics, settings, shared, worker, refused, shared_parts.calls, fleet)


async def _start_home(
    shared: Shared, fleet: Fleet, ending: contextlib.AsyncExitStack, uses: KeyUsage, refused: RefusedWebhooks
) -> InboxWorker:
    """Start the workers of the home store; return its inbox worker."""
    runs, home, outage = shared.settings.inbox_worker, shared.store.home, shared.store.outage
    workers, maintenance = shared.workers(home, outage), shared.maintenance(home, outage, uses=uses, refused=refused, removes=runs)
    fleet.sets[HOME] = workers
    fleet.maintenances.append(maintenance)
    await ending.enter_async_context(running(maintenance, "housekeeping"))
    every: list[Worker] = [
        workers.webhooks,
        workers.jobs,
        workers.linker,
        workers.inbox,
        workers.fetch,
        workers.answers,
        workers.notifications,
        shared.retention(home, outage),
        *shared.movers(home, outage),
    ]
    await run_all(every if runs else [], ending)
    return workers.inbox


def _operations(parts: Dependencies, metrics: ProcessMetrics, settings: Settings, shared: SharedMetrics | None) -> Operations:
    # Requests from other machines or through a proxy may come from anyone.
    public = not settings.needs_origin_guard
    standby = parts.store.standby if isinstance(parts.store, CellRouter) else None
    return Operations(
        parts.store, parts.clock, metrics, version=parts.version, hide_details=public, shared=shared, spool=parts.spool, standby=standby
    )


@contextlib.asynccontextmanager
async def standalone_workers(
    settings: Settings, clock: Clock = clock, *, with_maintenance: bool = False, databases: Sequence[str] = ()
) -> AsyncIterator[Fleet]:
    """Open the store and yield the workers without a server; `with_maintenance` also runs maintenance and retention.

    With `databases` they work on the databases of these names only, and no other is opened, except for the daily summaries
    of the home database, which are about all clients. Raises `NotFound` for an unknown one.
    """
    store = await _open_store(settings, [Role.WORKER] if with_maintenance else [])
    async with contextlib.AsyncExitStack() as ending:
        ending.callback(close_threads)
        ending.push_async_callback(store.close)
        shared = await ending.enter_async_context(sharing(settings, store, clock, NoMetrics(), client_log_name))
        fleet = Fleet(store.placement.cell_of)
        await store.refresh()
        names = [HOME_NAME, *(cell.cell.name for cell in store.cells.values())]
        if unknown := sorted({*databases} - {*names}):
            raise NotFound(f"there is no database {', '.join(unknown)}; there are {', '.join(names)}")
        at_home = not databases or HOME_NAME in databases
        store.only = None if at_home else frozenset(databases)

        async def start(cell: CellStore) -> None:
            if not databases or cell.cell.name in databases:
                await start_cell(shared, Fleet(store.placement.cell_of), ending, True, cell)

        if with_maintenance:
            store.on_opened = start
            maintenance = shared.maintenance(store.home, store.outage, uses=KeyUsage(), removes=at_home)
            await ending.enter_async_context(running(maintenance, "housekeeping"))
            if at_home:
                await run_all([shared.retention(store.home, store.outage), *shared.movers(store.home, store.outage)], ending)
        await store.start(follow=with_maintenance)
        for cell, workers in ({HOME: store.home} if with_maintenance else store.stores()).items():
            if databases and (HOME_NAME if cell == HOME else store.cells[cell].cell.name) not in databases:
                continue
            outage = store.outage if cell == HOME else store.cells[cell].outage
            fleet.sets[cell] = shared.workers(workers, outage, [] if with_maintenance else [lambda now: shared.calls.flush(store)])
        yield fleet


def _application(
    parts: Dependencies,
    metrics: ProcessMetrics,
    settings: Settings,
    shared: SharedMetrics | None,
    worker: InboxWorker,
    refused: RefusedWebhooks,
    calls: CallCounts,
    fleet: Fleet,
) -> Application:
    operations = _operations(parts, metrics, settings, shared)
    app = build_app(parts, operations.by_path)
    return Application(settings, parts.store, worker, metrics, operations, app, refused, parts, calls, fleet)


async def first_key(store: ProcessingStore, clock: Clock = clock) -> str | None:
    """Create an administrator's key if the store has no key, because a new store would be inaccessible without one.

    If several processes start at once, one of them gets the key. It creates no client: its id would be guessable.
    """
    if await store.read(any_key()):
        return None
    return await add_first_key(store, clock())


async def prepare(settings: Settings) -> str | None:
    """Prepare the store for serving; return the first key if one was created."""
    store = await _open_store(settings)
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
    """Serve until a stop signal; then finish requests in progress, the worker's batch and the store's queue.

    `on_ready` is called once the server accepts requests, with the first key if one was created. Several processes
    share their metrics with `shared`; `prepare` has prepared their store.
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
            pid = None if shared is None else shared.parent
            facts = facts_of(touchbase.__version__, listener, open_mode=settings.open_mode, pid=pid, at=clock())
            async with present(application.store, facts, clock):
                await server.serve([listener])


def make_application_server(application: Application, writer: LineWriter | None, parent: int | None = None) -> Server:
    """Build the HTTP server of an application; with `parent` (a process id), it stops when that process has ended."""
    settings, operations = application.settings, application.operations
    as_text = is_text(settings.log_format)
    limits = ServerLimits(
        header_timeout=settings.header_timeout,
        keep_alive=settings.keep_alive,
        send_timeout=settings.send_timeout,
        max_headers=settings.max_headers,
        max_header_bytes=settings.max_header_bytes,
        # The application limits requests in progress, by client, so that one client cannot block the others.
        # A connection has at most one request in progress.
        max_requests=max(settings.max_requests, settings.max_connections),
        max_connections=settings.max_connections,
        bodies=BodyMemory(settings.max_body_memory),
        unread=BodyMemory(settings.max_unread_bytes),
        max_connections_per_address=settings.max_connections_per_address,
        observe=AccessLog(application.metrics, writer, settings.log_level, as_text=as_text, tracing=application.parts.tracing),
        proxies=TrustedProxies(settings.proxies) if settings.proxies else None,
        origin_guard=origin_guard(settings),
        on_foreign_origin=partial(record_foreign_webhook, application.refused),
    )
    if settings.max_unread_bytes:
        application.parts.pages.unread_left = limits.unread.left
    ticks = [Tick(TICKS_PER_SECOND, operations.publish)]
    if writer is not None:
        ticks.append(Tick(TICKS_PER_SECOND // 5, writer.flush))
    if settings.origins:
        limits.wrap_app, limits.cors_headers = partial(Cors, origins=settings.origins), CorsHeaders(settings.origins)
    https = settings.public_url.startswith("https://")
    server = make_server(limits.wrap_app(application.app), limits, shutdown_timeout=settings.shutdown_timeout, ticks=ticks, https=https)
    if parent is not None:
        server.ticks = (*server.ticks, Tick(TICKS_PER_SECOND, _stop_without(parent, server)))
    server.on_stopping = partial(_stop_work, application)
    operations.writer, operations.load = writer, server.load
    operations.stopping = lambda: server.should_exit
    return server


def _stop_work(application: Application) -> None:
    """Have requests that wait for events end, and all workers finish while other requests do."""
    if application.parts.feed is not None:
        application.parts.feed.stop()
    application.fleet.stop()


def record_foreign_webhook(refused: RefusedWebhooks, scope: Mapping[str, Any]) -> None:
    """Record a refused webhook that a page of another site sent."""
    _, _, receiver, client_id, *_ = [*str(scope["path"]).split("/"), "", "", "", ""]
    if receiver in RECEIVERS:
        refused.record_refusal(client_id, RECEIVERS[receiver], FOREIGN_ORIGIN, headers=scope["headers"])


def origin_guard(settings: Settings) -> OriginGuard | None:
    """Return the origin guard of a server without keys; None with keys."""
    if not settings.open_mode:
        return None
    return OriginGuard(settings.own_names, settings.origins, public=settings.public_names, any_name=not settings.needs_origin_guard)


def _stop_without(parent: int, server: Server) -> Callable[[], None]:
    """Return a check that stops a server process after its parent has ended."""

    def check() -> None:
        if os.getppid() != parent:
            server.stop()

    return check
