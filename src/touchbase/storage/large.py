"""Working on one delivery alone, on any engine: attempt, look, then part by part, with others' writes between the parts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from touchbase.domain.budget import OUT_OF_ATTEMPTS
from touchbase.domain.delivery import MAX_ATTEMPTS, Delivery
from touchbase.domain.errors import Overloaded
from touchbase.domain.ports import Translate, WorkReport
from touchbase.domain.times import Micros
from touchbase.storage.sql.apply import apply_batch, apply_needs
from touchbase.storage.sql.divide import Division, begin
from touchbase.storage.sql.ids import Ids
from touchbase.storage.sql.inbox import note_failure
from touchbase.storage.sql.op import Plan
from touchbase.storage.sql.sightings import Sighted
from touchbase.storage.sql.turn import Broken, ReadTurn, merged, parts_of, reason

Needs = Callable[[], Mapping[str, int]]
Write = Callable[[Callable[[Ids], Plan[Any]], Needs], Awaitable[Any]]
"""Runs a plan in a transaction of its own, with ids for what it needs; `Overloaded` where the engine is not able."""


@dataclass(frozen=True, slots=True)
class LargeWork:
    """Works on large deliveries of one client, one by one."""

    client: int
    now_us: Micros
    states: Container[str]
    write: Write
    lease: Micros = 0
    """For how long other workers leave a delivery alone that was begun: longer than its work takes. None: there are none."""

    async def read_and_apply(self, delivery: Delivery, translate: Translate, read: ReadTurn) -> WorkReport:
        """Look at a large delivery, and apply it."""
        if delivery.attempts >= MAX_ATTEMPTS:
            return await self._fail(Broken(delivery, OUT_OF_ATTEMPTS.format(delivery.attempts), for_good=True), attempts=MAX_ATTEMPTS - 1)
        if not await self._begin(delivery):
            return WorkReport()
        turn = await read([delivery], translate)
        for broken in turn.broken:
            return await self._fail(broken)
        return await self._apply(turn.claimed[0])

    async def apply(self, seen: Sighted) -> WorkReport:
        """Apply a delivery that was looked at and has more events than one transaction takes."""
        return await self._apply(seen) if await self._begin(seen.delivery) else WorkReport()

    async def _begin(self, delivery: Delivery) -> bool:
        until = self.now_us + self.lease if self.lease else delivery.next_attempt_us
        begun: bool = await self.write(lambda ids: begin(delivery, until), dict)
        return begun

    async def _apply(self, seen: Sighted) -> WorkReport:
        parts = parts_of(seen)
        division = Division(seen, len(parts))
        report = WorkReport()
        try:
            for at, unpack in enumerate(parts):
                division.at = at
                report = merged(report, await self._part([unpack()], division))
                if at not in division.outcomes:  # the client may not be applied any more; what was begun is begun again one day
                    break
        except Overloaded:
            raise
        except Exception as error:
            return merged(report, await self._fail(Broken(seen.delivery, reason(error))))
        return report

    async def _part(self, claimed: Sequence[Sighted], division: Division) -> WorkReport:
        tries = count()
        report: WorkReport = await self.write(
            lambda ids: apply_batch(self.client, claimed, ids, self.now_us, self.states, division),
            lambda: apply_needs(claimed, next(tries)),
        )
        return report

    async def _fail(self, broken: Broken, attempts: int | None = None) -> WorkReport:
        delivery = broken.delivery
        if attempts is not None:
            delivery.attempts = attempts  # the last attempt was written when it began
        report: WorkReport = await self.write(
            lambda ids: note_failure(self.client, delivery, broken.why, self.now_us, for_good=broken.for_good), dict
        )
        return report
