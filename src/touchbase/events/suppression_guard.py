"""Applying beside erasures: events about erased people are taken out of a batch before it is resolved.

An event is dropped when it names an erased identity, whatever else it names. An object that an erased person is seen under for
the first time (a CRM made them anew) is marked as *derived*: events that name only it are dropped too, and what waited under it
goes. A derived mark says nothing against an address: an event that names a derived object and an address that was not erased is
somebody else's, and lifts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.events.event_normalization import Outcome
from touchbase.events.event_subject import EventSubject
from touchbase.events.parked_events import erase_waiting
from touchbase.history.events import COMPANY
from touchbase.history.identity_links import Ref
from touchbase.inbox.body_retention import clear_deliveries
from touchbase.inbox.delivery import Delivery
from touchbase.sql.statement import Plan
from touchbase.suppression.pii_scan import mentions
from touchbase.suppression.server_secret import erasure_key_of
from touchbase.suppression.sql import Mark, lift_marks, marks_of, save_marks
from touchbase.suppression.suppression_keys import EMAIL, LINKEDIN


@dataclass(slots=True)
class Withheld:
    """What was taken out of a batch; `key` is None where nobody of the client was ever erased."""

    client: int
    key: bytes | None = None
    marks: dict[Ref, Mark] = field(default_factory=dict)
    fresh: dict[Ref, Mark] = field(default_factory=dict)
    """Objects that an erased person was seen under for the first time."""
    of_others: set[Ref] = field(default_factory=set)
    """Objects that this batch names beside an address that was not erased."""
    deliveries: set[int] = field(default_factory=set)
    """Those whose bodies go: of this batch, and those that had told what waited."""


def withhold(client: int, outcomes: Sequence[Outcome], now_us: Micros) -> Plan[Withheld]:
    """Take the sightings of erased people out of these outcomes."""
    held = Withheld(client, (yield from erasure_key_of(client)))
    if held.key is None:
        return held
    told = {outcome.delivery.id: told_in(outcome.delivery) for outcome in outcomes}
    named = {ref for outcome in outcomes for seen in outcome.sightings for ref in refs_of(seen)}
    held.marks = yield from marks_of(held.key, client, named.union(*told.values()))
    yield from _lift(held, outcomes)
    held.of_others = {ref for outcome in outcomes for seen in outcome.sightings if _is_others(held, seen) for ref in _objects(seen)}
    while _drop(held, outcomes):
        yield from _spread(held, now_us)
    for outcome in outcomes:
        outcome.names_erased |= not held.marks.keys().isdisjoint(told[outcome.delivery.id])
        if outcome.names_erased:
            held.deliveries.add(outcome.delivery.id)
    return held


def drop_bodies(held: Withheld, now_us: Micros) -> Plan[None]:
    """Drop what told of erased people, once the batch is marked."""
    if held.key is not None and held.deliveries:
        yield from clear_deliveries(held.key, held.client, held.deliveries, now_us)


def names_erased(client: int, delivery: Delivery) -> Plan[bytes | None]:
    """The erasure key, if a delivery that cannot be read as events names an erased person."""
    key = yield from erasure_key_of(client)
    if key is None:
        return None
    marks = yield from marks_of(key, client, told_in(delivery))
    return key if marks else None


def told_in(delivery: Delivery) -> set[Ref]:
    """The addresses that stand anywhere in a delivery."""
    return mentions(delivery.headers, delivery.query, delivery.body) if delivery.told is None else delivery.told


def refs_of(seen: EventSubject) -> set[Ref]:
    """The identities of a person that a sighting names."""
    return set() if seen.kind == COMPANY else _addresses(seen) | _objects(seen)


def _addresses(seen: EventSubject) -> set[Ref]:
    pairs = ((EMAIL, seen.primary), (LINKEDIN, seen.linkedin))
    return {("", word, key) for word, key in pairs if key is not None}


def _objects(seen: EventSubject) -> set[Ref]:
    return {ref for ref in (seen.ref, seen.merged) if ref is not None}


def _lift(held: Withheld, outcomes: Iterable[Outcome]) -> Plan[None]:
    lifted: set[Ref] = set()
    for outcome in outcomes:
        for seen in outcome.sightings:
            refs = refs_of(seen)
            marks = [held.marks[ref] for ref in refs if ref in held.marks]
            if marks and _addresses(seen) and all(mark.derived for mark in marks):
                lifted |= refs & held.marks.keys()
    if lifted and held.key is not None:
        yield from lift_marks(held.key, held.client, lifted)
        for ref in lifted:
            del held.marks[ref]


def _drop(held: Withheld, outcomes: Iterable[Outcome]) -> bool:
    """Drop what names an erased person; answers whether objects were seen that are not marked yet."""
    for outcome in outcomes:
        kept: list[EventSubject] = []
        for seen in outcome.sightings:
            mark = _mark(held, seen)
            if mark is None:
                kept.append(seen)
                continue
            outcome.names_erased = True
            held.fresh |= {ref: Mark(mark.erasure, derived=True) for ref in _objects(seen) if ref not in held.marks.keys() | held.of_others}
        outcome.sightings = kept
    return bool(held.fresh)


def _is_others(held: Withheld, seen: EventSubject) -> bool:
    return bool(_addresses(seen)) and _mark(held, seen) is None


def _mark(held: Withheld, seen: EventSubject) -> Mark | None:
    """The erasure that this sighting falls under."""
    marks = [held.marks[ref] for ref in sorted(refs_of(seen)) if ref in held.marks]
    outright = next((mark for mark in marks if not mark.derived), None)
    if outright is not None or _addresses(seen):
        return outright
    return marks[0] if marks else None


def _spread(held: Withheld, now_us: Micros) -> Plan[None]:
    """Mark the objects that were seen with an erased person, unless they are somebody's who is there; what waited under them goes."""
    assert held.key is not None
    fresh, held.fresh = held.fresh, {}
    waited = yield from erase_waiting(held.client, fresh)
    erasure = next(iter(fresh.values()))
    marks = {ref: mark for ref, mark in fresh.items() if ref not in waited.with_record}
    marks |= {ref: erasure for ref in waited.refs if ref not in marks and ref not in held.marks}
    yield from save_marks(held.key, held.client, marks, now_us)
    held.deliveries |= waited.deliveries
    held.marks |= marks
