"""Migrations: the same schema by every way, nothing run twice, and refusals that say what to do."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path

import apsw
import asyncpg
import pytest
from tests.storage.old_store import KEYS, make_old_postgres, make_old_sqlite
from tests.storage.schemas import postgres_schema as postgres_schema_of
from tests.storage.schemas import sqlite_schema as sqlite_schema_of

from touchbase.clients.sql.clients import list_clients
from touchbase.errors import UnusableStore
from touchbase.sql.migrations import Migration, packaged, pending
from touchbase.storage.postgres import schema as postgres_schema
from touchbase.storage.sqlite import schema as sqlite_schema
from touchbase.stores import open_store

TWO = [Migration("1001_first", "CREATE TABLE a (x BIGINT);"), Migration("1002_second", "CREATE TABLE b (y BIGINT);")]


@pytest.mark.parametrize("version", range(len(packaged("sqlite"))))
async def test_migrate__brings_every_earlier_sqlite_store_to_the_current_schema(tmp_path, version: int) -> None:
    connection = apsw.Connection(f"{tmp_path}/old.db")
    sqlite_schema.migrate(connection.cursor(), packaged("sqlite")[:version])
    connection.close()

    for name in ("old", "fresh"):
        await (await open_store(f"sqlite:///{tmp_path}/{name}.db")).close()

    assert sqlite_schema_of(f"{tmp_path}/old.db") == sqlite_schema_of(f"{tmp_path}/fresh.db")


async def test_open_store__leaves_a_sqlite_file_of_another_application_unchanged(tmp_path) -> None:
    connection = apsw.Connection(f"{tmp_path}/theirs.db")
    connection.execute("CREATE TABLE users (x); CREATE TABLE orders (x)")
    connection.close()
    before = (tmp_path / "theirs.db").read_bytes()

    with pytest.raises(UnusableStore, match=r"another application: it has tables \(orders, users\)"):
        await open_store(f"sqlite:///{tmp_path}/theirs.db")

    assert (tmp_path / "theirs.db").read_bytes() == before


async def test_open_store__leaves_a_postgresql_database_of_another_application_unchanged(empty_postgres_url) -> None:
    connection = await asyncpg.connect(empty_postgres_url)
    await connection.execute("CREATE TABLE users (x int)")
    before = await postgres_schema_of(empty_postgres_url)

    with pytest.raises(UnusableStore, match=r"another application: it has tables \(users\)"):
        await open_store(empty_postgres_url)

    assert await postgres_schema_of(empty_postgres_url) == before
    await connection.execute("CREATE SCHEMA ours")
    await connection.close()
    await (await open_store(f"{empty_postgres_url}{'&' if '?' in empty_postgres_url else '?'}search_path=ours")).close()


@pytest.mark.parametrize("version", range(1, len(packaged("postgres")) + 1))
async def test_migrate__brings_every_earlier_postgresql_store_to_the_current_schema(empty_postgres_url, postgres_url, version: int) -> None:
    connection = await asyncpg.connect(empty_postgres_url)
    await postgres_schema.migrate(connection, packaged("postgres")[:version])
    await postgres_schema.migrate(connection, packaged("postgres"))
    await connection.close()

    assert await postgres_schema_of(empty_postgres_url) == await postgres_schema_of(postgres_url)


async def test_migrate__refuses_an_unfinished_move_of_an_earlier_version(tmp_path, empty_postgres_url) -> None:
    unfinished = "INSERT INTO moving_client (number, token, state) VALUES (1, 't', 'noting')"
    urls = [make_old_sqlite(tmp_path / "old.db"), await make_old_postgres(empty_postgres_url)]
    with contextlib.closing(apsw.Connection(f"{tmp_path}/old.db")) as file:
        file.execute(unfinished)
    connection = await asyncpg.connect(empty_postgres_url)
    await connection.execute(unfinished)

    for url in urls:
        store = await open_store(url, encryption_keys=KEYS, as_is=True, copies=False)
        with pytest.raises(UnusableStore, match="0066_former_moves: end moves of clients with the version that began them, then try again"):
            await store.migrate()
        await store.close()

    assert await connection.fetchval("SELECT count(*) FROM moving_client") == 1
    await connection.close()


def test_migrations__have_the_same_names_on_both_engines() -> None:
    assert [m.name for m in packaged("sqlite")] == [m.name for m in packaged("postgres")]


def test_migrations__match_their_recorded_digests() -> None:
    """A store that ran the old text refuses the new one, so a change goes into a new file. A new migration adds its lines to the list."""
    landed = dict(reversed(line.split("  ")) for line in (Path(__file__).parent / "migrations.sha256").read_text().splitlines())
    here = {f"{engine}/{item.name}.sql": item.digest for engine in ("postgres", "sqlite") for item in packaged(engine)}

    missing = [f"{digest}  {name}" for name, digest in here.items() if name not in landed]
    assert missing == [], "add these lines to tests/storage/migrations.sha256"
    assert {name for name in landed if here.get(name) != landed[name]} == set()


@pytest.mark.parametrize("name", ["old", "fresh"])
async def test_open_store__makes_no_copy_of_a_new_store_or_with_copies_off(tmp_path, name: str) -> None:
    make_old_sqlite(tmp_path / "old.db")

    await (await open_store(f"sqlite:///{tmp_path}/{name}.db", encryption_keys=KEYS, copies=name == "fresh")).close()

    assert list(tmp_path.glob("*.before-*")) == []


async def test_open_store__leaves_no_copies_of_upgrades_that_failed_or_were_killed(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_old_sqlite(tmp_path / "old.db")
    before = sqlite_schema_of(f"{tmp_path}/old.db")
    for ending in ("part", "part-journal"):
        (tmp_path / f"old.db.before-0036-2026-11-29T160127Z.{'0' * 16}.{ending}").write_bytes(b"x")
    broken = [*packaged("sqlite"), Migration("9999_broken", "CREATE TABLE again (x BIGINT); CREATE TABLE again (x BIGINT);")]
    monkeypatch.setattr(sqlite_schema, "packaged", lambda engine: broken)

    for _ in range(2):
        with pytest.raises(Exception, match="again already exists"):
            await open_store(f"sqlite:///{tmp_path}/old.db", encryption_keys=KEYS)

    assert list(tmp_path.glob("*.before-*")) == []
    assert sqlite_schema_of(f"{tmp_path}/old.db") == before


@pytest.mark.parametrize("is_committed", [False, True])
async def test_open_store__removes_the_copy_of_an_upgrade_that_was_killed_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    make_old_sqlite(tmp_path / "old.db")
    (tmp_path / "old.db.before-0001-2025-01-01T000000Z").write_bytes(b"of an earlier upgrade")
    url = f"sqlite:///{tmp_path}/old.db"
    with monkeypatch.context() as killing:
        killing.setattr(sqlite_schema, "remove_backup", lambda path: None)
        killing.setattr(sqlite_schema, "end_migration", lambda store: None)
        broken = Migration("9998_broken", "CREATE TABLE again (x BIGINT); CREATE TABLE again (x BIGINT);")
        killing.setattr(sqlite_schema, "packaged", lambda engine: [*packaged("sqlite"), *([] if is_committed else [broken])])
        with contextlib.nullcontext() if is_committed else pytest.raises(Exception, match="already exists"):
            await (await open_store(url, encryption_keys=KEYS)).close()
    left = copies(tmp_path)
    last = Migration("9999_last", "CREATE TABLE again (x BIGINT);")
    monkeypatch.setattr(sqlite_schema, "packaged", lambda engine: [*packaged("sqlite"), last])

    await (await open_store(url, encryption_keys=KEYS)).close()

    assert (tmp_path / "old.db.migrating").exists() is False
    assert len(left) == 2
    assert copies(tmp_path) == (left if is_committed else left[:1]) + ["9999"]


def copies(folder: Path) -> list[str]:
    """Return the migrations before which stores were copied."""
    return sorted(path.name.partition(".before-")[2][:4] for path in folder.glob("*.before-*Z"))


async def test_open_store__without_upgrade_refuses_pending_migrations(tmp_path, empty_postgres_url) -> None:
    make_old_sqlite(tmp_path / "old.db")
    await make_old_postgres(empty_postgres_url)
    before = sqlite_schema_of(f"{tmp_path}/old.db")

    for url in (f"sqlite:///{tmp_path}/old.db", empty_postgres_url):
        with pytest.raises(
            UnusableStore, match=f"has pending migrations: {', '.join(item.name for item in packaged('sqlite')[1:])}; run touchbase migrate"
        ):
            await open_store(url, encryption_keys=KEYS, upgrade=False)

    assert sqlite_schema_of(f"{tmp_path}/old.db") == before


def test_pending__returns_only_new_migrations() -> None:
    assert pending(TWO, {}) == TWO
    assert pending(TWO, {"1001_first": TWO[0].digest}) == TWO[1:]


def test_pending__refuses_a_changed_migration_but_ignores_line_endings() -> None:
    applied = {"1001_first": TWO[0].digest}

    assert pending([Migration("1001_first", "CREATE TABLE a (x BIGINT);\r\n")], applied) == []
    with pytest.raises(UnusableStore, match="1001_first is not the text that was applied"):
        pending([Migration("1001_first", "CREATE TABLE a (x BIGINT, z BIGINT);")], applied)


async def test_open_store__refuses_a_store_newer_than_the_program(engine_url) -> None:
    await (await open_store(engine_url)).close()
    await _record(engine_url, "9999_future", "digest")

    with pytest.raises(UnusableStore, match="newer than this program: it has 9999_future"):
        await open_store(engine_url)

    await _forget(engine_url, "9999_future")


async def test_migrate__rolls_back_a_failing_migration(tmp_path, empty_postgres_url) -> None:
    broken = [TWO[0], Migration("1002_second", "CREATE TABLE b (y BIGINT); SELECT nonsense;")]
    cursor = apsw.Connection(f"{tmp_path}/store.db").cursor()
    connection = await asyncpg.connect(empty_postgres_url)

    with pytest.raises(apsw.SQLError):
        sqlite_schema.migrate(cursor, broken)
    await postgres_schema.migrate(connection, broken[:1])
    with pytest.raises(asyncpg.PostgresError):
        await postgres_schema.migrate(connection, broken)

    assert sqlite_schema.migrate(cursor, TWO) == ["1001_first", "1002_second"]  # SQLite runs all or none
    assert await postgres_schema.migrate(connection, TWO) == ["1002_second"]
    await connection.close()


async def test_open_store__creates_the_schema_in_an_empty_postgresql_database(empty_postgres_url) -> None:
    store = await open_store(empty_postgres_url)

    clients = await store.read(list_clients())
    ran = await store.migrate()
    await store.close()

    assert (clients, ran) == ([], [])


async def test_open_store__creates_one_schema_when_several_processes_start_on_postgresql(empty_postgres_url) -> None:
    stores = await asyncio.gather(*(open_store(empty_postgres_url) for _ in range(4)))

    assert [await store.read(list_clients()) for store in stores] == [[]] * 4
    for store in stores:
        await store.close()


def test_open_store__creates_one_schema_when_several_processes_start_on_sqlite(empty_sqlite_url) -> None:
    failures: list[BaseException] = []

    def start() -> None:
        async def open_and_close() -> None:
            await (await open_store(empty_sqlite_url)).close()

        try:
            asyncio.run(open_and_close())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []


async def test_migrate__runs_on_command_and_only_once(empty_sqlite_url) -> None:
    store = await open_store(empty_sqlite_url, as_is=True)

    ran = await store.migrate()
    again = await store.migrate()
    await store.close()

    assert ran == [migration.name for migration in packaged("sqlite")]
    assert again == []


async def _record(url: str, name: str, digest: str) -> None:
    await _run(url, f"INSERT INTO migration (name, digest) VALUES ('{name}', '{digest}')")


async def _forget(url: str, name: str) -> None:
    await _run(url, f"DELETE FROM migration WHERE name = '{name}'")


async def _run(url: str, sql: str) -> None:
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        connection.execute(sql)
        connection.close()
    else:
        server = await asyncpg.connect(url)
        await server.execute(sql)
        await server.close()
