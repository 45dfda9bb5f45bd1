"""SIGKILL after deliveries are stored and while a backlog is applied: every delivery is applied once."""

from __future__ import annotations

import asyncio
import time

from fault_tests.check import Findings, check, wait_until_applied
from fault_tests.journal import Journal
from fault_tests.plan import Plan
from fault_tests.process import Process, longest
from fault_tests.unnotified import store_unnotified
from touchbase.clients.sql.clients import find_client
from touchbase.inbox.sql.queries import count_deliveries
from touchbase.stores import open_store

BACKLOG = 5_000
KILLS = 2
LEAST_SECONDS, MOST_SECONDS = 0.4, 0.9
"""Range of the time of a kill, after the server listens; the first poll comes half a second after the start."""


def run(plan: Plan, engine: str) -> None:
    """Store a backlog with no server running, start and kill servers, start a last one, verify."""
    folder = plan.new_folder()
    database, rounds = plan.new_store(engine, folder), plan.rounds_of(5, 100)
    findings, moments, took = Findings(), [], []
    for number in range(rounds):
        journal = Journal(f"apply-{number}")
        store_unnotified(database, journal, BACKLOG)
        for _ in range(KILLS):
            moments.append(_start_and_kill(plan, database, journal))
        server = Process(database, folder, broken=plan.broken)
        try:
            began = time.perf_counter()
            if not wait_until_applied(server.address, journal.client, plan.stall_limit):
                findings.fault(f"deliveries of {journal.client} are never applied")
            took.append(time.perf_counter() - began)
            findings.add(check(database, journal))
        finally:
            server.kill()
    inside = sum(1 for done in moments if 0 < done < BACKLOG)
    plan.report.add(
        "apply", engine, rounds, rounds * BACKLOG, findings, 0.0, plan.broken,
        kills=len(moments), of_them_while_applying=inside, slowest_catching_up_s=longest(took),
    )  # fmt: skip


def _start_and_kill(plan: Plan, database: str, journal: Journal) -> int:
    """Kill a server before or while it applies; return the number of deliveries applied so far."""
    server = Process(database, plan.new_folder(), broken=plan.broken)
    time.sleep(plan.rng.uniform(LEAST_SECONDS, MOST_SECONDS))
    server.kill()
    return asyncio.run(_applied(database, journal))


async def _applied(database: str, journal: Journal) -> int:
    store = await open_store(database, as_is=True)
    try:
        client = await store.read(find_client(journal.client))
        assert client is not None
        return await store.read(count_deliveries(client.number, state="applied"))
    finally:
        await store.close()
