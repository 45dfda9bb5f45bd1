"""Long loops leave time for other tasks."""

from __future__ import annotations

import asyncio

import pytest

from touchbase.common import slices


async def test_in_slices__runs_other_tasks_after_each_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0)
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    items = [item async for item in slices.in_slices(range(100))]
    task.cancel()

    assert items == list(range(100))
    assert turns > 50
