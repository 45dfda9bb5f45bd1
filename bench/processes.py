"""Several server processes on one PostgreSQL: how far throughput goes up with them, where it stops, and what is waited for there.

While a burst lasts, `pg_stat_activity` is sampled: what each of our sessions does (on a processor, or which event it waits for);
and the kernel is asked how much processor time the servers, PostgreSQL and the load generator had.
"""

from __future__ import annotations

import asyncio
import os
import resource
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from threading import Event, Thread
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from bench.bodies import CREATE, WEBHOOK, Shape
from bench.noise import NoiseMeter, children, process_seconds
from bench.plan import Plan
from bench.report import spread
from bench.server_process import as_installed

WORKERS = (1, 2, 4)
CONNECTIONS = 128
SAMPLE_SECONDS = 0.02
SAMPLE = (
    "SELECT CASE WHEN state = 'active' THEN coalesce(wait_event_type || ': ' || wait_event, 'on a processor') "
    "ELSE 'idle, or waits for us' END FROM pg_stat_activity "
    "WHERE datname = $1 AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
)
IDLE = "idle, or waits for us"
MOST_WAITS = 5
"""So many kinds of waiting are told, the most frequent ones."""


@dataclass(slots=True)
class ProcessRun:
    """What one number of processes did with one kind of call."""

    workers: int
    rates: list[float] = field(default_factory=list)
    errors: int = 0
    sessions: Counter[str] = field(default_factory=Counter)
    cores: dict[str, list[float]] = field(default_factory=dict)

    @property
    def busy(self) -> float:
        """Cores in use by all of us and by others."""
        return sum(median(core) for core in self.cores.values())


def measure(plan: Plan) -> None:
    """Creating and receiving with each number of processes."""
    for shape in (CREATE, WEBHOOK):
        print(f"processes: {shape.name} with {', '.join(map(str, WORKERS))} processes", flush=True)
        results = [_with(plan, shape, workers) for workers in WORKERS]
        for item in results:
            measured = f"{spread(item.rates, '/s')} = {median(item.rates) / max(1e-9, median(results[0].rates)):.2f} x of one"
            met = False if item.errors else None
            raw = {"rates": item.rates, "sessions": dict(item.sessions), "cores": item.cores, "errors": item.errors}
            plan.report.add(f"{shape.name}, PostgreSQL, {_processes(item.workers)}", measured, "no limit", met, **raw)
        plan.report.details.append(_table(shape, results))
        plan.report.note(_why(shape, results))


def _with(plan: Plan, shape: Shape, workers: int) -> ProcessRun:
    assert plan.postgres is not None
    folder = plan.new_folder()
    database = plan.new_store("postgresql", folder, shape.name)
    process_run = ProcessRun(workers)
    with as_installed(database, folder, "--workers", str(workers)) as running:
        plan.generator.closed(running.address, shape, CONNECTIONS, plan.warm_seconds)
        for _ in range(plan.rounds):
            plan.postgres.checkpoint()
            with _sampled(plan.postgres.address, urlsplit(database).path[1:], process_run.sessions):
                before, used = perf_counter(), _used(running.pid, plan.postgres.pid)
                others = NoiseMeter(children(running.pid), plan.postgres.pid)
                burst = plan.generator.closed(running.address, shape, CONNECTIONS, plan.seconds)
                process_run.cores.setdefault("other programs", []).append(others.cores() or 0.0)
                seconds = perf_counter() - before
                for who, now in _used(running.pid, plan.postgres.pid).items():
                    process_run.cores.setdefault(who, []).append((now - used[who]) / seconds)
            process_run.rates.append(burst.rate)
            process_run.errors += burst.errors
    return process_run


def _used(server: int, postmaster: int | None) -> dict[str, float]:
    generator = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "servers": sum(map(process_seconds, children(server))),
        "PostgreSQL": sum(map(process_seconds, children(postmaster))) if postmaster else 0.0,
        "load generator": generator.ru_utime + generator.ru_stime,
    }


@contextmanager
def _sampled(address: str, database: str, sessions: Counter[str]) -> Iterator[None]:
    ended = Event()
    thread = Thread(target=lambda: asyncio.run(_sample(address, database, sessions, ended)))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


async def _sample(address: str, database: str, sessions: Counter[str], ended: Event) -> None:
    connection: Any = await asyncpg.connect(address)
    try:
        while not ended.is_set():
            sessions.update(row[0] for row in await connection.fetch(SAMPLE, database))
            await asyncio.sleep(SAMPLE_SECONDS)
    finally:
        await connection.close()


def _waits(process_run: ProcessRun) -> list[tuple[str, float]]:
    """What the sessions that had something to do were doing, as parts of them."""
    busy = Counter({what: count for what, count in process_run.sessions.items() if what != IDLE})
    total = max(1, sum(busy.values()))
    return [(what, count / total) for what, count in busy.most_common(MOST_WAITS)]


def _table(shape: Shape, process_runs: list[ProcessRun]) -> tuple[str, list[str], list[list[str]]]:
    columns = [
        "processes",
        "answers/s",
        "cores: other programs",
        "servers",
        "PostgreSQL",
        "load generator",
        "what busy sessions of PostgreSQL were doing",
    ]
    rows = []
    for item in process_runs:
        waits = ", ".join(f"{what} {part:.0%}" for what, part in _waits(item))
        rows.append([str(item.workers), spread(item.rates, ""), *(f"{median(cores):.2f}" for cores in item.cores.values()), waits])
    return f"{shape.name} with several server processes on PostgreSQL", columns, rows


def _why(shape: Shape, process_runs: list[ProcessRun]) -> str:
    best = max(process_runs, key=lambda item: median(item.rates))
    cores = os.cpu_count() or 1
    where = f"{shape.name} is fastest with {_processes(best.workers)} ({median(best.rates):,.0f}/s)"
    waits = " and ".join(f"{what} ({part:.0%})" for what, part in _waits(best)[:2])
    why = f"{best.busy:.2f} of {cores} cores are busy then; busy sessions of PostgreSQL are mostly at: {waits}"
    full = best.busy > 0.85 * cores
    end = "the processors are what is full" if full else "the processors are not full, so what is waited for is the limit"
    return f"{where}: {why}; {end}"


def _processes(count: int) -> str:
    return "1 server process" if count == 1 else f"{count} server processes"
