"""Suppression guard: removes events about erased people from a batch before it is resolved.

An event is dropped if it names an erased identity, whatever else it names. If an erased person appears under an object for the first
time (a CRM created the person again), the object gets a *derived* mark: events that name only this object are dropped too, and
events that wait under it are deleted. A derived mark does not apply to addresses: an event that names a derived object with an
address that was not erased is about another person, and lifts the mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.limits import INLINE_BYTES
from touchbase.deliveries.sql.body_retention import clear_deliveries
from touchbase.erasure_marks import EMAIL, LINKEDIN, Mark, delete_marks, erasure_key_of, find_marks, linkedin_refs, save_marks
from touchbase.errors import Overloaded
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, EXTERNAL
from touchbase.history.identity_links import Ref
from touchbase.identity.event_subject import EventSubject
from touchbase.identity.scan import find_addresses
from touchbase.messages.sql.plans import DELETE_OF_RECORD
from touchbase.projection.normalization import DeliveryOutcome
from touchbase.sql.builders import RECORD
from touchbase.sql.statement import Execute, Plan, Row, Statement, delete


@dataclass(slots=True)
class Withheld:
    """Subjects removed from a batch; `key` is None if the client never erased a person."""

    client: int
    key: bytes | None = None
    marks: dict[Ref, Mark] = field(default_factory=dict)
    fresh: dict[Ref, Mark] = field(default_factory=dict)
    """Objects under which an erased person appears for the first time."""
    of_others: set[Ref] = field(default_factory=set)
    """Objects that this batch names together with an address that was not erased."""
    deliveries: set[int] = field(default_factory=set)
    """Deliveries whose bodies are deleted: of this batch, and of the parked events that were erased."""
    unsearchable: set[int] = field(default_factory=set)
    """The deliveries of this batch that could not be searched."""


def withhold(client: int, outcomes: Sequence[DeliveryOutcome], now_us: Micros) -> Plan[Withheld]:
    """Remove the subjects about erased people from these outcomes."""
    withheld = Withheld(client, (yield from erasure_key_of(client)))
    if withheld.key is None:
        return withheld
    named_in = {outcome.delivery.id: addresses_in(outcome.delivery) for outcome in outcomes}
    named = {ref for outcome in outcomes for subject in outcome.subjects for ref in refs_of(subject)}
    withheld.marks = yield from find_marks(withheld.key, client, named.union(*named_in.values()))
    yield from _lift(withheld, outcomes)
    withheld.of_others = {
        ref for outcome in outcomes for subject in outcome.subjects if _names_another_person(withheld, subject) for ref in _objects(subject)
    }
    while _drop(withheld, outcomes):
        yield from _mark_objects(withheld, now_us)
    for outcome in outcomes:
        outcome.names_erased |= outcome.delivery.unsearchable or not withheld.marks.keys().isdisjoint(named_in[outcome.delivery.id])
        if outcome.names_erased:
            withheld.deliveries.add(outcome.delivery.id)
        if outcome.delivery.unsearchable:
            withheld.unsearchable.add(outcome.delivery.id)
    return withheld


def clear_bodies(withheld: Withheld, now_us: Micros) -> Plan[None]:
    """Delete the bodies that name erased people, after the batch was marked."""
    if withheld.key is not None and withheld.deliveries:
        of_erased = withheld.deliveries - withheld.unsearchable
        yield from clear_deliveries(withheld.key, withheld.client, of_erased, now_us)
        yield from clear_deliveries(withheld.key, withheld.client, withheld.deliveries - of_erased, now_us, unsearchable=True)


def names_erased(client: int, delivery: Delivery) -> Plan[bytes | None]:
    """Return the erasure key if a delivery that could not be read names an erased person, or may name one; else None."""
    key = yield from erasure_key_of(client)
    if key is None or delivery.unsearchable:
        return key
    marks = yield from find_marks(key, client, addresses_in(delivery))
    return key if marks or delivery.unsearchable else None


def addresses_in(delivery: Delivery) -> set[Ref]:
    """Return the addresses found anywhere in a delivery.

    One that was read before the client's first erasure is scanned here if that takes a few milliseconds; else raises `Overloaded`.
    """
    if delivery.addresses is None:
        if len(delivery.body) > INLINE_BYTES or "content-encoding" in delivery.headers:
            raise Overloaded("the first erasure of this client began while its deliveries were read; they are read again")
        named = find_addresses(delivery)
        delivery.addresses, delivery.unsearchable = named.refs, named.unsearchable is not None
    return delivery.addresses


def refs_of(subject: EventSubject) -> set[Ref]:
    """Return the identities of a person that a subject names."""
    return set() if subject.kind == COMPANY else _addresses(subject) | _objects(subject)


def _addresses(subject: EventSubject) -> set[Ref]:
    pairs = ((EMAIL, subject.primary), (LINKEDIN, subject.linkedin))
    refs = {("", word, key) for word, key in pairs if key is not None}
    return refs if subject.linkedin is None else refs | linkedin_refs(subject.event.linkedin_url or "")


def _objects(subject: EventSubject) -> set[Ref]:
    return {ref for ref in (subject.ref, subject.merged) if ref is not None}


def _lift(withheld: Withheld, outcomes: Iterable[DeliveryOutcome]) -> Plan[None]:
    lifted: set[Ref] = set()
    for outcome in outcomes:
        for subject in outcome.subjects:
            refs = refs_of(subject)
            marks = [withheld.marks[ref] for ref in refs if ref in withheld.marks]
            if marks and _addresses(subject) and all(mark.derived for mark in marks):
                lifted |= refs & withheld.marks.keys()
    if lifted and withheld.key is not None:
        yield from delete_marks(withheld.key, withheld.client, lifted)
        for ref in lifted:
            del withheld.marks[ref]


def _drop(withheld: Withheld, outcomes: Iterable[DeliveryOutcome]) -> bool:
    """Drop subjects about erased people; return whether they name objects without a mark."""
    for outcome in outcomes:
        remaining: list[EventSubject] = []
        for subject in outcome.subjects:
            mark = _mark(withheld, subject)
            if mark is None:
                remaining.append(subject)
                continue
            outcome.names_erased = True
            withheld.fresh |= {
                ref: Mark(mark.erasure, derived=True) for ref in _objects(subject) if ref not in withheld.marks.keys() | withheld.of_others
            }
        outcome.subjects = remaining
    return bool(withheld.fresh)


def _names_another_person(withheld: Withheld, subject: EventSubject) -> bool:
    return bool(_addresses(subject)) and _mark(withheld, subject) is None


def _mark(withheld: Withheld, subject: EventSubject) -> Mark | None:
    """Return the erasure that this subject falls under."""
    marks = [withheld.marks[ref] for ref in sorted(refs_of(subject)) if ref in withheld.marks]
    outright = next((mark for mark in marks if not mark.derived), None)
    if outright is not None or _addresses(subject):
        return outright
    return marks[0] if marks else None


def _mark_objects(withheld: Withheld, now_us: Micros) -> Plan[None]:
    """Mark the objects that appear with an erased person, except an existing record's; erase the events that wait under them."""
    assert withheld.key is not None
    fresh, withheld.fresh = withheld.fresh, {}
    erased = yield from erase_parked_events(withheld.client, fresh)
    erasure = next(iter(fresh.values()))
    marks = {ref: mark for ref, mark in fresh.items() if ref not in erased.with_record}
    marks |= {ref: erasure for ref in erased.refs if ref not in marks and ref not in withheld.marks}
    yield from save_marks(withheld.key, withheld.client, marks, now_us)
    withheld.deliveries |= erased.deliveries
    withheld.marks |= marks


