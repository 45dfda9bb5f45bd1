"""Cells: what serving a thousand clients from four PostgreSQL servers costs, and what one that stops does to the others."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from statistics import median

from bench import loadgen
from bench.bodies import WEBHOOK, Shape
from bench.interleaving import WAITING
from bench.noise import children, process_seconds
from bench.plan import Plan
from bench.postgres import Postgres, postgres
from bench.report import spread
from bench.server_process import CannotMeasure, ServerProcess, as_installed, wait_until
from touchbase.clients import CreateClient
from touchbase.encryption import EncryptionKeys, encode_key, new_key
from touchbase.routing import CellRouter, add_cell
from touchbase.storage import open_store

CLIENTS, CELLS, CONNECTIONS = 1_000, 4, 64
MOST_TIMES = 1.15
"""Processor time of a webhook with four cells, of that with one."""
PART_OF_FULL = 0.3
"""The rate at which latencies are measured, as a part of what four cells take."""
CALLS_TO_DEAD = 20.0
"""Calls a second for clients of the cell that is stopped."""
DRAIN_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class OfClients(Shape):
    """Webhooks of many clients: the second sends half as many as the first, the third a third, and so on."""

    ids: tuple[str, ...] = ()

    def requests(self, run: str) -> Iterator[tuple[bytes, bytes]]:
        """Return the paths and bodies of one burst of load."""
        weights = [1 / rank for rank in range(1, len(self.ids) + 1)]
        chosen = random.Random(run)
        for body in self.bodies(run):
            (client_id,) = chosen.choices(self.ids, weights)
            yield f"/public/emailcampaign-webhook/{client_id}".encode(), body

    def bodies(self, run: str) -> Iterator[bytes]:
        """Return the bodies, which do not depend on the client."""
        return WEBHOOK.bodies(run)


@dataclass(slots=True)
class Installation:
    """A server and the PostgreSQL servers behind it."""

    running: ServerProcess
    servers: list[Postgres]
    by_cell: dict[int, list[str]]
    """The ids of the clients of each cell, the busiest first."""
    cpu_us: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)

    def cpu_seconds(self) -> float:
        """Processor time of the server, its translators and PostgreSQL."""
        pids = [pid for each in [self.running.pid, *(server.pid for server in self.servers)] if each for pid in children(each)]
        return sum(map(process_seconds, {*pids}))


def measure(plan: Plan) -> None:
    """Webhooks of a thousand clients, with one cell and with four in turn; then one of the four is stopped."""
    print(f"cells: {CLIENTS:,} clients in 1 and in {CELLS} cells", flush=True)
    shape = OfClients("webhook", "", "", ids=tuple(_ids()))
    with ExitStack() as ending:
        one = ending.enter_context(_installation(plan, 0))
        four = ending.enter_context(_installation(plan, CELLS - 1))
        for each in (one, four):
            loadgen.closed(each.running.address, shape, CONNECTIONS, plan.warm_seconds)
            _until_applied(each)
        for _ in range(plan.rounds):
            for each in (one, four):
                _round(plan, each, shape)
        _cost(plan, one, four)
        _stop_one(plan, four)


def _ids() -> list[str]:
    return [f"client-{rank}" for rank in range(1, CLIENTS + 1)]


@contextmanager
def _installation(plan: Plan, more: int) -> Iterator[Installation]:
    """A server whose clients live in one store and in so many more."""
    assert plan.postgres is not None
    folder, key = plan.new_folder(), encode_key(new_key())
    with ExitStack() as ending:
        servers = [plan.postgres]
        for number in range(more):
            (own := folder / f"cell{number + 1}").mkdir()
            servers.append(ending.enter_context(postgres(own)))
        home, *cells = [server.new_database() for server in servers]
        by_cell = asyncio.run(_fill(home, cells, EncryptionKeys(key)))
        environment = {"TOUCHBASE_ENCRYPTION_KEY": key}
        running = ending.enter_context(as_installed(home, folder, environment=environment))
        yield Installation(running, servers, by_cell)


async def _fill(home_url: str, cells: list[str], keys: EncryptionKeys) -> dict[int, list[str]]:
    """Add the cells and the clients; return the clients of each."""
    opened = partial(open_store, encryption_keys=keys)
    router = CellRouter(await opened(home_url), opened)
    try:
        for number, url in enumerate(cells, 1):
            await add_cell(router.home, f"cell-{number}", url, opened, time.time_ns() // 1000)
        await router.start(follow=False)
        for client_id in _ids():
            await router.write(CreateClient(client_id, "", time.time_ns() // 1000))
        found: dict[int, list[str]] = {}
        for client_id in _ids():
            found.setdefault(router.placement.cell_of_name(client_id), []).append(client_id)
        return found
    finally:
        await router.close()


def _round(plan: Plan, each: Installation, shape: Shape) -> None:
    """One burst, until all of it is applied."""
    before = each.cpu_seconds()
    burst = loadgen.closed(each.running.address, shape, CONNECTIONS, plan.seconds)
    _until_applied(each)
    if burst.errors:
        raise CannotMeasure(f"{burst.errors} of {burst.requests} webhooks failed: {each.running.log_tail()}")
    each.cpu_us.append(1e6 * (each.cpu_seconds() - before) / burst.requests)
    each.rates.append(burst.rate)


def _until_applied(each: Installation) -> None:
    if not wait_until(lambda: each.running.metrics().get(WAITING, 0) == 0, DRAIN_SECONDS):
        raise CannotMeasure(f"webhooks still wait after {DRAIN_SECONDS:g} seconds")


def _cost(plan: Plan, one: Installation, four: Installation) -> None:
    times = median(four.cpu_us) / median(one.cpu_us)
    told = f"{spread(four.cpu_us, ' us')} with {CELLS} cells = {times:.2f} x {spread(one.cpu_us, ' us')} with one"
    what = f"processor time of a webhook, stored and applied, {CLIENTS:,} clients"
    plan.report.add(what, told, f"at most {MOST_TIMES} x", times <= MOST_TIMES, one=one.cpu_us, four=four.cpu_us)
    told = f"{spread(four.rates, '/s')} with {CELLS} cells, {spread(one.rates, '/s')} with one; all on this machine"
    plan.report.add(f"webhooks, {CLIENTS:,} clients", told, "told only", None, one=one.rates, four=four.rates)


def _stop_one(plan: Plan, four: Installation) -> None:
    """The latency of the other cells' clients before and after one PostgreSQL is killed, while its own clients are called too."""
    last = CELLS - 1
    others = OfClients("webhook", "", "", ids=tuple(each for cell, ids in four.by_cell.items() if cell != last for each in ids))
    dead = OfClients("webhook", "", "", ids=tuple(four.by_cell[last]))
    rate = PART_OF_FULL * median(four.rates)
    p99: dict[str, list[float]] = {"before": [], "after": []}
    errors = 0
    for when, found in p99.items():
        if when == "after":
            pid = four.servers[last].pid
            assert pid is not None
            os.kill(pid, signal.SIGQUIT)
            time.sleep(1)
        for _ in range(plan.rounds):
            calling = threading.Thread(target=loadgen.at_rate, args=(four.running.address, dead, 4, plan.seconds, CALLS_TO_DEAD))
            calling.start()
            burst = loadgen.at_rate(four.running.address, others, CONNECTIONS, plan.seconds, rate)
            calling.join()
            found.append(burst.p99_ms)
            errors += burst.errors
    told = f"{spread(p99['after'], ' ms', 1)} at {rate:,.0f}/s, before {spread(p99['before'], ' ms', 1)}, {errors} errors"
    met = not errors and median(p99["after"]) <= 1.25 * median(p99["before"]) + 5
    plan.report.add("p99 of the other cells' webhooks while one is dead", told, "as before", met, errors=errors, **p99)
