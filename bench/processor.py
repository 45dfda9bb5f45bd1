"""Processor time of a created contact, and of a webhook that is received and applied: of the server and the processes that it starts.

Other programs on the machine move it less than rates. What a request leaves to be done counts: applying, the search index, checkpoints.
"""

from __future__ import annotations

import time

from bench.interleaving import servers, settle
from bench.noise import family_seconds
from bench.plan import CONNECTIONS, Plan
from bench.report import spread
from bench.server_process import ServerProcess
from bench.throughput import NAMES, SHAPES

WHAT = {"create": "contact created", "webhook": "webhook received and applied"}
IDLE = 0.05
"""Share of a core that a server without work uses at most."""
MOST_SECONDS = 60


def measure(plan: Plan, engine: str) -> None:
    """Both kinds of request on one engine."""
    for kind, what in WHAT.items():
        about = f"processor time, {what}, {NAMES[engine]}"
        print(about, flush=True)
        with servers(plan, engine, ("real",)) as (running,):
            plan.generator.closed(running.address, SHAPES[kind], CONNECTIONS, plan.warm_seconds)
            rest(running)
            times = [_microseconds(plan, running, kind) for _ in range(plan.rounds)]
        plan.report.add(about, spread(times, " us of the server's processes"), "no limit", None, microseconds=times)


def _microseconds(plan: Plan, running: ServerProcess, kind: str) -> float:
    before = family_seconds(running.pid)
    burst = plan.generator.closed(running.address, SHAPES[kind], CONNECTIONS, plan.seconds)
    rest(running)
    return (family_seconds(running.pid) - before) / max(1, burst.requests) * 1e6


def rest(running: ServerProcess) -> None:
    """Wait until the inbox is empty and the server has nothing left to do."""
    settle(running)
    until = time.monotonic() + MOST_SECONDS
    before = family_seconds(running.pid)
    while time.monotonic() < until:
        time.sleep(1)
        now = family_seconds(running.pid)
        if now - before < IDLE:
            return
        before = now
