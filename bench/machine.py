"""What the figures were measured on; without it they say nothing."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

import apsw
import asyncpg
import httptools
import msgspec
import uvicorn

FLUSHES = 1000


def machine(folder: Path) -> dict[str, str]:
    """The machine, its programs, and the disk under `folder`."""
    kind, device = file_system(folder)
    return {
        "measured": f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, revision {_revision()}",
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": _memory(),
        "kernel": f"{platform.system()} {platform.release()}",
        "load before": ", ".join(f"{load:.2f}" for load in os.getloadavg()) + " (1, 5, 15 minutes)",
        "Python": f"{platform.python_implementation()} {platform.python_version()}, built {_built()} optimisation",
        "libraries": f"uvicorn {uvicorn.__version__}, httptools {httptools.__version__}, "
        f"msgspec {msgspec.__version__}, apsw {apsw.apsw_version()}, asyncpg {asyncpg.__version__}, {_loop()}",
        "SQLite": f"{apsw.sqlite_lib_version()}, WAL, synchronous=FULL",
        "disk": f"{kind} on {device}; a page written and flushed takes {_flush(folder)}",
    }


def _built() -> str:
    """With optimisation or without, which is a sixth of what a server does; by the same signs as `make setup`."""
    requested = "--enable-optimizations" in str(sysconfig.get_config_var("CONFIG_ARGS"))
    return "with" if requested or sys.base_prefix == "/usr" else "without"


def file_system(folder: Path) -> tuple[str, str]:
    """The kind of file system that holds this folder, and its device."""
    best = ("", "unknown", "unknown")
    for device, place, kind in _mounts():
        if folder.resolve().is_relative_to(place) and len(place) >= len(best[0]):
            best = (place, kind, device)
    return best[1], best[2]


def _flush(folder: Path) -> str:
    """What a flush costs here: the floor under every answer to a write."""
    times = []
    path = folder / "flush"
    with path.open("wb", buffering=0) as file:
        for _ in range(FLUSHES):
            before = time.perf_counter()
            file.write(bytes(4096))
            getattr(os, "fdatasync", os.fsync)(file.fileno())
            times.append(time.perf_counter() - before)
    path.unlink()
    return f"{median(times) * 1e6:.0f} us (median of {FLUSHES}), one in a hundred over {sorted(times)[-FLUSHES // 100] * 1e3:.1f} ms"


def _mounts() -> Iterator[tuple[str, str, str]]:
    try:
        lines = Path("/proc/mounts").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        device, place, kind, *_ = line.split()
        yield device, place, kind


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB"
    except (ValueError, OSError):
        return "unknown"


def _revision() -> str:
    """Of the code that is measured."""
    try:
        said = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return said.strip()


def _loop() -> str:
    try:
        return f"uvloop {version('uvloop')}"
    except PackageNotFoundError:
        return "asyncio's own loop"
