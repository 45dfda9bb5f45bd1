"""Server processes of fault tests: start, freeze, stop and kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from bench.load import Address
from bench.server_process import LISTENS, LOG, ROOT, CannotMeasure

START_SECONDS = 60
END_SECONDS = 60


class Process:
    """`touchbase serve`, or the same with something built in (`fault_tests.fault_server`), running and accepting connections."""

    def __init__(
        self,
        database: str,
        folder: Path,
        *more: str,
        broken: str | None = None,
        injected: Sequence[str] = (),
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`more` are options, `settings` environment variables."""
        built_in = [*injected, *([] if broken is None else [broken])]
        program = ["fault_tests.fault_server", ",".join(built_in)] if built_in else ["touchbase"]
        command = [sys.executable, "-m", *program, "serve", "--host", "127.0.0.1", "--port", "0", "--database", database, *more]
        # Settings of whoever runs this must not change what is tested; one line for each request would fill the disk.
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHBASE_")} | {
            "TOUCHBASE_ACCESS_LOG": "off",
            **settings,
        }
        self.log = folder / LOG
        began = time.perf_counter()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT, env=clean)
        self.pid = self._process.pid
        watch = threading.Timer(START_SECONDS, self._process.kill)
        watch.start()
        try:
            self.address = self._listens()
        except BaseException:
            self.kill()
            raise
        finally:
            watch.cancel()
        self.start_seconds = time.perf_counter() - began
        """Seconds from the start of the program until it listens."""

    def kill(self) -> None:
        """Send SIGKILL and wait for the end of the process."""
        self._process.kill()
        self._reaped(END_SECONDS)

    def stop(self, seconds: float = END_SECONDS) -> tuple[int | None, float]:
        """Send SIGTERM; return the exit status and the seconds it took, or None as status if it had to be killed."""
        began = time.perf_counter()
        self._process.terminate()
        try:
            return self._reaped(seconds), time.perf_counter() - began
        except subprocess.TimeoutExpired:
            self.kill()
            return None, time.perf_counter() - began

    def freeze(self) -> None:
        """Send SIGSTOP and wait until no thread runs, in the kernel either."""
        self._process.send_signal(signal.SIGSTOP)
        while not all(_is_frozen(task) for task in Path(f"/proc/{self.pid}/task").iterdir()):
            time.sleep(0.001)

    def died(self, seconds: float = END_SECONDS) -> bool:
        """Wait for the process to end by itself; return False on timeout."""
        try:
            self._reaped(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def memory_mb(self) -> float:
        """Resident memory in MB; 0 if unknown."""
        try:
            lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        except OSError:
            return 0.0
        return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)

    def _listens(self) -> Address:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if search := LISTENS.search(line):
                return Address(search[1], int(search[2]))
        raise CannotMeasure(f"the server did not start:\n{self.log.read_text(errors='replace')[-2000:]}")

    def _reaped(self, seconds: float) -> int:
        status = self._process.wait(seconds)
        if self._process.stdout is not None:
            self._process.stdout.close()
        return status


def _is_frozen(task: Path) -> bool:
    """Return whether a thread, or a process, of this folder in /proc is stopped or gone."""
    return (task / "stat").read_text().rpartition(")")[2].split()[0] in "TtZX"


def longest(seconds: Sequence[float]) -> float:
    """The longest of these times; 0 for an empty list."""
    return max(seconds, default=0.0)
