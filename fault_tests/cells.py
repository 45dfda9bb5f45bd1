"""An installation with three cells under test: its stores, each of which can be killed alone, its server, and moves of clients."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import asyncpg
from bench.server_process import ROOT, free_port

from fault_tests.cluster import Cluster
from fault_tests.fault_server import ENCRYPTION_KEY
from fault_tests.plan import Plan
from fault_tests.process import Process, is_frozen
from touchbase.clients.sql.removal import CLIENT_TABLES
from touchbase.encryption import EncryptionKeys
from touchbase.routing import CellRouter, add_cell
from touchbase.storage import open_store

NAMES = ("home", "eu", "us")
SERVER = "server"
END_SECONDS = 90.0
PAUSE = 0.005
OWN_ROWS = {"client": "id", "moving_client": "number"}
"""Tables with rows of a client whose number is not in a column `client`."""
DONE_BEFORE = ("the client lives in this cell already", "the client does not move")
"""What a move says that was killed behind its last step and is run again."""


@dataclass(slots=True)
class Outage:
    """A time in which a store or the server was killed and not back yet."""

    what: str
    began: float
    ended: float = float("inf")


@dataclass(slots=True)
class Installation:
    """The stores by the name of their cell, and the server."""

    plan: Plan
    folder: Path
    stores: dict[str, str]
    clusters: dict[str, Cluster] = field(default_factory=dict)
    """The PostgreSQL server of each cell; empty on SQLite."""
    outages: list[Outage] = field(default_factory=list)
    port: int = field(default_factory=free_port)
    server: Process = field(init=False)

    @property
    def built_in(self) -> list[str]:
        """What is built into the server and the moves."""
        return [f"quick-moves:{ENCRYPTION_KEY}", *([] if self.plan.broken is None else [self.plan.broken])]

    def start_server(self) -> None:
        """Start the server, at the same port each time."""
        self.server = Process(self.stores["home"], self.folder, "--port", f"{self.port}", injected=self.built_in)
        self._is_back(SERVER)

    def kill(self, what: str) -> None:
        """Send SIGKILL to the server, or to the PostgreSQL server of a cell."""
        self.outages.append(Outage(what, time.perf_counter()))
        if what == SERVER:
            self.server.kill()
        else:
            self.clusters[what].kill()

    def start(self, what: str) -> None:
        """Start again what was killed."""
        if what == SERVER:
            self.start_server()
            return
        self.clusters[what].start()
        self._is_back(what)

    def _is_back(self, what: str) -> None:
        for each in self.outages:
            if each.what == what and each.ended == float("inf"):
                each.ended = time.perf_counter()

    def touchbase(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        command = [sys.executable, "-m", "touchbase", *arguments, "--database", self.stores["home"]]
        environment = _environment() | {"TOUCHBASE_ENCRYPTION_KEY": ENCRYPTION_KEY}
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment, timeout=END_SECONDS)

    def query(self, cell: str, sql: str) -> list[tuple[Any, ...]]:
        """Run a query in a cell's store, as a superuser, who sees the rows of all clients."""
        if cell in self.clusters:
            database = self.stores[cell].rpartition("/")[2]
            return asyncio.run(_fetch(f"{self.clusters[cell].address.rpartition('/')[0]}/{database}", sql))
        connection = apsw.Connection(self.stores[cell].removeprefix("sqlite:///"), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_busy_timeout(10_000)
            return [*connection.execute(sql)]
        finally:
            connection.close()

    def away(self, *cells: str, back_seconds: float) -> list[Outage]:
        """The outages of the server and of these cells, each with the seconds in which calls may be refused after it."""
        return [replace(each, ended=each.ended + back_seconds) for each in self.outages if each.what in (*cells, SERVER)]

    def move_state(self, number: int) -> str:
        """The state of a client's move; blank if it does not move."""
        found = self.query("home", f"SELECT state FROM client_move WHERE number = {number}")
        return str(found[0][0]) if found else ""

    def number_of(self, client_id: str, cell: str) -> int:
        """The number of a client that lives in this cell."""
        return int(self.query(cell, f"SELECT id FROM client WHERE client_id = '{client_id}'")[0][0])

    def rows_left(self, cell: str, number: int, *, lives_there: bool = False) -> list[str]:
        """What a cell has of a client, with the counts: of its moves only, if it lives there."""
        tables = {} if lives_there else {name: "client" for table in CLIENT_TABLES for name in (table.name, *table.children)}
        tables |= {"moving_change": "number"} | OWN_ROWS
        if lives_there:
            del tables["client"]
        parts = [f"SELECT '{name}', count(*) FROM {name} WHERE {column} = {number}" for name, column in tables.items()]
        found = self.query(cell, " UNION ALL ".join(parts))
        found += [(f"trigger {row[0]}", 1) for row in self.query(cell, self._triggers(cell))]
        if cell not in self.clusters:
            orphans = "SELECT count(*) FROM search_index WHERE rowid / 2 NOT IN (SELECT id FROM contact UNION ALL SELECT id FROM company)"
            found += [("words of search", row[0]) for row in self.query(cell, orphans)]
        return [f"{name} {count}" for name, count in found if count]

    def _triggers(self, cell: str) -> str:
        """What a move has made in the schema."""
        if cell in self.clusters:
            return (
                "SELECT tgname::text FROM pg_trigger WHERE tgname LIKE 'moving\\_%' UNION ALL "
                "SELECT proname::text FROM pg_proc WHERE proname LIKE 'moving\\_%'"
            )
        return "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'moving\\_%' ESCAPE '\\'"


async def _fetch(address: str, sql: str) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(address)
    try:
        return [tuple(row) for row in await connection.fetch(sql)]
    finally:
        await connection.close()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("TOUCHBASE_")}


