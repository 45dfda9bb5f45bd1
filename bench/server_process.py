"""A server process that is measured: started, asked about itself, stopped."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.load import Address
from bench.noise import process_seconds

ROOT = Path(__file__).parents[1]
LISTENS = re.compile(r"listens on http://([\d.]+):(\d+)")
LOG = "server.log"
STOP_SECONDS = 30


class CannotMeasure(Exception):
    """A figure cannot be had; the text says why."""


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A server that takes calls."""

    variant: str
    address: Address
    pid: int
    log: Path

    def metrics(self) -> dict[str, float]:
        """What it says at `/metrics`."""
        with urllib.request.urlopen(f"{self.address.url}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {series: float(value) for series, _, value in pairs}

    def total(self, name: str) -> float:
        """The sum of a counter over its labels."""
        return sum(value for series, value in self.metrics().items() if series.partition("{")[0] == name)

    def log_tail(self) -> str:
        """The last error in its log, for somebody who wonders."""
        lines = self.log.read_text(errors="replace").splitlines()
        return next((line for line in reversed(lines) if '"level":"error"' in line or '"level":"warning"' in line), "(no error in its log)")

    def memory_mb(self) -> dict[str, float]:
        """Resident memory as the kernel counts it, whole and the part that is no file; empty where it does not say."""
        try:
            lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        except OSError:
            return {}
        result = dict(line.split(":", 1) for line in lines)
        return {name: int(result[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon") if name in result}

    def bytes_read(self) -> int:
        """What it had to have read from the disk; 0 where the kernel does not say."""
        try:
            lines = Path(f"/proc/{self.pid}/io").read_text().splitlines()
        except OSError:
            return 0
        return next((int(line.partition(":")[2]) for line in lines if line.startswith("read_bytes")), 0)

    def cpu_seconds(self) -> float:
        """Processor time that the process has used; 0 where the kernel does not say."""
        return process_seconds(self.pid)


@contextmanager
def server(variant: str, database: str, folder: Path, *more: str) -> Iterator[ServerProcess]:
    """A server of `bench.server` on a free port; its log goes to a file in `folder`."""
    command = [sys.executable, "-m", "bench.server", "--variant", variant, "--", *_serving(database), *more]
    with _started(command, folder) as (process, address):
        yield ServerProcess(variant, address, process.pid, folder / LOG)


@contextmanager
def as_installed(database: str, folder: Path, *more: str, environment: Mapping[str, str] | None = None) -> Iterator[ServerProcess]:
    """`python -m touchbase serve`, without anything of ours around it."""
    command = [sys.executable, "-m", "touchbase", "serve", *_serving(database), *more]
    with _started(command, folder, environment) as (process, address):
        yield ServerProcess("real", address, process.pid, folder / LOG)


def _serving(database: str) -> list[str]:
    return ["--host", "127.0.0.1", "--port", "0", "--database", database]


@contextmanager
def _started(
    command: list[str], folder: Path, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], Address]]:
    # Settings of whoever measures must not change what is measured.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHBASE_")} | dict(environment or {})
    with (folder / LOG).open("ab") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT, env=clean)
        try:
            yield process, _address(process, folder)
        finally:
            _stop(process)


def _address(process: subprocess.Popen[str], folder: Path) -> Address:
    assert process.stdout is not None
    for line in process.stdout:
        if search := LISTENS.search(line):
            return Address(search[1], int(search[2]))
    raise CannotMeasure(f"the server did not start:\n{(folder / LOG).read_text()[-2000:]}")


def _stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as result:
        result.bind(("127.0.0.1", 0))
        return int(result.getsockname()[1])


def wait_until(done: Callable[[], bool], seconds: float, pause: float = 0.05) -> bool:
    """Ask again and again; False when it did not come true in time."""
    until = time.perf_counter() + seconds
    while not done():
        if time.perf_counter() > until:
            return False
        time.sleep(pause)
    return True
