"""Statements as Citus takes them: an insert behind row-level security has ON CONFLICT, and does the same. Citus itself is not here."""

from __future__ import annotations

import re

import asyncpg
import pytest
from tests.conftest import ENCRYPTION_KEYS, ExecuteSql
from tests.isolation.conftest import world
from tests.isolation.world import World, furnish
from tests.storage.statements import STATEMENTS, texts
from tests.storage.test_scoping import WALLED

from touchbase.inbox.sql.statements import STORE_DELIVERY
from touchbase.sql.statement import Statement, for_postgres
from touchbase.storage import open_store
from touchbase.storage.postgres.citus import Noticed, for_citus

__all__ = ["world"]
INSERT = re.compile(r"INSERT INTO (\w+) ")


def open_inserts(sql: str) -> list[str]:
    """Return the tables with clients' rows into which a statement inserts without ON CONFLICT."""
    parts = INSERT.split(sql)[1:]
    return [name for name, rest in zip(parts[::2], parts[1::2], strict=True) if name in WALLED and "ON CONFLICT" not in rest]


def of_postgres() -> list[tuple[str, Statement]]:
    return [(name, each) for name, each in sorted(STATEMENTS.items()) if each.postgres or each.body]


def test_statements__insert_clients_rows_with_on_conflict_on_citus() -> None:
    found = {name: open_inserts(for_citus(for_postgres(statement))) for name, statement in of_postgres()}

    assert {name: tables for name, tables in found.items() if tables} == {}
    assert any(open_inserts(text) for text in texts(STORE_DELIVERY))


@pytest.mark.parametrize("engine_url", ["postgresql"], indirect=True)
async def test_statements__do_the_same_with_it(
    engine_url: str, execute_sql: ExecuteSql, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Noticed, "is_used", True)
    store = await open_store(engine_url, encryption_keys=ENCRYPTION_KEYS)
    number, key = await world.join(store, "zq001clientqz")
    await furnish(world.side(store, "zq001clientqz", number, key))
    await store.close()

    assert (await execute_sql("SELECT count(*) FROM delivery_body"))[0][0] > 1
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await execute_sql(for_citus("INSERT INTO delivery_body (client, id, query, headers, body) "
                                    "SELECT client, id, query, headers, body FROM delivery_body /* new: client, id */"))  # fmt: skip
