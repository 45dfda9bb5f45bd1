"""Death at each crash point between storing a delivery and recording its outcome: it is applied exactly once."""

from __future__ import annotations

import threading
from itertools import count

from fault_tests.calls import ApiClient, NoResponse
from fault_tests.check import Findings
from fault_tests.crash_points import POINTS
from fault_tests.journal import Journal, p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process
from fault_tests.verify import verify_twice
from fault_tests.writers import webhook

CALLERS = 4
SPARED = 10
"""Most passes of the crash point before the server dies."""
DIES_SECONDS = 30.0


def run(plan: Plan, engine: str) -> None:
    """Die once at each point in a round; each death uses another client on one store."""
    folder = plan.new_folder()
    database, rounds = plan.new_store(engine, folder), plan.rounds_of(1, 20)
    findings, journals = Findings(), []
    for number in range(rounds):
        for point in POINTS:
            journal = Journal(f"points-{point}-{number}")
            journals.append(journal)
            _load_until_dead(plan, database, point, journal, findings)
            _verify(plan, database, journal, findings)
    seconds = [item for journal in journals for item in journal.seconds]
    plan.report.add(
        "points", engine, rounds, len(seconds), findings, p99_ms(seconds), plan.broken,
        deaths=len(journals), points=len(POINTS), cut_off=sum(journal.unanswered for journal in journals),
    )  # fmt: skip


def _load_until_dead(plan: Plan, database: str, point: str, journal: Journal, findings: Findings) -> None:
    server = Process(database, plan.new_folder(), broken=plan.broken, injected=[f"point:{point}*{plan.rng.randrange(SPARED)}"])
    try:
        callers = [threading.Thread(target=_call, args=(server, journal, number)) for number in range(CALLERS)]
        for caller in callers:
            caller.start()
        if not server.died(DIES_SECONDS):
            findings.fault(f"the server never came to the point {point!r}")
    finally:
        server.kill()
    for caller in callers:
        caller.join()


def _call(server: Process, journal: Journal, number: int) -> None:
    api = ApiClient(server.address, journal.client)
    try:
        for calls in count():  # until the server is gone: it may have to work many times before it comes to the point
            webhook(api, journal, f"caller{number}-{calls}")
    except NoResponse as error:
        if not error.never_sent:
            journal.note_unanswered()
    finally:
        api.close()


def _verify(plan: Plan, database: str, journal: Journal, findings: Findings) -> None:
    """Start a server without faults; verify that it recovers, and again after a resend."""
    server = Process(database, plan.new_folder(), broken=plan.broken)
    try:
        verify_twice(plan, server, database, journal, findings)
    finally:
        server.kill()
