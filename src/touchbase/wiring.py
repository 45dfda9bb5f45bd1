"""The application, assembled: settings -> store, adapters, inbox worker, web application.

The only place that knows every room. End-to-end tests use this same assembly.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial

import touchbase
from touchbase.adapters import load_adapters
from touchbase.api.app import build_app
from touchbase.api.parts import Limits, Parts
from touchbase.domain.commands import EnsureClient
from touchbase.domain.ports import Clock, Store
from touchbase.domain.queries import AnyKey
from touchbase.server.bounds import Bounds
from touchbase.server.browsers import Cors, OwnSites
from touchbase.server.logs import LineWriter
from touchbase.server.metrics import Metrics
from touchbase.server.observe import Observer
from touchbase.server.operations import Operations
from touchbase.server.peer import Proxies
from touchbase.server.run import TICKS_A_SECOND, Server, Tick, calm_the_collector, make_server
from touchbase.server.shared import SharedPages
from touchbase.service.authorise import ADMIN, DEFAULT_CLIENT, add_key
from touchbase.service.connections import Connections
from touchbase.service.process_inbox import InboxWorker
from touchbase.settings import Settings
from touchbase.storage import open_store


def clock() -> int:
    """The present time in microseconds."""
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class Application:
    """Everything that runs in one server process."""

    settings: Settings
    store: Store
    worker: InboxWorker
    metrics: Metrics
    operations: Operations
    """The ASGI application: metrics and health, and in front of everything else the web application."""


@contextlib.asynccontextmanager
async def assembled(settings: Settings, clock: Clock = clock) -> AsyncIterator[Application]:
    """The application on an open store, its worker running; on the way out the worker stops, then the store closes."""
    store = await open_store(settings.database)
    async with contextlib.AsyncExitStack() as ending:
        ending.push_async_callback(store.close)
        metrics = Metrics()
        adapters, connections = load_adapters(), Connections(store, clock)
        worker = InboxWorker(store, adapters.translate, clock, connections=connections.of, on_report=metrics.worked)
        if settings.inbox_worker:
            await ending.enter_async_context(_at_work(worker))
        parts = Parts(
            store=store,
            clock=clock,
            auth="open" if settings.open_mode else "keys",
            limits=Limits(body_seconds=settings.body_timeout, body_idle_seconds=settings.body_idle_timeout),
            version=touchbase.__version__,
            on_kept=worker.wake,
            read=adapters.translate,
            senders=adapters,
            connections=connections,
            public_url=settings.public_url.rstrip("/"),
            protocol_answer=adapters.protocol_answer,
            metrics=metrics,
        )
        yield Application(settings, store, worker, metrics, Operations(build_app(parts), store, clock, metrics))


@contextlib.asynccontextmanager
async def worker_alone(settings: Settings, clock: Clock = clock) -> AsyncIterator[InboxWorker]:
    """The inbox worker on an open store, with no server around it."""
    store = await open_store(settings.database)
    try:
        yield InboxWorker(store, load_adapters().translate, clock, connections=Connections(store, clock).of)
    finally:
        await store.close()


async def first_key(store: Store, clock: Clock = clock) -> str | None:
    """A new administrator's key, and the client `default`, if the store has no key: without one nobody could ever get in."""
    if await store.read(AnyKey()):
        return None
    await store.write(EnsureClient(DEFAULT_CLIENT, clock()))
    return await add_key(store, None, [ADMIN], "first", clock())


async def prepare(settings: Settings) -> str | None:
    """Make the store ready to be served; answers the first key if one had to be made."""
    store = await open_store(settings.database)
    try:
        return None if settings.open_mode else await first_key(store)
    finally:
        await store.close()


async def serve(
    settings: Settings,
    listener: socket.socket,
    *,
    on_ready: Callable[[str | None], None] = lambda key: None,
    pages: SharedPages | None = None,
    process: int = 0,
) -> None:
    """Serve until told to stop; then finish what is in progress, the worker's turn and the store's queue.

    `on_ready` is called once calls are taken, with the first key if one had to be made. Several processes
    share `pages`; their store was prepared before.
    """
    async with assembled(settings) as application:
        with contextlib.ExitStack() as ending:
            writer = None
            if settings.access_log:
                writer = LineWriter(sys.stderr.fileno())
                ending.callback(writer.close)
            server = make_application_server(application, writer)
            key = None
            if pages is not None:
                application.operations.share(pages, process)
            elif not settings.open_mode:
                key = await first_key(application.store)
            server.on_started = partial(on_ready, key)
            calm_the_collector()
            await server.serve([listener])


def make_application_server(application: Application, writer: LineWriter | None) -> Server:
    """The HTTP server of an assembled application."""
    settings, operations = application.settings, application.operations
    bounds = Bounds(
        header_timeout=settings.header_timeout,
        keep_alive=settings.keep_alive,
        send_timeout=settings.send_timeout,
        max_headers=settings.max_headers,
        max_header_bytes=settings.max_header_bytes,
        max_requests=settings.max_requests,
        max_connections=settings.max_connections,
        observe=Observer(application.metrics, writer, settings.log_level),
        proxies=Proxies(settings.proxies) if settings.proxies else None,
        own_sites=OwnSites(settings.own_names, settings.origins) if settings.open_mode and settings.is_loopback else None,
    )
    ticks = [Tick(TICKS_A_SECOND, operations.publish)]
    if writer is not None:
        ticks.append(Tick(TICKS_A_SECOND // 5, writer.flush))
    app = Cors(operations, settings.origins) if settings.origins else operations
    https = settings.public_url.startswith("https://")
    server = make_server(app, bounds, shutdown_timeout=settings.shutdown_timeout, ticks=ticks, https=https)
    if settings.workers > 1:
        server.ticks = (*server.ticks, Tick(TICKS_A_SECOND, _stop_without(os.getppid(), server)))
    operations.writer, operations.load = writer, server.load
    operations.stopping = lambda: server.should_exit
    return server


def _stop_without(parent: int, server: Server) -> Callable[[], None]:
    """Stop a server process whose parent is gone: nobody else would tell it to."""

    def check() -> None:
        if os.getppid() != parent:
            server.stop()

    return check


@contextlib.asynccontextmanager
async def _at_work(worker: InboxWorker) -> AsyncIterator[None]:
    working = asyncio.create_task(worker.run(), name="inbox")
    try:
        yield
    finally:
        worker.stop()
        await working
