"""Full disk of PostgreSQL: requests are refused, the log gives the cause, and all recovers without a restart once there is room.

Its write-ahead log lies on another disk, as is usual: without room for that, PostgreSQL ends itself, which is the fault `postgres`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from bench.server_process import CannotMeasure, free_port

from fault_tests.calls import ApiClient
from fault_tests.check import Findings
from fault_tests.cluster import Cluster
from fault_tests.faults.disk import fill_disk, small_disk, wait_until_serving
from fault_tests.faults.postgres import STILL_SECONDS
from fault_tests.journal import Journal, p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process, longest
from fault_tests.verify import verify

MEGABYTES, LEFT = 160, 3
REASON = "its disk is full"
MEGABYTE = 1024 * 1024


def run(plan: Plan, engine: str) -> None:
    """Fill a small file system in memory but for the last few megabytes."""
    if engine != "postgresql":
        return
    if not plan.mounts:
        plan.report.note("PostgreSQL's full disk was not tested: no file system may be mounted")
        return
    rounds, findings, journals, waits = plan.rounds_of(2, 20), Findings(), [], []
    try:
        for number in range(rounds):
            journal = Journal(f"pgdisk-{number}")
            journals.append(journal)
            with small_disk(plan.new_folder(), MEGABYTES) as place:
                waits.append(_on(plan, place, journal, findings))
    except CannotMeasure as error:
        plan.report.note(f"PostgreSQL's full disk was not tested: {error}")
        return
    seconds = [item for journal in journals for item in journal.seconds]
    plan.report.add(
        "pgdisk", engine, rounds, len(seconds), findings, p99_ms(seconds), plan.broken,
        refused=sum(item.refused for item in journals), outcome_unknown=sum(item.unknown for item in journals),
        slowest_return_s=longest(waits),
    )  # fmt: skip


def _on(plan: Plan, place: Path, journal: Journal, findings: Findings) -> float:
    cluster = Cluster(place, free_port(), plan.new_folder())
    try:
        cluster.create()
        return _fill_and_make_room(plan, cluster.new_database(), place, journal, findings)
    finally:
        cluster.remove()


def _fill_and_make_room(plan: Plan, database: str, place: Path, journal: Journal, findings: Findings) -> float:
    server = Process(database, plan.new_folder(), broken=plan.broken)
    try:
        api = ApiClient(server.address, journal.client)
        api.expect_ok("GET", "/public/v2/contacts")  # the schema, and the first of everything, is there
        ballast = _almost_full(place)
        fill_disk(server, journal, findings)
        # What asks whether it is ready changes a row that is there, and for that there may be room.
        if (status := api.call("GET", "/health/live").status) != 200:
            findings.fault(f"/health/live is {status} on a full disk, not 200")
        ballast.unlink()
        waited = wait_until_serving(api, findings)
        api.close()
        verify(plan, server, database, journal, findings, stall_seconds=STILL_SECONDS)
        _clear_log(server.log, findings)
        return waited
    finally:
        server.kill()


def _almost_full(place: Path) -> Path:
    disk = os.statvfs(place)
    ballast = place / "ballast"
    ballast.write_bytes(bytes(disk.f_bavail * disk.f_frsize - LEFT * MEGABYTE))
    return ballast


def _clear_log(log: Path, findings: Findings) -> None:
    """Check that the log names the cause and has no internal error."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    if not any(REASON in str(line) for line in lines):
        findings.fault(f"the log does not say that {REASON}")
    for line in lines:
        if line.get("level") == "error":
            findings.fault(f"the log has an error: {str(line)[:200]}")
