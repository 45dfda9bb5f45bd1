"""Move a client to another cell while it is used. The process that carries a move out may be killed at any moment: the next one goes on.

1. Triggers in the source note each change of the client's rows. All rows are copied, page by page, then compared with the source and
   written again where they differ; what was noted is copied in between (moving_copy.py).
2. The client is frozen: for a second, writes are refused with 503. The last changes are copied, and every table's rows are counted.
3. The target gets the client's own row, and the directory says that the client lives there. From then on the move only goes forward.
4. After `DELETION_DELAY` every process knows it. The source's rows are removed, and then its triggers.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from secrets import token_hex

from touchbase.cells import (
    CLEANING,
    COPYING,
    ID_BITS,
    LEASE,
    SWITCHING,
    EndMove,
    ListMoves,
    Move,
    NoteMove,
    RaiseIds,
    SwitchPlace,
    TakeIdRange,
    TakeMove,
)
from touchbase.cells.sql import raise_ids
from touchbase.clients import DELETION_DELAY
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.consistency import Verified, verify
from touchbase.encryption import Cipher
from touchbase.errors import WrongState
from touchbase.routing import moving_plans as plans
from touchbase.routing.moving_copy import COMPARE, COPY, End, Progress, RowCopy
from touchbase.routing.router import CellRouter
from touchbase.sql.statement import Row
from touchbase.storage import client_rows as rows_of
from touchbase.storage.client_rows import ARRIVING, FROZEN, NOTING, ClientRows, MovedTable
from touchbase.storage.store_copy import key_from_text

FEW = 200
"""Changes that are left for the time in which the client is frozen."""
MOST_ROUNDS = 50
"""Rounds after which it is frozen with more."""
REMOVED = 5_000
"""Rows removed in one transaction."""
NOTE_EVERY: Micros = SECOND
STEPS = (COPY, COMPARE)
BEGINNING = {"step": COPY, "table": "", "after": "null"}
OpenRows = Callable[[int], Awaitable[tuple[ClientRows, Cipher]]]
"""Opens the client's rows in the cell of a number."""


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


