"""Make the rows of a client in one store equal to those in another, while they change."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from touchbase.connections.sql.encrypted_columns import decrypt_row, encrypt_values, encrypted_table, record_key
from touchbase.encryption import NO_ENCRYPTION_KEY, Cipher
from touchbase.errors import Invalid, UnusableStore
from touchbase.routing import moving_plans as plans
from touchbase.sql.statement import Row
from touchbase.storage import client_rows as rows_of
from touchbase.storage.client_rows import Clash, ClientRows, MovedTable
from touchbase.storage.store_copy import key_to_text

TRIES = 20
"""Attempts of a page that contradicts rows of an earlier time; what was noted in between is copied before each."""
PAUSE_SECONDS = 0.05
NOTED = 2_000
"""Changes copied in one transaction."""
SMALLEST_PAGE, LARGEST_PAGE = 32, 5_000
PAGE_BYTES = 8 * 1024 * 1024
COPY, COMPARE = "copy", "compare"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a move is."""

    step: str
    """wait, copy, compare, verify, freeze, clean, or undo."""
    table: str = ""
    done: int = 0
    """Rows so far in this step."""
    total: int = 0
    """Rows of the client when the step began; 0: not counted."""


@dataclass(frozen=True, slots=True)
class End:
    """One of the two stores of a move."""

    rows: ClientRows
    cipher: Cipher

    def plain(self, table: MovedTable, rows: Iterable[Row]) -> list[Row]:
        """Return rows with their secrets decrypted."""
        encrypted = encrypted_table(table.name)
        return [*rows] if encrypted is None else [decrypt_row(self.cipher, encrypted, table.typed, row) for row in rows]

    def stored(self, table: MovedTable, rows: Sequence[Row]) -> list[Row]:
        """Return rows with their secrets encrypted, as they are stored here."""
        encrypted = encrypted_table(table.name)
        try:
            return [*rows] if encrypted is None else [encrypt_values(self.cipher, encrypted, table.typed, row) for row in rows]
        except Invalid as error:
            raise UnusableStore(f"the client has secrets, and they {NO_ENCRYPTION_KEY}") from error


async def no_note(position: Mapping[str, str]) -> None:
    """Do not write how far the copy is."""


