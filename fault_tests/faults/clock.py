"""Clock jumps under load, and events of many years: records follow the order of the events, not of the clock."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any

from bench.server_process import ROOT

from fault_tests.calls import ApiClient
from fault_tests.check import Findings, wait_until_applied
from fault_tests.clock_skew import DatedWebhook, compare, dated_webhooks, expected_contacts, read_contacts, send
from fault_tests.journal import Journal, p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process
from fault_tests.shared_flag import CLOCK_STOPPED, SharedFlags
from fault_tests.unnotified import store_unnotified
from fault_tests.verify import verify
from fault_tests.writers import Load

LOAD_SECONDS, STEP_SECONDS = 3.0, 0.03
DAY_US = 86_400_000_000
POLL_SECONDS = 1.5
"""Seconds within which the inbox worker polls once."""


def run(plan: Plan, engine: str) -> None:
    """Jump the clock under load, then with dated webhooks, whose records must equal those of a run without jumps."""
    rounds, findings = plan.rounds_of(1, 10), Findings()
    journals: list[Journal] = []
    folder = plan.new_folder()
    databases = [plan.new_store(engine, folder), plan.new_store(engine, plan.new_folder())]
    for number in range(rounds):
        journals.append(Journal(f"clock-{number}"))
        _load_while_clock_jumps(plan, databases[0], journals[-1], findings)
        journals.append(Journal(f"centuries-{number}"))
        _webhooks_in_any_order(plan, databases, journals[-1], findings)
    for database in databases:
        _run_touchbase_verify(database, findings)
    seconds = [item for journal in journals for item in journal.seconds]
    plan.report.add(
        "clock", engine, rounds, len(seconds), findings, p99_ms(seconds), plan.broken, refused=sum(journal.refused for journal in journals)
    )  # fmt: skip


def _load_while_clock_jumps(plan: Plan, database: str, journal: Journal, findings: Findings) -> None:
    """Jump by up to a day many times a second; jump back once while unnotified deliveries wait."""
    with ExitStack() as stack:
        server, flags = _serve(plan, database, stack)
        load = Load(server.address, journal)
        stack.callback(load.end)
        until = time.perf_counter() + LOAD_SECONDS
        while time.perf_counter() < until:
            flags.number = plan.rng.randint(-DAY_US, DAY_US)
            time.sleep(STEP_SECONDS)
        load.end()
        flags.number = DAY_US
        time.sleep(POLL_SECONDS)
        flags.number = 0
        store_unnotified(database, journal)
        _verify(plan, server, database, journal, findings)


def _verify(plan: Plan, server: Process, database: str, journal: Journal, findings: Findings) -> None:
    verify(plan, server, database, journal, findings)
    api = ApiClient(server.address, journal.client)
    read_contacts(api, findings)
    api.close()


def _webhooks_in_any_order(plan: Plan, databases: list[str], journal: Journal, findings: Findings) -> None:
    """Send equal webhooks to two servers: in random order with the clock set to each arrival, and in order of arrival."""
    calls = dated_webhooks(plan.rng)
    mixed = plan.rng.sample(calls, len(calls))
    observed = [
        _applied(plan, databases[0], mixed, journal, findings, plan.broken),
        _applied(plan, databases[1], calls, Journal(journal.client), findings, None),
    ]
    compare(observed[0], observed[1], "a clean run", findings)
    compare(observed[0], expected_contacts(calls), "the events", findings)


def _applied(
    plan: Plan, database: str, calls: list[DatedWebhook], journal: Journal, findings: Findings, broken: str | None
) -> dict[str, Any]:
    with ExitStack() as stack:
        server, flags = _serve(plan, database, stack, broken)
        flags.set(CLOCK_STOPPED)
        api = ApiClient(server.address, journal.client)
        stack.callback(api.close)
        for item in calls:
            flags.number = item.received_us
            send(api, journal, item)
        if not wait_until_applied(server.address, journal.client, plan.stall_limit):
            findings.fault(f"deliveries of {journal.client} are never applied")
        return read_contacts(api, findings)


def _serve(plan: Plan, database: str, stack: ExitStack, broken: str | None = None) -> tuple[Process, SharedFlags]:
    folder = plan.new_folder()
    flags = SharedFlags(folder / "switch")
    server = Process(database, folder, broken=broken, injected=[f"clock:{flags.path}"])
    stack.callback(server.kill)
    return server, flags


def _run_touchbase_verify(database: str, findings: Findings) -> None:
    """Run `touchbase verify`, as an operator would."""
    command = [sys.executable, "-m", "touchbase", "verify", "--database", database]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    if ended.returncode:
        findings.fault(f"touchbase verify: {ended.stdout.strip().splitlines()[-1:]} {ended.stderr[-300:]}")