@contextmanager
def installation(plan: Plan, engine: str) -> Iterator[Installation]:
    """Make three stores of an engine, on PostgreSQL with a server each, and start the server."""
    folder = plan.new_folder()
    clusters = {name: Cluster(plan.new_folder(), free_port()) for name in NAMES} if engine == "postgresql" else {}
    try:
        for each in clusters.values():
            each.create()
        stores = {name: clusters[name].new_database() if clusters else f"sqlite:///{folder}/{name}.db" for name in NAMES}
        asyncio.run(_add_cells(stores))
        made = Installation(plan, folder, stores, clusters)
        made.start_server()
        try:
            yield made
        finally:
            made.server.kill()
    finally:
        for each in clusters.values():
            each.remove()


async def _add_cells(stores: dict[str, str]) -> None:
    opened = partial(open_store, encryption_keys=EncryptionKeys(ENCRYPTION_KEY))
    router = CellRouter(await opened(stores["home"]), opened)
    try:
        for name, url in stores.items():
            if name != "home":
                await add_cell(router.home, name, url, opened, time.time_ns() // 1000)
    finally:
        await router.close()


class Mover:
    """A running `touchbase clients move`, which writes its steps to a file and may stop at one of them."""

    def __init__(self, place: Installation, client_id: str, arguments: Sequence[str], stop_at: str = "") -> None:
        self._steps = place.plan.new_folder() / "steps"
        ways = [*place.built_in, f"move-steps:{self._steps}{stop_at and ':'}{stop_at}"]
        command = [sys.executable, "-m", "fault_tests.fault_server", ",".join(ways), "clients", "move", client_id, *arguments]
        self._output = self._steps.with_name("output")
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [*command, "--database", place.stores["home"], "--json"], stdout=output, stderr=output, cwd=ROOT, env=_environment()
            )

    def steps(self) -> list[tuple[float, str]]:
        """The steps so far, each with the time at which it began."""
        with suppress(FileNotFoundError):
            lines = [line.split(" ", 1) for line in self._steps.read_text(encoding="utf-8").splitlines()]
            return [(float(at), step) for at, step in lines]
        return []

    def has_begun(self) -> bool:
        """Wait for the first step; return False if the process ended before."""
        return self._wait(lambda: bool(self.steps()))

    def has_stopped(self) -> bool:
        """Wait until the process stops at its step; return False if it ended instead."""
        return self._wait(lambda: is_frozen(Path(f"/proc/{self._process.pid}")))

    def ended_within(self, seconds: float) -> bool:
        """Wait for so many seconds; return whether the process ended before."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
            return True
        return False

    def _wait(self, reached: Any) -> bool:
        until = time.perf_counter() + END_SECONDS
        while self._process.poll() is None and time.perf_counter() < until:
            with suppress(FileNotFoundError, ProcessLookupError):
                if reached():
                    return self._process.poll() is None
            time.sleep(PAUSE)
        return False

    def send(self, number: int) -> None:
        """Send a signal, if the process is there."""
        self._process.send_signal(number)

    def end(self) -> bool:
        """Wait for the end, after `END_SECONDS` kill it; return whether the move is done."""
        try:
            status = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return False
        return status == 0 or (status == 1 and any(each in self.output() for each in DONE_BEFORE))

    def output(self) -> str:
        """What the process has written."""
        return self._output.read_text(encoding="utf-8", errors="replace").strip()

    def has_said_why(self) -> bool:
        """Return whether the last line says why the move is not done; a process that was killed could not."""
        return self._process.returncode < 0 or self.output().rpartition("\n")[2].startswith("Error: ")

    def result(self) -> dict[str, Any]:
        """What a move that is done says about itself; empty if it was done before."""
        with suppress(json.JSONDecodeError):
            _, brace, rest = self.output().partition("{")  # warnings come before
            found: dict[str, Any] = json.loads(brace + rest)
            return found
        return {}
