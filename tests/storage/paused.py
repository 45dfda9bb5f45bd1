"""Operations that pause between two statements, in which another one runs: PostgreSQL, in an order that is always the same.

Each run has a client of its own, a copy of the rows of a first one; ids that a run takes are shown as `#`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import asyncpg
import msgspec
import pytest

from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import SECOND
from touchbase.consistency.service import Verified, verify
from touchbase.errors import TouchbaseError
from touchbase.sql.ids import Ids
from touchbase.sql.operation import Command
from touchbase.storage.postgres import connection as connections
from touchbase.storage.postgres.connection import ServingConnection
from touchbase.stores.postgres import PostgresStore

NOON = 1_790_000_000 * SECOND
FIRST_NEW_ID = 9_000_000
"""Ids that runs take have seven digits and begin with a nine; those of the copied rows are smaller."""
_NEW_ID = re.compile(r"\b9\d{6}\b")
_MOMENT = re.compile(r"\b(179\d{7})00000\d\b")
"""Times are whole seconds, but for changes of a record that follow each other at one time."""
_RANDOM_KEY = re.compile(r"api:[0-9a-f]{16}:[0-9a-f]+")
_HASH = re.compile(r"hmac-sha256:[0-9a-f]+")
ERROR, BROKEN = "refused:", "broke:"
DEADLOCK = "40P01"
NOT_COMPARED = {"search_pending", "search_index", "client_storage"}
"""What housekeeping follows up."""
Between = Callable[[int], Awaitable[None]]
Action = Command[Any] | Callable[[PostgresStore], Awaitable[object]]


class PausingConnection(ServingConnection):
    """A connection whose statements wait for `between`, which gets the number of statements before; only in tasks of `paused`."""

    between: Between | None = None
    paused: frozenset[asyncio.Task[Any]] = frozenset()
    count = 0

    async def _pause(self) -> None:
        between = PausingConnection.between
        if between is not None and asyncio.current_task() in PausingConnection.paused:
            PausingConnection.count += 1
            await between(PausingConnection.count - 1)

    async def execute(self, query: str, *args: Any, **options: Any) -> str:
        await self._pause()
        return await super().execute(query, *args, **options)

    async def fetch(self, query: str, *args: Any, **options: Any) -> Any:
        await self._pause()
        return await super().fetch(query, *args, **options)


def _plain(value: Any) -> Any:
    """Return a column's value, JSON parsed."""
    return msgspec.json.decode(value) if isinstance(value, str) and value[:1] in ("{", "[") else value


