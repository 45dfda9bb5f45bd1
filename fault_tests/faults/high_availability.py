"""The files of deploy/high-availability under load: a primary dies, is frozen or hands over, a standby is frozen, etcd dies."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bench.server_process import CannotMeasure

from fault_tests.calls import ApiClient
from fault_tests.check import Findings, check
from fault_tests.high_availability.hosts import Hosts
from fault_tests.high_availability.senders import Senders
from fault_tests.journal import Journal
from fault_tests.plan import Plan
from fault_tests.process import Process, longest
from fault_tests.verify import verify_twice

BEFORE_SECONDS, AFTER_SECONDS = 4.0, 4.0
BACK_SECONDS = 60.0
"""More than Patroni's `ttl` of 20 seconds, a promotion and the attempts to connect take."""
STILL_SECONDS = 15.0
PAUSE = 0.05
WORDS = {"kill": "killed primary", "freeze": "frozen primary", "switch": "switchover", "standby": "frozen standby", "etcd": "killed etcd"}
SHORT = ("kill", "switch")
ETCD_SECONDS = 25.0
"""Longer than the primary's lock is valid."""


@dataclass
class Seen:
    """Totals of all rounds of one way to lose a primary."""

    found: Findings = field(default_factory=Findings)
    journals: list[Journal] = field(default_factory=list)
    without_writes: list[float] = field(default_factory=list)
    """Longest time without an acknowledged write, of each round."""
    standby: list[float] = field(default_factory=list)
    """Seconds from the old primary's start until it is the synchronous standby."""
    p99: dict[str, list[float]] = field(default_factory=lambda: {"before": [], "refused": [], "after": []})


def run(plan: Plan, engine: str) -> None:
    """Start the set, lose a part of it in each way, and compare; it comes back each time."""
    if engine != "postgresql":
        return
    hosts = Hosts(plan.new_folder())
    rounds = plan.rounds_of(1, 5)
    try:
        database = hosts.start()
        server = Process(database, plan.new_folder(), broken=plan.broken)
        try:
            for way in SHORT if plan.short else WORDS:
                _report(plan, way, rounds, _rounds(plan, hosts, server, database, way, rounds))
        finally:
            server.kill()
    except CannotMeasure as error:
        plan.report.note(f"high availability was not tested: {error}")
    finally:
        hosts.remove()


def _rounds(plan: Plan, hosts: Hosts, server: Process, database: str, way: str, rounds: int) -> Seen:
    observed = Seen()
    for number in range(rounds):
        journal = Journal(f"{way}-{number}")
        observed.journals.append(journal)
        _under_load(hosts, server, journal, observed, way)
        verify_twice(plan, server, database, journal, observed.found, stall_seconds=STILL_SECONDS)
    for journal in observed.journals[:-1]:
        observed.found.add(check(database, journal))
    return observed


def _under_load(hosts: Hosts, server: Process, journal: Journal, observed: Seen, way: str) -> None:
    primary = str(hosts.primary())
    lose, mend = _ways(hosts, primary)[way]
    began = time.perf_counter()
    senders = Senders(server.address, journal)
    try:
        time.sleep(BEFORE_SECONDS)
        lost = time.perf_counter()
        lose()
        replaced = lost + hosts.wait_for(*_replaced(hosts, primary, way))
        _wait_for_writes(senders, replaced, observed.found)
        back = time.perf_counter()
        time.sleep(AFTER_SECONDS)
        mend()
        observed.standby.append(hosts.wait_for_standby())
    finally:
        senders.end()
    observed.without_writes.append(senders.longest_gap(lost))
    observed.p99["before"].append(senders.p99_ms(began + 1, lost))
    observed.p99["refused"].append(senders.p99_ms(lost, back, acknowledged=False))
    observed.p99["after"].append(senders.p99_ms(back + 1, time.perf_counter()))
    if journal.unanswered:
        observed.found.fault(f"{journal.unanswered} calls got no answer, though the server lived")
    api = ApiClient(server.address, "watch")
    if api.call("GET", "/health/ready").status != 200:
        observed.found.fault("the server is not ready after a fail-over")
    api.close()


def _ways(hosts: Hosts, primary: str) -> Mapping[str, tuple[Callable[[], None], Callable[[], None]]]:
    """How the primary is lost, and how its host comes back."""
    return {
        "kill": (lambda: hosts.kill_host(primary), lambda: hosts.start_host(primary)),
        "freeze": (lambda: hosts.freeze_host(primary), hosts.thaw),
        "switch": (hosts.switch_over, lambda: None),
        "standby": (lambda: hosts.freeze_host(hosts.standby_of(primary)), hosts.thaw),
        "etcd": (hosts.kill_etcd, hosts.start_etcd),
    }


def _replaced(hosts: Hosts, primary: str, way: str) -> tuple[str, Callable[[], bool]]:
    """What must be so before writes can go on."""
    if way == "etcd":
        until = time.perf_counter() + ETCD_SECONDS
        return "a time without etcd", lambda: time.perf_counter() > until
    if way == "standby":
        return "a primary that waits for no standby", hosts.waits_for_none
    return "another primary", lambda: hosts.primary() not in (None, primary)


def _wait_for_writes(senders: Senders, replaced: float, findings: Findings) -> None:
    while not senders.acknowledged_since(replaced):
        if time.perf_counter() > replaced + BACK_SECONDS:
            findings.fault(f"{BACK_SECONDS:.0f} s after the loss was noticed no write succeeds")
            return
        time.sleep(PAUSE)


def _report(plan: Plan, way: str, rounds: int, observed: Seen) -> None:
    journals = observed.journals
    plan.report.add(
        f"high availability, {WORDS[way]}", "postgresql", rounds, sum(journal.acknowledged for journal in journals), observed.found,
        longest(observed.p99["after"]), plan.broken,
        p99_before_ms=longest(observed.p99["before"]), p99_refusals_ms=longest(observed.p99["refused"]),
        refused=sum(journal.refused for journal in journals), outcome_unknown=sum(journal.unknown for journal in journals),
        longest_without_writes_s=longest(observed.without_writes), standby_again_after_s=longest(observed.standby),
    )  # fmt: skip
