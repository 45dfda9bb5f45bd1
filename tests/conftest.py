"""Fixtures for all tests: a fresh store and database of each engine."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import apsw
import asyncpg
import pytest
from bench.pgserver import pgserver
from tests.slow_tests import function_of, slow_functions

from touchbase.encryption.keys import EncryptionKeys, encode_key, new_key
from touchbase.sql.migrations import packaged
from touchbase.sql.store import Store
from touchbase.storage.postgres import engine as postgres_engine
from touchbase.storage.sqlite import engine as sqlite_engine
from touchbase.storage.sqlite.connection import open_writer
from touchbase.storage.sqlite.schema import migrate
from touchbase.stores import open_store

OPENING = pytest.MonkeyPatch()
"""Stores are opened thousands of times. Servers that tests start do all of it."""
OPENING.setattr(postgres_engine, "POOLER_ROUNDS", 0)  # there is no pooler; the search takes a third of the time
OPENING.setattr(sqlite_engine, "READERS", 2)  # each reads the schema, in a tenth of the time
OPENING.setattr(sqlite_engine, "LONG_READERS", 1)

pytest_plugins = ["tests.asgi_client", "tests.examples", "tests.house"]

ENGINES = ("sqlite", "postgresql")
ENCRYPTION_KEYS = EncryptionKeys(encode_key(new_key()))
"""Without an encryption key PostgreSQL keeps no secrets."""


RUNNING = Path(__file__).parents[1] / ".pytest_cache" / "running"
"""One file per test process with the name of its running test, to find the test that hung."""
WORKER = os.environ.get("PYTEST_XDIST_WORKER")
MOST_PROCESSES = 4
"""Each starts a PostgreSQL and imports the suite, for 40 s of a processor; with more of them the slowest test decides."""
MEMORY = Path("/dev/shm")
ENOUGH_MEMORY = 2 << 30
"""Bytes. A run needs some 500 MB; containers often have 64 MB there."""
DISK = os.environ.setdefault("PYTEST_DISK_TMPDIR", tempfile.gettempdir())
"""The folder for temporary files on disk, for tests of durability."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "slow: starts programs or searches long for one fault, so only in `make test-all`; also the tests in slow_tests.txt"
    )
    config.addinivalue_line("markers", "slow_on_postgresql: slow there; SQLite runs it each time, with the same plans")
    config.addinivalue_line(
        "markers", "weekly: repeats on more data, on the other engine or with broken builds what others prove: in `make test-all` only"
    )
    config.addinivalue_line("markers", "serial: a fault run, which waits more than it works: two at a time, after all other tests")
    if WORKER is not None:
        config.pluginmanager.register(RunningTest(WORKER))
        return
    RUNNING.mkdir(parents=True, exist_ok=True)
    for file in RUNNING.iterdir():
        file.unlink(missing_ok=True)
    keep_temporary_files_in_memory()
    if config.getoption("dist", "no") == "no":
        config.pluginmanager.register(RunningTest("main"))


SLOW = slow_functions()
TESTS = Path(__file__).parent
BY_CONTRACT = frozenset({
    "adapters", "auth", "bench", "cli", "client", "clients", "common", "company_links", "connections", "console", "custom_fields",
    "do_not_contact", "enrichment", "exports", "history", "http", "imports", "inbox", "integrations", "loading", "mcp", "messages",
    "rate_limit", "relay", "reports", "retention", "revyops", "server", "statuses", "suppression", "tracing",
    "cells/test_cli.py", "cells/test_commands.py", "cells/test_outage.py", "cells/test_server.py",
    "erasure/test_api.py", "erasure/test_erasure_list.py", "erasure/test_listed_addresses.py", "erasure/test_requests.py",
    "event_log/test_more_events.py",
    "changes/test_reverts.py::test_an_import_of_10000_rows__is_reverted_the_next_day_but_for_three",
    "jobs/test_job_api.py",
    "merging/test_any_order.py",
    "outgoing/test_agency_month.py", "outgoing/test_api.py", "outgoing/test_blocklists.py", "outgoing/test_event_samples.py",
    "outgoing/test_filters.py", "outgoing/test_mail.py", "outgoing/test_many_endpoints.py", "outgoing/test_operation.py",
    "outgoing/test_preview.py", "outgoing/test_slack.py", "outgoing/test_write_back.py", "outgoing/test_write_back_loops.py",
    "projection/test_absorbed_objects.py", "projection/test_api_writes.py", "projection/test_crm_merges.py",
    "projection/test_custom_budget.py", "projection/test_equal_times.py", "projection/test_former_owners.py",
    "projection/test_known_events.py", "projection/test_merged_records.py", "projection/test_object_fields.py",
    "projection/test_other_person.py", "projection/test_repeats.py", "projection/test_separate_objects.py",
    "projection/test_time_zones.py",
    "records/test_conditional.py", "records/test_custom_fields.py", "records/test_dry_run.py", "records/test_external_ids.py",
    "records/test_patch.py", "records/test_put.py", "records/test_timeline.py", "records/test_unknown_members.py",
    "records/test_value_history.py",
})  # fmt: skip
"""Folders, files and names of tests that ask through the API, or of no store: CI runs them on SQLite. On PostgreSQL it runs the contract of
the store, its plans, row-level security, races, merges, erasures, searches, and the order of events by the examples and programs of
`projection/reference_model`: the rules of a record are in no statement."""


