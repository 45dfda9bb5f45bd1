"""Inbox batches: reading claimed deliveries before `apply_batch`, the same in all engines."""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter

from touchbase.common.field_limits import storable
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.limits import MAX_EVENTS, is_large
from touchbase.deliveries.work import IsolatedReader, ReadResult, Translate, WorkReport
from touchbase.errors import DeliveryRefused, TouchbaseError
from touchbase.history.events import Translation
from touchbase.identity.event_subject import EventSubject
from touchbase.identity.scan import find_addresses
from touchbase.projection.normalization import NormalizedDelivery, cost_of, normalize

MAX_REASON_LENGTH = 500
_NO_DELIVERY = Delivery(0, "", 0, "", "", 0)
"""Placeholder for the delivery in the result of a translator process."""


@dataclass(slots=True)
class FailedDelivery:
    """A delivery that could not be read, with the reason; `for_good` if a retry is useless."""

    delivery: Delivery
    why: str
    for_good: bool = False

    @classmethod
    def by(cls, error: Exception, delivery: Delivery) -> FailedDelivery:
        """Return the delivery whose events could not be applied."""
        return cls(delivery, failure_reason(error), for_good=isinstance(error, DeliveryRefused))


@dataclass(slots=True)
class InboxBatch:
    """Claimed deliveries in normal form, deliveries that could not be read, and large deliveries, which are applied alone."""

    claimed: list[NormalizedDelivery]
    broken: list[FailedDelivery]
    large: list[Delivery] = field(default_factory=list)

    def __iadd__(self, batch: InboxBatch) -> InboxBatch:
        self.claimed += batch.claimed
        self.broken += batch.broken
        self.large += batch.large
        return self


ReadBatch = Callable[[Sequence[Delivery], Translate], Coroutine[None, None, InboxBatch]]
"""Reads deliveries in the engine's way: on a thread or in slices."""


def split_large(deliveries: Sequence[Delivery]) -> tuple[list[Delivery], list[Delivery]]:
    """Split off large deliveries from a batch, because they are applied alone."""
    return [delivery for delivery in deliveries if not is_large(delivery)], [delivery for delivery in deliveries if is_large(delivery)]


async def read_batch(deliveries: Sequence[Delivery], translate: Translate, here: Callable[[], Awaitable[InboxBatch]]) -> InboxBatch:
    """Read each delivery: in a translator process if there is a pool, else with `here`."""
    if isinstance(translate, IsolatedReader):
        return _batch_of(deliveries, await translate.read_many(deliveries))
    return await here()


async def read_batches(
    deliveries: Sequence[Delivery], size: int, translate: Translate, read: ReadBatch
) -> AsyncGenerator[InboxBatch, None]:
    """Read deliveries in chunks; while one is applied, the next is read, or the next two with translator processes."""
    reading = deque[asyncio.Task[InboxBatch]]()
    try:
        for first in range(0, len(deliveries), size):
            reading.append(asyncio.create_task(read(deliveries[first : first + size], translate)))
            if len(reading) > isinstance(translate, IsolatedReader):
                yield await reading.popleft()
        while reading:
            yield await reading.popleft()
    finally:
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)


def translate_batch(deliveries: Sequence[Delivery], translate: Translate) -> InboxBatch:
    """Read each delivery; a failure of its adapter does not affect the others.

    The scan for addresses of erased people runs here too: it is slow, and no transaction is open yet.
    """
    return _batch_of(deliveries, [read_delivery(delivery, translate) for delivery in deliveries])


def read_delivery(delivery: Delivery, translate: Translate) -> ReadResult:
    """Do the work for one delivery that needs no transaction: scan it for addresses, translate it and normalize its events."""
    result = ReadResult()
    try:
        if delivery.guarded:
            named = find_addresses(delivery)
            result.mentions, result.unsearchable = named.refs, named.unsearchable is not None
        result.normalized = _normalized(delivery, translate)
    except MemoryError:
        raise
    except Exception as error:
        result.why = failure_reason(error)
    return result


