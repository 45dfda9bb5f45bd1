"""The rows of a client that moves, on PostgreSQL: triggers, locks and transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import asyncpg

from touchbase.errors import StoreUnavailable
from touchbase.sql.statement import Plan, T
from touchbase.storage.client_rows import FROZEN, NOTING, Clash, MovedTable, check
from touchbase.storage.postgres.connection import CONNECT_SECONDS, RETRYABLE, UNUSABLE, connect, read, roll_back, run
from touchbase.storage.postgres.row_level_security import Connection, begin, set_scope
from touchbase.storage.postgres.serving_connection import FROZEN as FROZEN_STATE
from touchbase.storage.postgres.store_copy import PostgresReader
from touchbase.storage.rls_scope import scope_for
from touchbase.storage.store_copy import Table

TRIES = 200
PAUSE_SECONDS = 0.2
LOCK_MS = 200
"""How long writes of others wait behind a lock that this waits for."""
_LOCKED = "55P03"
_FUNCTION = """CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $moving$
DECLARE
  found text;
BEGIN
  SELECT m.state INTO found FROM moving_client m WHERE m.number = {client};
  IF found = '{frozen}' THEN
    RAISE EXCEPTION 'client {client} moves to another cell' USING ERRCODE = '{code}';
  ELSIF found = '{noting}' THEN
    IF TG_OP <> 'INSERT' THEN
      INSERT INTO moving_change (number, table_name, row_key) VALUES ({client}, '{table}', {old});
    END IF;
    IF TG_OP <> 'DELETE' THEN
      INSERT INTO moving_change (number, table_name, row_key) VALUES ({client}, '{table}', {new});
    END IF;
  END IF;
  RETURN NULL;
END
$moving$"""
_TRIGGERS = tuple(
    f"CREATE OR REPLACE TRIGGER {{name}}_{word} AFTER {events} ON {{table}} FOR EACH ROW WHEN ({row}.{{column}} = {{client}}) "
    "EXECUTE FUNCTION {name}()"
    for word, events, row in (("written", "INSERT OR UPDATE", "NEW"), ("removed", "DELETE", "OLD"))
)
_COUNT = """SELECT count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = current_schema()::regnamespace AND t.tgname::text = ANY($1::text[])"""


class PostgresRows:
    """The rows of one client on one connection, whose scope is that client."""

    def __init__(self, connection: Connection, client: int) -> None:
        self._connection = connection
        self._client = client
        self._scope = scope_for(client)

    @classmethod
    async def open(cls, url: str, client: int) -> PostgresRows:
        """Connect. Raises `StoreUnavailable`."""
        with _explained():
            connection = await connect(url)
            # On Citus a trigger needs this, as it could do what cannot be repeated elsewhere; ours write into the schema of their table.
            await connection.execute(f"{set_scope(scope_for(client))}; SET citus.enable_unsafe_triggers = on; SET statement_timeout = 0")
        return cls(connection, client)

    async def tables(self) -> dict[str, Table]:
        """Return all tables of the store by name."""
        with _explained():
            return await PostgresReader(self._connection).tables()

    async def read(self, plan: Plan[T]) -> T:
        """Run a plan that only reads."""
        with _explained():
            return await read(self._connection, plan, self._scope)

    async def write(self, plan: Plan[T]) -> T:
        """Run a plan in a transaction."""
        with _explained():
            try:
                await self._connection.execute(begin(self._scope))
                result = await run(self._connection, plan)
                await self._connection.execute("COMMIT")
            except BaseException as error:
                await roll_back(self._connection, error)
                is_conflict = isinstance(error, asyncpg.PostgresError) and error.sqlstate in RETRYABLE
                if is_conflict or isinstance(error, asyncpg.IntegrityConstraintViolationError):
                    raise Clash(str(error)) from error
                raise
            return result

    def _name(self, table: MovedTable) -> str:
        return f"moving_{self._client}_{table.name}"

    async def watches(self, tables: Sequence[MovedTable]) -> bool:
        """Return whether all triggers of the move are there."""
        wanted = [f"{self._name(table)}_{event}" for table in tables for event in ("written", "removed")]
        with _explained():
            return bool(await self._connection.fetchval(_COUNT, wanted) == len(wanted))

    async def watch(self, tables: Sequence[MovedTable], token: str) -> None:
        """Make the triggers, table by table: a lock on two tables could wait for a writer that waits for this."""
        for table in tables:
            old, new = (
                f"jsonb_build_array({', '.join(_in_json(row, column, table) for column in table.key)})::text" for row in ("OLD", "NEW")
            )
            names = {"name": self._name(table), "table": table.name, "client": self._client, "column": table.client}
            function = _FUNCTION.format(**names, frozen=FROZEN, noting=NOTING, code=FROZEN_STATE, old=old, new=new)
            await self._locking([function, *(each.format(**names) for each in _TRIGGERS)], token)

    async def unwatch(self, tables: Sequence[MovedTable], token: str) -> None:
        """Remove the triggers with their functions."""
        for table in tables:
            await self._locking([f"DROP FUNCTION IF EXISTS {self._name(table)}() CASCADE"], token)

    async def settle(self, tables: Sequence[MovedTable]) -> None:
        """Lock each table for a moment: that waits for transactions that have changed it; later ones see that the client is frozen."""
        for table in tables:
            await self._locking([f"LOCK TABLE {table.name} IN SHARE MODE"])

    async def _locking(self, statements: Sequence[str], token: str = "") -> None:
        """Execute what locks a table, in a transaction. It gives up and tries again, so that writes of others do not wait for long.

        With a token: only if that process has the client. One statement a message, as in migrations.
        """
        with _explained():
            for _ in range(TRIES):
                try:
                    await self._connection.execute(begin(self._scope))
                    await self._connection.execute(f"SET LOCAL lock_timeout = {LOCK_MS}")
                    if token:
                        await run(self._connection, check(self._client, token, (NOTING, FROZEN)))
                    for statement in statements:
                        await self._connection.execute(statement)
                    await self._connection.execute("COMMIT")
                    return
                except BaseException as error:
                    await roll_back(self._connection, error)
                    state = error.sqlstate if isinstance(error, asyncpg.PostgresError) else None
                    if state != _LOCKED and state not in RETRYABLE:
                        raise
                await asyncio.sleep(PAUSE_SECONDS)
        raise StoreUnavailable("a transaction has held a table for a minute: end it (pg_stat_activity lists it), and run this again")

    async def close(self) -> None:
        """Close the connection, also one that was lost."""
        try:
            await self._connection.close(timeout=CONNECT_SECONDS)
        except (asyncpg.PostgresError, *UNUSABLE):
            self._connection.terminate()


def _in_json(row: str, column: str, table: MovedTable) -> str:
    return f"encode({row}.{column}, 'hex')" if table.columns[column] == "blob" else f"{row}.{column}"


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (asyncpg.PostgresError, *UNUSABLE) as error:
        raise StoreUnavailable(f"PostgreSQL cannot be used now: {str(error) or type(error).__name__}") from error
