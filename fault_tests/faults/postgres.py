"""PostgreSQL killed under load and restarted, or replaced by a standby: requests are refused, and the server recovers by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bench.server_process import CannotMeasure, free_port

from fault_tests.calls import ApiClient, NoResponse
from fault_tests.check import Findings, check
from fault_tests.cluster import Cluster
from fault_tests.faults.disk import check_live_not_ready
from fault_tests.journal import Journal, p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process, longest
from fault_tests.verify import verify_twice
from fault_tests.writers import CONTACTS, Load

BEFORE_SECONDS, AWAY_SECONDS, AFTER_SECONDS = (0.2, 1.0), (0.2, 0.8), (0.1, 0.5)
REFUSED_SECONDS, BACK_SECONDS = 20.0, 10.0
STILL_SECONDS = 15.0
"""Longer than the 5 seconds after which the inbox worker retries a store that could not write."""
PAUSE = 0.02


@dataclass
class Seen:
    """Totals of all rounds of one fault."""

    found: Findings = field(default_factory=Findings)
    journals: list[Journal] = field(default_factory=list)
    back: list[float] = field(default_factory=list)
    """Seconds from the return of PostgreSQL to the first successful write."""

    def report(self, plan: Plan, fault: str, rounds: int) -> None:
        """Add the row to the report."""
        journals = self.journals
        seconds = [item for journal in journals for item in journal.seconds]
        plan.report.add(
            fault, "postgresql", rounds, len(seconds), self.found, p99_ms(seconds), plan.broken,
            refused=sum(journal.refused for journal in journals), outcome_unknown=sum(journal.unknown for journal in journals),
            slowest_return_s=longest(self.back),
        )  # fmt: skip


def run(plan: Plan, engine: str) -> None:
    """Alternate `pg_ctl stop -m immediate` and SIGKILL of the postmaster; Touchbase runs throughout."""
    if engine != "postgresql":
        return
    rounds, cluster = plan.rounds_of(4, 50), Cluster(plan.new_folder(), free_port())

    def fault(number: int) -> None:
        (cluster.kill if number % 2 else cluster.stop_at_once)()

    try:
        cluster.create()
        observed = _rounds(plan, rounds, cluster.new_database(), fault, lambda number: cluster.start(), lambda: None)
        observed.report(plan, "postgres", rounds)
    except CannotMeasure as error:
        plan.report.note(f"a killed PostgreSQL was not tested: {error}")
    finally:
        cluster.remove()


def failover(plan: Plan, engine: str) -> None:
    """Kill the primary and promote its synchronous standby; the next round adds a new standby."""
    if engine != "postgresql":
        return
    rounds, pair = plan.rounds_of(2, 20), [Cluster(plan.new_folder(), free_port()) for _ in range(2)]

    def fault(number: int) -> None:
        (pair[0].kill if number % 2 else pair[0].stop_at_once)()

    def promote(number: int) -> None:
        pair[1].promote()
        pair.reverse()

    def follow() -> None:
        pair[1].remove()
        pair[1].copy_of(pair[0])

    try:
        pair[0].create()
        database = pair[0].new_database()
        place = f"127.0.0.1:{pair[0].port}"
        several = database.replace(place, f"{place},127.0.0.1:{pair[1].port}") + "?target_session_attrs=read-write"
        observed = _rounds(plan, rounds, several, fault, promote, follow)
        observed.report(plan, "failover", rounds)
    except CannotMeasure as error:
        plan.report.note(f"a fail-over was not tested: {error}")
    finally:
        for item in pair:
            item.remove()


def _rounds(
    plan: Plan, rounds: int, database: str, fault: Callable[[int], None], mend: Callable[[int], None], prepare: Callable[[], None]
) -> Seen:  # fmt: skip
    observed, folder = Seen(), plan.new_folder()
    prepare()
    server = Process(database, folder, broken=plan.broken)
    try:
        for number in range(rounds):
            if number:
                prepare()
                _serves(server, observed.found)
            journal = Journal(f"postgres-{number}")
            observed.journals.append(journal)
            _under_load(plan, server, journal, observed, lambda: fault(number), lambda: mend(number))  # noqa: B023 - called within this round
            verify_twice(plan, server, database, journal, observed.found, stall_seconds=STILL_SECONDS)
        for journal in observed.journals[:-1]:
            observed.found.add(check(database, journal))
    finally:
        server.kill()
    return observed


def _under_load(
    plan: Plan, server: Process, journal: Journal, observed: Seen, fault: Callable[[], None], mend: Callable[[], None]
) -> None:  # fmt: skip
    load = Load(server.address, journal)
    try:
        time.sleep(plan.rng.uniform(*BEFORE_SECONDS))
        before = journal.refused
        fault()
        time.sleep(plan.rng.uniform(*AWAY_SECONDS))
        _refuses(server, journal, before, observed.found)
        mend()
        observed.back.append(_serves(server, observed.found))
        time.sleep(plan.rng.uniform(*AFTER_SECONDS))
    finally:
        load.end()
    if journal.unanswered:
        observed.found.fault(f"{journal.unanswered} calls got no answer, though the server lived")


def _refuses(server: Process, journal: Journal, before: int, findings: Findings) -> None:
    """Check that writes and `/health/ready` get 503 and `/health/live` 200 while PostgreSQL is away."""
    until = time.perf_counter() + REFUSED_SECONDS
    while journal.refused == before and time.perf_counter() < until:
        time.sleep(PAUSE)
    if journal.refused == before:
        findings.fault("no call was refused while PostgreSQL was away")
    api = ApiClient(server.address, "watch")
    check_live_not_ready(api, findings)
    api.close()


def _serves(server: Process, findings: Findings) -> float:
    """Wait until a write succeeds; return the seconds."""
    api, began = ApiClient(server.address, "watch"), time.perf_counter()
    while time.perf_counter() - began < BACK_SECONDS:
        try:
            if api.call("POST", CONTACTS, {"first_name": "Back"}).status == 201:
                api.close()
                return time.perf_counter() - began
        except NoResponse:
            pass
        time.sleep(PAUSE)
    api.close()
    findings.fault(f"{BACK_SECONDS:.0f} s after PostgreSQL was there again it does not serve")
    return BACK_SECONDS
