"""Several server processes on one listening socket: started together, replaced when one dies, stopped together."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable

LOG = logging.getLogger("touchbase.server")

STOPS = (signal.SIGTERM, signal.SIGINT)
HEARD = (*STOPS, signal.SIGCHLD)
TOO_SOON = 5.0
"""A process that ends within so many seconds of its start has a fault that another start will not mend."""
SOON_ENDS = 3


class Supervisor:
    """Runs `work(number)` in processes of its own until told to stop; `on_ended(number)` is called when one ended."""

    def __init__(self, count: int, work: Callable[[int], int], on_ended: Callable[[int], None] = lambda process: None) -> None:
        self.work = work
        self.on_ended = on_ended
        self.count = count
        self._running: dict[int, tuple[int, float]] = {}
        self._stopping = False
        self._soon_ends = 0
        self._worst = 0

    def run(self, on_started: Callable[[], None]) -> int:
        """Start all and wait for the end of the last; answers the exit status."""
        # Waited for, not handled: a handler's note that came just before `wait` would lie there until a process ended.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
        try:
            for process in range(self.count):
                self._start(process)
            on_started()
            while self._running:
                if signal.sigwait(HEARD) in STOPS:
                    self._stop()
                self._reap()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return self._worst

    def _start(self, process: int) -> None:
        parent = os.getpid()
        pid = os.fork()
        if pid:
            self._running[pid] = (process, time.monotonic())
            return
        # Ctrl+C reaches the whole group of the terminal; this process is to be told once, by its parent.
        os.setpgid(0, 0)
        for number in HEARD:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
        status = 1
        try:
            status = self.work(process) if os.getppid() == parent else 0
        except Exception:
            LOG.exception("a server process failed")
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _stop(self) -> None:
        self._stopping = True
        for pid in self._running:
            os.kill(pid, signal.SIGTERM)

    def _reap(self) -> None:
        """Take note of every process that has ended; one signal may stand for several."""
        while self._running:
            pid, raw_status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            self._ended(pid, raw_status)

    def _ended(self, pid: int, raw_status: int) -> None:
        if pid not in self._running:
            return
        process, started = self._running.pop(pid)
        self.on_ended(process)
        status = os.waitstatus_to_exitcode(raw_status)
        if self._stopping:
            # One that was still starting dies of the signal, and has answered nobody.
            self._worst = self._worst or int(status not in (0, -signal.SIGTERM))
            return
        LOG.error("server process %d ended with status %d", pid, status)
        self._soon_ends = self._soon_ends + 1 if time.monotonic() - started < TOO_SOON else 0
        if self._soon_ends >= SOON_ENDS:
            self._worst = 1
            self._stop()
            return
        self._start(process)
