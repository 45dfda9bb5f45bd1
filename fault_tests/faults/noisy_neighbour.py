"""Noisy neighbour: a client with a large backlog does not delay another client's single webhooks."""

from __future__ import annotations

import asyncio
import time

from bench.inbox import fill
from bench.server_process import wait_until

from fault_tests.calls import ApiClient
from fault_tests.check import Findings
from fault_tests.journal import Journal, p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process, longest
from fault_tests.unnotified import store_unnotified
from fault_tests.writers import webhook
from touchbase.clients.sql.clients import find_client
from touchbase.inbox.fair_scheduler import BATCH_SIZE, SMALL_BATCH_SIZE
from touchbase.inbox.sql.queries import list_deliveries
from touchbase.sql.store import Store
from touchbase.stores import open_store

NOISY, QUIET = "bench", "quiet"
SHORT, USUAL, LONG = 3_000, 50_000, 1_000_000
CALLS, SHORT_CALLS = 20, 2
LIMIT_SECONDS = 1.0
PATIENCE_SECONDS = 30.0
PAUSE = 0.01
PAGE = 1_000


def run(plan: Plan, engine: str) -> None:
    """Store the backlog and one webhook behind it, start the server, then send single webhooks while it drains the backlog."""
    folder, findings, journal = plan.new_folder(), Findings(QUIET), Journal(QUIET)
    database, backlog = plan.new_store(engine, folder), plan.size_of(SHORT, USUAL, LONG)
    asyncio.run(fill(database, backlog))
    store_unnotified(database, journal)  # received when all of the backlog was
    server = Process(database, folder, broken=plan.broken)
    try:
        # A call of ours would let the worker know of this client before it has seen the other one.
        if not wait_until(lambda: _waiting(server) < backlog, PATIENCE_SECONDS):
            findings.fault("nothing of the backlog is applied")
        waits = _calls(server, journal, SHORT_CALLS if plan.short else CALLS, findings)
        before = asyncio.run(_taken_before(database))
        waiting = _waiting(server)
    finally:
        server.kill()
    most = BATCH_SIZE + 2 * SMALL_BATCH_SIZE
    if before > most:
        findings.fault(f"its first call was applied after {before} of another client's, not after {most} at most")
    if longest(waits) > LIMIT_SECONDS:
        findings.add_missed(f"a single call was applied only after {longest(waits):.2f} s")
    plan.report.add(
        "neighbour", engine, 1, journal.acknowledged, findings, p99_ms(waits), plan.broken,
        backlog=backlog, still_waiting_at_the_end=waiting, others_before_the_first=before, slowest_applied_s=longest(waits),
    )  # fmt: skip


def _calls(server: Process, journal: Journal, count: int, findings: Findings) -> list[float]:
    """Seconds from sending a webhook to seeing it applied, one at a time."""
    api, waits = ApiClient(server.address, QUIET), []
    for number in range(count):
        began = time.perf_counter()
        webhook(api, journal, f"single{number}")
        while _newest(api) != "applied":
            if time.perf_counter() - began > PATIENCE_SECONDS:
                findings.add_lost(f"call {number}: not applied after {PATIENCE_SECONDS:.0f} s")
                break
            time.sleep(PAUSE)
        waits.append(time.perf_counter() - began)
    api.close()
    return waits


def _newest(api: ApiClient) -> str:
    return str(api.expect_ok("GET", f"/admin/v1/deliveries?client={QUIET}&limit=1")["data"][0]["state"])


def _waiting(server: Process) -> int:
    api = ApiClient(server.address, QUIET)
    said = api.call("GET", "/metrics").raw.decode()
    api.close()
    lines = (line for line in said.splitlines() if line.startswith('touchbase_inbox_deliveries{state="received"}'))
    return int(float(next(lines, "0 0").split()[-1]))


async def _taken_before(database: str) -> int:
    """Count the deliveries of the noisy client applied before the first of the quiet one."""
    store = await open_store(database, as_is=True)
    try:
        noisy, quiet = [await store.read(find_client(item)) for item in (NOISY, QUIET)]
        assert noisy is not None
        assert quiet is not None
        (first,) = (await store.read(list_deliveries(PAGE, quiet.number)))[-1:]
        return await _applied_until(store, noisy.number, first.applied_us or 0)
    finally:
        await store.close()


async def _applied_until(store: Store, client: int, until_us: int) -> int:
    count, before = 0, None
    while page := await store.read(list_deliveries(PAGE, client, before=before)):
        count += sum(1 for delivery in page if delivery.applied_us is not None and delivery.applied_us <= until_us)
        before = page[-1].id
    return count
