"""A PostgreSQL to measure on: the one in TOUCHBASE_TEST_POSTGRES, else one started in a folder of ours."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from bench.pgserver import pgserver

REPORTED_SETTINGS = (
    "server_version",
    "fsync",
    "synchronous_commit",
    "wal_sync_method",
    "shared_buffers",
    "min_wal_size",
    "max_wal_size",
    "is_superuser",
)
IN_USE = (
    "ALTER SYSTEM SET min_wal_size = '1GB'",
    "ALTER SYSTEM SET max_wal_size = '4GB'",
    "SELECT pg_reload_conf()",
    "SELECT count(pg_logical_emit_message(false, 'bench', repeat('x', 8 * 1024 * 1024))) FROM generate_series(1, 128)",
    "CHECKPOINT",
    "ALTER SYSTEM RESET max_wal_size",
    "SELECT pg_reload_conf()",
)
"""Fills a log of its largest size, which is then kept for use again, as it is on a server that has run for a while.

A new one makes each file of 16 MB when it is full of the last, and all who commit wait for 30 to 60 ms meanwhile.
"""


@dataclass
class Postgres:
    """A server, and the databases that we made on it."""

    address: str
    settings: dict[str, str]
    pid: int | None = None
    """Of its first process, when we have started it."""
    made: list[str] = field(default_factory=list)
    role: str | None = None
    """An ordinary role that owns the databases: as a superuser the server would spare itself the row-level security."""

    def new_database(self) -> str:
        """The address of a new, empty database."""
        self._make_role()
        name = f"touchbase_bench_{os.getpid()}_{len(self.made) + 1}"
        self._execute(f"CREATE DATABASE {name}" + (f" OWNER {self.role}" if self.role else ""))
        self.made.append(name)
        parts = urlsplit(self.address)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit(parts._replace(netloc=f"{self.role}:{self.role}@{host}" if self.role else parts.netloc, path=f"/{name}"))

    def drop_databases(self) -> None:
        """Drop the databases that we made: as long as they are there, the server vacuums and analyses them beside what is measured next."""
        while self.made:
            self._execute(f"DROP DATABASE {self.made.pop()} WITH (FORCE)")

    def drop_all(self) -> None:
        """Drop what we made."""
        self.drop_databases()
        if self.role is not None:
            self._execute(f"DROP ROLE {self.role}")

    def kill(self) -> None:
        """End the server as a crash does; nothing is left to drop."""
        assert self.pid is not None
        os.kill(self.pid, signal.SIGQUIT)
        self.made.clear()
        self.role = None

    def _make_role(self) -> None:
        if self.role is None and self.settings["is_superuser"] == "on":
            self.role = f"touchbase_bench_{os.getpid()}"
            self._execute(f"CREATE ROLE {self.role} LOGIN PASSWORD '{self.role}'")

    def break_in(self) -> None:
        """Bring a new server to the state of one that is in use."""
        for statement in IN_USE:
            self._execute(statement)
        self.settings = asyncio.run(_with(self.address, _settings))

    def checkpoint(self) -> None:
        """Let the server write out now what it would write out in the middle of the next round."""
        self._execute("CHECKPOINT")

    def _execute(self, statement: str) -> None:
        asyncio.run(_with(self.address, lambda connection: connection.execute(statement)))


@contextmanager
def postgres(folder: Path) -> Iterator[Postgres]:
    """A PostgreSQL server; ours has its own defaults but for `IN_USE`, durability included, and is gone at the end."""
    if address := os.environ.get("TOUCHBASE_TEST_POSTGRES"):
        with _connected(address) as server:
            yield server
        return
    started: Any = pgserver().get_server(folder / "postgres", cleanup_mode="delete")
    try:
        with _connected(started.get_uri()) as server:
            server.pid = started.get_pid()
            server.break_in()
            yield server
    finally:
        with suppress(FileNotFoundError):  # a figure has killed it
            started.cleanup()


@contextmanager
def _connected(address: str) -> Iterator[Postgres]:
    server = Postgres(address, asyncio.run(_with(address, _settings)))
    try:
        yield server
    finally:
        server.drop_all()


async def _settings(connection: Any) -> dict[str, str]:
    return {name: await connection.fetchval("SELECT current_setting($1, true)", name) for name in REPORTED_SETTINGS}


async def _with(address: str, use: Any) -> Any:
    connection = await asyncpg.connect(address)
    try:
        work: Coroutine[Any, Any, Any] = use(connection)
        return await work
    finally:
        await connection.close()
