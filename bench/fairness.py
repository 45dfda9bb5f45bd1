"""Fairness: how long a client's single call waits to be applied while another client has a large backlog."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from bench import loadgen
from bench.bodies import WEBHOOK, new_run
from bench.inbox import fill
from bench.interleaving import WAITING
from bench.plan import CONNECTIONS, Plan
from bench.report import spread
from bench.server_process import CannotMeasure, ServerProcess, server, wait_until
from bench.throughput import NAMES

QUIET = "quiet"
LONGEST_SECONDS = 1.0
CALLS = 20
PAUSE = 0.01
PATIENCE_SECONDS = 30.0
RECEIVER = "/public/emailcampaign-webhook/" + QUIET


def measure(plan: Plan, engine: str) -> None:
    """Single calls of a quiet client: beside a backlog, then beside a backlog and a flood of calls."""
    backlog = plan.crowd
    print(f"fairness, {NAMES[engine]}: a backlog of {backlog:,} deliveries of one client", flush=True)
    folder = plan.new_folder()
    database = plan.new_store(engine, folder, "backlog")
    asyncio.run(fill(database, backlog))
    if engine == "postgresql" and plan.postgres is not None:
        plan.postgres.checkpoint()
    with server("real", database, folder) as running:
        _add(plan, f"beside {backlog:,} waiting deliveries", engine, running, _waits(running))
        with _flood(running):
            _add(plan, "beside those and a flood of webhook calls", engine, running, _waits(running))


def _add(plan: Plan, beside: str, engine: str, running: ServerProcess, waits: list[float]) -> None:
    left = running.metrics().get(WAITING, 0)
    if not left:
        plan.report.note(f"fairness, {NAMES[engine]}: the backlog was worked off before the end; take a larger one (--crowd)")
    what = f"a quiet client's single delivery, {NAMES[engine]}, {beside}"
    measured = f"{spread([wait * 1000 for wait in waits], ' ms')} from call to applied, {len(waits)} calls"
    plan.report.add(what, measured, f"at most {LONGEST_SECONDS:g} s", max(waits) <= LONGEST_SECONDS, waits=waits, left=left)


def _waits(running: ServerProcess) -> list[float]:
    """Seconds from sending a call to seeing it applied, for one call after the other."""
    return [_wait(running, body) for body in islice(WEBHOOK.bodies(new_run()), CALLS)]


def _wait(running: ServerProcess, body: bytes) -> float:
    before = time.perf_counter()
    request = urllib.request.Request(running.address.url + RECEIVER, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS):
        pass
    if not wait_until(lambda: _newest_state(running) == "applied", PATIENCE_SECONDS, PAUSE):
        raise CannotMeasure(f"a single delivery was not applied within {PATIENCE_SECONDS:g} seconds")
    return time.perf_counter() - before


def _newest_state(running: ServerProcess) -> str:
    with urllib.request.urlopen(f"{running.address.url}/admin/v1/deliveries?client={QUIET}&limit=1", timeout=PATIENCE_SECONDS) as answer:
        return str(json.load(answer)["data"][0]["state"])


@contextmanager
def _flood(running: ServerProcess) -> Iterator[None]:
    """The client with the backlog sends more, as fast as it is answered."""
    ended = threading.Event()

    def send() -> None:
        while not ended.is_set():
            loadgen.closed(running.address, WEBHOOK, CONNECTIONS, 1.0)

    thread = threading.Thread(target=send)
    thread.start()
    time.sleep(1)
    try:
        yield
    finally:
        ended.set()
        thread.join()
