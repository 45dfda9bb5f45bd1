"""Copies of whole stores: from each engine to the other, stopped and continued, and compared at the end."""

from __future__ import annotations

import asyncio
import tracemalloc
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest
from tests.storage.old_store import KEYS, make_old_postgres, make_old_sqlite

from touchbase.clients.sql.clients import list_clients
from touchbase.connections.sql.connections import list_connections
from touchbase.consistency.service import Verified, verify
from touchbase.encryption.encrypted_columns import check_encryption
from touchbase.encryption.keys import EncryptionKeys, encode_key, new_key
from touchbase.errors import BadAddress, UnusableStore
from touchbase.history.events import CONTACT
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.search.queries import RecordSearch
from touchbase.search.service import index_waiting
from touchbase.search.sorting import default_sort
from touchbase.search.sql.index import next_to_index
from touchbase.search.sql.plans import search_page
from touchbase.storage import store_copy as copying
from touchbase.storage.postgres.store_copy import PostgresReader
from touchbase.storage.sqlite.backup import back_up
from touchbase.storage.sqlite.connection import open_reader
from touchbase.storage.sqlite.store_copy import SqliteReader
from touchbase.stores import copy_store, open_store


class Stopped(Exception):
    """The copy was stopped by a test."""


def silent(step: str, table: str, done: int, total: int) -> None:
    """Report nothing."""


async def filled_store(engine: str, empty: str, folder: Path) -> str:
    """Make a store with data in every table, with the present schema; return its address."""
    url = make_old_sqlite(folder / "old.db") if engine == "sqlite" else await make_old_postgres(empty)
    store = await open_store(url, encryption_keys=KEYS, as_is=True, copies=False)
    await store.migrate()
    await store.close()
    return url


SECRETS = ("connection", "webhook_endpoint")
"""Tables with encrypted secrets."""
OF_EACH = ("migration", "encryption_key", *SECRETS)
"""Tables that are not copied, and those with secrets."""


