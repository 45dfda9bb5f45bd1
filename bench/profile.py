"""Where the time of one path goes: `python -m bench.profile create|webhook|apply`, with py-spy.

py-spy is no dependency of ours: install it anywhere (`pipx install py-spy`) and have it on the PATH. It
looks at the running server from outside, under load from the same generator as the benchmark, and prints
for each thread the functions that the time is spent in. `--native` tells what C code costs by itself.
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
from bench.figures import SHAPES
from bench.plan import CONNECTIONS, ENGINES, chosen
from bench.postgres import postgres
from bench.report import table
from bench.running import Running, server
from bench.server import VARIANTS

OUT = Path(".bench")
SAMPLES_A_SECOND = 500
WARM_SECONDS = 1.0
MARGIN_SECONDS = 2
LINE = re.compile(r":\d+\)$")


def main() -> int:
    options = _options()
    spy = shutil.which("py-spy")
    if spy is None:
        print("py-spy is not on the PATH: pipx install py-spy", file=sys.stderr)
        return 1
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="profile-", dir=OUT) as name, ExitStack() as ending:
        folder = Path(name).resolve()
        database = f"sqlite:///{folder}/store.db"
        if options.engine == "postgresql":
            database = ending.enter_context(postgres(folder)).new_database()
        if options.path == "apply":
            asyncio.run(inbox.fill(database, options.backlog))
        running = ending.enter_context(server(options.variant, database, folder))
        stacks = _recorded(spy, running, options, folder)
    for thread, found in sorted(stacks.items(), key=lambda one: -sum(one[1].values())):
        _tell(thread, found, options.seconds * SAMPLES_A_SECOND, options.lines)
    return 0


def _recorded(spy: str, running: Running, options: argparse.Namespace, folder: Path) -> dict[str, Counter[str]]:
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
    if options.path != "apply":
        closed = chosen("auto").closed
        shape = SHAPES[options.path]
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
    whole: Counter[str] = Counter()
    for stack, count in stacks.items():
        frames = [LINE.sub(")", frame) for frame in stack.split(";")]
        own[frames[-1]] += count
        for frame in set(frames):
            whole[frame] += count
    total = sum(own.values())
    # What is on every stack tells nothing.
    whole = Counter({frame: count for frame, count in whole.items() if count < total * 0.995})
    print(f"\n{thread}: at work in {total / most:.0%} of the time")
    for title, counts in (("by itself", own), ("with all it calls", whole)):
        rows = [[f"{count / total:.1%}", frame] for frame, count in counts.most_common(lines)]
        print("\n".join(table([title, "function"], rows)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description="Profile one path with py-spy.")
    parser.add_argument("path", choices=(*SHAPES, "apply"))
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
