"""Start the whole set on this machine, and kill, freeze or switch its parts."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import pwd
import shutil
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncpg
from bench.server_process import CannotMeasure

from fault_tests.cluster import LOST, tools
from fault_tests.high_availability import files
from fault_tests.high_availability.files import HOME, Addresses

SEARCHED = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
PROGRAMS = {
    "etcd": "etcd-server",
    "patroni": "patroni",
    "patronictl": "patroni",
    "haproxy": "haproxy",
    "pgbouncer": "pgbouncer",
}
"""Programs of the set, and Debian's packages that have them."""
USER = "postgres"
"""The user that everything runs as when the tests run as root: PostgreSQL and PgBouncer refuse root. Debian's packages create it."""
PASSWORD = "change-me-4"
DATABASE = "touchbase"
START_SECONDS, PAUSE = 60.0, 0.1


def postgres_programs() -> Path | None:
    """Folder of the newest PostgreSQL of Debian's packages, 15 or later."""
    paths = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "postgres").exists() and path.parent.name.isdigit()]
    newest = max(paths, key=lambda path: int(path.parent.name), default=None)
    return newest if newest is not None and int(newest.parent.name) >= 15 else None


def missing() -> list[str]:
    """Names of the packages that this machine lacks."""
    packages = {package for program, package in PROGRAMS.items() if shutil.which(program, path=SEARCHED) is None}
    return sorted(packages | ({"postgresql"} if postgres_programs() is None else set()))


