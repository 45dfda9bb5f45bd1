"""How much of the machine other programs took meanwhile: on a shared machine, figures are only as good as that is small."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path


class NoiseMeter:
    """Measures from when it is made. `servers` are ours that run all the while; this process and its children are ours too."""

    def __init__(self, servers: list[int], postmaster: int | None) -> None:
        self._servers = servers
        self._postmaster = postmaster
        self._began = time.perf_counter()
        self._all, self._ours = _busy_seconds(), self._own()

    def cores(self) -> float | None:
        """Cores that others kept busy on average; None where the kernel does not say."""
        if self._all is None or (now := _busy_seconds()) is None:
            return None
        others = (now - self._all) - (self._own() - self._ours)
        return max(0.0, others / (time.perf_counter() - self._began))

    def _own(self) -> float:
        used = sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
        databases = children(self._postmaster) if self._postmaster else []
        return used + sum(map(process_seconds, [*self._servers, *databases]))


def process_seconds(pid: int) -> float:
    """Processor time that a process has used; 0 where the kernel does not say."""
    fields = _fields(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def family_seconds(parent: int) -> float:
    """Processor time of a process and of those that it has started, with those that have ended since."""
    fields = _fields(parent)
    waited_for = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK") if fields else 0.0
    return waited_for + sum(map(process_seconds, children(parent)))


def _busy_seconds() -> float | None:
    """Processor time that all cores have worked, but for the kernel's waiting."""
    try:
        first = Path("/proc/stat").read_text().splitlines()[0].split()
    except OSError:
        return None
    user, nice, system, _idle, _waiting, hard, soft, stolen = map(int, first[1:9])
    return (user + nice + system + hard + soft + stolen) / os.sysconf("SC_CLK_TCK")


def children(parent: int) -> list[int]:
    """A process and those that it has started."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [parent, *(pid for pid in pids if (fields := _fields(pid)) and int(fields[1]) == parent)]


def _fields(pid: int) -> list[str]:
    """What the kernel says of a process, from its state on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
