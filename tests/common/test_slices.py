"""Long loops leave time for other tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import idna
import pytest
from tests.asgi_client import ApiClient

from touchbase.common import slices

ADDRESSES = [f"{number}@münchen.example" for number in range(200)]


@asynccontextmanager
async def counted_turns() -> AsyncIterator[Callable[[], int]]:
    """Yield a function that returns how often another task has had its turn."""
    turns = 0

    async def other_task() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other_task())
    yield lambda: turns
    task.cancel()


async def test_in_slices__runs_other_tasks_after_each_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0)

    async with counted_turns() as turns:
        items = [item async for item in slices.in_slices(range(100))]

    assert items == list(range(100))
    assert turns() > 50


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/public/v2/contacts/match", {"items": [{"email": address} for address in ADDRESSES]}),
        ("/public/v2/contacts/match", {"items": [*({"email": address} for address in ADDRESSES), {"odd": 1}]}),
        ("/public/v2/companies/match", {"items": [{"domain": address} for address in ADDRESSES]}),
        ("/public/v2/contacts/batch", {"commands": [{"op": "create", "body": {"email": address}} for address in ADDRESSES]}),
        ("/public/v2/suppressions", {"entries": [{"value": address} for address in ADDRESSES]}),
        ("/public/v2/suppressions/check", {"items": [{"email": address} for address in ADDRESSES]}),
    ],
)
async def test_many_addresses__leave_turns_to_other_tasks(
    call: ApiClient, path: str, body: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {name: items[:1] for name, items in body.items() if isinstance(items, list)}
    await call.post(path, few)
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0)

    async with counted_turns() as turns:
        encode, at = idna.alabel, set[int]()
        monkeypatch.setattr(idna, "alabel", lambda label: at.add(turns()) or encode(label))
        reply = await call.post(path, body)

    assert reply.status < 300, reply.body
    assert len(at) >= len(ADDRESSES)
