"""Applying a backlog: a server starts on a store in which deliveries wait, and works them off."""

from __future__ import annotations

import asyncio
import time
from itertools import islice
from pathlib import Path

from bench.bodies import WEBHOOK, Shape, new_run
from bench.figures import NAMES
from bench.plan import Plan
from bench.report import spread
from bench.rounds import PROCESSED
from bench.running import CannotMeasure, Running, server
from touchbase.domain.commands import EnsureClient, KeepDelivery
from touchbase.domain.delivery import EMAIL_CAMPAIGN
from touchbase.domain.keys import body_key
from touchbase.storage import open_store

HEADERS = b'{"content-type":"application/json"}'
AT_ONCE = 512
PARTS = 3
STILL_SECONDS = 20.0
"""When nothing more was worked off for so long, nothing will be."""
PAUSE = 0.5
"""Each look counts what waits, which takes time of the store that is measured."""


def measure(plan: Plan, engine: str) -> None:
    """How fast a backlog goes down, beside how fast calls are received."""
    print(f"apply, {NAMES[engine]}: a backlog of {plan.backlog:,} deliveries", flush=True)
    folder = plan.new_folder()
    database = plan.new_store(engine, folder, "backlog")
    asyncio.run(fill(database, plan.backlog))
    if engine == "postgresql" and plan.postgres is not None:
        plan.postgres.checkpoint()
    rates, ended = work_off(database, plan.backlog, folder)
    if ended != {f'{PROCESSED}{{state="applied"}}': plan.backlog}:
        plan.report.note(f"of the backlog on {NAMES[engine]} not everything ended as applied: {ended}")
    received = plan.rates.get(("webhook", engine))
    met = None if received is None else sorted(rates)[PARTS // 2] >= received
    limit = "receiving was not measured in this run" if received is None else f"at least {received:,.0f}/s received"
    what = f"apply events, {NAMES[engine]}, from a backlog of {plan.backlog:,}"
    plan.report.add(what, f"{spread(rates, '/s')}, in {PARTS} parts of the backlog", limit, met, rates=rates, received=received)


def work_off(database: str, backlog: int, folder: Path) -> tuple[list[float], dict[str, float]]:
    """Deliveries a second in each part of the backlog, and how many ended how."""
    with server("real", database, folder) as running:
        rates = _parts(_samples(running, backlog), backlog)
        return rates, {series: value for series, value in running.metrics().items() if series.startswith(PROCESSED)}


async def fill(database: str, count: int, shape: Shape = WEBHOOK, name: str = "bench") -> None:
    """Keep the deliveries as the receiver does, with no worker running."""
    store = await open_store(database)
    try:
        client = await store.write(EnsureClient(name, _now()))
        bodies = islice(shape.bodies(new_run()), count)
        while batch := list(islice(bodies, AT_ONCE)):
            await asyncio.gather(*(store.write(_kept(client.number, body)) for body in batch))
    finally:
        await store.close()


def _kept(client: int, body: bytes) -> KeepDelivery:
    return KeepDelivery(client, EMAIL_CAMPAIGN, body_key(EMAIL_CAMPAIGN, "", "", body), HEADERS, "", body, _now())


def _now() -> int:
    return time.time_ns() // 1000


def _samples(running: Running, backlog: int) -> list[tuple[float, float]]:
    """When how many were worked off, from the first that were to the last."""
    samples: list[tuple[float, float]] = []
    before, until = 0.0, time.perf_counter() + STILL_SECONDS
    while time.perf_counter() < until:
        done = running.total(PROCESSED)
        if done > before:
            before, until = done, time.perf_counter() + STILL_SECONDS
            samples.append((time.perf_counter(), done))
        if done >= backlog:
            return samples
        time.sleep(PAUSE)
    raise CannotMeasure(f"of {backlog:,} deliveries only {before:,.0f} were worked off; its log ends with {running.log_tail()}")


def _parts(samples: list[tuple[float, float]], backlog: int) -> list[float]:
    """Deliveries a second in each of `PARTS` equal parts of the backlog."""
    first = samples[0][1]
    marks = [first + (backlog - first) * part / PARTS for part in range(PARTS + 1)]
    times = [_when(samples, mark) for mark in marks]
    return [(marks[k + 1] - marks[k]) / max(1e-9, times[k + 1] - times[k]) for k in range(PARTS)]


def _when(samples: list[tuple[float, float]], mark: float) -> float:
    """When this many were done, on a straight line between the two samples around it."""
    before = samples[0]
    for each in samples:
        if each[1] >= mark:
            step = each[1] - before[1]
            return each[0] if not step else before[0] + (each[0] - before[0]) * (mark - before[1]) / step
        before = each
    return before[0]
