"""Threads for blocking work: a small pool for each kind, so that no kind waits for another.

Look-ups of names have threads of their own (`enrichment/http_pool.py`), because they cannot be ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Literal, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Work = Literal[
    "backup", "body_size", "closing", "company_links", "duplicates", "exports", "metrics", "passwords", "plans", "refusals", "spool",
    "translate",
]  # fmt: skip
THREADS: dict[Work, int] = {
    "backup": 1,
    "body_size": 1,
    "closing": 1,
    "company_links": 1,
    "duplicates": 1,
    "exports": 2,
    "metrics": 1,
    "passwords": 1,
    "plans": 2,
    "refusals": 1,
    "spool": 2,
    "translate": 2,
}
"""The kinds of work, and the most threads of each; a thread is started when it is first needed."""

_pools: dict[Work, ThreadPoolExecutor] = {}


async def on_thread(work: Work, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a blocking function on a thread for this kind of work; return its result or raise its exception."""
    pool = _pools.get(work)
    if pool is None:
        pool = _pools[work] = ThreadPoolExecutor(THREADS[work], f"touchbase-{work}")
    return await asyncio.get_running_loop().run_in_executor(pool, partial(copy_context().run, call, *args, **kwargs))


def close_threads() -> None:
    """End the threads after their present work; later work starts new ones."""
    for work in list(_pools):
        _pools.pop(work).shutdown(wait=False)
