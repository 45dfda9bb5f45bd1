"""The disk gives errors when it is written to and when it is flushed: refused meanwhile, nothing lost, and served again afterwards."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack
from pathlib import Path

from fault_tests.calls import Caller
from fault_tests.check import Found
from fault_tests.faults.disk import serves_again
from fault_tests.journal import Journal, p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process, worst
from fault_tests.shared_flag import FLUSHES, WRITES, Switch
from fault_tests.verify import look
from fault_tests.writers import CONTACTS, Load

BAD_SECONDS, GOOD_SECONDS = 0.5, 0.3
FAULTS = ((WRITES,), (FLUSHES,), (WRITES, FLUSHES))
SERVES_SECONDS = 15.0
SAID = re.compile(r"cannot use the store now: the disk gave an error|the inbox( of a client)? waits:.*the disk gave an error")


def run(plan: Plan, engine: str) -> None:
    """SQLite only, through a disk of ours: a PostgreSQL server writes to its own."""
    if engine != "sqlite":
        plan.report.note("I/O errors are tested on SQLite only")
        return
    rounds, found, journals, waits = plan.rounds_of(2, 20), Found(), [], []
    place = plan.new_folder()
    for number in range(rounds):
        journal = Journal(f"io-{number}")
        journals.append(journal)
        waits.append(_fail_and_mend(plan, place, journal, found))
        _look(plan, place, journals if number == rounds - 1 else [journal], found)
    seconds = [each for journal in journals for each in journal.seconds]
    refused = sum(journal.refused for journal in journals)
    if not refused:
        found.fault("no call was refused while the disk gave errors")
    plan.report.add(
        "io", engine, rounds, len(seconds), found, p99_ms(seconds), plan.broken, refused=refused, slowest_return_s=worst(waits)
    )  # fmt: skip


def _fail_and_mend(plan: Plan, place: Path, journal: Journal, found: Found) -> float:
    """Load, with the disk failing in each way in turn; then the process dies. Answers the longest time until it served again."""
    switch, folder, waits = Switch(place / "switch"), plan.new_folder(), []
    switch.set()
    with ExitStack() as ending:
        server = Process(_store(place), folder, broken=plan.broken, injected=[f"volatile:{switch.path}"])
        ending.callback(server.kill)
        ending.callback(switch.set)
        load = Load(server.address, journal)
        ending.callback(load.end)
        caller = Caller(server.address, journal.client)
        ending.callback(caller.close)
        for which in FAULTS:
            time.sleep(GOOD_SECONDS)
            switch.set(*which)
            _is_bad(caller, found)
            switch.set()
            waits.append(serves_again(caller, found, "the disk gave its last error", SERVES_SECONDS))
    if not SAID.search((folder / "server.log").read_text(errors="replace")):
        found.fault("the log does not say that the disk gave errors")
    return worst(waits)


def _is_bad(caller: Caller, found: Found) -> None:
    """While the disk fails the process lives, is not ready, and refuses."""
    until = time.perf_counter() + BAD_SECONDS
    while time.perf_counter() < until:
        for method, path, body, wanted in (
            ("GET", "/health/live", None, 200),
            ("GET", "/health/ready", None, 503),
            ("POST", CONTACTS, {"first_name": "Refused"}, 503),
        ):
            status = caller.call(method, path, body).status
            if status != wanted:
                found.fault(f"{method} {path} is {status} while the disk gives errors, not {wanted}")
        time.sleep(0.05)


def _look(plan: Plan, place: Path, journals: list[Journal], found: Found) -> None:
    """On a disk without faults: what was acknowledged was flushed, so it is there once."""
    (place / "store.db-shm").unlink(missing_ok=True)
    server = Process(_store(place), plan.new_folder())
    try:
        for journal in journals:
            look(plan, server, _store(place), journal, found)
    finally:
        server.kill()


def _store(place: Path) -> str:
    return f"sqlite:///{place}/store.db"
