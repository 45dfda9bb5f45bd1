"""Rounds: bursts of load on several servers in turn, so that a machine that others use too slows all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

from bench.bodies import Shape
from bench.load import Burst
from bench.noise import NoiseMeter
from bench.plan import CONNECTIONS, Plan
from bench.server import WITHOUT_WORKER
from bench.server_process import CannotMeasure, ServerProcess, server, wait_until

DRAIN_SECONDS = 120
WAITING = 'touchbase_inbox_deliveries{state="received"}'
PROCESSED = "touchbase_deliveries_processed_total"


@dataclass(slots=True)
class Round:
    """One burst on one server, and what the server said afterwards."""

    burst: Burst
    cpu_us: float
    """Processor time of the server for one request."""
    backlog: int = 0
    """Deliveries that waited at the end of the burst."""
    drain_seconds: float = 0.0
    applied: int = 0
    """Deliveries applied while the burst lasted."""
    others: float | None = None
    """Cores that other programs kept busy meanwhile."""

    @property
    def applied_rate(self) -> float:
        """Deliveries applied a second while the burst lasted."""
        return self.applied / self.burst.seconds


@dataclass(slots=True)
class Rounds:
    """All rounds of one variant."""

    variant: str
    rounds: list[Round] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        """Good answers a second."""
        return [item.burst.rate for item in self.rounds]

    @property
    def rate(self) -> float:
        """The median of `rates`."""
        return median(self.rates)

    @property
    def errors(self) -> int:
        """Calls that got no good answer."""
        return sum(item.burst.errors for item in self.rounds)

    def p99(self) -> list[float]:
        """The 99th percentile of each round's latencies, in milliseconds."""
        return [item.burst.p99_ms for item in self.rounds]

    def raw(self) -> list[dict[str, Any]]:
        """Everything, for the JSON report."""
        return [asdict(item) | {"rate": item.burst.rate} for item in self.rounds]


@contextmanager
def servers(plan: Plan, engine: str, variants: Iterable[str]) -> Iterator[list[ServerProcess]]:
    """A server of each variant, each on a store of its own."""
    folder = plan.new_folder()
    with ExitStack() as running:
        yield [running.enter_context(server(variant, plan.new_store(engine, folder, variant), folder)) for variant in variants]


def in_turn(plan: Plan, shape: Shape, running: list[ServerProcess], rounds: int | None = None) -> dict[str, Rounds]:
    """Warm every server up, then burst upon burst on each in turn, as often as the plan says or `rounds` times."""
    for entry in running:
        plan.generator.closed(entry.address, shape, CONNECTIONS, plan.warm_seconds)
        settle(entry)
    result = {item.variant: Rounds(item.variant) for item in running}
    for _ in range(rounds or plan.rounds):
        for entry in running:
            load = partial(plan.generator.closed, entry.address, shape, CONNECTIONS, plan.seconds)
            result[entry.variant].rounds.append(_round(load, entry, _others(plan, running)))
    return result


def at_half(plan: Plan, shape: Shape, running: ServerProcess, rate: float) -> Rounds:
    """Bursts of requests that are due at half the rate that the server can carry."""
    rounds = Rounds("half" if running.variant == "real" else f"{running.variant}, half")

    def load() -> Burst:
        return plan.generator.at_rate(running.address, shape, CONNECTIONS, plan.seconds, rate / 2)

    for _ in range(plan.rounds):
        rounds.rounds.append(_round(load, running, _others(plan, [running])))
    return rounds


def settle(running: ServerProcess) -> float:
    """Wait until no delivery waits to be applied; answers how many seconds that took. Without a worker nobody works them off."""
    if running.variant in WITHOUT_WORKER:
        return 0.0
    before = perf_counter()
    if not wait_until(lambda: running.metrics().get(WAITING, 0) == 0, DRAIN_SECONDS):
        raise CannotMeasure(f"the inbox was not empty after {DRAIN_SECONDS} seconds")
    return perf_counter() - before


def _others(plan: Plan, running: list[ServerProcess]) -> NoiseMeter:
    return NoiseMeter([item.pid for item in running], plan.postgres.pid if plan.postgres else None)


def _round(load: Callable[[], Burst], running: ServerProcess, others: NoiseMeter) -> Round:
    applied, cpu = running.total(PROCESSED), running.cpu_seconds()
    burst = load()
    item = Round(burst, _cpu_us(running, cpu, burst), others=others.cores())
    said = running.metrics()
    item.backlog = int(said.get(WAITING, 0))
    item.applied = int(sum(value for series, value in said.items() if series.startswith(PROCESSED)) - applied)
    item.drain_seconds = settle(running)
    return item


def _cpu_us(running: ServerProcess, before: float, burst: Burst) -> float:
    return (running.cpu_seconds() - before) / max(1, burst.requests) * 1e6
