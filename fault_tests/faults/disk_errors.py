"""I/O errors on write and on flush: requests are refused, nothing is lost, and the server recovers afterwards."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack
from pathlib import Path

from fault_tests.calls import ApiClient
from fault_tests.check import Findings
from fault_tests.faults.disk import wait_until_serving
from fault_tests.journal import Journal, p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process, longest
from fault_tests.shared_flag import FAIL_FLUSHES, FAIL_WRITES, SharedFlags
from fault_tests.verify import verify
from fault_tests.writers import CONTACTS, Load

BAD_SECONDS, GOOD_SECONDS = 0.5, 0.3
FAULTS = ((FAIL_WRITES,), (FAIL_FLUSHES,), (FAIL_WRITES, FAIL_FLUSHES))
SERVES_SECONDS = 15.0
LOGGED = re.compile(r"cannot use the store now: the disk gave an error|the inbox( of a client)? waits:.*the disk gave an error")


def run(plan: Plan, engine: str) -> None:
    """SQLite only, through the simulated disk."""
    if engine != "sqlite":
        plan.report.note("I/O errors are tested on SQLite only")
        return
    rounds, findings, journals, waits = plan.rounds_of(2, 20), Findings(), [], []
    place = plan.new_folder()
    for number in range(rounds):
        journal = Journal(f"io-{number}")
        journals.append(journal)
        waits.append(_fail_and_recover(plan, place, journal, findings))
        _verify(plan, place, journals if number == rounds - 1 else [journal], findings)
    seconds = [item for journal in journals for item in journal.seconds]
    refused = sum(journal.refused for journal in journals)
    if not refused:
        findings.fault("no call was refused while the disk gave errors")
    plan.report.add(
        "io", engine, rounds, len(seconds), findings, p99_ms(seconds), plan.broken, refused=refused, slowest_return_s=longest(waits)
    )  # fmt: skip


def _fail_and_recover(plan: Plan, place: Path, journal: Journal, findings: Findings) -> float:
    """Load with the disk failing in each way in turn, then kill; return the longest recovery in seconds."""
    flags, folder, waits = SharedFlags(place / "switch"), plan.new_folder(), []
    flags.set()
    with ExitStack() as stack:
        server = Process(_store(place), folder, broken=plan.broken, injected=[f"volatile:{flags.path}"])
        stack.callback(server.kill)
        stack.callback(flags.set)
        load = Load(server.address, journal)
        stack.callback(load.end)
        api = ApiClient(server.address, journal.client)
        stack.callback(api.close)
        for which in FAULTS:
            time.sleep(GOOD_SECONDS)
            flags.set(*which)
            _is_bad(api, findings)
            flags.set()
            waits.append(wait_until_serving(api, findings, "the disk gave its last error", SERVES_SECONDS))
    if not LOGGED.search((folder / "server.log").read_text(errors="replace")):
        findings.fault("the log does not say that the disk gave errors")
    return longest(waits)


def _is_bad(api: ApiClient, findings: Findings) -> None:
    """Check that the server is live, not ready and refuses writes while the disk fails."""
    until = time.perf_counter() + BAD_SECONDS
    while time.perf_counter() < until:
        for method, path, body, wanted in (
            ("GET", "/health/live", None, 200),
            ("GET", "/health/ready", None, 503),
            ("POST", CONTACTS, {"first_name": "Refused"}, 503),
        ):
            status = api.call(method, path, body).status
            if status != wanted:
                findings.fault(f"{method} {path} is {status} while the disk gives errors, not {wanted}")
        time.sleep(0.05)


def _verify(plan: Plan, place: Path, journals: list[Journal], findings: Findings) -> None:
    """Verify on a disk without faults: acknowledged writes were flushed, so each is there once."""
    (place / "store.db-shm").unlink(missing_ok=True)
    server = Process(_store(place), plan.new_folder())
    try:
        for journal in journals:
            verify(plan, server, _store(place), journal, findings)
    finally:
        server.kill()


def _store(place: Path) -> str:
    return f"sqlite:///{place}/store.db"
