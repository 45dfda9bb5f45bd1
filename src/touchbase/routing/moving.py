"""Move a client to another cell while it is used. Whoever carries a move out may be killed at any moment: the next one goes on.

1. Triggers in the source note each change of the client's rows. All rows are copied, page by page, then compared with the source and
   written again where they differ; what was noted is copied in between.
2. The client is frozen: for a second, writes are refused with 503. The last changes are copied, and every table's rows are counted.
3. The target gets the client's own row, and the directory says that the client lives there. From then on the move only goes forward.
4. After `DELETION_DELAY` every process knows it. The source's rows are removed, and then its triggers.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex

from touchbase.cells import CLEANING, COPYING, LEASE, SWITCHING, EndMove, ListMoves, Move, NoteMove, SwitchPlace, TakeMove
from touchbase.clients.models import DELETION_DELAY
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.connections.sql.encrypted_columns import TABLES as ENCRYPTED_TABLES
from touchbase.connections.sql.encrypted_columns import decrypt_row, encrypt_values, record_key
from touchbase.consistency import Verified, verify
from touchbase.encryption import NO_ENCRYPTION_KEY, Cipher
from touchbase.errors import Invalid, UnusableStore, WrongState
from touchbase.routing import moving_plans as plans
from touchbase.routing.router import CellRouter
from touchbase.sql.statement import Plan, Row
from touchbase.storage import client_rows as rows_of
from touchbase.storage.client_rows import ARRIVING, FROZEN, NOTING, Clash, ClientRows, MovedTable
from touchbase.storage.store_copy import key_from_text, key_to_text

TRIES = 20
"""Attempts of a page that contradicts rows of an earlier time; what was noted meanwhile is copied before each."""
PAUSE_SECONDS = 0.05
NOTED = 2_000
"""Changes copied in one transaction."""
FEW = 200
"""Changes that are left for the time in which the client is frozen."""
MOST_ROUNDS = 50
REMOVED = 5_000
SMALLEST_PAGE, LARGEST_PAGE = 16, 5_000
PAGE_BYTES = 8 * 1024 * 1024
NOTE_EVERY: Micros = SECOND
STEPS = ("copy", "compare")
OpenRows = Callable[[int], Awaitable[tuple[ClientRows, Cipher]]]
"""Opens the client's rows in the cell of a number."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a move is."""

    step: str
    """wait, copy, compare, freeze, clean, or undo."""
    table: str = ""
    done: int = 0
    """Rows so far in this step."""
    total: int = 0
    """Rows of the client when the step began; 0: not counted."""


@dataclass(slots=True)
class Moved:
    """A move that is done."""

    number: int
    source: int
    target: int
    rows: int = 0
    """Rows in the target."""
    differences: int = 0
    """Rows that changed between their copy and their comparison."""
    frozen_us: Micros = 0
    """How long writes were refused; 0 when another process had done that part."""


Report = Callable[[Progress], None]


@dataclass(slots=True)
class _End:
    """One of the two stores of a move."""

    rows: ClientRows
    cipher: Cipher

    def plain(self, table: MovedTable, rows: Iterable[Row]) -> list[Row]:
        """Return rows with their secrets decrypted."""
        encrypted = next((each for each in ENCRYPTED_TABLES if each.name == table.name), None)
        return [*rows] if encrypted is None else [decrypt_row(self.cipher, encrypted, table.typed, row) for row in rows]

    def stored(self, table: MovedTable, rows: Sequence[Row]) -> list[Row]:
        """Return rows with their secrets encrypted, as they are stored here."""
        encrypted = next((each for each in ENCRYPTED_TABLES if each.name == table.name), None)
        try:
            return [*rows] if encrypted is None else [encrypt_values(self.cipher, encrypted, table.typed, row) for row in rows]
        except Invalid as error:
            raise UnusableStore(f"the client has secrets, and they {NO_ENCRYPTION_KEY}") from error


