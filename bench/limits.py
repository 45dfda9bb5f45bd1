"""Limits: microseconds that counting adds to a request, with every limit on and none reached."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from time import thread_time

from bench.plan import Plan
from touchbase.clients.models import Client, ClientSettings
from touchbase.config import Settings
from touchbase.http.headers import rate_limit_headers
from touchbase.rate_limit.rate_limiter import RateLimiter, limiter

MOST_US = 3.0
"""Of the 25 to 40 that a whole request takes."""
CALLS, TIMES = 100_000, 9
BETWEEN_US = 50
"""From one request to the next, by the clock that is handed in."""


def measure(plan: Plan) -> None:
    """A create with its headers, without and with a key, and a webhook call."""
    print("limits: what counting adds to a request", flush=True)
    for what, microseconds in measured(CALLS).items():
        plan.report.add(f"limits, {what}", f"{microseconds:.2f} us", f"at most {MOST_US:g} us", microseconds <= MOST_US)


def measured(calls: int) -> dict[str, float]:
    """Microseconds of each kind of request."""
    client = Client(1, "default", 0, ClientSettings())
    return {
        "create": _microseconds(lambda limits, now: _create(limits, client, None, now), calls),
        "create with a key": _microseconds(lambda limits, now: _create(limits, client, "0123456789ab", now), calls),
        "webhook": _microseconds(lambda limits, now: _webhook(limits, client, now), calls),
    }


def _create(limits: RateLimiter, client: Client, key: str | None, now: int) -> None:
    bucket = limits.request(client, key, now)
    assert bucket is not None
    rate_limit_headers(bucket)
    limits.begin(1)
    limits.storing(client, 3, now)
    limits.end(1)


def _webhook(limits: RateLimiter, client: Client, now: int) -> None:
    limits.webhook(client, now)
    limits.begin(1)
    limits.end(1)


def _microseconds(work: Callable[[RateLimiter, int], None], calls: int) -> float:
    limits, now = limiter(Settings()), 0

    def once(limits: RateLimiter, now: int) -> None:
        pass

    def run(action: Callable[[RateLimiter, int], None]) -> None:
        nonlocal now
        for _ in range(calls):
            now += BETWEEN_US
            action(limits, now)

    times = [min(timeit.repeat(lambda item=item: run(item), timer=thread_time, number=1, repeat=TIMES)) for item in (work, once)]  # type: ignore[misc]
    return (times[0] - times[1]) / calls * 1e6
