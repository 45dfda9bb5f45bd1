"""The web application inside the process of a command: requests without a socket, and jobs without a server."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from touchbase.cli.options import read_settings
from touchbase.cli.store import now_us, opened
from touchbase.common.asgi import path_of

if TYPE_CHECKING:
    from touchbase.adapters.interface import ProtocolResponse
    from touchbase.adapters.registry import Adapters
    from touchbase.common.asgi import App, Message, Scope
    from touchbase.config import Settings
    from touchbase.fleet import Shared
    from touchbase.routing.router import CellRouter
    from touchbase_client.core import Wire

T = TypeVar("T")
URL = "http://in-process"
"""The address of the application, which no program can reach."""
PIECE = 1 << 18
"""Bytes of a file that are read at once."""
WAITING_PIECES = 8
"""Pieces of a response that may wait for their reader."""
UNLIMITED = 1 << 62
"""Bytes of an imported file: the operator's own file needs no limit."""
LOOK_SECONDS = 0.5
"""Time between two looks at a job that a server has taken."""
NOT_SENT = ("idempotency-key", "user-agent", "accept")
"""Headers that mean nothing here: no request is repeated, so its response need not be stored."""


class InProcess:
    """Sends requests to the application, which has an event loop on a thread; it opens the store with the first request."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._thread: Thread | None = None
        self._ready: Future[None] = Future()
        self._failures = _Failures()

    @property
    def settings(self) -> Settings:
        """The settings of the application."""
        self._start()
        return self._shared.settings

    @contextmanager
    def stream(self, wire: Wire) -> Iterator[tuple[int, list[tuple[bytes, bytes]], Iterator[bytes]]]:
        """Send a request and yield its response: status, headers, and the pieces of the body."""
        self._start()
        response = self._run(_begin(self._app, _scope(wire), wire.content))
        try:
            start = self._message(response)

            def pieces() -> Iterator[bytes]:
                more = True
                while more:
                    message = self._message(response)
                    more = message.get("more_body", False)
                    yield message.get("body", b"")

            yield start["status"], start["headers"], pieces()
        finally:
            self._run(response.end())

    @contextmanager
    def running(self, job_id: int) -> Iterator[None]:
        """Run a job until the end of the context, unless a running server has taken it."""
        from touchbase.workers import job_worker

        self._start()
        worker = job_worker(self._shared.settings, self._store, now_us, sandbox=self._shared.files)
        stopping = asyncio.Event()

        async def stop() -> None:
            worker.stop()
            stopping.set()

        async def work() -> None:
            from touchbase.jobs.models import ENDED
            from touchbase.jobs.sql import get_job

            while (job := await self._store.read(get_job(None, job_id))) is not None and job.state not in ENDED and not stopping.is_set():
                await worker.run_job(job.client, job.id)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), LOOK_SECONDS)

        done = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            yield
        finally:
            self._run(stop())
            done.result()

    def on_store(self, work: Callable[[CellRouter], Coroutine[Any, Any, T]]) -> T:
        """Return the result of work on the open store, which a server leaves to its workers."""
        self._start()
        return self._run(work(self._store))

    def close(self) -> None:
        """Close the store and end the thread."""
        if self._thread is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()
            self._thread = None

    def _start(self) -> None:
        if self._thread is None:
            self._thread = Thread(target=self._serve, name="application")
            self._thread.start()
            try:
                self._ready.result()
            except BaseException:
                with contextlib.suppress(Exception):
                    self._ready.result()  # after Ctrl+C the store is opened first
                self.close()
                raise

    def _serve(self) -> None:
        from touchbase.common.threads import close_threads

        try:
            asyncio.run(self._application())
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)
            elif not isinstance(error, KeyboardInterrupt):  # the command has it
                raise
        finally:
            close_threads()

    async def _application(self) -> None:
        """Serve requests to the application until `close`."""
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        gc.disable()  # imports make no garbage, and its collections take a twelfth of a short command
        try:
            async with (
                opened(self._settings["database"]) as self._store,
                application(self._store, self._settings) as (self._app, self._shared),
            ):
                gc.freeze()
                gc.enable()
                with self._failures:
                    self._ready.set_result(None)
                    await self._stopping.wait()
        finally:
            gc.enable()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine on the event loop; Ctrl+C cancels it, and waits for its end."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _message(self, response: _InProcessResponse) -> Message:
        """Return the next message of a response; raise the application's exception."""
        message = self._run(response.next())
        self._failures.raise_first()
        return message


