"""A server and a worker of an installation with cells: each cell has workers of its own, also one that is added while they run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.asgi_client import ApiClient, Clock
from tests.cells.conftest import KEY, OPEN

from touchbase.app import Application, assembled, make_application_server, standalone_workers
from touchbase.clients.sql.clients import create_client
from touchbase.config import Settings
from touchbase.errors import NotFound
from touchbase.routing.cell_store import CellStore
from touchbase.routing.router import CellRouter
from touchbase.routing.set_up import add_cell

SENT = {"event_type": "EMAIL_SENT", "to_email": "ada@example.com", "time_sent": "2026-11-20T09:30:00Z", "campaign_name": "One"}


@pytest.fixture
def settings(engine_url: str) -> Settings:
    return Settings.read({}, database=engine_url, auth="none", encryption_key=KEY)


@pytest.fixture
async def server(settings: Settings) -> AsyncIterator[Application]:
    async with assembled(settings) as application:
        yield application


async def until_open(router: CellRouter, count: int) -> None:
    async with asyncio.timeout(30):
        while sum(cell.reason is None for cell in router.cells.values()) < count:
            await router.refresh()


async def until_applied(call: ApiClient, client_id: str) -> None:
    async with asyncio.timeout(30):
        while not (await call.get("/public/v2/contacts", x_client_id=client_id)).json()["data"]:
            pass


async def received(call: ApiClient, router: CellRouter, cell: str) -> str:
    """Receive a webhook for a new client of a cell; return the client's id."""
    client_id = f"client-of-{cell}"
    await router.write(create_client(client_id, "", 5, cell=cell))
    reply = await call.post(f"/public/emailcampaign-webhook/{client_id}", SENT)
    assert reply.status == 200, reply.body
    return client_id


async def test_server__uses_a_cell_that_is_added_while_it_runs(server: Application, cell_urls: list[str]) -> None:
    router = server.store
    assert isinstance(router, CellRouter)
    call = ApiClient(server.parts, Clock())

    for name, url in zip(("eu", "us"), cell_urls, strict=True):
        await add_cell(router, name, url, OPEN, 7)
    await until_open(router, 2)

    for cell in ("home", "eu", "us"):
        await until_applied(call, await received(call, router, cell))


async def test_worker__once_applies_what_waits_in_every_cell(engine_url: str, settings: Settings, cell_urls: list[str]) -> None:
    without = Settings.read({}, database=engine_url, auth="none", encryption_key=KEY, inbox_worker=False)
    async with assembled(without) as application:
        router = application.store
        assert isinstance(router, CellRouter)
        await add_cell(router, "eu", cell_urls[0], OPEN, 7)
        await until_open(router, 1)
        for cell in ("home", "eu"):
            await received(ApiClient(application.parts, Clock()), router, cell)

    async with standalone_workers(settings, databases=["eu"]) as workers:
        of_eu, _ = await workers.drain()
    async with standalone_workers(settings) as workers:
        report, _ = await workers.drain()

    assert (of_eu.ended, report.ended) == ({"applied": 1}, {"applied": 1})


async def test_worker__of_some_databases_leaves_the_others_alone(engine_url: str, settings: Settings, cell_urls: list[str]) -> None:
    without = Settings.read({}, database=engine_url, auth="none", encryption_key=KEY, inbox_worker=False)
    async with assembled(without) as application:
        router, call = application.store, ApiClient(application.parts, Clock())
        assert isinstance(router, CellRouter)
        await add_cell(router, "eu", cell_urls[0], OPEN, 7)
        await until_open(router, 1)
        at_home, in_eu = await received(call, router, "home"), await received(call, router, "eu")
        async with standalone_workers(settings, with_maintenance=True, databases=["eu"]) as workers:
            running = asyncio.create_task(workers.run())
            await until_applied(call, in_eu)
            workers.stop()
            await running
        async with standalone_workers(settings, databases=["home"]) as workers:
            report, _ = await workers.drain()

    assert report.ended == {"applied": 1}, at_home


async def test_worker__opens_no_database_that_it_does_not_work_on(
    settings: Settings, cell_urls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = await OPEN(settings.database)
    for name, url in zip(("eu", "us"), cell_urls, strict=True):
        await add_cell(home, name, url, OPEN, 7)
    await home.close()
    opening, reading = CellStore.open, CellRouter.refresh
    opened: list[str] = []
    turns = asyncio.Semaphore(0)

    async def noted(self: CellStore, open_store: Any) -> bool:
        opened.append(self.cell.name)
        return await opening(self, open_store)

    async def counted(self: CellRouter) -> None:
        await reading(self)
        turns.release()

    monkeypatch.setattr(CellStore, "open", noted)
    monkeypatch.setattr(CellRouter, "refresh", counted)
    monkeypatch.setattr("touchbase.routing.router.POLL_SECONDS", 0)
    async with standalone_workers(settings, with_maintenance=True, databases=["eu"]):
        for _ in range(8):  # the start, and then turns that would open what could not be opened
            await turns.acquire()

    assert opened == ["eu"]


async def test_worker__refuses_a_database_that_is_not_in_the_directory(settings: Settings) -> None:
    with pytest.raises(NotFound, match="there is no database mars; there are home"):
        async with standalone_workers(settings, databases=["mars"]):
            pass


async def test_server__starts_while_a_cell_is_down_and_uses_it_when_it_is_back(
    settings: Settings, cell_urls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = await OPEN(settings.database)
    await home.write(create_client("of-home", "", 1))
    await add_cell(home, "eu", cell_urls[0], OPEN, 7)
    await home.close()
    really, down = CellStore.open, True

    async def open_unless_down(self: CellStore, open_store: object) -> bool:
        if down:
            self._note("connection refused")
            return False
        return await really(self, open_store)  # type: ignore[arg-type]

    monkeypatch.setattr(CellStore, "open", open_unless_down)
    async with assembled(settings) as application:
        ready = await ApiClient(application.parts, Clock()).get("/public/v2/contacts", x_client_id="of-home")
        warnings = list(application.store.warnings)
        down = False
        router = application.store
        assert isinstance(router, CellRouter)
        await until_open(router, 1)
        assert [warning for warning in router.warnings if "eu" in warning] == []

    assert ready.status == 200
    assert any("database eu cannot be used" in warning for warning in warnings)


async def test_server__stores_what_a_server_before_it_has_spooled(settings: Settings, cell_urls: list[str], tmp_path: Path) -> None:
    home = await OPEN(settings.database)
    await add_cell(home, "eu", cell_urls[0], OPEN, 7)
    await home.close()
    spooling = replace(settings, spool=str(tmp_path / "spool"))
    async with assembled(spooling) as application:
        router, call = application.store, ApiClient(application.parts, Clock())
        assert isinstance(router, CellRouter)
        await until_open(router, 1)
        await router.write(create_client("client-of-eu", "", 5, cell="eu"))
        await router.cells[1].close()
        assert (await call.post("/public/emailcampaign-webhook/client-of-eu", SENT)).status == 200

    async with assembled(spooling) as application:
        await until_applied(ApiClient(application.parts, Clock()), "client-of-eu")


async def test_server_that_stops__has_all_workers_finish_at_once(server: Application) -> None:
    names = {"Dispatcher", "JobWorker", "CompanyLinker", "InboxWorker", "FetchWorker", "AnswerWorker"}
    working = [task for task in asyncio.all_tasks() if task.get_name() in names]

    make_application_server(server, None).on_stopping()

    async with asyncio.timeout(30):
        await asyncio.gather(*working)
    assert {task.get_name() for task in working} == names
