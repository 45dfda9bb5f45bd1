"""Reading calls in processes apart, each of which can be stopped: nothing in a body holds up the server (decision 28).

A batch of deliveries goes to one process at a time. A process that ends over it is replaced, and the deliveries are looked at
one by one: the one that it ended over is `ReadResult` with the reason, and its neighbours with what they say.
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
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from touchbase.adapters.interface import WebhookRequest
from touchbase.common.frames import pack, receive, send, unpack
from touchbase.connections.models import Connection
from touchbase.errors import Overloaded
from touchbase.events.work import ReadResult
from touchbase.history.events import Translation
from touchbase.inbox.budget import MEMORY, MOST_SECONDS, WALL_SECONDS
from touchbase.inbox.delivery import Delivery
from touchbase.inbox.webhook_request import delivered

PROCESSES = 4
"""Processes at once: one for the usual work, and some for large calls at the same time."""
IDLE = 2
"""Processes that stay while nothing is to be read."""
LARGE_JOB = 1024 * 1024
"""Bytes of a job after which its process ends, so that its memory is given back."""
COMMAND = (sys.executable, "-P", "-m", "touchbase.translator")
START_SECONDS = 60
"""Time for a process to start, after which the deliveries wait; none of them is to blame."""
HIDDEN = "hidden"
"""Stands for a secret in what a process is given."""
_OUT_OF_MEMORY = 3


class TranslatorStopped(Exception):
    """A process ended over its job; `for_good` where the job was to blame."""

    def __init__(self, why: str, *, for_good: bool) -> None:
        super().__init__(why)
        self.why = why
        self.for_good = for_good


class TranslatorPool:
    """Says what calls mean, in processes that are started when they are needed. Its methods may be called on any thread."""

    def __init__(self, command: Sequence[str] = COMMAND, wall_seconds: int = WALL_SECONDS) -> None:
        self._command = command
        self._wall = wall_seconds
        self._idle: list[_Process] = []
        self._places = threading.BoundedSemaphore(PROCESSES)
        self._threads = ThreadPoolExecutor(PROCESSES, "touchbase-reader-apart")
        self._end = weakref.finalize(self, _end_all, self._idle)

    def __call__(self, request: WebhookRequest) -> Translation:
        """What one call means; raises what its adapter raises, and `TranslatorStopped` where it took too much."""
        found = unpack(self._ask(pack(replace(request, connections=_bare(request.connections)))))
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, Translation)
        return found

    def of(self, connections: Sequence[Connection]) -> ClientTranslator:
        """The reader of one client's calls, with what that client has connected."""
        return ClientTranslator(self, _bare(connections))

    async def looked(self, connections: Sequence[Connection], deliveries: Sequence[Delivery]) -> list[ReadResult]:
        """What came of looking at each of these deliveries."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._looked, connections, deliveries)

    def close(self) -> None:
        """End the processes that have nothing to do; the others end with their job."""
        self._threads.shutdown(wait=False)
        self._end()

    def _looked(self, connections: Sequence[Connection], deliveries: Sequence[Delivery]) -> list[ReadResult]:
        try:
            found: list[ReadResult] = unpack(self._ask(pack((connections, deliveries))))
            return found
        except TranslatorStopped as stopped:
            if len(deliveries) == 1:
                return [ReadResult(why=stopped.why, for_good=stopped.for_good)]
        return [one for delivery in deliveries for one in self._looked(connections, [delivery])]

    def _ask(self, job: bytes) -> bytes:
        with self._places:
            process = self._idle.pop() if self._idle else self._started()
            try:
                answer = process.answer(job, self._wall)
            except BaseException:
                process.end()
                raise
            if len(job) > LARGE_JOB or len(answer) > LARGE_JOB or len(self._idle) >= IDLE:
                process.end()
            else:
                self._idle.append(process)
            return answer

    def _started(self) -> _Process:
        try:
            process = _Process(self._command)
        except OSError as error:  # too many processes or open files, or no memory for one more
            raise Overloaded(f"no process can be started to read calls: {error}") from error
        try:
            process.await_ready()
        except TranslatorStopped as stopped:
            process.end()
            raise Overloaded(f"a process that reads calls does not start: {stopped.why}") from stopped
        return process


class ClientTranslator:
    """Reads the kept deliveries of one client; `storage` asks it for many at once."""

    def __init__(self, reader: TranslatorPool, connections: Sequence[Connection]) -> None:
        self._reader = reader
        self._connections = connections

    def __call__(self, delivery: Delivery) -> Translation:
        """What one delivery says."""
        return self._reader(delivered(delivery, self._connections))

    async def looked(self, deliveries: Sequence[Delivery]) -> list[ReadResult]:
        """What came of looking at each of these."""
        return await self._reader.looked(self._connections, deliveries)


class _Process:
    """One process that reads calls, and the socket to it."""

    def __init__(self, command: Sequence[str]) -> None:
        ours, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as undoing:
            undoing.callback(ours.close)
            number = theirs.fileno()
            self._running = subprocess.Popen(  # noqa: S603 (our own module)
                [*command, str(number)], pass_fds=(number,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=_environment()
            )
            undoing.pop_all()
        self._socket = ours

    def answer(self, job: bytes, seconds: int) -> bytes:
        """What the process answers; `TranslatorStopped` when it ends, or takes longer than this."""
        return self._received(job, seconds)

    def await_ready(self) -> None:
        """Wait until the process takes jobs."""
        self._received(None, START_SECONDS)

    def _received(self, job: bytes | None, seconds: int) -> bytes:
        limit = struct.pack("ll", seconds, 0)
        try:
            # The kernel's own limits: those of Python's sockets wait for the interpreter twice for each call.
            for kind in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
                self._socket.setsockopt(socket.SOL_SOCKET, kind, limit)
            if job is not None:
                send(self._socket, job)
            answer = receive(self._socket)
        except BlockingIOError:
            raise TranslatorStopped(f"reading it took longer than one call may ({seconds} seconds)", for_good=True) from None
        except OSError:
            answer = None
        if answer is None:
            raise self._stopped()
        return answer

    def end(self) -> None:
        """Close the socket and end the process, whatever it does."""
        self._socket.close()
        self._running.kill()
        self._running.wait()

    def _stopped(self) -> TranslatorStopped:
        try:
            code = self._running.wait(timeout=1)
        except subprocess.TimeoutExpired:
            code = 0
        if code == -signal.SIGPROF:
            return TranslatorStopped(
                f"reading it took more processor time than one call may (up to {MOST_SECONDS:g} seconds)", for_good=True
            )
        if code == _OUT_OF_MEMORY:
            return TranslatorStopped(f"reading it took more memory than one call may ({MEMORY >> 20} MiB)", for_good=True)
        return TranslatorStopped(f"the process that read it ended ({code})", for_good=False)


def _end_all(processes: list[_Process]) -> None:
    while processes:
        processes.pop().end()


def _bare(connections: Sequence[Connection]) -> list[Connection]:
    """The connections without what only we need: that there are secrets is of use to a reader, and the secrets are not."""
    return [replace(one, secrets=[HIDDEN] * len(one.secrets), access_token="") for one in connections]


def _environment() -> dict[str, str]:
    """Ours, without our settings: some are secrets."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TOUCHBASE_")}
