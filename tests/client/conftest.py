"""A whole server in a thread of the test, on a real socket, and clients of it."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.conftest import ENGINES

from touchbase.app import assembled, first_key, make_application_server
from touchbase.config import Settings
from touchbase.encryption.keys import encode_key, new_key
from touchbase.server.server import Server, listen
from touchbase_client import AsyncTouchbase, Retries, Touchbase

KEY = encode_key(new_key())
NUMBERS = itertools.count(1)
QUICK = Retries(attempts=5, first_pause=0.01, longest_pause=2.0)


@dataclass
class Served:
    """A server with keys, on a store of one engine."""

    database: str
    port: int = 0
    key: str = ""
    server: Server | None = None
    thread: threading.Thread | None = None
    errors: list[BaseException] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, again on the same port."""
        ready = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(ready,))
        self.thread.start()
        ready.wait(60)
        assert self.errors == []

    def stop(self) -> None:
        """Stop it, after its requests in progress."""
        if self.thread is not None:
            assert self.server is not None
            self.server.stop()
            self.thread.join(60)
            self.thread = None

    def _run(self, ready: threading.Event) -> None:
        try:
            asyncio.run(self._serve(ready))
        except BaseException as error:
            self.errors.append(error)
        ready.set()

    async def _serve(self, ready: threading.Event) -> None:
        mail = {"TOUCHBASE_SMTP_URL": "smtp://127.0.0.1:9", "TOUCHBASE_SMTP_FROM": "touchbase@agency.example"}
        settings = Settings.read(mail, database=self.database, auth="api-key", encryption_key=KEY)
        async with assembled(settings) as application:
            self.key = await first_key(application.store) or self.key
            self.server = make_application_server(application, None)
            self.server.on_started = ready.set
            listener = listen("127.0.0.1", self.port)
            self.port = listener.getsockname()[1]
            await self.server.serve([listener])


@pytest.fixture(scope="module", params=ENGINES)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Served]:
    """A server for the tests of a module, once for each engine; each test has a client of its own there."""
    if request.param == "sqlite":
        file = tmp_path_factory.mktemp("served") / "touchbase.db"
        shutil.copyfile(sqlite_template, file)
        database = f"sqlite:///{file}"
    else:
        databases = request.getfixturevalue("databases")
        databases.clean()
        database = databases.migrated
    created = Served(database)
    created.start()
    yield created
    created.stop()


@pytest.fixture
def admin(served: Served) -> Iterator[Touchbase]:
    """An administrator of the server."""
    with Touchbase(served.url, served.key, retries=QUICK) as touchbase:
        yield touchbase


@pytest.fixture
def client_id(admin: Touchbase) -> str:
    """A new client of the server."""
    created = f"acme-{next(NUMBERS)}"
    admin.admin.clients.create({"client_id": created, "name": "Acme"})
    return created


@pytest.fixture
def tb(admin: Touchbase, client_id: str) -> Touchbase:
    """The server, acting for this client."""
    return admin.for_client(client_id)


@pytest.fixture
async def atb(served: Served, client_id: str) -> AsyncIterator[AsyncTouchbase]:
    """The same, asynchronously."""
    async with AsyncTouchbase(served.url, served.key, client_id=client_id, retries=QUICK) as async_touchbase:
        yield async_touchbase
