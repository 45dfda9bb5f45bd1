"""Sandbox process, `python -m touchbase.sandbox SOCKET MEMORY [MODULE:FUNCTION ...]`: runs tasks, can be stopped.

It runs jobs from a socket until the other end closes. The kernel ends the process when a task exceeds its processor time, even
inside a regular expression. The process opens no store, and its environment has no secrets. The functions named at the end are
called first; what they import is loaded once.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import socket
import sys
from contextlib import suppress
from typing import Any, NamedTuple

from touchbase.common.frames import READY, pack, receive, send, unpack
from touchbase.errors import TouchbaseError
from touchbase.sandbox.task import Task

OUT_OF_MEMORY = 3
"""Exit status of a process that exceeded its memory."""
FILE = b"f"
"""The byte that comes with an open file."""
SPENT = 32 * 1024
"""KiB of memory that a session may add to the process; with more the process is not used again."""


class SandboxJob(NamedTuple):
    """A task and its arguments; `is_session` if it yields values, which are sent as the other end asks for them."""

    task: Task[..., Any]
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    is_session: bool = False


class SandboxResult(NamedTuple):
    """The value of a task or the error that it raised; `is_last` after the last value of a session.

    `is_reusable` if the session that ends has left the process as it was.
    """

    value: Any = None
    error: Exception | None = None
    is_last: bool = False
    is_reusable: bool = False


def main() -> None:
    """Run jobs until the socket closes."""
    number, memory, *preloaded = sys.argv[1:]
    for stopping in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stopping, signal.SIG_IGN)  # the server finishes its work, then closes the socket
    limit_memory(int(memory))
    for name in preloaded:
        Task[[], None](name).load()()
    gc.freeze()
    used = _most_memory()
    with socket.socket(fileno=int(number)) as connection:
        send(connection, READY)
        while (frame := receive(connection)) is not None:
            try:
                job: SandboxJob = unpack(frame)
                if job.is_session:
                    run_session(connection, job, used)
                else:
                    send(connection, pack(run_job(job)))
            except MemoryError:
                os._exit(OUT_OF_MEMORY)


def run_job(job: SandboxJob) -> SandboxResult:
    """Run one task and return its result; raises only `MemoryError`."""
    run = job.task.load()
    limit_seconds(job.task.seconds)
    try:
        return SandboxResult(run(*job.arguments, **job.named))
    except MemoryError:
        raise
    except Exception as error:
        return SandboxResult(error=_picklable(error))


def run_session(connection: socket.socket, job: SandboxJob, used: int) -> None:
    """Ask for the file of a session, then send its values one by one, each when the other end sends a frame for it.

    `used` is the memory that the process has used before its first job, in KiB.
    """
    run, values = job.task.load(), None
    send(connection, READY)
    _, files, _, _ = socket.recv_fds(connection, len(FILE), 1)
    if not files:  # the other end has closed
        return
    with os.fdopen(files[0], "rb") as file:
        while True:
            limit_seconds(job.task.seconds)
            try:
                if values is None:
                    values = iter(run(file, *job.arguments, **job.named))
                result = SandboxResult(next(values))
            except StopIteration:
                result = SandboxResult(is_last=True, is_reusable=_most_memory() - used < SPENT)
            except MemoryError:
                raise
            except Exception as error:
                result = SandboxResult(error=_picklable(error), is_last=True, is_reusable=_most_memory() - used < SPENT)
            send(connection, pack(result))
            if result.is_last or receive(connection) is None:
                return


def _most_memory() -> int:
    """Return the most KiB of memory that this process has used so far; the figures of `getrusage` begin with the server's."""
    with suppress(OSError, StopIteration), open("/proc/self/status", encoding="ascii", errors="replace") as status:
        return int(next(line for line in status if line.startswith("VmHWM")).split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # no Linux


def limit_seconds(seconds: float) -> None:
    """Start the processor time limit again; the kernel ends the process when it expires."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def limit_memory(memory: int) -> None:
    """Limit the memory, and make this process the first choice of the kernel's OOM killer."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(ValueError, OSError):  # the operator's own limit is lower, or this system has none
        resource.setrlimit(resource.RLIMIT_AS, (memory, most))
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as place:
        place.write("1000")


def _picklable(error: Exception) -> Exception:
    """Return the project's own errors as they are, and others by their text: they may not be picklable."""
    if isinstance(error, TouchbaseError):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