@contextlib.asynccontextmanager
async def application(store: CellRouter, options: Mapping[str, Any]) -> AsyncIterator[tuple[App, Shared]]:
    """Build the web application on an open store: for the operator, without workers, spool and limits."""
    from touchbase.auth.last_used import KeyUsage
    from touchbase.fleet import Fleet, sharing, web_parts
    from touchbase.inbox.refused import RefusedWebhooks
    from touchbase.metrics import NoMetrics
    from touchbase.rate_limit.rate_limiter import RateLimiter
    from touchbase.web import build_app

    settings = replace(read_settings(**options), spool="", tracing=False, max_import_bytes=UNLIMITED)
    async with sharing(settings, store, now_us, NoMetrics(), str, lambda: cast("Adapters", _LazyAdapters())) as shared:
        refused = RefusedWebhooks(now_us, shared.metrics)
        fleet = Fleet(store.placement.cell_of)
        parts = web_parts(shared, fleet, auth="operator", uses=KeyUsage(), refused=refused)
        yield build_app(replace(parts, limiter=RateLimiter())), shared


class _LazyAdapters:
    """The adapters of all tools, loaded when the first is used: that takes a fifth of a second."""

    @cached_property
    def _loaded(self) -> Adapters:
        from touchbase.adapters.registry import load_adapters

        return load_adapters()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loaded, name)

    def protocol_answer(self, body: bytes) -> ProtocolResponse | None:
        """Return the adapters' response to a tool's handshake."""
        return self._loaded.protocol_answer(body)


class _InProcessResponse:
    """The messages of one response, as the application sends them."""

    def __init__(self, app: App, scope: Scope, body: bytes | os.PathLike[str] | None) -> None:
        self._body = _messages(body)
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue(WAITING_PIECES)
        self._task = asyncio.create_task(self._call(app, scope))

    async def next(self) -> Message:
        message = await self._messages.get()
        if message is None:
            await self._task  # raises its error
            raise EOFError("the application ended without a response")
        return message

    async def end(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _call(self, app: App, scope: Scope) -> None:
        try:
            await app(scope, self._receive, self._messages.put)
        except Exception:
            await self._messages.put(None)
            raise
        await self._messages.put(None)

    async def _receive(self) -> Message:
        for message in self._body:
            return message
        await asyncio.Future()  # the command stays connected until it has the response
        raise AssertionError


async def _begin(app: App, scope: Scope, content: bytes | os.PathLike[str] | None) -> _InProcessResponse:
    return _InProcessResponse(app, scope, content)


def _scope(wire: Wire) -> Scope:
    """Return a request as the server gives it to the application."""
    from touchbase.audit import CLI_REQUEST
    from touchbase.common.asgi import FROM_HERE, HEADER

    url = urlsplit(wire.url)
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in wire.headers if name.lower() not in NOT_SENT]
    headers.append((HEADER, f"{CLI_REQUEST}{token_hex(8)}".encode()))
    if isinstance(wire.content, os.PathLike):
        headers.append((b"content-length", b"%d" % Path(wire.content).stat().st_size))
    elif wire.content is not None:
        headers.append((b"content-length", b"%d" % len(wire.content)))
    return {
        **FROM_HERE, "method": wire.method, "path": path_of(url.path), "raw_path": url.path.encode(), "query_string": url.query.encode(),
        "headers": [(b"host", url.netloc.encode()), *headers], "state": {},
    }  # fmt: skip


def _messages(content: bytes | os.PathLike[str] | None) -> Iterator[Message]:
    if isinstance(content, os.PathLike):
        with Path(content).open("rb") as file:
            while piece := file.read(PIECE):
                yield {"type": "http.request", "body": piece, "more_body": True}
        content = None
    yield {"type": "http.request", "body": content or b"", "more_body": False}


class _Failures(logging.Handler):
    """Unexpected errors of requests, which the application logs, for the command to raise."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._first: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info is not None and self._first is None:
            self._first = record.exc_info[1]

    def raise_first(self) -> None:
        """Raise the first error, once."""
        error, self._first = self._first, None
        if error is not None:
            raise error

    def __enter__(self) -> None:
        logger = logging.getLogger("touchbase.api")
        logger.addHandler(self)
        logger.propagate = False

    def __exit__(self, *_: object) -> None:
        logger = logging.getLogger("touchbase.api")
        logger.removeHandler(self)
        logger.propagate = True
