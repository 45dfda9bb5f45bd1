"""Where the time of a path goes: `python -m bench.profile create`, or `--all` for every path, with py-spy.

py-spy is no dependency of ours: install it anywhere (`pipx install py-spy`) and have it on the PATH. It
looks at the running server from outside, under load from the same generator as the benchmark, and prints
for each thread the functions that the time is spent in. `--native` tells what C code costs by itself. With `--all` the
three largest costs of each path are written to `report.json`.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from threading import Thread

from bench import inbox
from bench.dataset import create_dataset
from bench.interleaving import settle
from bench.machine import machine
from bench.plan import CONNECTIONS, ENGINES, chosen
from bench.postgres import postgres
from bench.report import Report, table
from bench.requests import PATHS, shapes
from bench.server import VARIANTS
from bench.server_process import ServerProcess, server
from bench.throughput import NAMES

KNOWN = 10_000
"""Contacts of the store."""
LARGEST = 3
SAMPLES_A_SECOND = 500
WARM_SECONDS = 1.0
MARGIN_SECONDS = 2
WAITS = re.compile(r"(\w+\.)?(_sleep|_worker|wait|select|poll) \(|LineWriter\._write \(")
"""Functions in which a thread only waits for work."""
LINE = re.compile(r":\d+\)$")


def main() -> int:
    options = _options()
    spy = shutil.which("py-spy")
    if spy is None:
        print("py-spy is not on the PATH: pipx install py-spy", file=sys.stderr)
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="profile-", dir=options.out) as name, ExitStack() as ending:
        folder = Path(name).resolve()
        database, superuser = f"sqlite:///{folder}/store.db", None
        if options.engine == "postgresql":
            started = ending.enter_context(postgres(folder))
            database, superuser = started.new_database(), started.address
        create_dataset(database, KNOWN, folder, superuser)
        report = Report(machine(folder))
        for path in PATHS if options.every else (options.path,):
            _path(spy, path, options, folder, database, report)
    if options.every:
        report.write(options.out)
    return 0


def _path(spy: str, path: str, options: argparse.Namespace, folder: Path, database: str, report: Report) -> None:
    """Profile one path on this store, and note its largest costs."""
    if path == "apply":
        asyncio.run(inbox.fill(database, options.backlog, shapes(KNOWN)["webhook"], "default"))
    with server(options.variant, database, folder) as running:
        if path != "apply":
            settle(running)
        stacks = _recorded(spy, running, path, options, folder)
    report.add(
        f"{path}, {NAMES[options.engine]}", "; ".join(largest(stacks)), f"{sum(map(Counter.total, stacks.values())):,} samples", None
    )
    if not options.every:
        for thread, result in sorted(stacks.items(), key=lambda stack: -stack[1].total()):
            _tell(thread, result, options.seconds * SAMPLES_A_SECOND, options.lines)


def largest(stacks: dict[str, Counter[str]]) -> list[str]:
    """The functions that most of the time of all threads is spent in, each by itself."""
    own: Counter[str] = Counter()
    for result in stacks.values():
        for stack, count in result.items():
            frame = LINE.sub(")", stack.split(";")[-1])
            if not WAITS.match(frame):
                own[frame] += count
    return [f"{count / own.total():.0%} {frame}" for frame, count in own.most_common(LARGEST)]


def _recorded(spy: str, running: ServerProcess, path: str, options: argparse.Namespace, folder: Path) -> dict[str, Counter[str]]:
    """Samples by thread and stack, taken under load."""
    output = folder / "stacks.txt"
    command = [spy, "record", "--pid", str(running.pid), "--duration", str(options.seconds), "--rate", str(SAMPLES_A_SECOND)]
    command += [
        "--format",
        "raw",
        "--threads",
        "--output",
        str(output),
        *(["--native"] if options.native else []),
        *(["--gil"] if options.gil else []),
    ]
    load = None
    if path != "apply":
        closed = chosen("auto").closed
        shape = shapes(KNOWN)[path]
        closed(running.address, shape, CONNECTIONS, WARM_SECONDS)
        load = Thread(target=closed, args=(running.address, shape, CONNECTIONS, options.seconds + MARGIN_SECONDS))
        load.start()
    subprocess.run(command, check=True, capture_output=True)
    if load is not None:
        load.join()
    stacks: dict[str, Counter[str]] = {}
    for line in output.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        thread, _, frames = stack.partition(";")
        stacks.setdefault(re.sub(r"\(0x\w+\)|\d+", "", thread), Counter())[frames] += int(count)
    return stacks


def _tell(thread: str, stacks: Counter[str], most: int, lines: int) -> None:
    own: Counter[str] = Counter()
    full: Counter[str] = Counter()
    for stack, count in stacks.items():
        frames = [LINE.sub(")", frame) for frame in stack.split(";")]
        own[frames[-1]] += count
        for frame in set(frames):
            full[frame] += count
    total = sum(own.values())
    # What is on every stack tells nothing.
    full = Counter({frame: count for frame, count in full.items() if count < total * 0.995})
    print(f"\n{thread}: at work in {total / most:.0%} of the time")
    for title, counts in (("by itself", own), ("with all it calls", full)):
        rows = [[f"{count / total:.1%}", frame] for frame, count in counts.most_common(lines)]
        print("\n".join(table([title, "function"], rows)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description="Profile one path with py-spy.")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("path", nargs="?", choices=PATHS)
    which.add_argument("--all", dest="every", action="store_true", help="every path, and their largest costs as JSON")
    parser.add_argument("--out", type=Path, default=Path(".bench"))
    parser.add_argument("--engine", choices=ENGINES, default="sqlite")
    parser.add_argument("--variant", choices=VARIANTS, default="real")
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--backlog", type=int, default=100_000, help="deliveries that wait, for apply")
    parser.add_argument("--native", action="store_true", help="show C functions too")
    parser.add_argument("--gil", action="store_true", help="only samples that hold the interpreter's lock")
    parser.add_argument("--lines", type=int, default=25)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
