"""Stores in schemas of one PostgreSQL database: each is a store of its own."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
from tests.conftest import ENCRYPTION_KEYS, Databases, schema_of, with_postgres_tools

from touchbase.clients import EnsureClient, FindClient
from touchbase.errors import UnusableStore
from touchbase.records.commands import CreateCompany
from touchbase.records.models import Company
from touchbase.sql.migrations import packaged
from touchbase.storage import copy_store, open_store, with_schema
from touchbase.storage import store_copy as copying
from touchbase.storage.postgres import engine
from touchbase.storage.postgres.backup import dump, for_tools
from touchbase.storage.postgres.connection import ReconnectingConnection
from touchbase.storage.postgres.schema import statements


@pytest.fixture
def two(databases: Databases) -> Iterator[list[str]]:
    """The addresses of two schemas of one database, without tables."""
    made = databases.schemas(2)
    yield made
    databases.drop_schemas(made)


async def filled(url: str, client_id: str) -> None:
    """Make a store with one client, which has a company."""
    store = await open_store(url, encryption_keys=ENCRYPTION_KEYS)
    client = await store.write(EnsureClient(client_id, 1))
    await store.write(CreateCompany(Company(client.number, 0, 1, 1, "quill.example")))
    await store.close()


async def clients_of(url: str) -> set[str]:
    store = await open_store(url, encryption_keys=ENCRYPTION_KEYS)
    found = {name for name in ("acme", "bolt") if await store.read(FindClient(name))}
    await store.close()
    return found


async def rows_known_of(table: str, url: str) -> int:
    """The number of rows that the planner knows of; -1 before the first vacuum."""
    connection = await asyncpg.connect(url)
    found = await connection.fetchval("SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass($1)", table)
    await connection.close()
    return int(found)


async def test_with_schema__replaces_the_schema_that_an_address_names(two: list[str]) -> None:
    again = await with_schema(two[0], schema_of(two[1]))

    assert again == two[1]


async def test_stores_of_two_schemas__have_clients_and_keys_of_their_own(two: list[str]) -> None:
    for url, client_id in zip(two, ("acme", "bolt"), strict=True):
        await filled(url, client_id)

    assert [await clients_of(url) for url in two] == [{"acme"}, {"bolt"}]


async def test_open_store__refuses_a_schema_that_sessions_do_not_get(two: list[str]) -> None:
    with pytest.raises(UnusableStore, match="the address names the schema nowhere, and its sessions get none"):
        await open_store(two[0].replace(schema_of(two[0]), "nowhere"), encryption_keys=ENCRYPTION_KEYS)


async def test_copy_store__copies_from_one_schema_into_another(two: list[str]) -> None:
    await filled(two[0], "acme")

    copied = await copy_store(*two, ENCRYPTION_KEYS, lambda *_: None)

    assert {each.name: each.rows for each in copied if each.rows}["company"] == 1
    assert await clients_of(two[1]) == {"acme"}


async def test_copy_store__refuses_a_schema_in_use_and_no_other(two: list[str], tmp_path: Path) -> None:
    for url in two:
        await filled(url, "acme")
    server = await open_store(two[0], encryption_keys=ENCRYPTION_KEYS)

    with pytest.raises(UnusableStore, match="uses the PostgreSQL database"):
        await copy_store(two[0], f"sqlite:///{tmp_path}/one.db", ENCRYPTION_KEYS, lambda *_: None)
    await copy_store(two[1], f"sqlite:///{tmp_path}/two.db", ENCRYPTION_KEYS, lambda *_: None)
    await server.close()


async def test_copy_store__continues_no_copy_of_another_schema(two: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for url in two:
        await filled(url, "acme")

    def stop(step: str, table: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(copying, "ROWS_PER_BATCH", 1)
    with pytest.raises(KeyboardInterrupt):
        await copy_store(two[0], f"sqlite:///{tmp_path}/new.db", ENCRYPTION_KEYS, stop)

    with pytest.raises(UnusableStore, match="unfinished copy of another store"):
        await copy_store(two[1], f"sqlite:///{tmp_path}/new.db", ENCRYPTION_KEYS, lambda *_: None)


async def test_statistics_and_vacuum__are_of_the_tables_of_the_schema(two: list[str]) -> None:
    for url in two:
        await filled(url, "acme")
    store = await open_store(two[0], encryption_keys=ENCRYPTION_KEYS)

    assert await store.vacuum(whole=True)
    assert isinstance(await store.analyze(), list)
    await store.close()

    assert [await rows_known_of("company", url) for url in two] == [1, -1]


@pytest.mark.own_database
async def test_dump__of_a_schema_has_its_store_alone_and_is_restored_in_another_database(
    two: list[str], databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for url, client_id in zip(two, ("acme", "bolt"), strict=True):
        await filled(url, client_id)
    monkeypatch.setenv("PATH", with_postgres_tools()["PATH"])
    made = await dump(two[0], tmp_path / "one.dump")
    elsewhere = databases.empty()
    address, environment = for_tools(elsewhere)
    command = ["pg_restore", "--exit-on-error", "--single-transaction", "--no-owner", f"--dbname={address}", f"{tmp_path}/one.dump"]
    await asyncio.to_thread(subprocess.run, command, env=environment, check=True)
    parts = urlsplit(elsewhere)
    restored = await clients_of(urlunsplit(parts._replace(query=f"{parts.query}&search_path={schema_of(two[0])}".strip("&"))))
    databases.drop(elsewhere)

    assert (made.rows["client"], made.rows["company"]) == (1, 1)
    assert restored == {"acme"}


async def test_writes_on_citus__are_transactions_with_a_scope_of_their_own(two: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    async def yes(connection: object) -> bool:
        return True

    async def never(self: object, scope: str) -> None:
        raise AssertionError("the scope of a session does not reach the node that has the rows")

    monkeypatch.setattr(engine, "is_citus", yes)
    monkeypatch.setattr(ReconnectingConnection, "with_scope", never)

    await filled(two[0], "acme")

    assert await clients_of(two[0]) == {"acme"}


def test_statements__are_those_of_a_migration_one_by_one() -> None:
    text = (
        "-- A; b's\nCREATE TABLE x (y text DEFAULT 'a;''b'); -- why\nDO $$ BEGIN NULL; END $$;\n"
        'DO $f$ ; $$ ; $f$;\nSELECT ";"\n-- the end;\n'
    )

    assert statements(text) == [
        "-- A; b's\nCREATE TABLE x (y text DEFAULT 'a;''b');",
        "-- why\nDO $$ BEGIN NULL; END $$;",
        "DO $f$ ; $$ ; $f$;",
        'SELECT ";"\n-- the end;',
    ]


def test_statements__leave_out_nothing_of_a_migration() -> None:
    for migration in packaged("postgres"):
        parts = statements(migration.sql)

        assert "".join("".join(parts).split()) in "".join(migration.sql.split())
        verbs = {next(line for line in part.splitlines() if line and not line.startswith("--")).split()[0] for part in parts}
        assert verbs <= {"CREATE", "ALTER", "INSERT", "UPDATE", "DO", "DROP"}
