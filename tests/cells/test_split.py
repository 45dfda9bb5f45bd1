"""`touchbase databases split` on two real servers: a primary, and its standby made by pg_basebackup."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from bench.server_process import free_port
from fault_tests.cluster import Cluster
from tests.cells.conftest import KEY
from tests.cli.conftest import Run, own_logging, run
from tests.conftest import Databases

from touchbase.routing import split
from touchbase.storage.postgres import split as sessions
from touchbase.storage.postgres.split import ServerSession

__all__ = ["own_logging", "run"]
pytestmark = pytest.mark.slow
LEAVING, STAYING = ("eu2", "eu3"), "eu1"
SETTINGS = "SELECT count(*) FROM pg_db_role_setting"


@dataclass
class Servers:
    """Two servers, and the command line of an installation with three databases at the first."""

    first: Cluster
    second: Cluster
    run: Run

    def split(self, *words: str, to: str = "") -> tuple[int, str]:
        """Run the command; return its status and what it printed."""
        result = self.run("databases", "split", *(LEAVING if words[:1] != ("eu2",) else ()), *words, "--to", to or self.second.address)
        return result.exit_code, " ".join(result.output.split())

    def answers(self) -> dict[str, str]:
        """Return where each database is, or why it does not answer."""
        lines = self.run("databases", "list").output.splitlines()[2:]
        where = {str(self.first.port): "first", str(self.second.port): "second"}
        return {
            line.split()[0]: where[line.rpartition(":")[2].partition("/")[0]] if " yes " in line else line.partition("no: ")[2]
            for line in lines
        }


def rows_of(cluster: Cluster, database: str) -> dict[str, Any]:
    """Return a digest of each table."""

    async def read() -> dict[str, Any]:
        connection = await asyncpg.connect(cluster.address.removesuffix("postgres") + database)
        tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        digest = "SELECT count(*), md5(string_agg(t::text, '|' ORDER BY t::text)) FROM {} t"
        digests = {name: tuple(await connection.fetchrow(digest.format(name))) for (name,) in tables}
        await connection.close()
        return digests

    return asyncio.run(read())


@pytest.fixture(scope="module")
def first() -> Iterator[Cluster]:
    """Not in pytest's own folder: where we are root, the server's user may not go there."""
    folder = Path(f"/tmp/touchbase-split-{os.getpid()}")
    folder.mkdir(mode=0o755)
    cluster = Cluster(folder / "first", free_port())
    try:
        cluster.create()
        cluster.execute("CREATE ROLE touchbase LOGIN PASSWORD 'touchbase'")
        yield cluster
    finally:
        cluster.remove()
        shutil.rmtree(folder)


@pytest.fixture
def installed(first: Cluster, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Run]:
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", KEY)
    monkeypatch.setenv("TOUCHBASE_DATABASE", f"sqlite:///{tmp_path}/home.db")
    assert run("migrate").exit_code == 0
    for name in (STAYING, *LEAVING):
        first.execute(f"CREATE DATABASE {name} OWNER touchbase")
        added = run("databases", "add", name, "--database", f"postgresql://touchbase:touchbase@127.0.0.1:{first.port}/{name}")
        assert added.exit_code == 0, added.output
        assert run("clients", "add", f"client-of-{name}", "--to", name).exit_code == 0
    yield run
    for name in (STAYING, *LEAVING):
        first.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.fixture
def servers(first: Cluster, installed: Run) -> Iterator[Servers]:
    second = Cluster(first.folder.parent / "second", free_port())
    try:
        second.follow(first, "-C", "-S", "second")
        yield Servers(first, second, installed)
    finally:
        second.remove()
        first.execute("SELECT count(pg_drop_replication_slot(slot_name)) FROM pg_replication_slots")


def test_split__moves_databases_to_the_promoted_standby_also_after_a_kill(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(ServerSession, "open_databases", killed)
        assert servers.split()[0] == 130
    assert servers.second.execute("SELECT pg_is_in_recovery()") is False
    status, printed = servers.split("--dry-run")
    assert (status, "eu2, eu3 would move to the second one; databases of this installation that would stay: eu1" in printed) == (0, True)
    assert "not at the second server: finish the split first" in servers.split("--drop", "--from", servers.first.address)[1]
    assert "a split has closed eu3: name the databases of that split too" in servers.split("eu2")[1]

    status, printed = servers.split()

    assert (status, "timeline 2" in printed, "slot" in printed) == (0, True, False), printed
    assert servers.answers() == {STAYING: "first", "eu2": "second", "eu3": "second"}
    assert "0 problems" in servers.run("doctor").output
    assert "served from the second server already" in servers.split()[1]
    for server, database in ((servers.first, "eu2"), (servers.second, STAYING)):
        with pytest.raises(asyncpg.ObjectNotInPrerequisiteStateError, match="not currently accepting connections"):
            rows_of(server, database)
    servers.first.execute("ALTER DATABASE eu2 ALLOW_CONNECTIONS true")
    assert rows_of(servers.first, "eu2") == rows_of(servers.second, "eu2")
    assert servers.run("clients", "add", "another", "--to", "eu2").exit_code == 0


def test_drop__drops_only_closed_copies_of_what_is_served_elsewhere(servers: Servers) -> None:
    assert servers.split()[0] == 0
    assert servers.first.execute("SELECT count(*) FROM pg_replication_slots") == 0
    status, printed = servers.split("--drop", "--from", servers.second.address)
    assert (status, "another split of this server" in printed) == (1, True)
    servers.first.execute("ALTER DATABASE eu2 ALLOW_CONNECTIONS true")
    status, printed = servers.split("--drop", "--from", servers.first.address)
    assert (status, "eu2 at the first server was not closed by a split: nothing was dropped" in printed) == (1, True)
    servers.first.execute("ALTER DATABASE eu2 ALLOW_CONNECTIONS false")

    status, printed = servers.split("--drop", "--from", servers.first.address)

    assert (status, printed) == (0, "dropped: eu2 at the first server dropped: eu3 at the first server dropped: eu1 at the second server")
    present = "SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database WHERE datname LIKE 'eu%'"
    assert (servers.first.execute(present), servers.second.execute(present)) == (STAYING, "eu2 eu3")
    assert servers.answers() == {STAYING: "first", "eu2": "second", "eu3": "second"}
    assert servers.split("--drop", "--from", servers.first.address)[1] == "there was no copy to drop"


def test_undo__serves_the_databases_where_they_were_and_the_standby_is_made_anew(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(ServerSession, "open_databases", killed)
        assert servers.split()[0] == 130
    assert "read-only" in servers.answers()["eu2"]

    assert servers.split("--undo")[0] == 0

    assert servers.answers() == {STAYING: "first", "eu2": "first", "eu3": "first"}
    assert servers.run("clients", "add", "another", "--to", "eu2").exit_code == 0
    status, printed = servers.split()
    assert (status, "was not promoted by a split of these databases: it may lack writes; make it anew" in printed) == (1, True)
    assert servers.answers()["eu2"] == "first"
    for name in LEAVING:  # as a split to another standby would leave them, if it was killed
        servers.first.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        servers.first.execute(f"ALTER DATABASE {name} SET touchbase.split = 'another'")
    assert_refused(servers.split(), "was not promoted by a split of these databases")


def killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_split__refuses_servers_that_are_not_ready_and_changes_nothing(
    servers: Servers, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = f"127.0.0.1:{servers.second.port}"
    for to, said in (
        (f"postgresql://postgres@127.0.0.1:{free_port()}/postgres", "the second server (--to): cannot connect to PostgreSQL"),
        (f"postgresql://touchbase@{host}/postgres", "its role is no superuser: name one that is, such as postgres"),
        (f"postgresql://postgres@{host}/eu2", "the session in the database eu2 would be in the way"),
        (f"host={host}", "write postgresql://USER:PASSWORD@HOST:PORT/NAME"),
    ):
        assert_refused(servers.split(to=to), said)
    if not databases.ordinary_by_itself:
        foreign = ("--from", servers.first.address)
        other = servers.run("databases", "split", *LEAVING, *foreign, "--to", databases.as_superuser(databases.migrated)).output
        assert "is no copy of the first one: make it with pg_basebackup" in " ".join(other.split()) or "write postgresql://" in other
    assert_refused(servers.split("eu2", "home"), "the home database stays")
    assert_refused(servers.split("eu2", "mars"), "there is no database 'mars'")
    with asyncio.Runner() as runner:
        another = runner.run(ServerSession.open(servers.first.address))
        assert_refused(servers.split(), "another split of this server is running")
        runner.run(another.close())
    monkeypatch.setattr(split, "MOST_LAG", -1)
    assert_refused(servers.split(), "bytes behind: wait until it is less than")
    monkeypatch.undo()


def test_split__refuses_a_standby_that_others_wait_for_or_that_does_not_stream(servers: Servers) -> None:
    def configure(cluster: Cluster, setting: str) -> None:
        cluster.execute(f"ALTER SYSTEM {setting}")
        cluster.execute("SELECT pg_reload_conf()")

    configure(servers.first, "SET synchronous_standby_names = '*'")
    servers.first.wait_for("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", 1)
    assert_refused(servers.split(), "there, take it out of synchronous_standby_names")
    configure(servers.first, "RESET synchronous_standby_names")
    servers.first.wait_for("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", 0)

    configure(servers.second, "SET synchronous_standby_names = 'db9'")
    servers.second.wait_for("SELECT current_setting('synchronous_standby_names')", "db9")
    assert_refused(servers.split(), "would wait for standbys that it has not (db9)")
    configure(servers.second, "RESET synchronous_standby_names")
    servers.second.wait_for("SELECT current_setting('synchronous_standby_names')", "")

    configure(servers.second, "SET primary_conninfo = ''")
    servers.second.wait_for("SELECT count(*) FROM pg_stat_wal_receiver", 0)
    assert_refused(servers.split(), "does not stream from the first one")
    assert servers.first.execute(SETTINGS) == 0


def test_split__serves_the_first_server_again_after_an_error(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "WAIT_SECONDS", 0.2)
    servers.second.execute("SELECT pg_wal_replay_pause()")
    servers.second.wait_for("SELECT pg_get_wal_replay_pause_state()", "paused")

    assert_refused(servers.split(), "the second server has not replayed the last writes within")

    assert servers.first.execute(SETTINGS) == 0
    assert servers.answers() == {STAYING: "first", "eu2": "first", "eu3": "first"}
    assert servers.run("clients", "add", "another", "--to", "eu2").exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--drop", "--undo"), "give one of --dry-run, --undo and --drop"), (("--drop",), "--drop needs --from")],
)
def test_split__refuses_options_that_do_not_go_together(run: Run, words: tuple[str, ...], said: str) -> None:
    refused = run("databases", "split", "eu2", "--to", "postgresql://postgres@db2/postgres", *words)

    assert (refused.exit_code, said in " ".join(refused.output.split())) == (2, True)


@pytest.mark.parametrize(
    ("address", "other", "expected"),
    [
        (
            "postgresql://tb:p%40w@db1:6432/eu?sslmode=require",
            "postgresql://postgres:x@db2/postgres",
            "postgresql://tb:p%40w@db2/eu?sslmode=require",
        ),
        (
            "postgresql://tb@a,b/eu?target_session_attrs=read-write&application_name=x",
            "postgresql://postgres@c:5433/postgres?sslmode=require",
            "postgresql://tb@c:5433/eu?application_name=x",
        ),
        (
            "postgresql://tb@c/eu",
            "postgresql://postgres@a,b/x?target_session_attrs=primary",
            "postgresql://tb@a,b/eu?target_session_attrs=primary",
        ),
    ],
)
def test_at_host_of__keeps_all_but_the_host(address: str, other: str, expected: str) -> None:
    assert split.at_host_of(address, other) == expected


def assert_refused(result: tuple[int, str], said: str) -> None:
    assert (result[0], said in result[1]) == (1, True), result[1]