DELETE_LINK = delete("delete_link", "link", history_sql.REF)
DELETE_WANTED = delete("delete_wanted", "fetch_queue", history_sql.REF)
_RECORD_MATCH = "t.client = p.client AND t.record_kind = p.record_kind AND t.record_id = p.record_id"
DELIVERIES_OF_EVENTS = Statement("told_by", RECORD, body=f"SELECT t.delivery_id FROM p CROSS JOIN event t WHERE {_RECORD_MATCH}")


@dataclass(slots=True)
class ErasedParkedEvents:
    """The erased parked events: their identities, their deliveries and their number."""

    refs: set[Ref] = field(default_factory=set)
    deliveries: set[int] = field(default_factory=set)
    events: int = 0
    with_record: set[Ref] = field(default_factory=set)
    """Identities that lead to a record: no event waits under them, and they stay."""


def erase_parked_events(client: int, refs: Iterable[Ref]) -> Plan[ErasedParkedEvents]:
    """Delete the events that wait under these identities, and their links."""
    erased = ErasedParkedEvents()
    rows = yield Execute(history_sql.LINK_BY_REF, [(client, *ref) for ref in sorted(refs)])
    parking_ids: set[int] = set()
    for row in rows:
        if row[5] is None or row[5] == EXTERNAL:
            parking_ids.add(row[4] if row[5] is None else row[6])
            erased.refs.add(_ref_of(row))
        else:
            erased.with_record.add(_ref_of(row))
    if parking_ids:
        yield from _erase_parked(client, sorted(parking_ids), erased)
    return erased


def _erase_parked(client: int, parking_ids: list[int], erased: ErasedParkedEvents) -> Plan[None]:
    keys = [(client, EXTERNAL, parking_id) for parking_id in parking_ids]
    shared = yield Execute(history_sql.LINKS_OF, keys)
    erased.refs |= {_ref_of(row) for row in shared}
    rows = yield Execute(DELIVERIES_OF_EVENTS, keys)
    erased.events = len(rows)
    erased.deliveries = {row[0] for row in rows if row[0] is not None}
    yield Execute(DELETE_OF_RECORD, keys)
    yield Execute(history_sql.DELETE_EVENTS_OF, keys)
    refs = [(client, *ref) for ref in sorted(erased.refs)]
    yield Execute(DELETE_WANTED, refs)  # no more fetches for these objects
    yield Execute(DELETE_LINK, refs)


def _ref_of(row: Row) -> Ref:
    return (row[1], row[2], row[3])
