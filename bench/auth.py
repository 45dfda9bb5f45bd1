"""Authorising: microseconds that a known key costs a call, beside what open mode costs it."""

from __future__ import annotations

import asyncio
import time
from statistics import median
from typing import Any

from bench.plan import Plan
from touchbase.auth.service import WRITE, add_key
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import clock
from touchbase.http.endpoint import Api, key_from_headers
from touchbase.stores import open_store
from touchbase.web import Dependencies

MOST_US = 10.0
TIMES, CALLS = 9, 5_000
"""How often, and how many calls each time."""


def measure(plan: Plan) -> None:
    """A key of one client, a key of none with `X-Client-Id`, and open mode, as a creating call asks for them."""
    print("auth: a known key", flush=True)
    result = asyncio.run(measured(CALLS))
    for what, microseconds in result.items():
        limit = None if what == "open mode" else MOST_US
        reported = f"{median(microseconds):.2f} us ({min(microseconds):.2f} to {max(microseconds):.2f})"
        met = None if limit is None else median(microseconds) < limit
        plan.report.add(f"authorise, {what}", reported, f"under {limit:g} us" if limit else "no limit", met, microseconds=microseconds)


async def measured(calls: int) -> dict[str, list[float]]:
    """Microseconds of a call, by who makes it."""
    store = await open_store("sqlite://")
    client = await store.write(ensure_client("default", clock()))
    own, any_client = [(await add_key(store, number, [WRITE], "bench", clock())).encode() for number in (client.number, None)]
    usual = [(b"host", b"127.0.0.1:8000"), (b"content-type", b"application/json"), (b"content-length", b"88")]
    guarded = Api(Dependencies(store, clock, auth="api-key"))
    opened = Api(Dependencies(store, clock))
    result = {
        "key of one client": await _times(calls, guarded, {**dict(usual), b"authorization": b"Bearer " + own}),
        "key of no client": await _times(calls, guarded, {**dict(usual), b"x-api-key": any_client, b"x-client-id": b"default"}),
        "open mode": await _times(calls, opened, dict(usual)),
    }
    await store.close()
    return result


async def _times(calls: int, api: Api, headers: Any) -> list[float]:
    results: list[float] = []
    scope: dict[str, Any] = {"type": "http", "method": "POST", "headers": list(headers.items())}
    for _ in range(TIMES):
        await api.authenticate(headers, key_from_headers(headers), WRITE, clock(), scope)
        before = time.perf_counter()
        for _ in range(calls):
            await api.authenticate(headers, key_from_headers(headers), WRITE, clock(), scope)
        results.append((time.perf_counter() - before) / calls * 1e6)
    return results
