"""Pool of sandbox processes: the server's side. No task can block the server, its memory or another client's task.

A process that ends during its task is replaced, and the caller gets `TaskStopped` with the reason.
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
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO, Concatenate, Generic, ParamSpec, TypeVar

from touchbase.common.frames import pack, receive, send, unpack
from touchbase.errors import Overloaded
from touchbase.sandbox.process import NO_FILE, OUT_OF_MEMORY, Job, Result
from touchbase.sandbox.task import Task, TaskStopped

P = ParamSpec("P")
T = TypeVar("T")

MEMORY = 1024 * 1024 * 1024
"""Bytes of address space of a process."""
WALL_SECONDS = 60
"""Seconds that a task may take, for machines without a free CPU."""
MAX_PROCESSES = 4
"""Concurrent processes: one for the usual work, and some for long tasks."""
MAX_IDLE = 2
"""Processes that stay when idle."""
KEEP_SECONDS = 60.0
"""How long a process more than these stays without a job. To start one takes as much processor time as hundreds of webhooks."""
LARGE_JOB = 1024 * 1024
"""Bytes of a job or result after which the process ends, to free its memory."""
COMMAND = (sys.executable, "-P", "-m", "touchbase.sandbox")
NEXT = b"next"
"""The frame that asks a session for its next value."""
START_SECONDS = 60
"""Timeout for the start of a process; then the caller may try again."""


class Sandbox:
    """Runs tasks in processes that are started on demand. Thread-safe."""

    def __init__(
        self,
        name: str,
        *,
        preload: Sequence[str] = (),
        processes: int = MAX_PROCESSES,
        memory: int = MEMORY,
        wall_seconds: int = WALL_SECONDS,
        command: Sequence[str] = COMMAND,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`name` is that of its threads; `preload` are functions, `module:function`, that each process calls at its start."""
        self._command, self._preload = command, preload
        self._memory, self._wall = memory, wall_seconds
        self._clock = clock
        self._idle: list[_Process] = []
        """The last one is used next, so the first one has been idle for the longest time."""
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(processes)
        self._threads = ThreadPoolExecutor(processes, f"touchbase-{name}")
        self._end = weakref.finalize(self, _end_all, self._idle)

    def run(self, task: Task[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run a task; raises what it raises, `TaskStopped` if it exceeds its budget, `Overloaded` if no process can be started."""
        result: Result = unpack(self._exchange(pack(Job(task, arguments, named))))
        if result.error is not None:
            raise result.error
        value: T = result.value
        return value

    async def call(self, task: Task[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run a task without blocking the event loop; raises as `run` does."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: self.run(task, *arguments, **named))

    @contextlib.asynccontextmanager
    async def session(
        self, task: Task[Concatenate[BinaryIO, P], Iterator[T]], file: BinaryIO, *arguments: P.args, **named: P.kwargs
    ) -> AsyncGenerator[Session[T], None]:
        """Run a task that reads an open file and yields values, in a process of its own that ends with the block.

        Its limits of time count for each value. The caller does not use the file during the session.
        """
        loop = asyncio.get_running_loop()
        file.seek(0)
        process = await loop.run_in_executor(self._threads, self._start, file.fileno())
        try:
            yield Session(process, pack(Job(task, arguments, named, is_session=True)), self._wall, self._threads)
        finally:
            process.end()

    def close(self) -> None:
        """End the idle processes; the others end after their task."""
        self._threads.shutdown(wait=False)
        self._end()

    def _exchange(self, job: bytes) -> bytes:
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
                self._return(process)
            return response

    def _return(self, process: _Process) -> None:
        """Add a process to the idle ones, and end one that was not needed for `KEEP_SECONDS`."""
        now, unneeded = self._clock(), None
        process.idle_since = now
        with self._lock:
            self._idle.append(process)
            if len(self._idle) > MAX_IDLE and now - self._idle[0].idle_since >= KEEP_SECONDS:
                unneeded = self._idle.pop(0)
        if unneeded is not None:
            unneeded.end()

    def _start(self, file: int | None = None) -> _Process:
        try:
            process = _Process(self._command, self._memory, file, self._preload if file is None else ())
        except OSError as error:  # too many processes or open files, or no memory for one more
            raise Overloaded(f"cannot start a sandbox process: {error}") from error
        try:
            process.await_ready()
        except TaskStopped as stopped:
            process.end()
            raise Overloaded(f"the sandbox process does not start: {stopped.why}") from stopped
        return process


class Session(Generic[T]):
    """The values of a task that runs step by step; one step at a time."""

    def __init__(self, process: _Process, job: bytes, seconds: int, threads: ThreadPoolExecutor) -> None:
        self._process, self._request = process, job
        self._seconds, self._threads = seconds, threads

    def __aiter__(self) -> Session[T]:
        return self

    async def __anext__(self) -> T:
        """Return the next value; raises what the task raises, or `TaskStopped`."""
        request, self._request = self._request, NEXT
        result: Result = unpack(
            await asyncio.get_running_loop().run_in_executor(self._threads, self._process.request, request, self._seconds)
        )
        if result.error is not None:
            raise result.error
        if result.is_last:
            raise StopAsyncIteration
        value: T = result.value
        return value


class _Process:
    """One sandbox process and the socket to it."""

    def __init__(self, command: Sequence[str], memory: int, file: int | None, preload: Sequence[str]) -> None:
        self.idle_since = 0.0
        self._memory = memory
        ours, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as undoing:
            undoing.callback(ours.close)
            number = theirs.fileno()
            inherited = (number,) if file is None else (number, file)
            self._running = subprocess.Popen(  # noqa: S603 (our own module)
                [*command, str(number), str(memory), NO_FILE if file is None else str(file), *preload],
                pass_fds=inherited,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=_environment(),
            )
            undoing.pop_all()
        self._socket = ours

    def await_ready(self) -> None:
        """Wait until the process accepts jobs."""
        self.request(None, START_SECONDS)

    def request(self, job: bytes | None, seconds: int) -> bytes:
        """Send a job and return the result; raises `TaskStopped` if the process ends or exceeds these seconds."""
        limit = struct.pack("ll", seconds, 0)
        try:
            # Timeouts of the kernel: with those of Python's sockets, each system call waits for the GIL twice.
            for kind in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
                self._socket.setsockopt(socket.SOL_SOCKET, kind, limit)
            if job is not None:
                send(self._socket, job)
            response = receive(self._socket)
        except BlockingIOError:
            raise TaskStopped(f"reading it took longer than the limit ({seconds} seconds)", for_good=True) from None
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

    def _stopped(self) -> TaskStopped:
        try:
            code = self._running.wait(timeout=1)
        except subprocess.TimeoutExpired:
            code = 0
        if code == -signal.SIGPROF:
            return TaskStopped("reading it took more processor time than the limit", for_good=True)
        if code == OUT_OF_MEMORY:
            return TaskStopped(f"reading it took more memory than the limit ({self._memory >> 20} MiB)", for_good=True)
        return TaskStopped(f"the process that read it ended ({code})", for_good=False)


def _end_all(processes: list[_Process]) -> None:
    while processes:
        processes.pop().end()


def _environment() -> dict[str, str]:
    """Return our environment without Touchbase settings, because some are secrets."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TOUCHBASE_")}
