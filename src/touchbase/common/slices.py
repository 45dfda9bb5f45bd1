"""Slices: long loops on the event loop, in pieces of a few milliseconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")

SLICE_SECONDS = 0.005
"""How long a loop runs before other tasks get their turn."""


async def in_slices(items: Iterable[T]) -> AsyncIterator[T]:
    """Yield the items; after each slice of time other tasks run."""
    until = time.perf_counter() + SLICE_SECONDS
    for item in items:
        if time.perf_counter() > until:
            await asyncio.sleep(0)
            until = time.perf_counter() + SLICE_SECONDS
        yield item
