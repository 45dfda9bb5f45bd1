"""What events are about is read for many requests at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from touchbase.event_log.models import LoggedEvent
from touchbase.outgoing.shared_reads import ObjectReader, Shown

STORE: Any = None
"""The reads of these tests need none."""


def event(sequence: int) -> LoggedEvent:
    return LoggedEvent(1, "contact.updated", 0, sequence=sequence)


class Reads:
    """Reads that end when a test lets them; an object is the number of its read."""

    def __init__(self) -> None:
        self.events: list[list[int]] = []
        self.ends = asyncio.Semaphore(0)
        self.fails = False

    async def objects(self, store: Any, client: int, events: Sequence[LoggedEvent]) -> list[Any]:
        self.events.append([event.sequence for event in events])
        number = len(self.events)
        await self.ends.acquire()
        if self.fails:
            raise OSError("the store is away")
        return [(number, event.sequence) for event in events]

    def reader(self) -> ObjectReader:
        async def record(*about: Any) -> None:
            return None

        return ObjectReader(STORE, Shown(self.objects, record))


async def test_requests_of_one_moment__share_a_read_and_later_ones_the_next() -> None:
    reads = Reads()
    reader = reads.reader()
    first = [asyncio.create_task(reader.of(1, event(number))) for number in (1, 2)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    later = [asyncio.create_task(reader.of(1, event(number))) for number in (3, 4, 5)]
    task = asyncio.create_task(reader.of(2, event(1)))
    await asyncio.sleep(0)
    for _ in range(3):
        reads.ends.release()

    assert await asyncio.gather(*first) == [(1, 1), (1, 2)]
    assert [sequence for _, sequence in await asyncio.gather(*later)] == [3, 4, 5]
    assert (await task)[1] == 1
    assert sorted(reads.events) == [[1], [1, 2], [3, 4, 5]]


async def test_read_that_fails__fails_for_its_requests_only() -> None:
    reads = Reads()
    reader = reads.reader()
    reads.fails = True
    reads.ends.release()
    failed = await asyncio.gather(reader.of(1, event(1)), reader.of(1, event(2)), return_exceptions=True)
    reads.fails = False
    reads.ends.release()

    assert [type(item) for item in failed] == [OSError, OSError]
    assert await reader.of(1, event(3)) == (2, 3)


async def test_request_that_is_given_up__leaves_the_others_theirs() -> None:
    reads = Reads()
    reader = reads.reader()
    tasks = [asyncio.create_task(reader.of(1, event(number))) for number in (1, 2)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    reads.ends.release()

    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    assert await tasks[1] == (1, 2)