def pytest_itemcollected(item: pytest.Item) -> None:
    slow_on_this_engine = item.get_closest_marker("slow_on_postgresql") and "[postgresql" in item.name
    if slow_on_this_engine or not SLOW.isdisjoint({function_of(item.nodeid), function_of(item.nodeid).split(" ")[0]}):
        item.add_marker("slow")
    path, name = item.path.relative_to(TESTS), item.name.partition("[")[0]
    if "[postgresql" in item.name and not BY_CONTRACT.isdisjoint({path.parts[0], path.as_posix(), f"{path}::{name}"}):
        item.add_marker("weekly")


def pytest_collectstart() -> None:
    """Collect no garbage while tests are collected: to look for it among ever more modules and tests takes half of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from now on, but not modules and tests, which stay."""
    gc.freeze()
    gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """The processes of `-n auto`: one more than processors, as tests wait for browsers, servers and jobs; at most `MOST_PROCESSES`.

    One on a server of yours: tests end all connections of the service there.
    """
    return 1 if os.environ.get("TOUCHBASE_TEST_POSTGRES") else min(MOST_PROCESSES, (os.cpu_count() or 1) + 1)


def keep_temporary_files_in_memory() -> None:
    """Put what tests and the programs that they start write to temporary folders into memory, where there is enough."""
    try:
        enough = shutil.disk_usage(MEMORY).free >= ENOUGH_MEMORY and os.access(MEMORY, os.W_OK | os.X_OK)
    except OSError:
        return
    if enough and "TMPDIR" not in os.environ:
        folder = MEMORY / f"touchbase-tests-{os.getuid()}"
        folder.mkdir(mode=0o755, exist_ok=True)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files whose every test is slow (or serial) where such tests are left out, and those without a serial test where
    only such tests run: importing them takes a minute.
    """
    only_serial = config.option.markexpr.split(" and ")[0] == "serial"
    left_out = [mark for mark in ("slow", "serial", "weekly") if f"not {mark}" in config.option.markexpr.split(" and ")]
    if not (left_out or only_serial) or collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    if only_serial:
        return "mark.serial" not in text or None
    return any(f"\npytestmark = pytest.mark.{mark}\n" in text for mark in left_out) or None


class RunningTest:
    """Writes the name of the running test to a file."""

    def __init__(self, process: str) -> None:
        self._file = RUNNING / process

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._file.write_text(f"{nodeid}\n")

    def pytest_runtest_logfinish(self) -> None:
        self._file.unlink(missing_ok=True)


EMPTY_TABLES = """
SET session_replication_role = replica; -- rows that another row refers to go too
DO $$
DECLARE each record;
BEGIN
  -- A connection that was ended may still be in a transaction.
  EXECUTE (SELECT 'LOCK TABLE ' || string_agg(format('%I', tablename), ', ') FROM pg_tables WHERE schemaname = current_schema());
  FOR each IN SELECT oid, relname FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
    AND relname NOT IN ('migration', 'id_block') AND pg_relation_size(oid) > 0
  LOOP
    IF pg_relation_size(each.oid) > 65536 THEN
      EXECUTE format('TRUNCATE %I CASCADE', each.relname);
    ELSE
      EXECUTE format('DELETE FROM %I', each.relname);
    END IF;
  END LOOP;
  UPDATE id_block SET next = 1;
