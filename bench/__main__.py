"""`python -m bench`: measure, print the table, leave `report.json` and `report.md` behind."""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench import (
    auth,
    cells,
    compare,
    console,
    fairness,
    files,
    growth,
    inbox,
    limits,
    many,
    outgoing,
    paths,
    processes,
    processor,
    startup,
    throughput,
    translate,
)  # fmt: skip
from bench.machine import file_system, machine
from bench.plan import ENGINES, FIGURES, USUAL, Plan, chosen
from bench.postgres import postgres
from bench.report import Report
from bench.server_process import CannotMeasure

IN_MEMORY = ("tmpfs", "ramfs")
ON_ENGINES: dict[str, Callable[[Plan, str], None]] = {
    "processor": processor.measure,
    "create": lambda plan, engine: throughput.measure(plan, "create", engine),
    "webhook": lambda plan, engine: throughput.measure(plan, "webhook", engine),
    "apply": inbox.measure,
    "fairness": fairness.measure,
    "files": files.measure,
    "paths": paths.measure,
    "growth": growth.measure,
    "compare": compare.measure,
    "console": console.measure,
    "batch": many.batch,
    "match": many.match,
    "outgoing": outgoing.measure,
    "endpoints": outgoing.dead,
}
"""Figures of each engine, in the order in which they are measured."""
ALONE: dict[str, tuple[str, Callable[[Plan], None]]] = {
    "start": ("sqlite", startup.measure),
    "limits": ("", limits.measure),
    "translate": ("", translate.measure),
    "auth": ("", auth.measure),
    "processes": ("postgresql", processes.measure),
    "databases": ("postgresql", cells.measure),
}
"""Figures that are measured once, and the engine that they need."""


SIZES = (10_000, 100_000, 1_000_000)
QUICK_SIZES = (1_000, 10_000)
LONG_SIZES = (*SIZES, 10_000_000)


def main() -> int:
    options = _options()
    # Told to end, we still stop the servers and take the stores away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    before = time.perf_counter()
    options.out.mkdir(parents=True, exist_ok=True)
    # Beside the report and not in the system's temp folder, which may lie in memory and flush for nothing.
    folder = Path(tempfile.mkdtemp(prefix="stores-", dir=options.out.resolve()))
    try:
        with ExitStack() as ending:
            plan = _plan(options, folder, ending)
            measure(plan)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    plan.report.note(f"the whole run took {time.perf_counter() - before:.0f} s")
    plan.report.write(options.out)
    print("\n" + "\n".join(plan.report.lines()))
    print(f"\nwritten: {options.out}/report.json and report.md")
    return 1 if plan.report.failed else 0


def measure(plan: Plan) -> None:
    """Every figure that is asked for, on every engine that is there; one that cannot be had does not cost the others."""
    for figure, engine, work in _selected(plan):
        try:
            work()
        except (CannotMeasure, OSError, subprocess.SubprocessError) as error:
            plan.report.fail(f"{figure} {engine}".strip(), str(error))
        except Exception as error:
            traceback.print_exc()  # a fault of ours
            plan.report.fail(f"{figure} {engine}".strip(), repr(error))
        if plan.postgres is not None:
            plan.postgres.drop_databases()
    left_out = [figure for figure in FIGURES if figure not in plan.only] + [engine for engine in ENGINES if not plan.has(engine)]
    if left_out:
        plan.report.note(f"not measured: {', '.join(left_out)}")


def _selected(plan: Plan) -> Iterator[tuple[str, str, Callable[[], None]]]:
    for figure, measure in ON_ENGINES.items():
        for engine in ENGINES:
            if figure in plan.only and plan.has(engine):
                yield figure, engine, partial(measure, plan, engine)
    for figure, (engine, alone) in ALONE.items():
        if figure in plan.only and (not engine or plan.has(engine)):
            yield figure, "", partial(alone, plan)


def _plan(options: argparse.Namespace, folder: Path, ending: ExitStack) -> Plan:
    generator = chosen(options.generator)
    report = Report(machine(folder) | {"load": f"{generator.name}; on the same machine as the server"})
    plan = Plan(
        only=options.only,
        engines=options.engine,
        rounds=options.rounds or (2 if options.quick else 5),
        seconds=options.seconds or (1.0 if options.quick else 4.0),
        warm_seconds=min(options.seconds or 9, 1.0 if options.quick else 2.0),
        backlog=options.backlog or (10_000 if options.quick else 100_000),
        crowd=options.crowd or (200_000 if options.quick else 1_000_000),
        creates=60_000 if options.quick else 200_000,
        known=1_000 if options.quick else 10_000,
        sizes=options.sizes or (QUICK_SIZES if options.quick else SIZES),
        deliveries=not options.no_deliveries,
        grown=options.grown,
        folder=folder,
        generator=generator,
        report=report,
    )
    if "postgresql" in plan.engines and {*ON_ENGINES, "processes", "databases"} & set(plan.only):
        plan.postgres = ending.enter_context(postgres(folder))
        report.machine["PostgreSQL"] = ", ".join(f"{name}={value}" for name, value in plan.postgres.settings.items())
    if file_system(folder)[0] in IN_MEMORY:
        report.note("the stores lay in memory, where a flush costs nothing: use --out on a disk")
    if options.quick:
        report.note("a quick run: bursts are too short to settle anything")
    return plan


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Touchbase on this machine.")
    parser.add_argument("--quick", action="store_true", help="short bursts and a small backlog: under a minute")
    parser.add_argument("--only", type=subset_of(FIGURES), default=USUAL, metavar="FIGURES", help=f"some of {','.join(FIGURES)}")
    parser.add_argument("--engine", type=subset_of(ENGINES), default=ENGINES, metavar="ENGINES", help=f"some of {','.join(ENGINES)}")
    parser.add_argument("--out", type=Path, default=Path(".bench"), help="folder for the report and, while it lasts, the stores")
    parser.add_argument("--generator", choices=("auto", "wrk", "own"), default="auto", help="load generator")
    parser.add_argument("--rounds", type=int, help="bursts on each variant (5; quick: 2)")
    parser.add_argument("--seconds", type=float, help="length of a burst (4; quick: 1)")
    parser.add_argument("--backlog", type=int, help="deliveries that wait when applying begins (100,000; quick: 10,000)")
    parser.add_argument("--crowd", type=int, help="deliveries that a quiet client's call meets (1,000,000; quick: 200,000)")
    sizes = {"type": lambda text: tuple(map(int, text.split(","))), "metavar": "COUNTS"}
    parser.add_argument("--sizes", **sizes, help="contacts of the stores that growth compares (10000,100000,1000000; quick: 1000,10000)")
    parser.add_argument(
        "--long",
        dest="sizes",
        action="store_const",
        const=LONG_SIZES,
        help="growth up to ten million contacts: hours, 150 GB; with --no-deliveries 60 GB",
    )
    parser.add_argument("--no-deliveries", action="store_true", help="growth with events only, in half of the room")
    parser.add_argument("--grown", type=Path, help="folder that keeps grown SQLite stores for the next run")
    return parser.parse_args()


def subset_of(expected: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """Reads an option that names some of these, between commas; answers them in the order in which they are known."""

    def chosen(text: str) -> tuple[str, ...]:
        names = tuple(text.split(","))
        for name in names:
            if name not in expected:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(expected)}")
        return tuple(name for name in expected if name in names)

    return chosen


if __name__ == "__main__":
    sys.exit(main())
