"""Every path on both engines: capacity in a closed loop, latency in an open loop at half of it, and the limits of the same run.

The store has ten thousand contacts with ten events each. Above is the bare server (our HTTP and our rules, no store), below
the driver alone (`bench.driver_baseline`); what a path can do lies under both.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from bench import driver_baseline, inbox, loadgen
from bench.bodies import Shape
from bench.dataset import create_dataset
from bench.interleaving import settle
from bench.load import Burst
from bench.noise import NoiseMeter
from bench.plan import Plan
from bench.report import spread
from bench.requests import ABOUT, HTTP, PATHS, shapes
from bench.server_process import ServerProcess, server
from bench.throughput import NAMES

CONNECTIONS = (1, 16, 64, 256)
SUMMARY_CONNECTIONS = 64
"""Connections of the summary."""
COLUMNS = ["path", "connections", "answers/s", "bare server/s", "part of it", "driver alone/s", "part of it"]
COLUMNS += ["half load: p50 ms", "p99 ms", "p99.9 ms", "generator late p99 ms", "errors"]


@dataclass(slots=True)
class Cell:
    """One path at one number of connections."""

    path: str
    connections: int
    closed: Burst
    half: Burst
    bare: Burst

    @property
    def errors(self) -> int:
        """Calls that got no good answer."""
        return self.closed.errors + self.half.errors + self.bare.errors


def measure(plan: Plan, engine: str) -> None:
    """All paths on one engine."""
    print(f"paths, {NAMES[engine]}: a store of {plan.known:,} contacts", flush=True)
    folder = plan.new_folder()
    database = plan.new_store(engine, folder, "paths")
    create_dataset(database, plan.known, folder, plan.superuser)
    applied = applied_rates(plan, database, folder, shapes(plan.known)["webhook"])
    with server("real", database, folder) as running, server("bare", "sqlite://", folder) as bare:
        others = NoiseMeter([running.pid, bare.pid], plan.postgres.pid if plan.postgres else None)
        cells = [_cell(plan, shape, connections, running, bare) for shape in _shapes(plan) for connections in CONNECTIONS]
        busy = others.cores()
    alone = driver_alone(plan, engine, database)
    _report_rows(plan, engine, cells, applied, alone)
    if busy is not None:
        plan.report.note(f"paths, {NAMES[engine]}: other programs kept {busy:.2f} cores busy on average meanwhile")


def applied_rates(plan: Plan, database: str, folder: Path, webhook: Shape) -> list[float]:
    """Deliveries of such calls applied a second, from a backlog."""
    asyncio.run(inbox.fill(database, plan.backlog, webhook, "default"))
    if plan.postgres is not None:
        plan.postgres.checkpoint()
    return inbox.drain_backlog(database, plan.backlog, folder)[0]


def driver_alone(plan: Plan, engine: str, database: str) -> dict[str, float]:
    """What the driver does with the rows of each path; it leaves a store that no service should use any more."""
    seconds = min(1.0, plan.seconds)
    if engine == "sqlite":
        return driver_baseline.sqlite_rates(database.removeprefix("sqlite:///"), plan.known, seconds)
    assert plan.superuser is not None
    address = urlunsplit(urlsplit(plan.superuser)._replace(path=urlsplit(database).path))
    return asyncio.run(driver_baseline.postgres_rates(address, plan.known, seconds))


def _shapes(plan: Plan) -> list[Shape]:
    every = shapes(plan.known)
    return [every[name] for name in HTTP]


def _cell(plan: Plan, shape: Shape, connections: int, running: ServerProcess, bare: ServerProcess) -> Cell:
    plan.generator.closed(running.address, shape, connections, min(1.0, plan.warm_seconds))
    settle(running)
    closed = plan.generator.closed(running.address, shape, connections, plan.seconds)
    settle(running)
    # Our own open loop counts from when a request was due, so a stall is seen by all whose turn came meanwhile.
    half = loadgen.at_rate(running.address, shape, connections, plan.seconds, max(1.0, closed.rate / 2))
    settle(running)
    alone = plan.generator.closed(bare.address, shape, connections, plan.seconds / 2)
    print(f"  {shape.name:<8} {connections:>4} connections {closed.rate:>8,.0f}/s  p99 at half {half.p99_ms:.2f} ms", flush=True)
    return Cell(shape.name, connections, closed, half, alone)


def _report_rows(plan: Plan, engine: str, cells: list[Cell], applied: list[float], alone: dict[str, float]) -> None:
    for name in PATHS:
        if name == "apply":
            limit = f"{alone[name]:,.0f}/s by the driver alone = {median(applied) / alone[name]:.2f} x"
            plan.report.add(f"apply, {NAMES[engine]}", spread(applied, "/s"), limit, None, rates=applied, alone=alone[name])
            continue
        here = [cell for cell in cells if cell.path == name]
        at = next(cell for cell in here if cell.connections == SUMMARY_CONNECTIONS)
        measured = (
            f"{at.closed.rate:,.0f}/s; at half load p50 {at.half.p50_ms:.2f}, p99 {at.half.p99_ms:.2f}, p99.9 {at.half.p999_ms:.1f} ms"
        )
        errors = sum(cell.errors for cell in here)
        limit = f"{at.bare.rate:,.0f}/s bare server, {alone[name]:,.0f}/s by the driver alone"
        reported: dict[str, Any] = {"cells": [asdict(cell) for cell in here], "alone": alone[name]}
        plan.report.add(
            f"{ABOUT[name]}, {NAMES[engine]}, {SUMMARY_CONNECTIONS} connections", measured, limit, False if errors else None, **reported
        )
    rows = [_row(cell, alone[cell.path]) for cell in cells]
    plan.report.details.append((f"Paths on {NAMES[engine]}, by connections", COLUMNS, rows))


def _row(cell: Cell, alone: float) -> list[str]:
    rate, bare = cell.closed.rate, max(1e-9, cell.bare.rate)
    row = [
        ABOUT[cell.path],
        str(cell.connections),
        f"{rate:,.0f}",
        f"{bare:,.0f}",
        f"{rate / bare:.2f}",
        f"{alone:,.0f}",
        f"{rate / alone:.2f}",
    ]
    half = cell.half
    row += [f"{half.p50_ms:.2f}", f"{half.p99_ms:.2f}", f"{half.p999_ms:.1f}", f"{half.late_p99_ms or 0:.2f}"]
    return [*row, str(cell.errors)]
