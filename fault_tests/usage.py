"""Processor time and memory of a server and of its sandbox processes, from /proc."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAUSE = 0.02


@dataclass(slots=True)
class Usage:
    """What a server took during one body."""

    thread_seconds: float
    """Processor seconds of the busiest thread of the server: the event loop, or the only writer."""
    megabytes: float
    """Peak of the server's resident memory, above what it had before."""
    sandbox_seconds: float
    """Processor seconds of the sandbox process that took most."""


class UsageMeter:
    """Measures a server between `begin` and `end`; a thread looks at its sandbox processes, which may end in between."""

    def __init__(self, pid: int) -> None:
        self._root = Path(f"/proc/{pid}")
        self._sandboxes: dict[int, float] = {}
        self._threads: dict[str, float] = {}
        self._before = 0.0
        self._began = 0.0
        self._idle = 0.0
        self._stopping = threading.Event()
        self._watch: threading.Thread | None = None

    def measure_idle(self, wait: Callable[[], object]) -> None:
        """Measure the server while `wait` does what the run does between its bodies; it counts for no body, however long that takes."""
        self.begin()
        wait()
        self._idle = self.end().thread_seconds / (time.monotonic() - self._began)

    def begin(self) -> None:
        """Start measuring."""
        self._began = time.monotonic()
        self._threads = dict(self._thread_seconds())
        (self._root / "clear_refs").write_text("5")  # the peak starts again at the present size
        self._before = self._megabytes("VmRSS")
        self._sandboxes = {}
        started = self._children()
        self._stopping.clear()
        self._watch = threading.Thread(target=self._look, args=(started,))
        self._watch.start()

    def end(self) -> Usage:
        """Return what was taken since `begin`."""
        assert self._watch is not None
        self._stopping.set()
        self._watch.join()
        busiest = max((seconds - self._threads.get(name, 0.0) for name, seconds in self._thread_seconds()), default=0.0)
        busiest -= self._idle * (time.monotonic() - self._began)
        peak = self._megabytes("VmHWM") - self._before
        return Usage(max(0.0, busiest), max(0.0, peak), max(self._sandboxes.values(), default=0.0))

    def _look(self, before: dict[int, float]) -> None:
        while not self._stopping.wait(_PAUSE):
            for pid, seconds in self._children().items():
                self._sandboxes[pid] = seconds - before.get(pid, 0.0)

    def _thread_seconds(self) -> Iterator[tuple[str, float]]:
        for thread in (self._root / "task").iterdir():
            with suppress(OSError):
                yield thread.name, _seconds(thread / "stat")

    def _children(self) -> dict[int, float]:
        seconds = {}
        for thread in (self._root / "task").iterdir():
            with suppress(OSError):
                for pid in (thread / "children").read_text().split():
                    with suppress(OSError):
                        seconds[int(pid)] = _seconds(Path(f"/proc/{pid}/stat"))
        return seconds

    def _megabytes(self, name: str) -> float:
        lines = (self._root / "status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def _seconds(stat: Path) -> float:
    columns = stat.read_text().rpartition(")")[2].split()
    return (int(columns[11]) + int(columns[12])) / _TICKS
