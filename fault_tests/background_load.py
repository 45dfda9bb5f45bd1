"""Strangers beside the callers who are timed, in a process of their own, and what became of them."""

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
    """What became of the strangers."""

    idle: int
    """Connections that did nothing and were let be."""
    cut: Counter[str]
    """How often peers of each kind were cut."""


class BackgroundLoad:
    """So many idle connections, and so many slow peers of each kind, from the beginning of the `with` to its end."""

    def __init__(self, address: Address, idle: int, slow: int) -> None:
        self._slow = slow
        command = [sys.executable, "-m", "fault_tests.slow_clients", address.host, str(address.port), str(idle), str(slow)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)

    def __enter__(self) -> BackgroundLoad:
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "there\n":
            raise ConnectionError("the strangers did not come")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def wait_until_cut(self, seconds: float) -> SlowClientCounts:
        """Wait until as many of each kind were cut as there are at a time, or for so long."""
        told, _ = self._process.communicate(f"{seconds:g}\n")
        found = json.loads(told)
        return SlowClientCounts(found["idle"], Counter(found["cut"]))

    def never_cut(self, counts: SlowClientCounts) -> Counter[str]:
        """How many of each kind were never cut."""
        return Counter({name: self._slow - counts.cut[name] for name in KINDS if counts.cut[name] < self._slow})
