"""Background load: idle and slow clients in a separate process, and how many the server cut off."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass

from bench.load import Address
from bench.server_process import ROOT

from fault_tests.slow_clients import KINDS


@dataclass(frozen=True, slots=True)
class SlowClientCounts:
    """Counts of the idle and the slow clients."""

    idle: int
    """Idle connections that are still open."""
    cut: Counter[str]
    """Connections that the server closed, by kind of slow client."""


class BackgroundLoad:
    """A context in which `idle` idle connections and `slow` slow clients of each kind are connected."""

    def __init__(self, address: Address, idle: int, slow: int) -> None:
        self._slow = slow
        command = [sys.executable, "-m", "fault_tests.slow_clients", address.host, str(address.port), str(idle), str(slow)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)

    def __enter__(self) -> BackgroundLoad:
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "there\n":
            raise ConnectionError("the slow clients did not connect")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def wait_until_cut(self, seconds: float) -> SlowClientCounts:
        """Wait until the server has cut `slow` connections of each kind, at most this many seconds."""
        output, _ = self._process.communicate(f"{seconds:g}\n")
        document = json.loads(output)
        return SlowClientCounts(document["idle"], Counter(document["cut"]))

    def never_cut(self, counts: SlowClientCounts) -> Counter[str]:
        """Count the slow clients that were never cut, by kind."""
        return Counter({name: self._slow - counts.cut[name] for name in KINDS if counts.cut[name] < self._slow})
