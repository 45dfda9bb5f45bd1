"""A clock that is put forward and back under load, and events of two centuries: the order of records stays that of the events."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any

from bench.server_process import ROOT

from fault_tests.calls import Caller
from fault_tests.check import Found, worked_off
from fault_tests.clock_skew import Told, all_calls, compare, oracle, send, told
from fault_tests.journal import Journal, p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process
from fault_tests.shared_flag import STANDS, Switch
from fault_tests.unnotified import keep_unheard
from fault_tests.verify import look
from fault_tests.writers import Load

LOAD_SECONDS, STEP_SECONDS = 3.0, 0.03
DAY_US = 86_400_000_000
LOOKS_SECONDS = 1.5
"""In so long the inbox worker has looked once for what nobody told it of."""


def run(plan: Plan, engine: str) -> None:
    """Under load first, then with calls whose times are known, which must come to the same as in a clean run."""
    rounds, found = plan.rounds_of(1, 10), Found()
    journals: list[Journal] = []
    folder = plan.new_folder()
    databases = [plan.new_store(engine, folder), plan.new_store(engine, plan.new_folder())]
    for number in range(rounds):
        journals.append(Journal(f"clock-{number}"))
        _stepped_load(plan, databases[0], journals[-1], found)
        journals.append(Journal(f"centuries-{number}"))
        _centuries(plan, databases, journals[-1], found)
    for database in databases:
        _verify(database, found)
    seconds = [each for journal in journals for each in journal.seconds]
    plan.report.add(
        "clock", engine, rounds, len(seconds), found, p99_ms(seconds), plan.broken, refused=sum(each.refused for each in journals)
    )  # fmt: skip


def _stepped_load(plan: Plan, database: str, journal: Journal, found: Found) -> None:
    """Steps of up to a day, many times a second; and one back while deliveries wait that nobody told the server of."""
    with ExitStack() as ending:
        server, switch = _serve(plan, database, ending)
        load = Load(server.address, journal)
        ending.callback(load.end)
        until = time.perf_counter() + LOAD_SECONDS
        while time.perf_counter() < until:
            switch.number = plan.chance.randint(-DAY_US, DAY_US)
            time.sleep(STEP_SECONDS)
        load.end()
        switch.number = DAY_US
        time.sleep(LOOKS_SECONDS)
        switch.number = 0
        keep_unheard(database, journal)
        _look(plan, server, database, journal, found)


def _look(plan: Plan, server: Process, database: str, journal: Journal, found: Found) -> None:
    look(plan, server, database, journal, found)
    caller = Caller(server.address, journal.client)
    told(caller, found)
    caller.close()


def _centuries(plan: Plan, databases: list[str], journal: Journal, found: Found) -> None:
    """The same calls to two servers: in any order with the clock jumping to when each arrives, and in the order of that clock."""
    calls = all_calls(plan.chance)
    mixed = plan.chance.sample(calls, len(calls))
    seen = [
        _fold(plan, databases[0], mixed, journal, found, plan.broken),
        _fold(plan, databases[1], calls, Journal(journal.client), found, None),
    ]
    compare(seen[0], seen[1], "a clean run", found)
    compare(seen[0], oracle(calls), "the events", found)


def _fold(plan: Plan, database: str, calls: list[Told], journal: Journal, found: Found, broken: str | None) -> dict[str, Any]:
    with ExitStack() as ending:
        server, switch = _serve(plan, database, ending, broken)
        switch.set(STANDS)
        caller = Caller(server.address, journal.client)
        ending.callback(caller.close)
        for each in calls:
            switch.number = each.received_us
            send(caller, journal, each)
        if not worked_off(server.address, journal.client, plan.still_seconds):
            found.fault(f"deliveries of {journal.client} are never applied")
        return told(caller, found)


def _serve(plan: Plan, database: str, ending: ExitStack, broken: str | None = None) -> tuple[Process, Switch]:
    folder = plan.new_folder()
    switch = Switch(folder / "switch")
    server = Process(database, folder, broken=broken, injected=[f"clock:{switch.path}"])
    ending.callback(server.kill)
    return server, switch


def _verify(database: str, found: Found) -> None:
    """What an operator would run."""
    command = [sys.executable, "-m", "touchbase", "verify", "--database", database]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    if ended.returncode:
        found.fault(f"touchbase verify: {ended.stdout.strip().splitlines()[-1:]} {ended.stderr[-300:]}")