@dataclass(slots=True)
class ClientMove:
    """The move of one client, by one process."""

    router: CellRouter
    number: int
    target_cell: int
    open_rows: OpenRows
    clock: Clock
    report: Report = lambda progress: None
    verify: bool = True
    """Recompute the client's records from its history before the switch, as `touchbase verify` does."""
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    token: str = field(default_factory=lambda: token_hex(8))
    _move: Move = field(init=False)
    _source: _End = field(init=False)
    _target: _End = field(init=False)
    _tables: list[MovedTable] = field(init=False)
    """In the order of their removal."""
    _client: MovedTable = field(init=False)
    _done: Moved = field(init=False)
    _noted_us: Micros = 0
    _rows: int = 0
    _total: int = 0

    async def run(self) -> Moved:
        """Carry the move out, or what is left of it.

        Raises `WrongState` when the client lives there already, is being deleted, moves elsewhere, or another process has taken the move
        over; `Overloaded` when a store cannot be used: then it may be run again.
        """
        known = await self._known()
        source = known.source if known is not None else self.router.placement.cell_of(self.number)
        if source == self.target_cell:
            raise WrongState("the client lives in this cell already")
        async with plans.opened(self.open_rows, source, self.target_cell) as (ours, theirs):
            self._source, self._target = _End(*ours), _End(*theirs)
            await self._read_tables()
            await self._take(source)
            self._done = Moved(self.number, source, self.target_cell)
            if self._move.state == SWITCHING and not await self._is_frozen():
                self._move = plans.in_state(self._move, COPYING)
            if self._move.state == COPYING:
                await self._copy()
                if self.verify:
                    await self._verify()
                await self._freeze()
            if self._move.state == SWITCHING:
                await self._switch()
            await self._clean()
        return self._done

    async def undo(self) -> None:
        """Let the client stay where it is, and remove what the target has of it. `WrongState` when there is no move, or it is too late."""
        known = await self._known()
        if known is None:
            raise WrongState("the client does not move")
        if known.state != COPYING:
            raise WrongState("the new cell has all of the client: run the move again without --undo; then move it back")
        async with plans.opened(self.open_rows, known.source, known.target) as (ours, theirs):
            self._source, self._target = _End(*ours), _End(*theirs)
            await self._read_tables()
            self.target_cell = known.target
            await self._take(known.source)
            await self._undo()

    async def _known(self) -> Move | None:
        await self.router.refresh()
        return next((each for each in await self.router.home.read(ListMoves()) if each.number == self.number), None)

    async def _read_tables(self) -> None:
        """Find the tables to move. Both stores must have the same ones."""
        found, wanted = await self._target.rows.tables(), await self._source.rows.tables()
        plans.refuse_different(found, wanted)
        self._tables, self._client = rows_of.moved_tables(wanted), rows_of.client_table(wanted)

    async def _take(self, source: int) -> None:
        """Take the move; wait while another process has it."""
        client = await self._source.rows.read(rows_of.page(self._client, self.number, None, 1))
        ids = [str(row[1]) for row in client] + await self._column("client_alias")
        while True:
            self._move = await self.router.home.write(TakeMove(self.number, ids, source, self.target_cell, self.token, self.clock()))
            if self._move.token.endswith(self.token):
                self.token = self._move.token
                return
            self.report(Progress("wait", total=int(LEASE // SECOND)))
            await self.sleep(1)

    async def _column(self, table: str) -> list[str]:
        """Return the keys of the client's rows in a table with a key of one text."""
        found = next(each for each in self._tables if each.name == table)
        return [str(found.key_of(row)[0]) for row in await self._source.rows.read(rows_of.page(found, self.number, None, None))]

    # Copy and compare

    async def _copy(self) -> None:
        """Copy all rows, then compare them."""
        client = self.number
        watched = [*self._tables, self._client]
        at = json.loads(self._move.position)
        await self._take_ends(at)
        if not at or not await self._source.rows.watches(watched):
            await self._source.rows.watch(watched, self.token)
            await self._empty(self._target.rows, ARRIVING)
            at = {"step": STEPS[0], "table": "", "after": "null"}
            await self._note(at, now=True)
        tables = [table for table in rows_of.in_order(self._tables) if table.name not in rows_of.LATE]
        self._total = sum([await self._source.rows.read(rows_of.count(table, client)) for table in tables])
        for step in STEPS[STEPS.index(at["step"]) :]:
            self._rows = 0
            names = [table.name for table in tables]
            for table in tables[names.index(at["table"]) if at["table"] else 0 :]:
                after = key_from_text(at["after"]) if table.name == at["table"] else None
                self._done.differences += await self._copy_table(step, table, after)
            at = {"table": "", "after": "null"}

    async def _take_ends(self, at: Mapping[str, str]) -> None:
        """Take the client over in both stores, and make sure that the move was not lost since it was taken."""
        is_new = {ARRIVING: False, NOTING: False}
        ends = {NOTING: self._source.rows, ARRIVING: self._target.rows}
        try:
            for state, rows in ends.items():
                is_new[state] = await rows.write(rows_of.take_as(self.number, self.token, state))
            await self._note(at, now=True)
        except WrongState:
            for state, rows in ends.items():
                if is_new[state]:
                    await rows.write(rows_of.forget(self.number, self.token))
            raise

    async def _note(self, position: Mapping[str, str], *, now: bool = False, state: str = COPYING) -> None:
        """Write how far the move is, so that another process goes on there; at most once a second, unless `now`."""
        at = self.clock()
        if not now and at < self._noted_us + NOTE_EVERY:
            return
        self._noted_us = at
        if not await self.router.home.write(NoteMove(self.number, self.token, at, state, json.dumps(position))):
            raise rows_of.lost()

    async def _copy_table(self, step: str, table: MovedTable, after: Row | None) -> int:
        """Make the target's rows behind a key equal to the source's; return how many were not, if this compares."""
        size, different = SMALLEST_PAGE if table.parent else LARGEST_PAGE, 0
        while True:
            rows, changed = await self._copy_page(table, after, size)
            different += changed
            self._rows += len(rows)
            self.report(Progress(step, table.name, self._rows, self._total))
            if len(rows) < size:
                return different if step == STEPS[1] else 0
            after = table.key_of(rows[-1])
            await self._note({"step": step, "table": table.name, "after": key_to_text(after)})
            size = plans.next_page(rows, SMALLEST_PAGE, LARGEST_PAGE, PAGE_BYTES)

    async def _copy_page(self, table: MovedTable, after: Row | None, size: int) -> tuple[list[Row], int]:
        """Make one page equal; return its rows and how many of them, or of others in the target, were different."""
        for _ in range(TRIES):
            await self._copy_noted()
            found = await self._source.rows.read(rows_of.page(table, self.number, after, size))
            last = table.key_of(found[-1]) if len(found) == size else None
            rows = self._source.plain(table, found)
            there = await self._target.rows.read(rows_of.page(table, self.number, after, None, last))
            keys, changed = plans.differing(table, self._target.plain(table, there), rows)
            try:
                if keys:
                    await self._replace({table.name: keys}, {table.name: changed})
                return found, len(keys)
            except Clash:
                await self.sleep(PAUSE_SECONDS)
        raise UnusableStore(
            f"rows of the table {table.name} contradict each other in the target: undo the move with --undo, and report this"
        )

    async def _replace(self, keys: Mapping[str, Iterable[Row]], rows: Mapping[str, Sequence[Row]]) -> None:
        by_name = {table.name: table for table in self._tables}
        stored = {name: self._target.stored(by_name[name], each) for name, each in rows.items()}
        plan = rows_of.replace(self._tables, self.number, self.token, keys, stored)
        if self._target.cipher.can_encrypt and any(each.name in rows for each in ENCRYPTED_TABLES):
            plan = plans.after(record_key(self._target.cipher), plan)
        await self._target.rows.write(plan)

    async def _copy_noted(self) -> int:
        """Copy the rows whose changes were noted; return how many changes."""
        tables = {table.name: table for table in self._tables if table.name not in rows_of.LATE}
        most = NOTED
        for _ in range(TRIES):
            noted = await self._source.rows.read(rows_of.noted(tables, self.number, most))
            if not noted.sequences:
                return 0
            rows: dict[str, list[Row]] = {}
            for name, keys in noted.keys.items():
                found = await self._source.rows.read(rows_of.by_key(tables[name], self.number, keys))
                rows[name] = self._source.plain(tables[name], found)
            try:
                await self._replace(noted.keys, rows)
            except Clash:
                # A row may depend on one that changed after the last of these.
                most *= 2
                await self.sleep(PAUSE_SECONDS)
                continue
            await self._source.rows.write(rows_of.forget_noted(self.number, self.token, noted.sequences))
            return len(noted.sequences)
        raise UnusableStore("changed rows contradict each other in the target: undo the move with --undo, and report this")

    async def _verify(self) -> None:
        """Raise `WrongState` when a value of the client is not what its history gives: the move would take the fault along."""
        counted = Verified()

        def went_on() -> None:
            self.report(Progress("verify", done=counted.contacts + counted.companies))

        async for found in verify(self.router, self.number, counted, went_on):
            raise WrongState(
                f"{found.subject} differs from its history: `touchbase verify` shows all such values; mend them, or move with --no-verify"
            )
        await self._note({"step": STEPS[1], "table": "", "after": "null"}, now=True)

    # Freeze and switch

    async def _is_frozen(self) -> bool:
        """Take over both ends of a move that was to be switched; return whether the client is still frozen."""
        former = await self._source.rows.write(rows_of.take(self.number, self.token, NOTING))
        await self._target.rows.write(plans.take_unless_arrived(self.number, self.token))
        return former == FROZEN

    async def _freeze(self) -> None:
        """Refuse writes, copy the last changes, and make sure that nothing is missing; else let writes go on."""
        for _ in range(MOST_ROUNDS):
            if await self._copy_noted() < FEW:
                break
        self.report(Progress("freeze"))
        began = self.clock()
        try:
            await self._source.rows.write(rows_of.set_state(self.number, self.token, FROZEN, (NOTING,)))
            await self._source.rows.settle([*self._tables, self._client])
            while await self._copy_noted():
                pass
            for table in self._tables:
                if table.name in rows_of.LATE:
                    await self._copy_table(STEPS[0], table, None)
            await self._check_equal()
            await self._note({}, now=True, state=SWITCHING)
        except BaseException:
            await self._source.rows.write(rows_of.set_state(self.number, self.token, NOTING, (FROZEN, NOTING)))
            raise
        self._move = plans.in_state(self._move, SWITCHING)
        await self._switch()
        self._done.frozen_us = self.clock() - began

    async def _check_equal(self) -> None:
        """Raise `UnusableStore` when a table has not as many rows in both stores, `WrongState` when the client is gone or going."""
        self._done.rows = 0
        for table in self._tables:
            wanted, found = (
                await self._source.rows.read(rows_of.count(table, self.number)),
                await self._target.rows.read(rows_of.count(table, self.number)),
            )
            if found != wanted:
                raise UnusableStore(
                    f"the table {table.name} has {found} rows of the client in the target, and {wanted} in the source; nothing was "
                    "switched: undo the move with --undo, and report this"
                )
            self._done.rows += found
        client = await self._source.rows.read(rows_of.page(self._client, self.number, None, 1))
        plans.refuse_deleting(self._client, client)

    async def _switch(self) -> None:
        """Let the client live in the target."""
        keys, ids = await self._column("api_key"), await self._column("client_alias")
        client = await self._source.rows.read(rows_of.page(self._client, self.number, None, 1))
        await self._target.rows.write(plans.arrive(self._client, self.number, self.token, client))
        names = [str(row[1]) for row in client] + ids
        if not await self.router.home.write(SwitchPlace(self.number, self.token, names, keys, self.clock())):
            raise rows_of.lost()
        await self.router.refresh()
        self._move = plans.in_state(self._move, CLEANING, self.clock())

    # Clean

    async def _clean(self) -> None:
        """Remove the client from the source, its own row first: the source's workers look for that one."""
        rows, watched = self._source.rows, [*self._tables, self._client]
        if await rows.write(rows_of.take(self.number, self.token, FROZEN)) is not None:
            await rows.write(rows_of.passing(plans.leave(self.number), self.number, self.token))
            self.report(Progress("clean"))
            wait = self._move.updated_us + DELETION_DELAY - self.clock()
            while wait > 0:
                await self.sleep(min(1.0, wait / SECOND))
                await self._note({}, state=CLEANING)
                wait = self._move.updated_us + DELETION_DELAY - self.clock()
            await self._empty(rows, FROZEN)
        await rows.unwatch(watched, self.token)
        await rows.write(rows_of.forget(self.number, self.token))
        await self.router.home.write(EndMove(self.number, self.token))
        await self.router.refresh()

    async def _empty(self, rows: ClientRows, state: str) -> None:
        """Remove all of the client's rows from a store, but its own."""
        position, removed = None, 0
        while True:
            plan: Plan[plans.Removed] = plans.remove(self.number, self.token, position, REMOVED, state)
            gone, position = await rows.write(plan)
            removed += gone
            if position is None and not gone:
                return
            self.report(Progress("clean", done=removed))
            await self._note({}, state=self._move.state)

    async def _undo(self) -> None:
        self.report(Progress("undo"))
        source, target = self._source.rows, self._target.rows
        await self._take_ends(json.loads(self._move.position))
        await source.unwatch([*self._tables, self._client], self.token)
        await source.write(plans.stay(self.number, self.token))
        await self._empty(target, ARRIVING)
        await target.write(rows_of.forget(self.number, self.token))
        await self.router.home.write(EndMove(self.number, self.token))
