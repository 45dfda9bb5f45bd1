"""Cells: what serving a thousand clients from four PostgreSQL servers costs, and what one that stops does to the others.

Both installations get the same calls in the same time, so that neither has larger groups because its callers sent more. All processor
time counts until the last webhook is applied: of the server, its translators and all processes of PostgreSQL.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from statistics import median

from bench import loadgen
from bench.bodies import WEBHOOK, Shape
from bench.cells_scale import tell_scale
from bench.interleaving import WAITING
from bench.noise import family_seconds
from bench.plan import Plan
from bench.postgres import Postgres, postgres
from bench.report import spread
from bench.server_process import CannotMeasure, ServerProcess, as_installed, wait_until
from touchbase.clients.sql.clients import create_client
from touchbase.encryption.keys import EncryptionKeys, encode_key, new_key
from touchbase.routing.router import CellRouter
from touchbase.routing.set_up import add_cell
from touchbase.stores import open_store

CLIENTS, CELLS, CONNECTIONS = 1_000, 4, 64
MOST_TIMES = 1.15
"""Processor time of a webhook with four cells, of that with one."""
BUSY, MODERATE = 300.0, 100.0
"""Webhooks a second at which both are compared. Nearly every one is the only one of its client in a transaction, so one cell on two cores
that it shares with the server and the load applies some 300; fixed rates let runs be compared on a machine that others use too."""
WARM_TIMES = 3
"""Bursts before anything is measured: each connection plans each statement some times before it keeps the plan."""
CALLS_TO_DEAD = 20.0
"""Calls a second for clients of the cell that is stopped."""
DRAIN_SECONDS, PAUSE = 120.0, 0.5


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
class Used:
    """Processor time, of one round after the other."""

    server: list[float] = field(default_factory=list)
    databases: list[float] = field(default_factory=list)

    @property
    def all(self) -> list[float]:
        """The sum of each round."""
        return [item + other_database for item, other_database in zip(self.server, self.databases, strict=True)]


@dataclass(slots=True)
class Installation:
    """A server and the PostgreSQL servers behind it."""

    running: ServerProcess
    servers: list[Postgres]
    by_cell: dict[int, list[str]]
    """The ids of the clients of each cell, the busiest first."""

    @contextmanager
    def counted(self, used: Used, shares: list[float]) -> Iterator[None]:
        """Add the processor time of the context, divided by what `shares` has then, to `used`."""
        before = self._seconds()
        yield
        server, databases = (now - was for now, was in zip(self._seconds(), before, strict=True))
        used.server.append(server / sum(shares))
        used.databases.append(databases / sum(shares))

    def _seconds(self) -> tuple[float, float]:
        return family_seconds(self.running.pid), sum(family_seconds(server.pid) for server in self.servers if server.pid)


def measure(plan: Plan) -> None:
    """Webhooks of a thousand clients, with one cell and with four in turn; then one of the four is stopped."""
    if plan.postgres is None or plan.postgres.pid is None:
        raise CannotMeasure("the processor time of a PostgreSQL that was given is not known: unset TOUCHBASE_TEST_POSTGRES")
    print(f"cells: {CLIENTS:,} clients in 1 and in {CELLS} cells", flush=True)
    shape = OfClients("webhook", "", "", ids=tuple(_ids()))
    with ExitStack() as ending:
        one_cell, four = both = [ending.enter_context(_installation(plan, number)) for number in (1, CELLS)]
        rates = [_warm(plan, item, shape) for item in both]
        reported = f"{rates[1]:,.0f}/s with {CELLS} cells, {rates[0]:,.0f}/s with one; all on this machine"
        plan.report.add(f"webhooks stored and applied, {CLIENTS:,} clients, as fast as it goes", reported, "no limit", None, rates=rates)
        idle = [Used(), Used()]
        for _ in range(plan.rounds):
            for entry, used in zip(both, idle, strict=True):
                with entry.counted(used, [plan.seconds]):
                    time.sleep(plan.seconds)
        _tell_idle(plan, *idle)
        busy = _cost(plan, one_cell, four, shape, BUSY)
        _cost(plan, one_cell, four, shape, MODERATE)
        tell_scale(plan.report, CLIENTS, busy.databases, busy.server, [(more - less) / (CELLS - 1) for less, more in _medians(*idle)])
        _stop_one(plan, four)


def _ids() -> list[str]:
    return [f"client-{rank}" for rank in range(1, CLIENTS + 1)]


def _medians(used: Used, four: Used) -> list[tuple[float, float]]:
    """What the server takes, then what PostgreSQL takes, with one cell and with four."""
    return [(median(used.server), median(four.server)), (median(used.databases), median(four.databases))]


@contextmanager
def _installation(plan: Plan, number: int) -> Iterator[Installation]:
    """A server whose clients live in so many stores, each on a PostgreSQL server of its own."""
    folder, key = plan.new_folder(), encode_key(new_key())
    with ExitStack() as ending:
        servers = []
        for index in range(number):
            (own := folder / f"cell{index}").mkdir()
            servers.append(ending.enter_context(postgres(own)))
        home, *cells = [server.new_database() for server in servers]
        by_cell = asyncio.run(_fill(home, cells, EncryptionKeys(key)))
        running = ending.enter_context(as_installed(home, folder, environment={"TOUCHBASE_ENCRYPTION_KEY": key}))
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
            await router.write(create_client(client_id, "", time.time_ns() // 1000))
        result: dict[int, list[str]] = {}
        for client_id in _ids():
            result.setdefault(router.placement.cell_of_name(client_id), []).append(client_id)
        return result
    finally:
        await router.close()


def _warm(plan: Plan, installation: Installation, shape: Shape) -> float:
    """Send as fast as it goes, some times; return how many webhooks a second were stored and applied the last time."""
    rate = 0.0
    for _ in range(WARM_TIMES):
        began = time.perf_counter()
        burst = loadgen.closed(installation.running.address, shape, CONNECTIONS, plan.seconds)
        _until_applied(installation)
        rate = burst.requests / (time.perf_counter() - began)
    return rate


def _until_applied(installation: Installation) -> None:
    if not wait_until(lambda: installation.running.metrics().get(WAITING, 0) == 0, DRAIN_SECONDS, PAUSE):
        raise CannotMeasure(f"webhooks still wait after {DRAIN_SECONDS:g} seconds")


def _tell_idle(plan: Plan, used: Used, four: Used) -> None:
    cores = [f"{spread(item.all, '', 3)} of a core" for item in (four, used)]
    what = f"processor time while nothing comes, {CLIENTS:,} clients"
    plan.report.add(what, f"{cores[0]} with {CELLS} cells, {cores[1]} with one", "no limit", None, one=used.all, four=four.all)


def _cost(plan: Plan, installation: Installation, four: Installation, shape: Shape, rate: float) -> Used:
    """Bursts at one rate on both in turn; return what four cells take for a webhook."""
    results = [Used(), Used()]
    for _ in range(plan.rounds):
        for item, used in zip((installation, four), results, strict=True):
            webhooks: list[float] = []
            with item.counted(used, webhooks):
                burst = loadgen.at_rate(item.running.address, shape, CONNECTIONS, plan.seconds, rate)
                _until_applied(item)
                webhooks.append(burst.requests / 1e6)
            if burst.errors:
                raise CannotMeasure(f"{burst.errors} of {burst.requests} webhooks failed: {item.running.log_tail()}")
    times = median(results[1].all) / median(results[0].all)
    server, databases = _medians(*results)
    reported = (
        f"{spread(results[1].all, ' us')} with {CELLS} cells = {times:.2f} x {spread(results[0].all, ' us')} with one; "
        f"server {server[1]:,.0f} and {server[0]:,.0f}, PostgreSQL {databases[1]:,.0f} and {databases[0]:,.0f}"
    )
    what = f"processor time of a webhook, stored and applied, {CLIENTS:,} clients, {rate:,.0f}/s"
    plan.report.add(what, reported, f"at most {MOST_TIMES} x", times <= MOST_TIMES, one=results[0].all, four=results[1].all)
    return results[1]


def _stop_one(plan: Plan, four: Installation) -> None:
    """The latency of the other cells' clients before and after one PostgreSQL is killed, while its own clients are called too."""
    last = CELLS - 1
    others = OfClients("webhook", "", "", ids=tuple(item for cell, ids in four.by_cell.items() if cell != last for item in ids))
    dead = OfClients("webhook", "", "", ids=tuple(four.by_cell[last]))
    p99: dict[str, list[float]] = {"before": [], "after": []}
    errors = 0
    for when, value in p99.items():
        if when == "after":
            four.servers[last].kill()
            time.sleep(1)
        for _ in range(plan.rounds):
            calling = threading.Thread(target=loadgen.at_rate, args=(four.running.address, dead, 4, plan.seconds, CALLS_TO_DEAD))
            calling.start()
            burst = loadgen.at_rate(four.running.address, others, CONNECTIONS, plan.seconds, MODERATE)
            calling.join()
            value.append(burst.p99_ms)
            errors += burst.errors
    reported = f"{spread(p99['after'], ' ms', 1)} at {MODERATE:,.0f}/s, before {spread(p99['before'], ' ms', 1)}, {errors} errors"
    met = not errors and median(p99["after"]) <= 1.25 * median(p99["before"]) + 5
    plan.report.add("p99 of the other cells' webhooks while one is dead", reported, "as before", met, errors=errors, **p99)
