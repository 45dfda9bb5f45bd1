"""The log of a store that is down: a line when that begins, a reminder a minute, and a line when it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, cast

import pytest
from tests.cells.conftest import KEY, OPEN

from touchbase.app import Application, assembled
from touchbase.cells.models import HOME
from touchbase.clients.sql.clients import create_client
from touchbase.config import Settings
from touchbase.errors import Overloaded, StoreUnavailable
from touchbase.routing.router import CellRouter
from touchbase.routing.set_up import add_cell
from touchbase.sql.outage import QUIET_SECONDS, REMINDER_SECONDS, Outage

DOWN = StoreUnavailable("the disk is full", retry_after=0)
FULL = Overloaded("too many writes are waiting")


class Log:
    """An outage, its clock, and what it logs."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "touchbase")
        self._caplog = caplog
        self.now = 1000.0
        self.outage = Outage("the database eu", lambda: self.now)

    def lines(self) -> list[str]:
        """The lines since the last call."""
        get_messages = [record.getMessage() for record in self._caplog.records if record.name == "touchbase.storage"]
        self._caplog.clear()
        return get_messages


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Log:
    return Log(caplog)


def test_outage__is_logged_once_for_all_that_wait(log: Log) -> None:
    for _ in range(50):
        for what in ("the inbox", "jobs", "maintenance"):
            log.outage.waits(what, DOWN)

    assert log.lines() == ["the database eu cannot be used; what needs it waits, or gets 503: the disk is full"]


def test_outage__is_repeated_once_a_minute(log: Log) -> None:
    log.outage.waits("jobs", DOWN)
    log.lines()

    for _ in range(130):
        log.now += 1
        log.outage.waits("jobs", DOWN)

    assert log.lines() == [
        f"the database eu could not be used for {seconds} seconds and still cannot: the disk is full" for seconds in (60, 120)
    ]
    assert REMINDER_SECONDS == 60


def test_outage__ends_when_all_that_failed_works(log: Log) -> None:
    log.outage.waits("the inbox of a client", DOWN)
    log.outage.waits("jobs", DOWN)
    log.lines()

    log.now += 5
    log.outage.works("looking for deliveries")
    log.outage.works("jobs")
    before = log.lines()
    log.outage.works("the inbox of a client")

    assert (before, log.lines()) == ([], ["the database eu can be used again, after 5 seconds"])


def test_outage__ends_though_some_work_is_never_tried_again(log: Log) -> None:
    log.outage.waits("the inbox of a client", DOWN)
    log.lines()

    log.now += QUIET_SECONDS
    log.outage.works("jobs")

    assert log.lines() == ["the database eu can be used again, after 15 seconds"]


def test_outage__that_begins_again_is_logged_again(log: Log) -> None:
    for _ in range(2):
        log.outage.waits("jobs", DOWN)
        log.outage.works("jobs")
        log.outage.works("jobs")

    assert len(log.lines()) == 4


def test_outage__does_not_begin_with_a_full_queue(log: Log) -> None:
    for _ in range(50):
        log.outage.waits("jobs", FULL)
        log.outage.works("jobs")

    assert log.lines() == ["jobs waits: too many writes are waiting"]


class Switched:
    """A store that can be switched off."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.is_down = False
        self.refused: list[str] = []

    def __getattr__(self, name: str) -> Any:
        result = getattr(self._store, name)
        if name not in ("read", "write", "work", "check", "vacuum", "analyze"):
            return result

        async def call(*values: Any, **named: Any) -> Any:
            if self.is_down:
                self.refused.append(type(values[0]).__name__ if name in {"read", "write"} else name)
                raise DOWN
            return await result(*values, **named)

        return call


WORKERS = {"busy_clients", "due_jobs", "due_fetches", "lead_shards", "clients_to_link", "client_numbers"}
"""What the workers of a store ask first."""


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        for _ in iter(condition, True):
            await asyncio.sleep(0)


@pytest.mark.parametrize("cell", ["home", "eu"])
async def test_server__logs_the_outage_of_one_store_once(
    cell: str, engine_url: str, cell_urls: list[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every worker of a store is refused, many times, and then works again."""
    caplog.set_level(logging.INFO, "touchbase")
    for pause in ("routing.router.PAUSE_SECONDS", "retention.service.Retention.poll_seconds"):
        monkeypatch.setattr(f"touchbase.{pause}", 0.05)
    home = await OPEN(engine_url)
    await add_cell(home, "eu", cell_urls[0], OPEN, 7)
    await home.close()
    switched: dict[str, Switched] = {}

    async def opened(url: str, **named: Any) -> Any:
        switched[url] = Switched(await OPEN(url, **{key: value for key, value in named.items() if key != "encryption_keys"}))
        return switched[url]

    monkeypatch.setattr("touchbase.app.open_store", opened)
    async with assembled(Settings.read({}, database=engine_url, auth="none", encryption_key=KEY)) as application:
        await _fail_and_return(application, switched[engine_url if cell == "home" else cell_urls[0]], cell, caplog)


async def _fail_and_return(application: Application, store: Switched, cell: str, caplog: pytest.LogCaptureFixture) -> None:
    router = cast(CellRouter, application.store)
    await until(lambda: all(item.reason is None for item in router.cells.values()))
    await router.write(create_client("client", "", 5, cell=cell))
    caplog.clear()

    store.is_down = True
    await until(lambda: len(store.refused) > 100 and set(store.refused) >= WORKERS)
    begun = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    outage = router.outage if cell == "home" else router.cells[router.placement.cell_of_name("client") or HOME].outage
    store.is_down = False
    await until(lambda: outage._since is None)

    name = "the store" if cell == "home" else "the database eu"
    assert begun == [f"{name} cannot be used; what needs it waits, or gets 503: the disk is full"]
    assert [record.getMessage().partition(",")[0] for record in caplog.records if record.levelno >= logging.INFO] == [
        begun[0].partition(",")[0],
        f"{name} can be used again",
    ]
