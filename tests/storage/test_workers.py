"""The base of the workers: rounds, wake-ups, and a store that cannot be used."""

from __future__ import annotations

import asyncio
import logging

import pytest

from touchbase.errors import StoreUnavailable
from touchbase.sql.worker import IDLE_POLL_SECONDS, IDLE_ROUNDS, Worker


class Rounds(Worker):
    """Does rounds that raise these errors, one after the other, and then none."""

    log, label, failure = logging.getLogger("touchbase.tests"), "rounds", "a round failed"
    poll_seconds = 1_000.0

    def __init__(self, *errors: Exception) -> None:
        super().__init__()
        self.errors = [*errors]
        self.done = asyncio.Queue[None]()

    async def _round(self) -> float:
        self.done.put_nowait(None)
        if self.errors:
            raise self.errors.pop(0)
        return self.poll_seconds


async def test_worker__does_a_round_when_it_is_woken_and_ends_when_it_is_stopped() -> None:
    rounds = Rounds()
    running = asyncio.create_task(rounds.run())

    for _ in range(3):
        await asyncio.wait_for(rounds.done.get(), 10)
        rounds.wake()
    await asyncio.wait_for(rounds.done.get(), 10)
    rounds.stop()

    await asyncio.wait_for(running, 10)
    assert rounds.done.empty()


class Paced(Worker):
    """Records its pauses; round 30 finds work, and a wake-up comes before the end of round 60."""

    log, label, failure = logging.getLogger("touchbase.tests"), "rounds", "a round failed"
    poll_seconds, slows_down = 0.5, True

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    async def _round(self) -> float:
        if len(self.pauses) == 30:
            self._idle_rounds = 0
        if len(self.pauses) == 60:
            self.wake()
        return self.poll_seconds

    async def _wait(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if len(self.pauses) == 90:
            self.stop()


async def test_worker__looks_less_often_while_there_is_nothing_to_do() -> None:
    paced = Paced()

    await paced.run()

    busy, idle = [0.5] * IDLE_ROUNDS, IDLE_POLL_SECONDS
    assert paced.pauses == [*busy, *[idle] * 10, *busy, *[idle] * 10, 0.5, *busy, *[idle] * 9]


async def test_worker__logs_a_failure_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    rounds = Rounds(ValueError("broken"))
    running = asyncio.create_task(rounds.run())
    await asyncio.wait_for(rounds.done.get(), 10)

    rounds.wake()
    await asyncio.wait_for(rounds.done.get(), 10)
    rounds.stop()
    await asyncio.wait_for(running, 10)

    assert [record.getMessage() for record in caplog.records] == ["a round failed"]


async def test_worker__is_not_woken_while_its_store_cannot_be_used(caplog: pytest.LogCaptureFixture) -> None:
    rounds = Rounds(StoreUnavailable("its disk is full", retry_after=1_000))
    running = asyncio.create_task(rounds.run())
    await asyncio.wait_for(rounds.done.get(), 10)

    rounds.wake()
    for _ in range(10):
        await asyncio.sleep(0)

    assert rounds.done.empty()
    assert "its disk is full" in caplog.text
    rounds.stop()
    await asyncio.wait_for(running, 10)
