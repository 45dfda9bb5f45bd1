"""Translator pool: webhooks are read in separate processes that can be stopped, so that no body blocks the server (decision 28).

A batch of deliveries goes to one process. If the process ends during the batch it is replaced, and the deliveries are read one by
one: the delivery that ends the process gets a `ReadResult` with the reason, and the others are read as usual.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from touchbase.adapters.interface import WebhookRequest
from touchbase.common.frames import pack, receive, send, unpack
from touchbase.connections import Connection
from touchbase.errors import Overloaded
from touchbase.events.work import ReadResult
from touchbase.history import Translation
from touchbase.inbox import MAX_SECONDS, MEMORY, WALL_SECONDS, Delivery, request_of_delivery

MAX_PROCESSES = 4
"""Concurrent processes: one for the usual work, and some for large webhooks."""
MAX_IDLE = 2
"""Processes that stay when idle."""
KEEP_SECONDS = 60.0
"""How long a process more than these stays without a job. To start one takes as much processor time as hundreds of webhooks."""
LARGE_JOB = 1024 * 1024
"""Bytes of a job or result after which the process ends, to free its memory."""
COMMAND = (sys.executable, "-P", "-m", "touchbase.translator")
START_SECONDS = 60
"""Timeout for the start of a process; then the deliveries wait and are not marked as failed."""
HIDDEN = "hidden"
"""Placeholder for secrets in what a process gets."""
_OUT_OF_MEMORY = 3


class TranslatorStopped(Exception):
    """A translator process ended during its job; `for_good` if the job exceeded its budget."""

    def __init__(self, why: str, *, for_good: bool) -> None:
        super().__init__(why)
        self.why = why
        self.for_good = for_good


class TranslatorPool:
    """Translates webhooks in processes that are started on demand. Thread-safe."""

    def __init__(
        self, command: Sequence[str] = COMMAND, wall_seconds: int = WALL_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._command = command
        self._wall = wall_seconds
        self._clock = clock
        self._idle: list[_Process] = []
        """The last one is used next, so the first one has been idle for the longest time."""
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(MAX_PROCESSES)
        self._threads = ThreadPoolExecutor(MAX_PROCESSES, "touchbase-reader-apart")
        self._end = weakref.finalize(self, _end_all, self._idle)

    def __call__(self, request: WebhookRequest) -> Translation:
        """Translate one webhook; raises what its adapter raises, or `TranslatorStopped` if it exceeds its budget."""
        found = unpack(self._request(pack(replace(request, connections=_without_secrets(request.connections)))))
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, Translation)
        return found

    def for_client(self, connections: Sequence[Connection]) -> ClientTranslator:
        """Return the translator of one client's deliveries, with its connections."""
        return ClientTranslator(self, _without_secrets(connections))

    async def read_many(self, connections: Sequence[Connection], deliveries: Sequence[Delivery]) -> list[ReadResult]:
        """Read each of these deliveries."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read_many, connections, deliveries)

    def close(self) -> None:
        """End the idle processes; the others end after their job."""
        self._threads.shutdown(wait=False)
        self._end()

    def _read_many(self, connections: Sequence[Connection], deliveries: Sequence[Delivery]) -> list[ReadResult]:
        try:
            found: list[ReadResult] = unpack(self._request(pack((connections, deliveries))))
            return found
        except TranslatorStopped as stopped:
            if len(deliveries) == 1:
                return [ReadResult(why=stopped.why, for_good=stopped.for_good)]
        return [one for delivery in deliveries for one in self._read_many(connections, [delivery])]

    def _request(self, job: bytes) -> bytes:
        with self._slots:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            process = process or self._start()
            try:
                response = process.request(job, self._wall)
            except BaseException:
                process.end()
                raise
            if len(job) > LARGE_JOB or len(response) > LARGE_JOB:
                process.end()
            else:
                self._keep(process)
            return response

    def _keep(self, process: _Process) -> None:
        """Keep a process for the next job, and end one that was not needed for `KEEP_SECONDS`."""
        now, unneeded = self._clock(), None
        process.idle_since = now
        with self._lock:
            self._idle.append(process)
            if len(self._idle) > MAX_IDLE and now - self._idle[0].idle_since >= KEEP_SECONDS:
                unneeded = self._idle.pop(0)
        if unneeded is not None:
            unneeded.end()

    def _start(self) -> _Process:
        try:
            process = _Process(self._command)
        except OSError as error:  # too many processes or open files, or no memory for one more
            raise Overloaded(f"cannot start a process to read webhooks: {error}") from error
        try:
            process.await_ready()
        except TranslatorStopped as stopped:
            process.end()
            raise Overloaded(f"the process that reads webhooks does not start: {stopped.why}") from stopped
        return process


class ClientTranslator:
    """Translates the stored deliveries of one client, many at once for the store (`IsolatedReader`)."""

    def __init__(self, reader: TranslatorPool, connections: Sequence[Connection]) -> None:
        self._reader = reader
        self._connections = connections

    def __call__(self, delivery: Delivery) -> Translation:
        """Translate one delivery."""
        return self._reader(request_of_delivery(delivery, self._connections))

    async def read_many(self, deliveries: Sequence[Delivery]) -> list[ReadResult]:
        """Read each of these deliveries."""
        return await self._reader.read_many(self._connections, deliveries)


class _Process:
    """One translator process and the socket to it."""

    def __init__(self, command: Sequence[str]) -> None:
        self.idle_since = 0.0
        ours, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as undoing:
            undoing.callback(ours.close)
            number = theirs.fileno()
            self._running = subprocess.Popen(  # noqa: S603 (our own module)
                [*command, str(number)], pass_fds=(number,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=_environment()
            )
            undoing.pop_all()
        self._socket = ours

    def request(self, job: bytes, seconds: int) -> bytes:
        """Send a job and return the result; raises `TranslatorStopped` if the process ends or exceeds these seconds."""
        return self._exchange(job, seconds)

    def await_ready(self) -> None:
        """Wait until the process accepts jobs."""
        self._exchange(None, START_SECONDS)

    def _exchange(self, job: bytes | None, seconds: int) -> bytes:
        limit = struct.pack("ll", seconds, 0)
        try:
            # Timeouts of the kernel: with those of Python's sockets, each system call waits for the GIL twice.
            for kind in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
                self._socket.setsockopt(socket.SOL_SOCKET, kind, limit)
            if job is not None:
                send(self._socket, job)
            response = receive(self._socket)
        except BlockingIOError:
            raise TranslatorStopped(f"reading it took longer than the limit ({seconds} seconds)", for_good=True) from None
        except OSError:
            response = None
        if response is None:
            raise self._stopped()
        return response

    def end(self) -> None:
        """Close the socket and kill the process."""
        self._socket.close()
        self._running.kill()
        self._running.wait()

    def _stopped(self) -> TranslatorStopped:
        try:
            code = self._running.wait(timeout=1)
        except subprocess.TimeoutExpired:
            code = 0
        if code == -signal.SIGPROF:
            return TranslatorStopped(f"reading it took more processor time than the limit (up to {MAX_SECONDS:g} seconds)", for_good=True)
        if code == _OUT_OF_MEMORY:
            return TranslatorStopped(f"reading it took more memory than the limit ({MEMORY >> 20} MiB)", for_good=True)
        return TranslatorStopped(f"the process that read it ended ({code})", for_good=False)


def _end_all(processes: list[_Process]) -> None:
    while processes:
        processes.pop().end()


def _without_secrets(connections: Sequence[Connection]) -> list[Connection]:
    """Return the connections with placeholders for their secrets: adapters use only their number."""
    return [replace(one, secrets=[HIDDEN] * len(one.secrets), access_token="") for one in connections]


def _environment() -> dict[str, str]:
    """Return our environment without Touchbase settings, because some are secrets."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TOUCHBASE_")}
