"""`python -m fault_tests`: inject faults, print one line for each, write `report.json`."""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.__main__ import IN_MEMORY, subset_of
from bench.machine import file_system, machine
from bench.postgres import postgres as shared_postgres

from fault_tests import mutants, pages
from fault_tests.faults import (
    answers,
    apply,
    budget,
    clock,
    disk,
    disk_errors,
    duplicates,
    fuzz,
    high_availability,
    import_job,
    kill,
    noisy_neighbour,
    outgoing,
    outgoing_faults,
    overload,
    points,
    postgres,
    postgres_disk_full,
    power,
    slow_clients,
    split,
    spool,
    stop,
)
from fault_tests.plan import ENGINES, Plan
from fault_tests.report import Report

FAULTS: dict[str, Callable[[Plan, str], None]] = {
    "kill": kill.run,
    "duplicates": duplicates.run,
    "stop": stop.run,
    "apply": apply.run,
    "import": import_job.run,
    "outgoing": outgoing.run,
    "receivers": outgoing_faults.receivers,
    "results": outgoing_faults.results,
    "senders": outgoing_faults.senders,
    "overload": overload.run,
    "disk": disk.run,
    "power": power.run,
    "io": disk_errors.run,
    "points": points.run,
    "answers": answers.run,
    "clock": clock.run,
    "postgres": postgres.run,
    "failover": postgres.failover,
    "patroni": high_availability.run,
    "pgdisk": postgres_disk_full.run,
    "spool": spool.run,
    "split": split.run,
    "peers": slow_clients.run,
    "budget": budget.run,
    "neighbour": noisy_neighbour.run,
    "fuzz": fuzz.run,
}

OWN_POSTGRES = frozenset(("postgres", "failover", "patroni", "pgdisk", "spool", "split"))
"""Faults that kill PostgreSQL or fill its disk; each starts a PostgreSQL of its own."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the faults; return 1 if anything was lost, duplicated or wrong."""
    options = _options(arguments)
    # On SIGTERM, still stop the servers and remove the stores.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    before = time.perf_counter()
    options.out.mkdir(parents=True, exist_ok=True)
    # Beside the report and not in the system's temp folder, which may lie in memory.
    folder = Path(tempfile.mkdtemp(prefix="stores-", dir=options.out.resolve()))
    try:
        with ExitStack() as stack:
            plan = _plan(options, folder, stack)
            for name in options.only:
                for engine in options.engines:
                    FAULTS[name](plan, engine)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _say_about(plan, options, time.perf_counter() - before)
    return 0 if all(row.survived for row in plan.report.rows) else 1


def _plan(options: argparse.Namespace, folder: Path, stack: ExitStack) -> Plan:
    plan = Plan(
        folder,
        Report(machine(folder), options.command),
        options.long,
        options.rounds,
        options.broken,
        short=options.short,
        rng=random.Random(options.seed),
    )
    plan.mounts = options.mounts
    if options.still:
        plan.stall_limit = options.still
    if "postgresql" in options.engines and not OWN_POSTGRES.issuperset(options.only):
        plan.postgres = stack.enter_context(shared_postgres(folder))
        plan.report.machine["PostgreSQL"] = ", ".join(f"{name}={value}" for name, value in plan.postgres.settings.items())
    if file_system(folder)[0] in IN_MEMORY:
        plan.report.note("the stores lay in memory: use --out on a disk")
    return plan


def _say_about(plan: Plan, options: argparse.Namespace, seconds: float) -> None:
    if left_out := [fault for fault in FAULTS if fault not in options.only] + [
        engine for engine in ENGINES if engine not in options.engines
    ]:
        plan.report.note(f"not tested in this run: {', '.join(left_out)}")
    plan.report.note(f"the whole run took {seconds:.0f} s; moments were chosen from seed {options.seed}")
    plan.report.write(options.out)
    print("\n" + "\n".join(plan.report.lines()))
    print(f"\nwritten: {options.out}/report.json")
    if options.keep:
        pages.keep(options.out / "report.json")
        pages.write()
        print("kept in docs/explanation/reliability.json; docs/explanation/reliability.md is written")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fault_tests", description="Make faults happen to real servers and count what is lost.")
    parser.add_argument("--long", action="store_true", help="many rounds: the better part of an hour or more")
    parser.add_argument("--short", action="store_true", help="few connections and small backlogs: what the tests run")
    parser.add_argument("--only", type=subset_of(tuple(FAULTS)), default=tuple(FAULTS), metavar="NAMES", help=f"some of {','.join(FAULTS)}")
    parser.add_argument("--engine", dest="engines", type=subset_of(ENGINES), default=ENGINES, metavar="ENGINES", help="sqlite, postgresql")
    parser.add_argument("--rounds", type=int, help="rounds of each fault")
    parser.add_argument("--broken", choices=mutants.MUTANTS, help="a broken server to detect (docs/explanation/reliability.md)")
    parser.add_argument("--no-mounts", dest="mounts", action="store_false", help="leave out what needs a file system of its own")
    parser.add_argument("--still", type=float, help="seconds without progress after which waiting deliveries count as lost (15)")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="chooses the moments again that another run chose")
    parser.add_argument("--out", type=Path, default=Path(".fault_tests"), help="folder for the report and, while it lasts, the stores")
    parser.add_argument("--keep", action="store_true", help="put the run on docs/explanation/reliability.md")
    options = parser.parse_args(arguments)
    options.command = " ".join(["python -m fault_tests", *(sys.argv[1:] if arguments is None else arguments)]).partition(" --keep")[0]
    return options


if __name__ == "__main__":
    sys.exit(main())