@dataclass(slots=True)
class ClientMove:
    """The move of one client, by one process."""

    router: CellRouter
    number: int
    target_cell: int
    open_rows: OpenRows
    clock: Clock
    report: Callable[[Progress], None] = lambda progress: None
    verify: bool = True
    """Recompute the client's records from its history before the switch, as `touchbase verify` does."""
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    token: str = field(default_factory=lambda: token_hex(8))
    _move: Move = field(init=False)
    _copy: RowCopy = field(init=False)
    _client: MovedTable = field(init=False)
    _done: Moved = field(init=False)
    _noted_us: Micros = 0

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
            await self._begin(ours, theirs)
            await self._take(source)
            self._done = Moved(self.number, source, self.target_cell)
            if self._move.state == SWITCHING and not await self._is_frozen():
                self._move = replace(self._move, state=COPYING)
            if self._move.state == COPYING:
                await self._copy_all()
                if self.verify:
                    await self._verify()
                await self._raise_ids()
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
        self.target_cell = known.target
        async with plans.opened(self.open_rows, known.source, known.target) as (ours, theirs):
            await self._begin(ours, theirs)
            await self._take(known.source)
            await self._undo()

    async def _known(self) -> Move | None:
        await self.router.refresh()
        return next((each for each in await self.router.home.read(ListMoves()) if each.number == self.number), None)

    async def _begin(self, ours: tuple[ClientRows, Cipher], theirs: tuple[ClientRows, Cipher]) -> None:
        """Find the tables to move. Both stores must have the same ones."""
        found, wanted = await theirs[0].tables(), await ours[0].tables()
        plans.refuse_different(found, wanted)
        self._client = rows_of.client_table(wanted)
        self._copy = RowCopy(End(*ours), End(*theirs), rows_of.moved_tables(wanted), self.number, self.token, self.report, self.sleep)

    @property
    def _watched(self) -> Sequence[MovedTable]:
        return [*self._copy.tables, self._client]

    async def _own_row(self) -> list[Row]:
        """Return the client's own row in the source, as a list of one, or of none."""
        return await self._copy.source.rows.read(rows_of.page(self._client, self.number, None, 1))

    async def _take(self, source: int) -> None:
        """Take the move; wait while another process has it."""
        ids = [str(row[1]) for row in await self._own_row()] + await self._copy.keys("client_alias")
        while True:
            self._move = await self.router.home.write(TakeMove(self.number, ids, source, self.target_cell, self.token, self.clock()))
            if self._move.token.endswith(self.token):
                self.token = self._copy.token = self._move.token
                return
            self.report(Progress("wait", total=int(LEASE // SECOND)))
            await self.sleep(1)

    async def _note(self, position: Mapping[str, str]) -> None:
        """Write how far the move is, so that another process goes on there; at most once a second."""
        if self.clock() >= self._noted_us + NOTE_EVERY:
            await self._note_now(position, self._move.state)

    async def _note_now(self, position: Mapping[str, str], state: str) -> None:
        self._noted_us = self.clock()
        if not await self.router.home.write(NoteMove(self.number, self.token, self._noted_us, state, json.dumps(position))):
            raise rows_of.lost()

    # Copy and compare

    async def _copy_all(self) -> None:
        """Copy all rows, then compare them."""
        source = self._copy.source.rows
        at: Mapping[str, str] = json.loads(self._move.position)
        await self._take_ends(at)
        if not at or not await source.watches(self._watched):
            await source.watch(self._watched, self.token)
            await self._empty(self._copy.target.rows, ARRIVING)
            at = BEGINNING
            await self._note_now(at, COPYING)
        await self._copy.count()
        names = [table.name for table in self._copy.early]
        for step in STEPS[STEPS.index(at["step"]) :]:
            self._copy.done = 0
            first = names.index(at["table"]) if at["table"] else 0
            for table in self._copy.early[first:]:
                after = key_from_text(at["after"]) if table.name == at["table"] else None
                changed = await self._copy.make_equal(step, table, after, self._note)
                self._done.differences += changed if step == COMPARE else 0
            at = BEGINNING

    async def _take_ends(self, at: Mapping[str, str]) -> None:
        """Take the client over in both stores, and make sure that the move was not lost since it was taken."""
        is_new = {ARRIVING: False, NOTING: False}
        ends = {NOTING: self._copy.source.rows, ARRIVING: self._copy.target.rows}
        try:
            for state, rows in ends.items():
                is_new[state] = await rows.write(rows_of.take_as(self.number, self.token, state))
            await self._note_now(at, COPYING)
        except WrongState:
            for state, rows in ends.items():
                if is_new[state]:
                    await rows.write(rows_of.forget(self.number, self.token))
            raise

    async def _verify(self) -> None:
        """Raise `WrongState` when a value of the client is not what its history gives: the move would take the fault along."""
        await self._note_now({**BEGINNING, "step": COMPARE}, COPYING)
        counted = Verified()

        def went_on() -> None:
            self.report(Progress("verify", done=counted.contacts + counted.companies))

        async def check() -> None:
            async for found in verify(self.router, self.number, counted, went_on):
                raise WrongState(
                    f"{found.subject} differs from its history: `touchbase verify` shows all of them; mend them, or move with --no-verify"
                )

        checking = asyncio.create_task(check())
        try:
            while not (await asyncio.wait({checking}, timeout=1))[0]:
                await self._note({**BEGINNING, "step": COMPARE})
            await checking
        finally:
            checking.cancel()

    async def _raise_ids(self) -> None:
        """Let the target give out ids above all that the client has: lists are in the order of ids."""
        ours = await self._copy.source.rows.read(plans.highest_ids())
        theirs = await self._copy.target.rows.read(plans.highest_ids())
        if max(ours) >> ID_BITS > min(theirs) >> ID_BITS:
            number = await self.router.home.write(TakeIdRange(self.clock()))
            await self._copy.target.rows.write(raise_ids(RaiseIds(number << ID_BITS)))

    # Freeze and switch

    async def _freeze(self) -> None:
        """Refuse writes, copy the last changes, and make sure that nothing is missing; else let writes go on."""
        source = self._copy.source.rows
        for _ in range(MOST_ROUNDS):
            if await self._copy.copy_noted() < FEW:
                break
        self.report(Progress("freeze"))
        began = self.clock()
        try:
            await source.write(rows_of.set_state(self.number, self.token, FROZEN, (NOTING,)))
            await source.settle(self._watched)
            while await self._copy.copy_noted():
                pass
            for table in self._copy.tables:
                if table.name in rows_of.LATE:
                    await self._copy.make_equal(COPY, table)
            self._done.rows = await self._copy.check_counts()
            plans.refuse_deleting(self._client, await self._own_row())
            await self._note_now({**BEGINNING, "step": COMPARE}, SWITCHING)
        except BaseException:
            await source.write(rows_of.set_state(self.number, self.token, NOTING, (FROZEN, NOTING)))
            raise
        await self._switch()
        self._done.frozen_us = self.clock() - began

    async def _is_frozen(self) -> bool:
        """Take over both ends of a move that was to be switched; return whether the client is still frozen."""
        former = await self._copy.source.rows.write(rows_of.take(self.number, self.token, NOTING))
        await self._copy.target.rows.write(plans.take_unless_arrived(self.number, self.token))
        return former == FROZEN

    async def _switch(self) -> None:
        """Let the client live in the target."""
        client, former = await self._own_row(), await self._copy.keys("client_alias")
        await self._copy.target.rows.write(plans.arrive(self._client, self.number, self.token, client))
        ids, keys, at = [str(row[1]) for row in client] + former, await self._copy.keys("api_key"), self.clock()
        if not await self.router.home.write(SwitchPlace(self.number, self.token, ids, keys, at)):
            raise rows_of.lost()
        await self.router.refresh()
        self._move = replace(self._move, state=CLEANING, updated_us=at)

    # Clean

    async def _clean(self) -> None:
        """Remove the client from the source, its own row first: the source's workers look for that one."""
        source = self._copy.source.rows
        if await source.write(rows_of.take(self.number, self.token, FROZEN)) is not None:
            await source.write(rows_of.passing(plans.leave(self.number), self.number, self.token))
            while (wait := self._move.updated_us + DELETION_DELAY - self.clock()) > 0:
                self.report(Progress("clean"))
                await self.sleep(min(1.0, wait / SECOND))
                await self._note({})
            await self._empty(source, FROZEN)
        await source.unwatch(self._watched, self.token)
        await source.write(rows_of.forget(self.number, self.token))
        await self._end()

    async def _empty(self, rows: ClientRows, state: str) -> None:
        """Remove all of the client's rows from a store, but its own."""
        position, removed = None, 0
        while True:
            gone, position = await rows.write(plans.remove(self.number, self.token, position, REMOVED, state))
            removed += gone
            if position is None and not gone:
                return
            self.report(Progress("clean", done=removed))
            await self._note({})

    async def _undo(self) -> None:
        self.report(Progress("undo"))
        source, target = self._copy.source.rows, self._copy.target.rows
        await self._take_ends(json.loads(self._move.position))
        await source.unwatch(self._watched, self.token)
        await source.write(plans.stay(self.number, self.token))
        await self._empty(target, ARRIVING)
        await target.write(rows_of.forget(self.number, self.token))
        await self._end()

    async def _end(self) -> None:
        await self.router.home.write(EndMove(self.number, self.token))
        await self.router.refresh()
