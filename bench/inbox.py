"""Applying a backlog: a server starts on a store in which deliveries wait, and works them off."""

from __future__ import annotations

import asyncio
import time
from itertools import islice
from pathlib import Path
from shutil import rmtree
from statistics import median

from bench.bodies import WEBHOOK, Shape, new_run
from bench.drain import batches_since, rates
from bench.interleaving import PROCESSED, in_turn, servers
from bench.plan import Plan
from bench.report import spread
from bench.server_process import CannotMeasure, ServerProcess, server
from bench.throughput import NAMES
from touchbase.clients.sql.clients import ensure_client
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import EMAIL_CAMPAIGN
from touchbase.inbox.sql.commands import store_delivery
from touchbase.stores import open_store

HEADERS = b'{"content-type":"application/json"}'
AT_ONCE = 512
BACKLOGS = 3
"""One is worked off in seconds, and what else this machine does differs from one minute to the next."""
BURSTS = 2
"""Of webhook calls before each backlog: what is compared is measured in the same minute."""
PARTS = 3
STILL_SECONDS = 20.0
"""When nothing more was worked off for so long, nothing will be."""
PAUSE = 1.0
"""Each look counts what waits, which takes time of the store that is measured."""


def measure(plan: Plan, engine: str) -> None:
    """How fast backlogs go down, beside how fast calls are received in between."""
    backlogs = min(BACKLOGS, plan.rounds)
    print(f"apply, {NAMES[engine]}: {backlogs} backlogs of {plan.backlog:,} deliveries, webhook calls between", flush=True)
    received: list[float] = []
    applied: list[float] = []
    for _ in range(backlogs):
        received += _receive_rates(plan, engine)
        applied += _drain_rates(plan, engine)
    limit = f"at least {spread(received, '/s')} received"
    what = f"apply events, {NAMES[engine]}, from a backlog of {plan.backlog:,}"
    measured = f"{spread(applied, '/s')} = {median(applied) / median(received):.2f} x, in {PARTS} parts of each of {backlogs} backlogs"
    plan.report.add(what, measured, limit, median(applied) >= median(received), rates=applied, received=received)


def _receive_rates(plan: Plan, engine: str) -> list[float]:
    """Webhook calls received a second, in each of a few bursts on a store of their own."""
    with servers(plan, engine, ["real"]) as running:
        real = in_turn(plan, WEBHOOK, running, BURSTS)["real"]
    if real.errors:
        raise CannotMeasure(f"{real.errors} webhook calls got no good answer")
    _drop(plan)
    return real.rates


def _drain_rates(plan: Plan, engine: str) -> list[float]:
    folder = plan.new_folder()
    database = plan.new_store(engine, folder, "backlog")
    asyncio.run(fill(database, plan.backlog))
    if engine == "postgresql" and plan.postgres is not None:
        plan.postgres.checkpoint()
    result, ended = drain_backlog(database, plan.backlog, folder)
    if ended != {f'{PROCESSED}{{state="applied"}}': plan.backlog}:
        plan.report.note(f"of the backlog on {NAMES[engine]} not everything ended as applied: {ended}")
    _drop(plan)
    rmtree(folder)
    return result


def _drop(plan: Plan) -> None:
    if plan.postgres is not None:
        plan.postgres.drop_databases()


def drain_backlog(database: str, backlog: int, folder: Path) -> tuple[list[float], dict[str, float]]:
    """Deliveries a second in each part of the backlog, and how many ended how."""
    began_us = _now()
    with server("real", database, folder) as running:
        _wait(running, backlog)
        ended = {series: value for series, value in running.metrics().items() if series.startswith(PROCESSED)}
    return rates(batches_since(database, began_us), PARTS), ended


async def fill(database: str, count: int, shape: Shape = WEBHOOK, name: str = "bench") -> None:
    """Keep the deliveries as the receiver does, with no worker running."""
    store = await open_store(database)
    try:
        client = await store.write(ensure_client(name, _now()))
        bodies = islice(shape.bodies(new_run()), count)
        while batch := list(islice(bodies, AT_ONCE)):
            await asyncio.gather(*(store.write(_delivery(client.number, body)) for body in batch))
    finally:
        await store.close()


def _delivery(client: int, body: bytes) -> store_delivery:
    return store_delivery(client, EMAIL_CAMPAIGN, body_key(EMAIL_CAMPAIGN, "", "", body), HEADERS, "", body, _now())


def _now() -> int:
    return time.time_ns() // 1000


def _wait(running: ServerProcess, backlog: int) -> None:
    """Until all of it is worked off."""
    before, until = 0.0, time.perf_counter() + STILL_SECONDS
    while time.perf_counter() < until:
        done = running.total(PROCESSED)
        if done >= backlog:
            return
        if done > before:
            before, until = done, time.perf_counter() + STILL_SECONDS
        time.sleep(PAUSE)
    raise CannotMeasure(f"of {backlog:,} deliveries only {before:,.0f} were worked off; its log ends with {running.log_tail()}")
