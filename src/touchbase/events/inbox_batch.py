"""One turn of the inbox: what the engines share around `claim` and `apply_batch`."""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from touchbase.common.field_limits import keepable
from touchbase.errors import TouchbaseError
from touchbase.events.event_normalization import NormalizedDelivery, sight
from touchbase.events.event_subject import EventSubject
from touchbase.events.work import IsolatedReader, ReadResult, Translate, WorkReport
from touchbase.history.events import Translation
from touchbase.inbox.budget import MOST_EVENTS, is_large
from touchbase.inbox.delivery import Delivery
from touchbase.suppression.pii_scan import mentions

LONGEST_REASON = 500
_NO_DELIVERY = Delivery(0, "", 0, "", "", 0)
"""Stands in what another process has made for the delivery that we have ourselves."""


@dataclass(slots=True)
class FailedDelivery:
    """A delivery that could not be read, with the reason; `for_good` where trying again is of no use."""

    delivery: Delivery
    why: str
    for_good: bool = False


@dataclass(slots=True)
class InboxBatch:
    """Claimed deliveries with what their calls name, those that could not be read, and those that are to be worked on alone."""

    claimed: list[NormalizedDelivery]
    broken: list[FailedDelivery]
    large: list[Delivery] = field(default_factory=list)

    def __iadd__(self, other: InboxBatch) -> InboxBatch:
        self.claimed += other.claimed
        self.broken += other.broken
        self.large += other.large
        return self


ReadTurn = Callable[[Sequence[Delivery], Translate], Coroutine[None, None, InboxBatch]]
"""Looks at deliveries as an engine does it."""


def apart(deliveries: Sequence[Delivery]) -> tuple[list[Delivery], list[Delivery]]:
    """Those that may be worked on together, and those that are worked on alone."""
    return [each for each in deliveries if not is_large(each)], [each for each in deliveries if is_large(each)]


async def read_turn(deliveries: Sequence[Delivery], translate: Translate, here: Callable[[], Awaitable[InboxBatch]]) -> InboxBatch:
    """Look at each delivery: in a process apart where there is one, else as `here` does it."""
    if isinstance(translate, IsolatedReader):
        return _turn_of(deliveries, await translate.looked(deliveries))
    return await here()


async def turns(deliveries: Sequence[Delivery], size: int, translate: Translate, read: ReadTurn) -> AsyncGenerator[InboxBatch, None]:
    """Look at these chunk by chunk: while one is applied, the next are looked at, two of them where processes apart do it."""
    reading = deque[asyncio.Task[InboxBatch]]()
    try:
        for first in range(0, len(deliveries), size):
            reading.append(asyncio.create_task(read(deliveries[first : first + size], translate)))
            if len(reading) > isinstance(translate, IsolatedReader):
                yield await reading.popleft()
        while reading:
            yield await reading.popleft()
    finally:
        for each in reading:
            each.cancel()
        await asyncio.gather(*reading, return_exceptions=True)


def translated(deliveries: Sequence[Delivery], translate: Translate) -> InboxBatch:
    """Look at each delivery; one that breaks its adapter never harms its neighbours.

    It is looked through here too where that is needed: it takes longest, and nobody waits for a transaction meanwhile.
    """
    return _turn_of(deliveries, [look(each, translate) for each in deliveries])


def look(delivery: Delivery, translate: Translate) -> ReadResult:
    """Every step on one delivery that a transaction need not wait for: scan it, translate it, sight whom it names."""
    looked = ReadResult()
    try:
        if delivery.guarded:
            looked.told = mentions(delivery.headers, delivery.query, delivery.body)
        looked.seen = _sighted(delivery, translate)
    except MemoryError:
        raise
    except Exception as error:
        looked.why = reason(error)
    return looked


def packed(looked: ReadResult) -> ReadResult:
    """The same to hand to another process: without the delivery, and what is more than one transaction applies in packed parts."""
    if (seen := looked.seen) is not None:
        seen.delivery = _NO_DELIVERY
        if len(seen.sightings) > MOST_EVENTS:
            seen.packed = [pickle.dumps(part, pickle.HIGHEST_PROTOCOL) for part in _cut(seen)]
            seen.sightings = []
    return looked


def parts_of(seen: NormalizedDelivery) -> list[Callable[[], NormalizedDelivery]]:
    """What one delivery's call names, in parts that one transaction each applies; each is unpacked when its turn comes."""
    if not seen.packed:
        return [partial(replace, seen, sightings=part) for part in _cut(seen)]
    return [partial(_unpacked, seen, part) for part in seen.packed]


def weight(seen: NormalizedDelivery) -> int:
    """How many events it may bring: at least so many."""
    return len(seen.sightings) + len(seen.packed) * MOST_EVENTS


def groups(claimed: Sequence[NormalizedDelivery]) -> tuple[list[list[NormalizedDelivery]], list[NormalizedDelivery]]:
    """These in groups that one transaction each applies, in their order; and those that are too large even alone."""
    made: list[list[NormalizedDelivery]] = []
    room = 0
    for seen in claimed:
        events = max(1, weight(seen))
        if events > MOST_EVENTS:
            continue
        if events > room:
            made.append([])
            room = MOST_EVENTS
        made[-1].append(seen)
        room -= events
    return made, [seen for seen in claimed if weight(seen) > MOST_EVENTS]


def reason(error: Exception) -> str:
    """An unforeseen failure in one sentence, for the delivery's `error`."""
    return keepable(f"{type(error).__name__}: {error}", LONGEST_REASON) or ""


def merged(one: WorkReport, other: WorkReport) -> WorkReport:
    """Both reports as one."""
    ended, problems, outcomes = Counter(one.ended), Counter(one.problems), Counter(one.outcomes)
    ended.update(other.ended)
    problems.update(other.problems)
    outcomes.update(other.outcomes)
    oldest = min((at for at in (one.oldest_us, other.oldest_us) if at is not None), default=None)
    return WorkReport(
        one.taken + other.taken,
        dict(ended),
        one.created + other.created,
        oldest,
        one.more or other.more,
        problems=dict(problems),
        outcomes=dict(outcomes),
        applied_since_us=one.applied_since_us + other.applied_since_us,
    )


def _turn_of(deliveries: Sequence[Delivery], looked: Sequence[ReadResult]) -> InboxBatch:
    turn = InboxBatch([], [])
    for delivery, one in zip(deliveries, looked, strict=True):
        delivery.told = one.told
        if one.why is None:
            seen: NormalizedDelivery = one.seen
            seen.delivery = delivery
            turn.claimed.append(seen)
            continue
        if delivery.guarded and delivery.told is None:
            delivery.told = set()  # looking through it once more would break, or hold up, the transaction that notes the failure
        turn.broken.append(FailedDelivery(delivery, one.why, one.for_good))
    return turn


def _sighted(delivery: Delivery, translate: Translate) -> NormalizedDelivery:
    try:
        translation: Translation | TouchbaseError = translate(delivery)
    except TouchbaseError as error:
        translation = error
    return sight(delivery, translation)


def _cut(seen: NormalizedDelivery) -> list[list[EventSubject]]:
    return [seen.sightings[first : first + MOST_EVENTS] for first in range(0, max(1, len(seen.sightings)), MOST_EVENTS)]


def _unpacked(seen: NormalizedDelivery, part: bytes) -> NormalizedDelivery:
    return replace(seen, sightings=pickle.loads(part), packed=[])  # noqa: S301 (made by `packed`, in a process of ours)