class Hosts:
    """etcd, two hosts with PostgreSQL and Patroni, HAProxy and PgBouncer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._addresses = Addresses.free()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._frozen: list[int] = []
        self._tls = ssl.create_default_context()

    def start(self) -> str:
        """Start everything; return the URL of Touchbase's empty database through PgBouncer and HAProxy."""
        programs = postgres_programs()
        if lacking := missing():
            raise CannotMeasure(f"these packages are not installed: {', '.join(lacking)}")
        assert programs is not None
        self._own_folder()
        self._tls = files.certificates(self._folder)
        for name in ("ca.pem", "host.pem", "host.key"):
            self._restrict(self._folder / name)
        for name in self._addresses.hosts:
            self._write(f"{name}.yml", files.patroni(name, self._addresses, self._folder, programs))
        self._write("haproxy.cfg", files.haproxy(self._addresses, self._folder))
        self._write("pgbouncer.ini", files.pgbouncer(self._addresses, self._folder))
        self._write("userlist.txt", f'"{DATABASE}" "{PASSWORD}"\n')
        self.start_etcd()
        self.start_host("db1")
        self.wait_for("a primary", lambda: self.primary() == "db1")
        self.start_host("db2")
        self.wait_for_standby()
        self._make_database()
        self._start("haproxy", "haproxy", "-db", "-f", f"{self._folder}/haproxy.cfg")
        self._start("pgbouncer", "pgbouncer", f"{self._folder}/pgbouncer.ini")
        url = f"postgresql://{DATABASE}:{PASSWORD}@{HOME}:{self._addresses.pgbouncer}/{DATABASE}"
        self.wait_for("a way to the primary", lambda: _value(url, "SELECT 1") == 1)
        return url

    def start_host(self, name: str) -> None:
        """Start Patroni, which starts PostgreSQL."""
        self._start(name, "patroni", f"{self._folder}/{name}.yml")

    def kill_host(self, name: str) -> None:
        """Send SIGKILL to PostgreSQL's first process and to Patroni."""
        postmaster = self._postmaster(name)
        _end(self._running.pop(name))
        os.kill(postmaster, signal.SIGKILL)

    def start_etcd(self) -> None:
        """Start etcd on its data."""
        self._start("etcd", "etcd", **files.etcd(self._addresses, self._folder))

    def kill_etcd(self) -> None:
        """Send SIGKILL to etcd."""
        _end(self._running.pop("etcd"))

    def freeze_host(self, name: str) -> None:
        """Stop every process of the host without closing a connection."""
        patroni, postmaster = self._running[name].pid, self._postmaster(name)
        self._frozen = [patroni, postmaster, *_children(patroni), *_children(postmaster)]
        for pid in self._frozen:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let the frozen processes go on."""
        for pid in self._frozen:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._frozen = []

    def switch_over(self) -> None:
        """Let the standby become the primary, as an operator does before maintenance."""
        leader = str(self.primary())
        names = ("--leader", leader, "--candidate", self.standby_of(leader))
        self._run("patronictl", "-c", f"{self._folder}/{leader}.yml", "switchover", "touchbase", *names, "--force")

    def primary(self) -> str | None:
        """Name of the host that holds the primary's lock."""
        return next((name for name, ports in self._addresses.hosts.items() if _status(ports.patroni, self._tls, "/primary") == 200), None)

    def standby_of(self, primary: str) -> str:
        """Name of the other host."""
        return next(name for name in self._addresses.hosts if name != primary)

    def waits_for_none(self) -> bool:
        """Return whether the primary commits without a standby."""
        return bool(self.on_primary("SELECT current_setting('synchronous_standby_names') = ''"))

    def wait_for_standby(self) -> float:
        """Wait until the primary waits for a standby at each commit, and that one may be promoted; return the seconds."""
        return self.wait_for("a synchronous standby", self._has_standby)

    def _has_standby(self) -> bool:
        # Patroni's own answers name a standby some seconds before it is one.
        leader = self.primary()
        written = _of_etcd(self._addresses.etcd, self._tls, "/service/touchbase/sync")
        is_noted = bool(leader) and written.get("leader") == leader and bool(written.get("sync_standby"))
        return is_noted and self.on_primary(_SYNCHRONOUS) == 1

    def on_primary(self, statement: str) -> Any:
        """Return the first value of a statement run on the primary as superuser; None if there is no primary."""
        name = self.primary()
        return None if name is None else _value(self._superuser(name), statement)

    def wait_for(self, what: str, is_so: Callable[[], bool]) -> float:
        """Wait until this is so; return the seconds."""
        began = time.perf_counter()
        while not is_so():
            if time.perf_counter() - began > START_SECONDS:
                raise CannotMeasure(f"there was not {what} within {START_SECONDS:.0f} s")
            if ended := [name for name, process in self._running.items() if process.poll() is not None]:
                raise CannotMeasure(f"{ended[0]} ended: {(self._folder / f'{ended[0]}.log').read_text(errors='replace')[-1000:]}")
            time.sleep(PAUSE)
        return time.perf_counter() - began

    def remove(self) -> None:
        """End all processes, and delete the files."""
        self.thaw()
        for name in ("pgbouncer", "haproxy", *self._addresses.hosts, "etcd"):
            if name in self._running:
                _end(self._running.pop(name))
        for name in self._addresses.hosts:
            with suppress(OSError, ValueError, IndexError):
                os.kill(self._postmaster(name), signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _make_database(self) -> None:
        self.on_primary(f"CREATE ROLE {DATABASE} LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD '{PASSWORD}'")
        self.on_primary(f"CREATE DATABASE {DATABASE} OWNER {DATABASE}")

    def _superuser(self, name: str) -> str:
        return f"postgresql://postgres:change-me-1@{HOME}:{self._addresses.hosts[name].postgres}/postgres"

    def _postmaster(self, name: str) -> int:
        return int((self._folder / name / "postmaster.pid").read_text().split()[0])

    def _own_folder(self) -> None:
        if os.geteuid() == 0:
            tools().ensure_prefix_permissions(self._folder)
            shutil.chown(self._folder, USER, USER)

    def _write(self, name: str, text: str) -> None:
        path = self._folder / name
        path.write_text(text, encoding="utf-8")
        self._restrict(path)

    def _restrict(self, path: Path) -> None:
        path.chmod(0o600)
        if os.geteuid() == 0:
            shutil.chown(path, USER, USER)

    def _start(self, name: str, program: str, *arguments: str, **environment: str) -> None:
        with (self._folder / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                _command(program, arguments), stdout=log, stderr=log, stdin=subprocess.DEVNULL, **self._as_user(environment)
            )

    def _run(self, program: str, *arguments: str) -> None:
        with (self._folder / f"{program}.log").open("ab") as log:
            done = subprocess.run(
                _command(program, arguments), stdout=log, stderr=log, stdin=subprocess.DEVNULL, check=False, **self._as_user({})
            )
        if done.returncode:
            raise CannotMeasure(f"{program}: {(self._folder / f'{program}.log').read_text(errors='replace')[-1000:]}")

    def _as_user(self, environment: Mapping[str, str]) -> dict[str, Any]:
        # Settings of the shell that runs the tests (Python's, PostgreSQL's) must not reach these programs.
        clean = {"PATH": SEARCHED, "HOME": str(self._folder), "LANG": "C.UTF-8", **environment}
        value: dict[str, Any] = {"env": clean, "cwd": self._folder}
        if os.geteuid() == 0:
            value |= {"user": USER, "group": USER, "extra_groups": [pwd.getpwnam(USER).pw_gid]}
        return value


_SYNCHRONOUS = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _command(program: str, arguments: Sequence[str]) -> list[str]:
    result = shutil.which(program, path=SEARCHED)
    assert result is not None
    return [result, *arguments]


def _of_etcd(port: int, tls: ssl.SSLContext, key: str) -> dict[str, Any]:
    """Return the JSON stored under a key of etcd; empty if there is none."""
    requested = json.dumps({"key": base64.b64encode(key.encode()).decode()}).encode()
    try:
        with urllib.request.urlopen(f"https://{HOME}:{port}/v3/kv/range", requested, timeout=2, context=tls) as answer:
            entries = json.load(answer).get("kvs", [])
        value: dict[str, Any] = json.loads(base64.b64decode(entries[0]["value"])) if entries else {}
    except (OSError, ValueError):
        return {}
    return value


def _status(port: int, tls: ssl.SSLContext, path: str) -> int:
    """Status of Patroni's answer; 0 if there is none."""
    try:
        with urllib.request.urlopen(f"https://{HOME}:{port}{path}", timeout=2, context=tls) as answer:
            status: int = answer.status
            return status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except OSError:
        return 0


def _value(url: str, statement: str) -> Any:
    try:
        return asyncio.run(_fetched(url, statement))
    except LOST:
        return None


async def _fetched(url: str, statement: str) -> Any:
    connection = await asyncpg.connect(url, timeout=5)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


def _children(parent: int) -> Iterator[int]:
    """Yield the processes that this one started, and theirs."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == parent:
                child = int(path.parent.name)
                yield child
                yield from _children(child)
