"""A client is moved while webhooks and requests come, by a command that is killed at one step after the other: all that was acknowledged
is there once, and what was not is refused with 503."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.asgi_client import ApiClient, Clock
from tests.cells.conftest import KEY, OPEN
from tests.cells.test_server import SENT, until_open

from touchbase.app import Application, assembled
from touchbase.cells.sql import find_place
from touchbase.clients.sql.clients import create_client, find_client
from touchbase.clients.sql.removal import count_client_rows
from touchbase.config import Settings
from touchbase.consistency.service import Verified, verify
from touchbase.routing.router import CellRouter
from touchbase.routing.set_up import add_cell

pytestmark = pytest.mark.serial
CLIENT = "acme"
PAUSE = 0.1
"""Seconds between two webhooks, and between two requests: what waits at the end is applied in a moment."""
COMMAND = """import os, signal, sys
from collections import Counter
from touchbase import stores
really, calls, kill_at = stores.open_client_rows, Counter(), sys.argv.pop(1)
async def watched(url):
    rows = await really(url)
    for name in ("fence", "insert", "execute", "open_fence"):
        setattr(rows, name, counted(name, getattr(rows, name)))
    return rows
def counted(name, method):
    async def call(*args, **named):
        calls[name] += 1
        if f"{name} {calls[name]}" == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return await method(*args, **named)
    return call
stores.open_client_rows = watched
from touchbase.cli import cli
cli(prog_name="touchbase")
"""
STEPS = ("fence 1", "insert 1", "insert 9", "open_fence 2", "open_fence 3")
"""Before the fence, while rows are copied, behind the switch before the client is served, and while what is left is removed."""


@dataclass
class Load:
    """Webhooks and requests about new people, one after the other; each has its own address."""

    call: ApiClient
    acknowledged: set[str] = field(default_factory=set)
    refused: int = 0
    is_on: bool = True

    async def webhooks(self) -> None:
        number = 0
        while self.is_on:
            number += 1
            address = f"hook-{number}@example.com"
            reply = await self.call.post(f"/public/emailcampaign-webhook/{CLIENT}", {**SENT, "to_email": address})
            assert reply.status == 200, reply.body
            self.acknowledged.add(address)
            await asyncio.sleep(PAUSE)

    async def requests(self) -> None:
        number = 0
        while self.is_on:
            number += 1
            address = f"request-{number}@example.com"
            reply = await self.call.post("/public/v2/contacts", {"email": address}, x_client_id=CLIENT)
            if reply.status == 503:
                assert "retry-after" in reply.headers
                self.refused += 1
            else:
                assert reply.status == 201, reply.body
                self.acknowledged.add(address)
            await asyncio.sleep(PAUSE)


async def move(settings: Settings, target: str, kill_at: str = "") -> tuple[int, str]:
    """Run the command; return its status and what it printed."""
    words = (kill_at, "clients", "move", CLIENT, "--to", target, "--database", settings.database)
    environment = {"TOUCHBASE_ENCRYPTION_KEY": KEY, "PYTHONPATH": ":".join(sys.path)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", COMMAND, *words, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, printed.decode()


async def contacts(call: ApiClient) -> list[str]:
    """Return the addresses of all contacts."""
    addresses: list[str] = []
    target: str | None = "/public/v2/contacts?limit=200"
    while target is not None:
        page = (await call.get(target, x_client_id=CLIENT)).json()
        addresses += [contact["email"] for contact in page["data"]]
        target = f"/public/v2/contacts?limit=200&cursor={page['next_cursor']}" if page["next_cursor"] else None
    return addresses


@pytest.fixture
async def application(engine_url: str, tmp_path: Path, cell_urls: list[str]) -> AsyncIterator[Application]:
    settings = Settings.read({}, database=engine_url, auth="none", encryption_key=KEY, spool=str(tmp_path / "spool"))
    async with assembled(settings) as assembly:
        assert isinstance(assembly.store, CellRouter)
        await add_cell(assembly.store, "eu", cell_urls[0], OPEN, 7)
        await until_open(assembly.store, 1)
        yield assembly


async def test_move__under_load_and_killed_at_each_step_loses_and_doubles_nothing(application: Application) -> None:
    router, call = application.store, ApiClient(application.parts, Clock())
    assert isinstance(router, CellRouter)
    client = await router.write(create_client(CLIENT, "", 5, cell="home"))
    load = Load(call)
    senders = [asyncio.create_task(load.webhooks()), asyncio.create_task(load.requests())]
    try:
        here, there = "home", "eu"
        for number, step in enumerate(STEPS):
            status, printed = await move(application.settings, there, step)
            assert status < 0, printed
            if number % 2 == 0:  # else the operator thinks better of it
                here, there = there, here
            status, printed = await move(application.settings, here)
            assert status == 0, printed
    finally:
        load.is_on = False
        await asyncio.gather(*senders)

    place = await router.home.read(find_place(CLIENT))
    assert place is not None
    assert router.placement.cell_of(client.number) == place.cell
    listed: list[str] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(240):
            while {*(listed := await contacts(call))} != load.acknowledged:
                pass  # webhooks wait in the spool and in the inbox
    assert (load.acknowledged - {*listed}, {*listed} - load.acknowledged) == (set(), set())
    assert len(listed) == len(load.acknowledged)
    assert load.refused > 0
    assert [difference async for difference in verify(router, client.number, Verified())] == []
    rows = {cell: await store.read(count_client_rows(client.number)) for cell, store in router.stores().items()}
    assert [cell for cell, count in rows.items() if count] == [place.cell]
    present = await router.read(find_client(CLIENT, 0))
    assert present is not None
    assert present.state == "active"
