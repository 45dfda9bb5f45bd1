"""SIGKILL at any moment under load of every kind that writes."""

from __future__ import annotations

import time

from fault_tests.calls import NoResponse
from fault_tests.check import Findings, check
from fault_tests.journal import Journal, p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process, longest
from fault_tests.verify import verify_twice
from fault_tests.writers import Load

LEAST_SECONDS, MOST_SECONDS = 0.1, 1.0
START_LIMIT = 2.0


def run(plan: Plan, engine: str) -> None:
    """Load, kill, restart, verify; each round uses another client on one store, and all are verified again at the end."""
    folder = plan.new_folder()
    database, rounds = plan.new_store(engine, folder), plan.rounds_of(5, 100)
    findings, journals, starts = Findings(), [], []
    server = Process(database, folder, broken=plan.broken)
    try:
        for number in range(rounds):
            journal = Journal(f"kill-{number}")
            journals.append(journal)
            _load_until_killed(plan, server, journal)
            server = Process(database, folder, broken=plan.broken)
            starts.append(server.start_seconds)
            try:
                verify_twice(plan, server, database, journal, findings)
            except NoResponse:
                findings.fault("the server did not answer after its start")
        for journal in journals[:-1]:
            findings.add(check(database, journal))
    finally:
        server.kill()
    if longest(starts) > START_LIMIT:
        findings.add_missed(f"a start after a crash took {longest(starts):.2f} s, more than {START_LIMIT} s")
    seconds = [item for journal in journals for item in journal.seconds]
    cut = sum(journal.unanswered for journal in journals)
    acknowledged = sum(journal.acknowledged for journal in journals)
    plan.report.add(
        "kill", engine, rounds, acknowledged, findings, p99_ms(seconds), plan.broken, cut_off=cut, slowest_start_s=longest(starts)
    )  # fmt: skip


def _load_until_killed(plan: Plan, server: Process, journal: Journal) -> None:
    load = Load(server.address, journal)
    time.sleep(plan.rng.uniform(LEAST_SECONDS, MOST_SECONDS))
    server.kill()
    load.end()
