"""Processing one large delivery, on any engine: begin an attempt, read, then apply in parts, with other writes between them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.deliveries.delivery import MAX_ATTEMPTS, Delivery
from touchbase.deliveries.limits import OUT_OF_ATTEMPTS
from touchbase.deliveries.work import Translate, WorkReport
from touchbase.errors import Overloaded
from touchbase.projection.apply import apply_batch, apply_needs
from touchbase.projection.delivery_outcomes import record_failure
from touchbase.projection.delivery_parts import DeliveryInParts, begin_attempt
from touchbase.projection.inbox_batch import FailedDelivery, ReadBatch, merge_reports, subject_parts
from touchbase.projection.normalization import NormalizedDelivery
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Plan

Needs = Callable[[], Mapping[str, int]]
Write = Callable[[Callable[[Ids], Plan[Any]], Needs], Awaitable[Any]]
"""Runs a plan in its own transaction, with the ids it needs; raises `Overloaded` if the engine cannot write now."""


@dataclass(frozen=True, slots=True)
class LargeWork:
    """Processes large deliveries of one client, one by one."""

    client: int
    now_us: Micros
    states: Container[str]
    write: Write
    lease: Micros = 0
    """How long other workers skip a delivery after its attempt began: longer than processing takes. 0: there are no other workers."""

    async def read_and_apply(self, delivery: Delivery, translate: Translate, read: ReadBatch) -> WorkReport:
        """Read a large delivery and apply it."""
        if delivery.attempts >= MAX_ATTEMPTS:
            return await self._fail(
                FailedDelivery(delivery, OUT_OF_ATTEMPTS.format(delivery.attempts), for_good=True), attempts=MAX_ATTEMPTS - 1
            )
        if not await self._begin(delivery):
            return WorkReport()
        batch = await read([delivery], translate)
        for broken in batch.broken:
            return await self._fail(broken)
        return await self._apply(batch.claimed[0])

    async def apply(self, normalized: NormalizedDelivery) -> WorkReport:
        """Apply a delivery that was read and has more events than one transaction applies."""
        return await self._apply(normalized) if await self._begin(normalized.delivery) else WorkReport()

    async def _begin(self, delivery: Delivery) -> bool:
        until = self.now_us + self.lease if self.lease else delivery.next_attempt_us
        begun: bool = await self.write(lambda ids: begin_attempt(delivery, until), dict)
        return begun

    async def _apply(self, normalized: NormalizedDelivery) -> WorkReport:
        parts = subject_parts(normalized)
        in_parts = DeliveryInParts(normalized, len(parts))
        report = WorkReport()
        try:
            for at, unpack in enumerate(parts):
                in_parts.at = at
                report = merge_reports(report, await self._part([unpack()], in_parts))
                if at not in in_parts.outcomes:  # the client was suspended or deleted; the attempt is repeated later
                    break
        except Overloaded:
            raise
        except Exception as error:
            return merge_reports(report, await self._fail(FailedDelivery.by(error, normalized.delivery)))
        return report

    async def _part(self, claimed: Sequence[NormalizedDelivery], in_parts: DeliveryInParts) -> WorkReport:
        tries = count()
        report: WorkReport = await self.write(
            lambda ids: apply_batch(self.client, claimed, ids, self.now_us, self.states, in_parts),
            lambda: apply_needs(claimed, next(tries)),
        )
        return report

    async def _fail(self, broken: FailedDelivery, attempts: int | None = None) -> WorkReport:
        delivery = broken.delivery
        if attempts is not None:
            delivery.attempts = attempts  # the last attempt was stored when it began
        report: WorkReport = await self.write(
            lambda ids: record_failure(self.client, delivery, broken.why, self.now_us, for_good=broken.for_good), dict
        )
        return report