async def content(url: str) -> dict[str, set[tuple[Any, ...]]]:
    """Return the rows of every table that has no secrets, without the full-text index, which the target makes of its records."""
    if url.startswith("sqlite"):
        with closing(open_reader(url.removeprefix("sqlite:///"))) as connection:
            names = [str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            columns = {name: [str(row[1]) for row in connection.execute(f"PRAGMA table_info({name})")] for name in names}
            return {
                name: set(connection.execute(f"SELECT {', '.join(sorted(columns[name]))} FROM {name}").fetchall())
                for name in names
                if name not in OF_EACH and not name.startswith(("sqlite_", "search_"))
            }
    connection = await asyncpg.connect(url)
    await connection.execute("SET touchbase.clients = 'all'")
    result: dict[str, list[str]] = {}
    for name, column in await connection.fetch(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema() "
        "AND table_name IN (SELECT tablename FROM pg_tables WHERE schemaname = current_schema()) ORDER BY 1, 2"
    ):
        result.setdefault(name, []).append(column)
    rows = {
        name: {tuple(row) for row in await connection.fetch(f"SELECT {', '.join(sorted(columns))} FROM {name}")}
        for name, columns in result.items()
        if name not in OF_EACH and not name.startswith("search_")
    }
    await connection.close()
    return rows


BOTH_WAYS = [("sqlite", "postgresql"), ("postgresql", "sqlite"), ("sqlite", "sqlite")]


async def test_copy_store__copies_a_store_that_was_a_backup(empty_postgres_url: str, tmp_path: Path) -> None:
    from_url = await filled_store("sqlite", empty_postgres_url, tmp_path)
    backup = tmp_path / "backup.db"
    back_up(Path(from_url.removeprefix("sqlite:///")), backup, "0.1.0", 0, lambda done, total: None)
    (tmp_path / "renamed.db").write_bytes(backup.read_bytes())

    copied = await copy_store(f"sqlite:///{tmp_path / 'renamed.db'}", empty_postgres_url, KEYS, silent)

    assert {item.name: item.rows for item in copied}["contact"] == len((await content(from_url))["contact"])


@pytest.mark.parametrize(("source", "target"), BOTH_WAYS)
async def test_copy_store__copies_every_row_and_encrypts_secrets_with_the_target_key(
    source: str, target: str, empty_postgres_url: str, tmp_path: Path
) -> None:
    from_url = await filled_store(source, empty_postgres_url, tmp_path)
    to_url = empty_postgres_url if target == "postgresql" else f"sqlite:///{tmp_path / 'new.db'}"
    copied = await copy_store(from_url, to_url, KEYS, silent)
    wanted = await content(from_url)
    assert await content(to_url) == wanted
    assert {item.name: item.rows for item in copied if item.name not in SECRETS} == {name: len(rows) for name, rows in wanted.items()}
    assert all(wanted[name] for name in ("contact", "company", "event", "delivery_body", "custom_field", "api_key"))
    old, new = await open_store(from_url, encryption_keys=KEYS), await open_store(to_url, encryption_keys=KEYS)
    try:
        for client in await old.read(list_clients()):
            connections = await old.read(list_connections(client.number))
            assert await new.read(list_connections(client.number)) == connections
            assert [item async for item in verify(new, client.number, Verified(), lambda: None)] == []
        await index_waiting(new, lambda: False)
        assert await new.read(next_to_index()) is None
        searches = [
            search_page(RecordSearch(CONTACT_TYPE, client.number, default_sort(CONTACT), 50, words=("ann",)))
            for client in await old.read(list_clients())
        ]
        records = [(await new.read(search)).records for search in searches]
        assert records == [(await old.read(search)).records for search in searches]
        assert any(records)
        state = await new.read(check_encryption())
        assert sum(state.by_key.values()) > 0
        assert (state.lost, state.clear) == ([], 0)
    finally:
        await old.close()
        await new.close()


async def test_copy_store__back_to_the_first_engine_gives_the_same_rows(empty_postgres_url: str, tmp_path: Path) -> None:
    first = await filled_store("sqlite", empty_postgres_url, tmp_path)
    await copy_store(first, empty_postgres_url, KEYS, silent)
    again = f"sqlite:///{tmp_path / 'again.db'}"
    await copy_store(empty_postgres_url, again, KEYS, silent)
    assert await content(again) == await content(first)


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
@pytest.mark.parametrize("stop_after", [1, 7, 30])
async def test_copy_store__continues_after_an_interruption(
    target: str, stop_after: int, empty_postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "ROWS_PER_BATCH", 2)
    source = await filled_store("sqlite", empty_postgres_url, tmp_path)
    to_url = empty_postgres_url if target == "postgresql" else f"sqlite:///{tmp_path / 'new.db'}"
    batches = 0

    def stop(step: str, table: str, done: int, total: int) -> None:
        nonlocal batches
        batches += 1
        if batches == stop_after:
            raise Stopped

    with pytest.raises(Stopped):
        await copy_store(source, to_url, KEYS, stop)
    with pytest.raises(UnusableStore, match="unfinished copy"):
        await open_store(to_url, encryption_keys=KEYS)
    await copy_store(source, to_url, KEYS, silent)
    assert await content(to_url) == await content(source)


async def test_copy_store__refuses_to_continue_from_another_source(
    empty_postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "ROWS_PER_BATCH", 1)
    source = await filled_store("sqlite", empty_postgres_url, tmp_path)
    second = f"sqlite:///{tmp_path / 'other.db'}"
    await (await open_store(second, encryption_keys=KEYS)).close()

    def stop(step: str, table: str, done: int, total: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        await copy_store(source, f"sqlite:///{tmp_path / 'new.db'}", KEYS, stop)
    with pytest.raises(UnusableStore, match="unfinished copy of another store"):
        await copy_store(second, f"sqlite:///{tmp_path / 'new.db'}", KEYS, silent)


async def test_copy_store__detects_a_source_that_changes_during_the_copy(empty_postgres_url: str, tmp_path: Path) -> None:
    source = await filled_store("sqlite", empty_postgres_url, tmp_path)
    target = f"sqlite:///{tmp_path / 'new.db'}"
    changed: list[str] = []

    async def change_after_copying(self: SqliteReader, table: copying.StoredTable) -> int:
        """Change the source once its clients are copied."""
        if table.name == "delivery" and type(self) is SqliteReader and not changed:
            with closing(apsw.Connection(str(tmp_path / "old.db"))) as connection:
                connection.execute("UPDATE client SET name = 'changed'")
            changed.append(table.name)
        return await count(self, table)

    count = SqliteReader.count
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteReader, "count", change_after_copying)
        with pytest.raises(UnusableStore, match="differs from its source in the table client"):
            await copy_store(source, target, KEYS, silent)
    with pytest.raises(UnusableStore, match="unfinished copy"):
        await open_store(target, encryption_keys=KEYS)


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
async def test_copy_store__refuses_a_target_with_data(target: str, empty_postgres_url: str, tmp_path: Path) -> None:
    source = f"sqlite:///{tmp_path / 'source.db'}"
    await (await open_store(source, encryption_keys=KEYS)).close()
    full = await filled_store(target, empty_postgres_url, tmp_path)
    before = await content(full)
    with pytest.raises(UnusableStore, match="not empty"):
        await copy_store(source, full, KEYS, silent)
    assert await content(full) == before
    await (await open_store(full, encryption_keys=KEYS)).close()


@pytest.mark.parametrize(("text", "why"), [("char(97, 0, 98)", "has a NUL"), ("CAST(x'ff41' AS TEXT)", "is not UTF-8")])
async def test_copy_store__names_the_table_of_a_text_that_cannot_be_copied(
    text: str, why: str, empty_postgres_url: str, tmp_path: Path
) -> None:
    source = await filled_store("sqlite", empty_postgres_url, tmp_path)
    with closing(apsw.Connection(source.removeprefix("sqlite:///"))) as connection:
        connection.execute(f"UPDATE contact SET first_name = {text}")

    with pytest.raises(UnusableStore, match=f"table contact {why}"):
        await copy_store(source, empty_postgres_url, KEYS, silent)


async def test_copy_store__refuses_secrets_without_an_encryption_key_of_the_target(empty_postgres_url: str, tmp_path: Path) -> None:
    source = await filled_store("sqlite", empty_postgres_url, tmp_path)
    await asyncio.to_thread((tmp_path / "old.db.key").write_text, KEYS.current)
    with pytest.raises(UnusableStore, match="secrets"):
        await copy_store(source, empty_postgres_url, replace(KEYS, current=""), silent)


async def test_copy_store__refuses_a_store_in_use(empty_postgres_url: str, tmp_path: Path) -> None:
    source = await filled_store("postgresql", empty_postgres_url, tmp_path)
    store = await open_store(source, encryption_keys=KEYS)
    try:
        with pytest.raises(UnusableStore, match="stop it"):
            await copy_store(source, f"sqlite:///{tmp_path / 'new.db'}", KEYS, silent)
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("source", "target"), [("sqlite://", "sqlite:///x.db"), ("sqlite:///x.db", "sqlite:///x.db"), ("mysql://h/x", "sqlite:///x.db")]
)
async def test_copy_store__refuses_urls_that_are_not_supported(source: str, target: str) -> None:
    with pytest.raises(BadAddress):
        await copy_store(source, target, EncryptionKeys(encode_key(new_key())), silent)


async def test_postgres_reader__holds_a_few_large_rows_at_once(empty_postgres_url: str) -> None:
    connection = await asyncpg.connect(empty_postgres_url)
    await connection.execute("CREATE TABLE body (id bigint PRIMARY KEY, body bytea NOT NULL)")
    await connection.execute("INSERT INTO body SELECT n, convert_to(repeat('x', 4194304), 'UTF8') FROM generate_series(1, 40) n")
    rows = PostgresReader(connection)
    table = (await rows.tables())["body"]

    tracemalloc.start()
    try:
        sizes = [len(row[1]) async for row in rows.rows(table, None)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        await connection.close()

    assert sizes == [4_194_304] * 40
    assert peak < 80_000_000, "all 40 rows are 168 MB"
