"""Pages in the making: their bytes together, their places, and who waits."""

from __future__ import annotations

import asyncio

from touchbase.http.page_turns import LEAST_BYTES, PLACES, PageTurns

MIB = 1_048_576
MOST = 8 * MIB
EVIL, GOOD = 1, 2


async def test_page__alone_may_have_all_bytes_of_the_setting() -> None:
    turns = PageTurns()

    for _ in range(3):
        async with turns.place(EVIL, MOST) as size:
            assert size == MOST


async def test_pages__at_once_have_few_bytes_together_and_the_rest_wait() -> None:
    turns, sizes = PageTurns(), list[int]()

    async def make() -> None:
        sizes.append(await turns.acquire(EVIL, MOST))

    waiting = [asyncio.create_task(make()) for _ in range(60)]
    await asyncio.sleep(0)

    assert len(sizes) == PLACES * 3 // 4
    assert min(sizes) == LEAST_BYTES
    assert sum(sizes) < 2 * MOST + PLACES * LEAST_BYTES
    async with asyncio.timeout(5), turns.place(GOOD, MOST) as size:
        assert size == LEAST_BYTES
    for task in waiting:
        task.cancel()


async def test_pages__get_smaller_while_receivers_read_nothing() -> None:
    turns = PageTurns()
    turns.unread_left = lambda: 8 * MIB

    async with turns.place(EVIL, MOST) as size:
        assert size == 2 * MIB
    turns.unread_left = lambda: 0
    async with turns.place(EVIL, MOST) as size:
        assert size == LEAST_BYTES
        assert await turns.acquire(GOOD, 10_000) == 10_000


async def test_whole_pages__have_all_bytes_and_wait_for_each_other() -> None:
    turns = PageTurns()
    for client in (EVIL, GOOD):
        assert await turns.acquire(client, MOST, is_full_page=True) == MOST

    third = asyncio.create_task(turns.acquire(EVIL, MOST, is_full_page=True))
    await asyncio.sleep(0)
    assert not third.done()
    turns.release(GOOD, MOST, is_full_page=True)
    assert await third == MOST
