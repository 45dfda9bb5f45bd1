"""Full disk: requests are refused, no acknowledged write is lost, and the server recovers without a restart once there is room."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.server_process import CannotMeasure

from fault_tests.calls import ApiClient
from fault_tests.check import Findings, check
from fault_tests.journal import Journal, p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process, longest
from fault_tests.verify import verify
from fault_tests.writers import CONTACTS, Load

MEGABYTES, BALLAST = 12, 4
FILLS_SECONDS = 60
REFUSALS = 50
SERVES_SECONDS = 10.0
LOGGED_FULL = "is full"
"""Text in the log when the disk is full."""
LOG_SECONDS = 10.0


def run(plan: Plan, engine: str) -> None:
    """Fill a small file system in memory. SQLite only: `pgdisk` fills the disk of a PostgreSQL server."""
    if engine != "sqlite":
        return
    if not plan.mounts:
        plan.report.note("a full disk was not tested: no file system may be mounted")
        return
    rounds, findings, journals, waits = plan.rounds_of(2, 20), Findings(), [], []
    for number in range(rounds):
        journal = Journal(f"disk-{number}")
        journals.append(journal)
        try:
            with small_disk(plan.new_folder(), MEGABYTES) as place:
                waits.append(_fill_and_make_room(plan, place, journal, findings))
        except CannotMeasure as error:
            plan.report.note(f"a full disk was not tested: {error}")
            return
    seconds = [item for journal in journals for item in journal.seconds]
    refused = sum(journal.refused for journal in journals)
    plan.report.add(
        "disk", engine, rounds, len(seconds), findings, p99_ms(seconds), plan.broken, refused=refused, slowest_return_s=longest(waits)
    )  # fmt: skip


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a file system of this size in memory; raise `CannotMeasure` if that is not possible."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    mounted = subprocess.run(command, check=False, capture_output=True, text=True)
    if mounted.returncode:
        raise CannotMeasure(f"no file system can be mounted here ({mounted.stderr.strip()}); run it as root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def _fill_and_make_room(plan: Plan, place: Path, journal: Journal, findings: Findings) -> float:
    """Write until requests are refused, make room, verify; return the seconds until the server recovered."""
    ballast = place / "ballast"
    ballast.write_bytes(bytes(BALLAST * 1024 * 1024))
    database, folder = f"sqlite:///{place}/store.db", plan.new_folder()
    server = Process(database, folder, broken=plan.broken)
    try:
        fill_disk(server, journal, findings)
        api = ApiClient(server.address, journal.client)
        check_live_not_ready(api, findings)
        ballast.unlink()
        waited = wait_until_serving(api, findings)
        api.close()
        verify(plan, server, database, journal, findings)
        server.kill()
        server = Process(database, folder, broken=plan.broken)
        findings.add(check(database, journal))
        return waited
    finally:
        server.kill()


def check_live_not_ready(api: ApiClient, findings: Findings) -> None:
    """Check that the server is live and not ready while its store cannot write."""
    for path, wanted in (("/health/live", 200), ("/health/ready", 503)):
        status = api.call("GET", path).status
        if status != wanted:
            findings.fault(f"{path} is {status} while the store cannot write, not {wanted}")


def fill_disk(server: Process, journal: Journal, findings: Findings) -> None:
    """Write until the disk is full; on a busy machine backpressure may refuse some requests before."""
    load, began, enough = Load(server.address, journal), time.perf_counter(), 0.0
    while (now := time.perf_counter()) - began < FILLS_SECONDS:
        if journal.refused >= REFUSALS:
            enough = enough or now
            if LOGGED_FULL in server.log.read_text() or now - enough > LOG_SECONDS:
                break
        time.sleep(0.05)
    load.end()
    if journal.refused < REFUSALS:
        findings.fault("the disk did not become full")


def wait_until_serving(api: ApiClient, findings: Findings, since: str = "there was room", limit: float = SERVES_SECONDS) -> float:
    """Wait until a write succeeds; return the seconds."""
    began = time.perf_counter()
    while api.call("POST", CONTACTS, {"first_name": "Back"}).status != 201:
        if time.perf_counter() - began > limit:
            findings.fault(f"{limit:.0f} s after {since} it does not serve")
            break
        time.sleep(0.02)
    return time.perf_counter() - began
