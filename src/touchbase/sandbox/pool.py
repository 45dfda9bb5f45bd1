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

from touchbase.common.frames import FrameTooLong, pack, receive, send, unpack
from touchbase.errors import Overloaded
from touchbase.sandbox.process import FILE, OUT_OF_MEMORY, SandboxJob, SandboxResult
from touchbase.sandbox.task import Task, TaskStopped

P = ParamSpec("P")
T = TypeVar("T")

MEMORY = 1024 * 1024 * 1024
"""Bytes of address space of a process."""
OUTPUT = 256 * 1024 * 1024
"""Bytes of a result: the server has to hold it."""
WALL_SECONDS = 60
"""Seconds that a task may take, for machines without a free CPU."""
MAX_PROCESSES = 4
"""Concurrent processes: one for the usual work, and some for long tasks."""
MAX_IDLE = 2
"""Processes that stay when idle."""
KEEP_SECONDS = 60.0
"""How long a process more than these stays without a job. To start one takes as much processor time as hundreds of webhooks."""
LARGE_JOB = 1024 * 1024
"""Bytes of a job, result or file after which the process ends, to free its memory."""
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
        idle: int = MAX_IDLE,
        memory: int = MEMORY,
        output: int = OUTPUT,
        wall_seconds: int = WALL_SECONDS,
        command: Sequence[str] = COMMAND,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`name` names its threads; `preload` are functions, `module:function`, that each process calls at its start."""
        self._command, self._preload = command, preload
        self._memory, self._output, self._wall = memory, output, wall_seconds
        self._max_idle = idle
        self._clock = clock
        self._idle: list[_Process] = []
        """The last one is used next, so the first one has been idle for the longest time."""
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(processes)
        self._threads = ThreadPoolExecutor(processes, f"touchbase-{name}")
        self._end = weakref.finalize(self, _end_all, self._idle)

    def run(self, task: Task[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run a task; raises its exception, `TaskStopped` if it exceeds its budget, `Overloaded` if no process can be started."""
        result: SandboxResult = unpack(self._exchange(pack(SandboxJob(task, arguments, named))))
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
    ) -> AsyncGenerator[SandboxSession[T], None]:
        """Run a task that reads an open file and yields values, in a process that has no other job until the end of the block.

        Its limits of time count for each value. The caller does not use the file during the session. The process ends with the
        block, unless the task has read a small file to the end of its values and used little memory.
        """
        file.seek(0, os.SEEK_END)
        size = file.tell()
        file.seek(0)  # writes what Python has in memory
        process = await asyncio.get_running_loop().run_in_executor(self._threads, self._take)
        session = SandboxSession[T](
            process, pack(SandboxJob(task, arguments, named, is_session=True)), file.fileno(), self._wall, self._threads
        )
        try:
            yield session
        finally:
            if session.is_reusable and size <= LARGE_JOB:
                self._return(process)
            else:
                self._end_later(process)

    def close(self) -> None:
        """End the idle processes; the others end after their task."""
        self._threads.shutdown(wait=False)
        self._end()

    def _exchange(self, job: bytes) -> bytes:
        with self._slots:
            process = self._take()
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

    def _take(self) -> _Process:
        """Return an idle process, or a new one."""
        with self._lock:
            process = self._idle.pop() if self._idle else None
        return process or self._start()

    def _end_later(self, process: _Process) -> None:
        """Kill a process at once, and wait for its end in a thread: the kernel may take long to free its memory."""
        process.kill()
        try:
            self._threads.submit(process.end)
        except RuntimeError:  # the sandbox is closed
            process.end()

    def _return(self, process: _Process) -> None:
        """Add a process to the idle ones, and end a process that was not needed for `KEEP_SECONDS`."""
        now, unneeded = self._clock(), None
        process.idle_since = now
        with self._lock:
            self._idle.append(process)
            if len(self._idle) > self._max_idle and now - self._idle[0].idle_since >= KEEP_SECONDS:
                unneeded = self._idle.pop(0)
        if unneeded is not None:
            unneeded.end()

    def _start(self) -> _Process:
        try:
            process = _Process(self._command, self._memory, self._output, self._preload)
        except OSError as error:  # too many processes or open files, or no memory for one more
            raise Overloaded(f"cannot start a sandbox process: {error}") from error
        try:
            process.await_ready()
        except TaskStopped as stopped:
            process.end()
            raise Overloaded(f"the sandbox process does not start: {stopped.why}") from stopped
        return process