@contextmanager
def pausing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the connections that write pause; a deadlock is a fault here, as plans that share records wait for each other."""
    with monkeypatch.context() as patch:
        patch.setattr(connections, "ServingConnection", PausingConnection)
        patch.setattr(connections, "RETRYABLE", connections.RETRYABLE - {DEADLOCK})
        yield
        PausingConnection.between = None


@dataclass(slots=True)
class Outcome:
    """What two operations gave, and the rows of the client afterwards."""

    results: tuple[str, str]
    rows: dict[str, list[str]]
    differences: list[str] = field(default_factory=list)
    """What `verify` reports."""

    def difference(self, other_outcome: Outcome) -> list[str]:
        """Return how this outcome differs."""
        lines = [
            f"result {mine}\n     is not {theirs}"
            for mine, theirs in zip(self.results, other_outcome.results, strict=True)
            if mine != theirs
        ]
        for table in sorted(self.rows.keys() | other_outcome.rows.keys()):
            mine, theirs = self.rows.get(table, []), other_outcome.rows.get(table, [])
            lines += [f"{table} has {row}" for row in mine if row not in theirs]
            lines += [f"{table} lacks {row}" for row in theirs if row not in mine]
            if len(mine) != len(theirs):
                lines.append(f"{table} has {len(mine)} rows, not {len(theirs)}")
        return lines + [line for line in self.differences if line not in other_outcome.differences]


@dataclass
class Stage:
    """Two processes on one database, and the client that runs begin with."""

    paused: PostgresStore
    plain: PostgresStore
    sql: Any
    template: int
    tables: dict[str, list[str]] = field(default_factory=dict)
    """The columns of tables with rows of the template, without `client`."""
    empty: dict[str, list[str]] = field(default_factory=dict)
    """The same of the other tables."""
    select: str = ""
    """Reads the rows of a client in all tables: one statement, because a run is compared with two others."""
    runs: int = 0

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
        """Open both stores."""
        settings = {"touchbase.clients": "all", "plan_cache_mode": "force_generic_plan"}
        sql = await asyncpg.connect(url, server_settings=settings)
        with pausing(monkeypatch):
            stores = [await PostgresStore.open(url, queue_limit=100) for _ in range(2)]
            template = (await stores[0].write(ensure_client("template", NOON))).number
            try:
                yield cls(stores[0], stores[1], sql, template)
            finally:
                for store in stores:
                    await store.close()
                await sql.close()

    async def freeze(self) -> None:
        """Take the template's rows as they are now as the beginning of each run."""
        columns = await self.sql.fetch(
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = current_schema() "
            "ORDER BY table_name, ordinal_position"
        )
        by_table: dict[str, list[str]] = {}
        hashes = {(table, column) for table, column, data_type in columns if data_type == "bytea"}  # they name the client
        for table, column, _ in columns:
            by_table.setdefault(table, []).append(column)
        self.tables = {
            table: [name for name in names if name != "client"]
            for table, names in by_table.items()
            if "client" in names and table != "client_alias"
        }
        for table in list(self.tables):
            if table != "client_storage" and not await self.sql.fetchval(f"SELECT count(*) FROM {table} WHERE client = {self.template}"):
                self.empty[table] = self.tables.pop(table)
        self.select = " UNION ALL ".join(
            f"SELECT '{table}', jsonb_build_array({shown})::text FROM {table} WHERE client = $1"
            for table, names in (self.tables | self.empty).items()
            if table not in NOT_COMPARED
            for shown in [", ".join("NULL" if (table, name) in hashes else f'"{name}"' for name in names)]
        )
        await self.sql.execute("UPDATE id_block SET next = $1 WHERE name <> 'client' AND next < $1", FIRST_NEW_ID)
        # Blocks of ids that the stores have fetched before are used up by other calls.
        for store in (self.paused, self.plain):
            store._ids._left = Ids()

    async def client(self) -> int:
        """Return a new client with the template's rows."""
        self.runs += 1
        number = (await self.plain.write(ensure_client(f"run{self.runs}", NOON))).number
        await self.sql.execute(f"UPDATE client SET settings = (SELECT settings FROM client WHERE id = {self.template}) WHERE id = {number}")
        copies = []
        for table, columns in sorted(self.tables.items(), key=lambda item: item[0] != "company"):  # which contacts refer to
            shown = ", ".join(f'"{name}"' for name in columns)
            values = ", ".join(
                f"""replace("{name}", '"client":{self.template},', '"client":{number},')"""
                if name == "content" and table in ("deleted_record", "record_merge")
                else f'"{name}"'
                for name in columns
            )
            copies.append(f"DELETE FROM {table} WHERE client = {number}")
            copies.append(f"INSERT INTO {table} (client, {shown}) SELECT {number}, {values} FROM {table} WHERE client = {self.template}")
        await self.sql.execute("; ".join(copies))
        return number

    async def rows(self, number: int) -> dict[str, list[str]]:
        """Return the client's rows as text, without what differs from run to run."""
        by_table: dict[str, list[list[Any]]] = {}
        for table, row in await self.sql.fetch(self.select, number):
            by_table.setdefault(table, []).append(msgspec.json.decode(row))
        if events := by_table.get("logged_event"):  # each record's events are in order; those of different records may be in any
            columns = (self.tables | self.empty)["logged_event"]
            kind, record, sequence = map(columns.index, ("record_kind", "record_id", "sequence"))
            events.sort(key=lambda row: (row[kind] or 0, row[record] or 0, row[sequence]))
            for _, group in groupby(events, lambda row: (row[kind], row[record])):
                for index, row in enumerate(group):
                    row[0] = index
        return {table: sorted(self.shown([_plain(value) for value in row], number) for row in rows) for table, rows in by_table.items()}

    def shown(self, value: object, number: int) -> str:
        """Return the text of a value, without ids and keys of this run."""
        text = repr(msgspec.to_builtins(value, order="sorted", enc_hook=str))
        text = _MOMENT.sub(r"\g<1>000000", text)
        text = _HASH.sub("hash", _RANDOM_KEY.sub("api", _NEW_ID.sub("#", text)))
        return text.replace(f"'client': {number}", "'client': 0").replace(f"({number}, ", "(0, ")

    async def result(self, store: PostgresStore, call: Action, number: int) -> str:
        """Execute an operation; return its result or error as text."""
        try:
            return self.shown(await (store.write(call) if isinstance(call, Command) else call(store)), number)
        except TouchbaseError as error:
            return f"{ERROR} {type(error).__name__}: {self.shown(error.detail, number)}"
        except Exception as error:
            return f"{BROKEN} {type(error).__name__}: {error}"

    async def in_order(self, first: Callable[[int], Action], second: Callable[[int], Action]) -> tuple[Outcome, list[str]]:
        """Execute one operation after the other; return the outcome, and what a refused second one has written all the same."""
        number = await self.client()
        result = await self.result(self.plain, first(number), number)
        rows = await self.rows(number)
        results = result, await self.result(self.plain, second(number), number)
        outcome = Outcome(results, await self.rows(number), await self.differences(number))
        written = outcome.difference(Outcome(results, rows)) if results[1].startswith(ERROR) else []
        return outcome, written

    async def differences(self, number: int) -> list[str]:
        """Return what `verify` reports."""
        return [self.shown(str(item), number) async for item in verify(self.plain, number, Verified())]

    async def together(self, paused: Callable[[int], Action], other_action: Callable[[int], Action], pause: int) -> tuple[Outcome, bool]:
        """Execute one operation, and before its statement number `pause` another one, until that ends or waits for a lock.

        Return the outcome, and whether a later pause can give another one: not if the operation has fewer
        statements, or holds the lock that the other one needs.
        """
        number = await self.client()
        running: asyncio.Future[str] | None = None
        goes_on = False

        async def between(count: int) -> None:
            nonlocal running, goes_on
            if count == pause and running is None:
                running = asyncio.ensure_future(self.result(self.plain, other_action(number), number))
                await self._until_it_waits(running)
                goes_on = running.done()

        PausingConnection.paused = frozenset([*self.paused._writer._tasks, asyncio.current_task()])  # type: ignore[list-item]
        PausingConnection.between, PausingConnection.count = between, 0
        try:
            mine = await self.result(self.paused, paused(number), number)
        finally:
            PausingConnection.between = None
        theirs = await (running or self.result(self.plain, other_action(number), number))
        return Outcome((mine, theirs), await self.rows(number), await self.differences(number)), goes_on

    async def _until_it_waits(self, running: asyncio.Future[str]) -> None:
        for _ in range(100_000):
            if running.done() or await self.sql.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                return
            await asyncio.sleep(0)
        pytest.fail("it neither waited nor ended")
