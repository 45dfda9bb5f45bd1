"""One turn of the inbox on PostgreSQL: claim, translate and apply in one transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from touchbase.domain.delivery import Delivery
from touchbase.domain.errors import Overloaded
from touchbase.domain.ports import Rehearsal, Translate, WorkReport
from touchbase.storage.postgres.ahead import in_slices
from touchbase.storage.postgres.connection import Connection, again, is_not_now, is_try_again, read, roll_back, run, write
from touchbase.storage.postgres.ids import SharedIds
from touchbase.storage.postgres.wall import begin
from touchbase.storage.sql.handlers import IN_USE, apply_batch, apply_needs, note_failure
from touchbase.storage.sql.rehearse import compared, load_deliveries, look, rehearse
from touchbase.storage.sql.scope import of
from touchbase.storage.sql.sightings import Sighted
from touchbase.storage.sql.turn import Turn, merged, reason

Take = Callable[[Connection], Awaitable[Turn]]
"""Claims deliveries in the transaction that is open on this connection, and translates them."""


@dataclass(frozen=True, slots=True)
class Worker:
    """Applies deliveries of one client on one connection."""

    connection: Connection
    ids: SharedIds
    client: int
    now_us: int
    attempts: Iterator[int] = field(default_factory=count)
    """How often this turn was tried before: the ids that it may take grow with it."""
    states: Container[str] = IN_USE
    """Those of a client whose deliveries it applies."""

    async def work(self, take: Take) -> WorkReport:
        """One turn of what `take` claims; it stays locked until the turn ends, so other workers pass it by."""
        turn = Turn([], [])
        try:
            await self.connection.execute(begin(of(self.client)))
            turn = await take(self.connection)
            report = await self._apply(turn.claimed) if turn.claimed else WorkReport()
            await self.connection.execute("COMMIT")
        except BaseException as error:
            await roll_back(self.connection, error)
            if is_not_now(error) or is_try_again(error) or not (isinstance(error, Exception) and turn.claimed):
                raise
            report = await self._one_by_one(turn.claimed)
        for delivery, why in turn.broken:
            report = merged(report, await self._fail(delivery, why))
        return report

    async def rehearse(self, ids: Sequence[int], translate: Translate) -> Rehearsal:
        """What applying these again would change, tried and taken back."""
        scope = of(self.client)
        deliveries = await read(self.connection, load_deliveries(self.client, ids), scope)
        turn = await in_slices(deliveries, translate)
        try:
            await self.connection.execute(begin(scope))
            rehearsing = await run(self.connection, rehearse(self.client, turn, self.now_us))
        finally:
            await roll_back(self.connection)
        # Not a transaction that only reads, as looking at records locks them.
        before = await write(self.connection, look(self.client, rehearsing.after), scope)
        return compared(turn, rehearsing, before)

    async def _apply(self, claimed: Sequence[Sighted]) -> WorkReport:
        ids = await self.ids.cut(apply_needs(claimed, next(self.attempts)))
        return await run(self.connection, apply_batch(self.client, claimed, ids, self.now_us, self.states))

    async def _one_by_one(self, claimed: Sequence[Sighted]) -> WorkReport:
        report = WorkReport()
        for seen in claimed:
            report = merged(report, await self._alone(seen))
        return report

    async def _alone(self, seen: Sighted) -> WorkReport:
        attempts = count()

        async def attempt() -> WorkReport:
            ids = await self.ids.cut(apply_needs([seen], next(attempts)))
            return await write(self.connection, apply_batch(self.client, [seen], ids, self.now_us, self.states), of(self.client))

        try:
            return await again(attempt)
        except Overloaded:
            raise
        except Exception as error:
            return await self._fail(seen.delivery, reason(error))

    async def _fail(self, delivery: Delivery, why: str) -> WorkReport:
        await write(self.connection, note_failure(self.client, delivery, why, self.now_us), of(self.client))
        return WorkReport(taken=1)