class SandboxSession(Generic[T]):
    """The values of a task that runs step by step; one step at a time."""

    def __init__(self, process: _Process, job: bytes, file: int, seconds: int, threads: ThreadPoolExecutor) -> None:
        self._process, self._job, self._file = process, job, file
        self._seconds, self._threads = seconds, threads
        self._has_begun = False
        self.is_reusable = False
        """Whether the process can have another job: it has returned the last value, and uses little memory."""

    def __aiter__(self) -> SandboxSession[T]:
        return self

    async def __anext__(self) -> T:
        """Return the next value; raises the task's exception, or `TaskStopped`."""
        result: SandboxResult = unpack(await asyncio.get_running_loop().run_in_executor(self._threads, self._next))
        self.is_reusable = result.is_last and result.is_reusable
        if result.error is not None:
            raise result.error
        if result.is_last:
            raise StopAsyncIteration
        value: T = result.value
        return value

    def _next(self) -> bytes:
        if self._has_begun:
            return self._process.request(NEXT, self._seconds)
        self._has_begun = True
        self._process.request(self._job, self._seconds)
        self._process.send_file(self._file)
        return self._process.request(None, self._seconds)


class _Process:
    """One sandbox process and the socket to it."""

    def __init__(self, command: Sequence[str], memory: int, output: int, preload: Sequence[str]) -> None:
        self.idle_since = 0.0
        self._memory, self._output = memory, output
        ours, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as undoing:
            undoing.callback(ours.close)
            number = theirs.fileno()
            self._running = subprocess.Popen(  # noqa: S603 (our own module)
                [*command, str(number), str(memory), *preload],
                pass_fds=(number,),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=_environment(),
            )
            undoing.pop_all()
        self._socket = ours

    def await_ready(self) -> None:
        """Wait until the process accepts jobs."""
        self.request(None, START_SECONDS)

    def send_file(self, number: int) -> None:
        """Send an open file, for which the process has asked with its last frame."""
        try:
            socket.send_fds(self._socket, [FILE], [number])
        except OSError:
            raise self._stopped() from None

    def request(self, job: bytes | None, seconds: int) -> bytes:
        """Send a job and return the result; raises `TaskStopped` if the process ends or exceeds these seconds."""
        limit = struct.pack("ll", seconds, 0)
        try:
            # Timeouts of the kernel: with those of Python's sockets, each system call waits for the GIL twice.
            for kind in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
                self._socket.setsockopt(socket.SOL_SOCKET, kind, limit)
            if job is not None:
                send(self._socket, job)
            response = receive(self._socket, self._output)
        except FrameTooLong:
            raise TaskStopped(f"its result is larger than the limit ({self._output >> 20} MiB)", for_good=True) from None
        except BlockingIOError:
            raise TaskStopped(f"reading it took longer than the limit ({seconds} seconds)", for_good=True) from None
        except OSError:
            response = None
        if response is None:
            raise self._stopped()
        return response

    def end(self) -> None:
        """Kill the process, wait for its end, and close the socket."""
        self._running.kill()
        self._running.wait()
        self._socket.close()

    def kill(self) -> None:
        """Kill the process; `end` must follow."""
        self._running.kill()

    def _stopped(self) -> TaskStopped:
        try:
            code = self._running.wait(timeout=1)
        except subprocess.TimeoutExpired:
            code = 0
        if code == -signal.SIGPROF:
            return TaskStopped("reading it took more processor time than the limit", for_good=True)
        if code in (OUT_OF_MEMORY, -signal.SIGABRT):  # native code aborts when it gets no memory
            return TaskStopped(f"reading it took more memory than the limit ({self._memory >> 20} MiB)", for_good=True)
        return TaskStopped(f"the process that read it ended ({code})", for_good=False)


def _end_all(processes: list[_Process]) -> None:
    while processes:
        processes.pop().end()


def _environment() -> dict[str, str]:
    """Return our environment without Touchbase settings, because some are secrets."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TOUCHBASE_")}
