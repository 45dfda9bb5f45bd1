"""SIGTERM under load: begun requests get a response, new ones are refused, and nothing is stored without a response."""

from __future__ import annotations

import time

from fault_tests.check import Findings
from fault_tests.journal import Journal, p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process, longest
from fault_tests.verify import verify
from fault_tests.writers import Load

LEAST_SECONDS, MOST_SECONDS = 0.2, 1.0
STOP_LIMIT = 10.0


def run(plan: Plan, engine: str) -> None:
    """Load, stop, check the exit status and the time, restart, verify the store."""
    folder = plan.new_folder()
    database, rounds = plan.new_store(engine, folder), plan.rounds_of(5, 50)
    findings, journals, stops = Findings(), [], []
    for number in range(rounds):
        journal = Journal(f"stop-{number}")
        journals.append(journal)
        server = Process(database, folder, broken=plan.broken)
        try:
            load = Load(server.address, journal)
            time.sleep(plan.rng.uniform(LEAST_SECONDS, MOST_SECONDS))
            status, seconds = server.stop(3 * STOP_LIMIT)
            load.end()
        finally:
            server.kill()
        stops.append(seconds)
        if status != 0:
            findings.fault(f"round {number}: ended with status {status}")
        _verify(plan, database, journal, findings)
    if longest(stops) > STOP_LIMIT:
        findings.fault(f"a stop took {longest(stops):.1f} s, more than {STOP_LIMIT} s")
    plan.report.add(
        "stop", engine, rounds, sum(item.acknowledged for item in journals), findings,
        p99_ms([seconds for item in journals for seconds in item.seconds]), plan.broken,
        refused=sum(item.refused for item in journals), cut_off=sum(item.unanswered for item in journals), slowest_stop_s=longest(stops),
    )  # fmt: skip


def _verify(plan: Plan, database: str, journal: Journal, findings: Findings) -> None:
    """Verify that the store has no write whose request got no response."""
    server = Process(database, plan.new_folder())
    try:
        verify(plan, server, database, journal, findings, answered_only=True)
    finally:
        server.kill()