END $$
"""
"""Removes all rows but the migrations. Most tables have none or a few: to truncate those takes five times as long as to delete the rows."""


class Databases:
    """PostgreSQL databases on one server: new empty ones, and those with the schema that tests use in turn.

    They belong to an ordinary role, and their addresses name it: row-level security holds in every test. Only where
    we come as one already (TOUCHBASE_TEST_POSTGRES) it is that one. Making and dropping a database takes half a second,
    emptying its tables a few milliseconds.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._made = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._admin: Any = self._run(asyncpg.connect(server))
        self._prefix = f"touchbase_test_{os.getpid()}"
        self._role = self._prefix if self._run(self._admin.fetchval("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")) else None
        if self._role is not None:
            self._run(self._admin.execute(f"CREATE ROLE {self._role} LOGIN CREATEDB PASSWORD '{self._role}'"))
        self.migrated = self.empty()
        self._run(self._migrate())
        self._cells: list[str] = []

    def empty(self) -> str:
        """The address of a new database without tables."""
        self._made += 1
        url = self._address(f"{self._prefix}_{self._made}")
        self.create(url)
        return url

    def create(self, url: str) -> None:
        """Make a database without tables at this address."""
        self._run(self._admin.execute(f"CREATE DATABASE {_name(url)}" + (f" OWNER {self._role}" if self._role else "")))

    @property
    def ordinary_by_itself(self) -> bool:
        """Whether the server's own role is held by row-level security, so that there is no other."""
        return self._role is None

    def as_superuser(self, url: str) -> str:
        """The same store, reached as the role that made it: no row-level security, where that is a superuser."""
        value = urlsplit(url)
        return urlunsplit(urlsplit(self._server)._replace(path=value.path, query=value.query))

    def _address(self, name: str) -> str:
        parts = urlsplit(self._server)
        if self._role is not None:
            parts = parts._replace(netloc=f"{self._role}:{self._role}@{parts.netloc.rpartition('@')[2]}")
        return urlunsplit(parts._replace(path=f"/{name}"))

    def clean(self) -> None:
        """Make the migrated database as new, whoever is still connected to it."""
        self._run(self._clean())

    def cells(self, count: int) -> list[str]:
        """The addresses of databases with the schema and nothing in them, for cells; the next test gets the same."""
        while len(self._cells) < count:
            self._cells.append(self.empty())
            self._run(self._make_store(self._cells[-1]))
        for url in self._cells[:count]:
            self._run(self._clean_cell(url))
        return self._cells[:count]

    def execute(self, url: str, sql: str) -> None:
        """Run a statement in a database, whose row-level security does not hold it back."""
        self._run(self._execute(url, sql))

    def copy(self, url: str) -> str:
        """Make a copy of a database; return its address."""
        self._made += 1
        copy = self._address(f"{self._prefix}_{self._made}")
        self._run(self._admin.fetch("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", _name(url)))
        owner = f" OWNER {self._role}" if self._role else ""
        self._run(self._admin.execute(f"CREATE DATABASE {_name(copy)} TEMPLATE {_name(url)}{owner}"))
        return copy

    def hide(self, url: str) -> None:
        """Let there be no database at this address, until `show`."""
        self._run(self._admin.fetch("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", _name(url)))
        self._run(self._admin.execute(f"ALTER DATABASE {_name(url)} RENAME TO {_name(url)}_hidden"))

    def show(self, url: str) -> None:
        """Let a hidden database be there again, in place of one that has been made since."""
        self._run(self._admin.execute(f"DROP DATABASE IF EXISTS {_name(url)} WITH (FORCE)"))
        self._run(self._admin.execute(f"ALTER DATABASE {_name(url)}_hidden RENAME TO {_name(url)}"))

    def drop(self, url: str) -> None:
        self._run(self._admin.execute(f"DROP DATABASE {_name(url)} WITH (FORCE)"))

    def close(self) -> None:
        self._run(self._cleaner.close())
        for url in (self.migrated, *self._cells):
            self.drop(url)
        if self._role is not None:
            left = "SELECT datname FROM pg_database d JOIN pg_roles r ON r.oid = d.datdba WHERE r.rolname = $1"
            for row in self._run(self._admin.fetch(left, self._role)):
                self._run(self._admin.execute(f"DROP DATABASE {row['datname']} WITH (FORCE)"))
            self._run(self._admin.execute(f"DROP ROLE {self._role}"))
        self._run(self._admin.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _make_store(self, url: str) -> None:
        await (await open_store(url)).close()

    async def _migrate(self) -> None:
        await self._make_store(self.migrated)
        connection = await asyncpg.connect(self.migrated)
        self._blocks = [row["name"] for row in await connection.fetch("SELECT name FROM id_block")]
        await connection.close()
        self._cleaner: Any = await asyncpg.connect(self.as_superuser(self.migrated))

    async def _clean(self) -> None:
        try:
            await self._clean_with(self._cleaner, self.migrated)
        except (asyncpg.InterfaceError, asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError):  # some tests end all connections
            self._cleaner = await asyncpg.connect(self.as_superuser(self.migrated))
            await self._clean_with(self._cleaner, self.migrated)

    async def _execute(self, url: str, sql: str) -> None:
        connection = await asyncpg.connect(self.as_superuser(url))
        await connection.execute(sql)
        await connection.close()

    async def _clean_cell(self, url: str) -> None:
        cleaner = await asyncpg.connect(self.as_superuser(url))
        await self._clean_with(cleaner, url)
        await cleaner.close()

    async def _clean_with(self, cleaner: Any, url: str) -> None:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid != $2"
        await self._admin.fetch(others, _name(url), cleaner.get_server_pid())
        await cleaner.execute(EMPTY_TABLES)
        await cleaner.execute("DELETE FROM id_block WHERE NOT name = ANY($1)", self._blocks)

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _name(url: str) -> str:
    return urlsplit(url).path[1:]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a real PostgreSQL: the one in TOUCHBASE_TEST_POSTGRES, else one started for this run."""
    if touchbase_test_postgres := os.environ.get("TOUCHBASE_TEST_POSTGRES"):
        yield touchbase_test_postgres
        return
    with tempfile.TemporaryDirectory(prefix="touchbase-pg-", ignore_cleanup_errors=True) as folder:
        server = pgserver().get_server(Path(folder) / "data", cleanup_mode="delete")
        yield server.get_uri()
        server.cleanup()


def with_postgres_tools() -> dict[str, str]:
    """The environment, PostgreSQL's own tools first in its path: the newest that came with the package for tests."""
    folders = Path(pgserver().__file__).parent.glob("*/bin")
    newest = max(folders, key=lambda folder: float(subprocess.check_output([folder / "pg_dump", "--version"], text=True).split()[-1]))
    return {**os.environ, "PATH": f"{newest}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="session")
def databases(postgres_server: str) -> Iterator[Databases]:
    """Databases for stores."""
    new_databases = Databases(postgres_server)
    yield new_databases
    new_databases.close()


@pytest.fixture
def postgres_url(databases: Databases) -> str:
    """A PostgreSQL database with the whole schema and nothing in it."""
    databases.clean()
    return databases.migrated


@pytest.fixture
def empty_postgres_url(databases: Databases) -> Iterator[str]:
    """A new PostgreSQL store without tables."""
    url = databases.empty()
    yield url
    databases.drop(url)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the whole schema and nothing in it, to be copied: that takes a tenth of the time of its migrations."""
    path = tmp_path_factory.mktemp("template") / "store.db"
    connection = open_writer(str(path), durable=False)
    migrate(connection.cursor(), packaged("sqlite"))
    connection.close()
    return path


@pytest.fixture
def sqlite_url(tmp_path: Path, sqlite_template: Path) -> str:
    """A SQLite file with the whole schema and nothing in it."""
    shutil.copyfile(sqlite_template, tmp_path / "touchbase.db")
    return f"sqlite:///{tmp_path}/touchbase.db"


@pytest.fixture
def empty_sqlite_url(tmp_path: Path) -> str:
    """A SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path}/touchbase.db"


@pytest.fixture(params=ENGINES)
def engine_url(request: pytest.FixtureRequest) -> str:
    """A fresh store's address, once for each engine."""
    return str(request.getfixturevalue({"sqlite": "sqlite_url", "postgresql": "postgres_url"}[request.param]))


@pytest.fixture
async def store(engine_url: str) -> AsyncIterator[Store]:
    """A fresh store, once for each engine."""
    store = await open_store(engine_url, encryption_keys=ENCRYPTION_KEYS)
    yield store
    await store.close()


def names_in(folder: Path) -> list[str]:
    """The names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


def bytes_in(folder: Path) -> bytes:
    """The bytes of all files in a folder."""
    return b"".join(path.read_bytes() for path in folder.iterdir())


ExecuteSql = Callable[..., Awaitable[list[tuple[Any, ...]]]]


@pytest.fixture
def execute_sql(engine_url: str) -> ExecuteSql:
    """Run SQL on the store's database, outside the store and without row-level security; `?` is a parameter."""

    async def execute(statement: str, *values: object) -> list[tuple[Any, ...]]:
        if engine_url.startswith("sqlite"):
            with apsw.Connection(engine_url.removeprefix("sqlite:///")) as connection:
                connection.set_busy_timeout(5_000)
                return connection.execute(statement, values).fetchall()
        first, *remaining_statement = statement.split("?")
        connection = await asyncpg.connect(engine_url, server_settings={"touchbase.clients": "all"})
        try:
            numbered = first + "".join(f"${n}{part}" for n, part in enumerate(remaining_statement, 1))
            return [*map(tuple, await connection.fetch(numbered, *values))]
        finally:
            await connection.close()

    return execute


@pytest.fixture
async def memory(sqlite_template: Path) -> AsyncIterator[Store]:
    """A SQLite store, for behaviour that does not depend on the engine."""
    with tempfile.TemporaryDirectory(prefix="touchbase-memory-") as folder:
        shutil.copyfile(sqlite_template, Path(folder) / "store.db")
        store = await open_store(f"sqlite:///{folder}/store.db", encryption_keys=ENCRYPTION_KEYS)
        yield store
        await store.close()