def pack_result(result: ReadResult) -> ReadResult:
    """Prepare a result for another process: without parts of reading, in several pickles if it is too much for one transaction."""
    if (normalized := result.normalized) is not None:
        normalized.delivery, normalized.own_ids, normalized.positions = _NO_DELIVERY, {}, {}
        if normalized.cost > MAX_EVENTS:
            normalized.packed = [pickle.dumps(part, pickle.HIGHEST_PROTOCOL) for part in _split_subjects(normalized)]
            normalized.subjects = []
    return result


def subject_parts(normalized: NormalizedDelivery) -> list[Callable[[], NormalizedDelivery]]:
    """Split a delivery into parts that fit into one transaction each; each part is unpickled when it is called for."""
    if not normalized.packed:
        return [partial(replace, normalized, subjects=part) for part in _split_subjects(normalized)]
    return [partial(_unpacked, normalized, part) for part in normalized.packed]


def transaction_groups(claimed: Sequence[NormalizedDelivery]) -> tuple[list[list[NormalizedDelivery]], list[NormalizedDelivery]]:
    """Group deliveries, in order, for one transaction each; return the groups, and deliveries too large for one transaction."""
    groups: list[list[NormalizedDelivery]] = []
    room = 0
    for normalized in claimed:
        events = max(1, normalized.cost)
        if events > MAX_EVENTS:
            continue
        if events > room:
            groups.append([])
            room = MAX_EVENTS
        groups[-1].append(normalized)
        room -= events
    return groups, [normalized for normalized in claimed if normalized.cost > MAX_EVENTS]


def failure_reason(error: Exception) -> str:
    """Return an error as one sentence, for the delivery's `error`."""
    text = error.detail if isinstance(error, DeliveryRefused) else f"{type(error).__name__}: {error}"
    return storable(text, MAX_REASON_LENGTH) or ""


def merge_reports(report: WorkReport, added: WorkReport) -> WorkReport:
    """Return the sum of two reports."""
    ended, problems, outcomes = Counter(report.ended), Counter(report.problems), Counter(report.outcomes)
    ended.update(added.ended)
    problems.update(added.problems)
    outcomes.update(added.outcomes)
    oldest = min((at for at in (report.oldest_us, added.oldest_us) if at is not None), default=None)
    return WorkReport(
        report.taken + added.taken,
        dict(ended),
        report.created + added.created,
        oldest,
        report.more or added.more,
        problems=dict(problems),
        outcomes=dict(outcomes),
        applied_since_us=report.applied_since_us + added.applied_since_us,
        calls=report.calls + added.calls,
        traced=report.traced + added.traced,
    )


def _batch_of(deliveries: Sequence[Delivery], result: Sequence[ReadResult]) -> InboxBatch:
    batch = InboxBatch([], [])
    for delivery, delivery_result in zip(deliveries, result, strict=True):
        delivery.addresses, delivery.unsearchable = delivery_result.mentions, delivery_result.unsearchable
        if delivery_result.why is None:
            normalized: NormalizedDelivery = delivery_result.normalized
            normalized.delivery = delivery
            batch.claimed.append(normalized)
            continue
        if delivery.guarded and delivery.addresses is None:
            delivery.addresses = set()  # a second scan could break or delay the transaction that stores the failure
        batch.broken.append(FailedDelivery(delivery, delivery_result.why, delivery_result.for_good))
    return batch


def _normalized(delivery: Delivery, translate: Translate) -> NormalizedDelivery:
    try:
        translation: Translation | TouchbaseError = translate(delivery)
    except TouchbaseError as error:
        translation = error
    return normalize(delivery, translation)


def _split_subjects(normalized: NormalizedDelivery) -> list[list[EventSubject]]:
    """Split the subjects for one transaction each: the oldest first, as an event before known ones folds the record's history again."""
    parts: list[list[EventSubject]] = [[]]
    room = MAX_EVENTS
    for subject in sorted(normalized.subjects, key=attrgetter("at")):
        cost = cost_of(subject)
        if cost > room and parts[-1]:
            parts.append([])
            room = MAX_EVENTS
        parts[-1].append(subject)
        room -= cost
    return parts


def _unpacked(normalized: NormalizedDelivery, part: bytes) -> NormalizedDelivery:
    return replace(normalized, subjects=pickle.loads(part), packed=[])  # noqa: S301 (made by `pack_result` in our translator process)