@dataclass(slots=True)
class RowCopy:
    """The copy of one client's rows. No other process writes them in the target."""

    source: End
    target: End
    tables: Sequence[MovedTable]
    """In the order of their removal."""
    number: int
    token: str
    report: Callable[[Progress], None]
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    done: int = 0
    """Rows so far in the present step, and the number of all, for reports."""
    total: int = 0
    _by_name: Mapping[str, MovedTable] = field(init=False)

    def __post_init__(self) -> None:
        self._by_name = {table.name: table for table in self.tables}

    @property
    def early(self) -> list[MovedTable]:
        """The tables to copy while they change, with the ones that others refer to first."""
        return [table for table in rows_of.in_order(self.tables) if table.name not in rows_of.LATE]

    async def count(self) -> None:
        """Count the rows to copy."""
        self.total = sum((await self.source.rows.read(rows_of.counts(self.early, self.number))).values())

    async def make_equal(
        self, step: str, table: MovedTable, after: Row | None = None, note: Callable[[Mapping[str, str]], Awaitable[None]] = no_note
    ) -> int:
        """Make the target's rows behind a key equal to the source's, page by page; return how many were not.

        Up to the row that is the last one now: those behind it are noted, or do not change any more.
        """
        size, different = SMALLEST_PAGE if table.heavy else LARGEST_PAGE, 0
        end = await self.source.rows.read(rows_of.last_key(table, self.number))
        while end is not None:
            rows, changed = await self._copy_page(table, after, end, size)
            different += changed
            self.done += len(rows)
            self.report(Progress(step, table.name, self.done, self.total))
            if len(rows) < size:
                return different
            after = table.key_of(rows[-1])
            await note({"step": step, "table": table.name, "after": key_to_text(after)})
            size = plans.next_page(rows, SMALLEST_PAGE, LARGEST_PAGE, PAGE_BYTES)
        return different

    async def _copy_page(self, table: MovedTable, after: Row | None, end: Row, size: int) -> tuple[list[Row], int]:
        """Make one page equal; return its rows and how many of them, or of others in the target, were different."""
        for _ in range(TRIES):
            # Before the page is read: rows that are written after it must not be older than the rows that were noted.
            await self.copy_noted()
            found = await self.source.rows.read(rows_of.page(table, self.number, after, size, end))
            last = table.key_of(found[-1]) if len(found) == size else end
            rows = self.source.plain(table, found)
            there = await self.target.rows.read(rows_of.page(table, self.number, after, None, last))
            keys, changed = plans.differing(table, self.target.plain(table, there), rows)
            try:
                if keys:
                    await self._bring_parents(table, [table.key_of(row) for row in changed])
                    await self._replace({table.name: keys}, {table.name: changed})
                return found, len(keys)
            except Clash:
                await self.sleep(PAUSE_SECONDS)
        raise UnusableStore(
            f"rows of the table {table.name} contradict each other in the target: undo the move with --undo, and report this"
        )

    async def _bring_parents(self, table: MovedTable, keys: Sequence[Row]) -> None:
        """Copy the rows to which these belong, if they came after the page of theirs: a row without its parent is found by nothing."""
        if not table.parent or not keys:
            return
        parent = self._by_name[table.parent]
        there = {parent.key_of(row) for row in await self.target.rows.read(rows_of.by_key(parent, self.number, keys))}
        if missing := set(keys) - there:
            await self._copy_rows({parent.name: missing})
            if len(await self.target.rows.read(rows_of.by_key(parent, self.number, missing))) < len(missing):
                raise Clash("rows were removed since they were read")

    async def _replace(self, keys: Mapping[str, Iterable[Row]], rows: Mapping[str, Sequence[Row]]) -> None:
        stored = {name: self.target.stored(self._by_name[name], each) for name, each in rows.items()}
        plan = rows_of.replace(self.tables, self.number, self.token, keys, stored)
        if self.target.cipher.can_encrypt and any(encrypted_table(name) is not None for name in rows):
            plan = plans.after(record_key(self.target.cipher), plan)
        await self.target.rows.write(plan)

    async def copy_noted(self) -> int:
        """Copy the rows whose changes were noted first; return how many changes, 0 if none are left."""
        most = NOTED
        for _ in range(TRIES):
            noted = await self.source.rows.read(rows_of.noted({table.name: table for table in self.early}, self.number, most))
            if not noted.sequences:
                return 0
            try:
                await self._copy_rows(noted.keys)
            except Clash:
                # A row may depend on one that changed after the last of these.
                most *= 2
                await self.sleep(PAUSE_SECONDS)
                continue
            await self.source.rows.write(rows_of.forget_noted(self.number, self.token, noted.sequences))
            return len(noted.sequences)
        raise UnusableStore("changed rows contradict each other in the target: undo the move with --undo, and report this")

    async def _copy_rows(self, noted: Mapping[str, set[Row]]) -> None:
        """Copy the rows with these keys: at once the rows that belong together, then the ones with large values, a few at a time."""
        light = {name: set(keys) for name, keys in noted.items() if not self._by_name[name].heavy}
        heavy = {name: list(keys) for name, keys in noted.items() if self._by_name[name].heavy}
        for name, keys in heavy.items():
            if parent := self._by_name[name].parent:
                light.setdefault(parent, set()).update(keys)
        rows = {name: await self._rows(name, keys) for name, keys in light.items()}
        if companies := rows_of.companies_of(self._by_name, rows):
            # A company that did not change may not be copied yet.
            light["company"] = light.get("company", set()) | companies
            rows["company"] = await self._rows("company", light["company"])
        await self._replace(light, rows)
        for name, keys in heavy.items():
            for at in range(0, len(keys), SMALLEST_PAGE):
                some = keys[at : at + SMALLEST_PAGE]
                await self._replace({name: some}, {name: await self._rows(name, some)})

    async def _rows(self, name: str, keys: Iterable[Row]) -> list[Row]:
        table = self._by_name[name]
        return self.source.plain(table, await self.source.rows.read(rows_of.by_key(table, self.number, keys)))

    async def check_counts(self) -> int:
        """Return the number of rows. Raises `UnusableStore` when a table has not as many in both stores."""
        counting = (end.rows.read(rows_of.counts(self.tables, self.number)) for end in (self.source, self.target))
        wanted, found = await asyncio.gather(*counting)
        for table, rows in wanted.items():
            if found[table] != rows:
                raise UnusableStore(
                    f"the table {table} has {found[table]} rows of the client in the target, and {rows} in the source; nothing was "
                    "switched: undo the move with --undo, and report this"
                )
        return sum(found.values())

    async def keys(self, table: str) -> list[str]:
        """Return the keys of the client's rows in a table whose key is a text."""
        found = self._by_name[table]
        return [str(found.key_of(row)[0]) for row in await self.source.rows.read(rows_of.page(found, self.number, None, None))]
