"""The supervisor of several server processes on one listening socket: it starts, replaces and stops them."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable

LOG = logging.getLogger("touchbase.server")

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
SIGNALS = (*STOP_SIGNALS, signal.SIGCHLD)
MIN_UPTIME = 5.0
"""Seconds; a process that ends sooner after its start counts as failed to start."""
MAX_EARLY_EXITS = 3
"""Failed starts in a row after which all processes stop."""


class Supervisor:
    """Runs `work(number)` in `count` child processes until a stop signal; calls `on_ended(number)` when one ends."""

    def __init__(self, count: int, work: Callable[[int], int], on_ended: Callable[[int], None] = lambda process: None) -> None:
        self.work = work
        self.on_ended = on_ended
        self.count = count
        self._running: dict[int, tuple[int, float]] = {}
        self._stopping = False
        self._early_exits = 0
        self._exit_status = 0

    def run(self, on_started: Callable[[], None]) -> int:
        """Start all processes, wait for the end of the last, and return the exit status."""
        # `sigwait`, not handlers: a handler that runs just before `wait` would have no effect until a process ends.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            for process in range(self.count):
                self._start(process)
            on_started()
            while self._running:
                if signal.sigwait(SIGNALS) in STOP_SIGNALS:
                    self._stop()
                self._reap()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return self._exit_status

    def _start(self, process: int) -> None:
        parent = os.getpid()
        pid = os.fork()
        if pid:
            self._running[pid] = (process, time.monotonic())
            return
        # Ctrl+C signals the whole process group of the terminal; only the parent should signal this process.
        os.setpgid(0, 0)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
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
        """Handle every process that has ended; one signal may stand for several."""
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
            # A process that was still starting dies of the signal, and has served no request.
            self._exit_status = self._exit_status or int(status not in (0, -signal.SIGTERM))
            return
        LOG.error("server process %d ended with status %d", pid, status)
        self._early_exits = self._early_exits + 1 if time.monotonic() - started < MIN_UPTIME else 0
        if self._early_exits >= MAX_EARLY_EXITS:
            self._exit_status = 1
            self._stop()
            return
        self._start(process)
