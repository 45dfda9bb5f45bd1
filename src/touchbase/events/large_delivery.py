"""Working on one delivery alone, on any engine: attempt, look, then part by part, with others' writes between the parts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.errors import Overloaded
from touchbase.events.claim import note_failure
from touchbase.events.delivery_parts import Division, begin
from touchbase.events.event_normalization import NormalizedDelivery
from touchbase.events.inbox_batch import FailedDelivery, ReadTurn, merged, parts_of, reason
from touchbase.events.projection import apply_batch, apply_needs
from touchbase.events.work import Translate, WorkReport
from touchbase.inbox.budget import OUT_OF_ATTEMPTS
from touchbase.inbox.delivery import MAX_ATTEMPTS, Delivery
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Plan

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
            return await self._fail(
                FailedDelivery(delivery, OUT_OF_ATTEMPTS.format(delivery.attempts), for_good=True), attempts=MAX_ATTEMPTS - 1
            )
        if not await self._begin(delivery):
            return WorkReport()
        turn = await read([delivery], translate)
        for broken in turn.broken:
            return await self._fail(broken)
        return await self._apply(turn.claimed[0])

    async def apply(self, seen: NormalizedDelivery) -> WorkReport:
        """Apply a delivery that was looked at and has more events than one transaction takes."""
        return await self._apply(seen) if await self._begin(seen.delivery) else WorkReport()

    async def _begin(self, delivery: Delivery) -> bool:
        until = self.now_us + self.lease if self.lease else delivery.next_attempt_us
        begun: bool = await self.write(lambda ids: begin(delivery, until), dict)
        return begun

    async def _apply(self, seen: NormalizedDelivery) -> WorkReport:
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
            return merged(report, await self._fail(FailedDelivery(seen.delivery, reason(error))))
        return report

    async def _part(self, claimed: Sequence[NormalizedDelivery], division: Division) -> WorkReport:
        tries = count()
        report: WorkReport = await self.write(
            lambda ids: apply_batch(self.client, claimed, ids, self.now_us, self.states, division),
            lambda: apply_needs(claimed, next(tries)),
        )
        return report

    async def _fail(self, broken: FailedDelivery, attempts: int | None = None) -> WorkReport:
        delivery = broken.delivery
        if attempts is not None:
            delivery.attempts = attempts  # the last attempt was written when it began
        report: WorkReport = await self.write(
            lambda ids: note_failure(self.client, delivery, broken.why, self.now_us, for_good=broken.for_good), dict
        )
        return report
