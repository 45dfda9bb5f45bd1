"""Do-not-contact list: entries from the events of a batch, in the transaction that applies them.

An event that names an address lists that address. An event that names an object alone, such as a CRM's opt-out mark,
lists the e-mail address of its contact; a later address of the contact too. A bounce lists one address only: that which the contact
has, or the first that it gets. Every receipt of an event counts, also a repeated one: the same causes come out whatever the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from touchbase.clients.models import SuppressOn
from touchbase.do_not_contact.addresses import Address
from touchbase.do_not_contact.models import COMPLAINED, EMAIL, EVENT, HARD_BOUNCED, LINKEDIN_URL, RESUBSCRIBED, UNSUBSCRIBED, Cause
from touchbase.do_not_contact.sql.entries import ID, add_causes
from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT, VIA_LINK, VIA_LINKEDIN, Event, StoredEvent, effect_of
from touchbase.history.sql import event_of
from touchbase.history.status import BOUNCE, COMPLAINT, RESUBSCRIBE, UNSUBSCRIBE
from touchbase.identity.event_subject import EventSubject
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.normalization import DeliveryOutcome
from touchbase.records.models import Contact
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan

_REASONS = {UNSUBSCRIBE: UNSUBSCRIBED, COMPLAINT: COMPLAINED, BOUNCE: HARD_BOUNCED, RESUBSCRIBE: RESUBSCRIBED}
_UNKNOWN = "unknown"
"""Kind of a bounce that sets the status, and lists no address."""
PARKED_EVENTS = 16
"""Ids reserved for events that waited for their contact; their number is not known before."""
Listed = tuple[Address, Cause]


@dataclass(slots=True)
class NamedAddresses:
    """The subjects of a batch that list the address that they name, with the number of their delivery."""

    subjects: list[tuple[EventSubject, int]]
    erased: set[int] = field(default_factory=set)
    """Which of them are about erased persons, by `id`: their addresses are stored as hashes."""


def suppression_needs(events: Iterable[Event]) -> dict[str, int]:
    """Return the ids that applying these events may use."""
    return {ID: PARKED_EVENTS + 2 * sum(effect_of(event) in _REASONS for event in events)}


def named_addresses(outcomes: Sequence[DeliveryOutcome]) -> NamedAddresses:
    """Return the subjects that list an address; call it before those about erased persons are removed."""
    return NamedAddresses(
        [
            (subject, outcome.delivery.id)
            for outcome in outcomes
            for subject in outcome.subjects
            if subject.kind == CONTACT and effect_of(subject.event) in _REASONS and subject.event.kind != _UNKNOWN
        ]
    )


def note_erased(named: NamedAddresses, outcomes: Sequence[DeliveryOutcome]) -> None:
    """Note which subjects are about erased persons, before the outcomes lose them."""
    if named.subjects:
        remaining = {id(subject) for outcome in outcomes for subject in outcome.subjects}
        named.erased = {id(subject) for subject, _ in named.subjects} - remaining


def drop_repeated(named: NamedAddresses, outcomes: Sequence[DeliveryOutcome]) -> None:
    """Remove subjects that turned out to repeat an earlier webhook, which has no time."""
    if named.subjects:
        remaining = {id(subject) for outcome in outcomes for subject in outcome.subjects} | named.erased
        named.subjects = [subject for subject in named.subjects if id(subject[0]) in remaining]


def update_suppressions(batch: ApplyBatch, named: NamedAddresses, new: Sequence[StoredEvent], ids: Ids) -> Plan[None]:
    """Add entries from the batch's events to the client's list, as far as its settings want it."""
    setting = batch.settings.suppress_on
    entries: list[Listed] = []
    hidden: set[Address] = set()
    for subject, delivery in named.subjects:
        address, reason = _named(subject), _REASONS[effect_of(subject.event)]
        if address is not None and _is_wanted(reason, setting):
            entries.append((address, _cause_of_subject(subject, reason, delivery)))
            if id(subject) in named.erased:
                hidden.add(address)
    events = [event for event in new if _lists_contact(event)]
    events += yield from _events_of_readdressed(batch)
    for event in events:
        record = batch.resolvers[CONTACT].by_id.get(event.record_id)
        reason = _REASONS[event.effect]
        if isinstance(record, Contact) and record.email_key is not None and _is_wanted(reason, setting):
            entries.append(((EMAIL, record.email_key), _cause_of_event(event, reason)))
    yield from add_causes(batch.client, entries, ids, batch.now_us, hidden)


def _is_wanted(reason: str, setting: SuppressOn) -> bool:
    return bool(getattr(setting, UNSUBSCRIBED if reason == RESUBSCRIBED else reason))


def _named(subject: EventSubject) -> Address | None:
    """Return the address that an event lists: its e-mail address, or without one, except for bounces, its LinkedIn address."""
    if subject.primary is not None:
        return (EMAIL, subject.primary)
    linkedin = subject.linkedin
    if linkedin is None or not linkedin.startswith("linkedin.com/") or subject.event.event == "email_bounced":
        return None
    return (LINKEDIN_URL, linkedin)


def _cause_of_subject(subject: EventSubject, reason: str, delivery: int) -> Cause:
    key = subject.key if subject.own_id else f"{subject.key} {subject.at}"
    _, at, _ = subject.stamp
    return Cause(key, reason, EVENT, at, at, None, "", subject.tool, delivery)


def _cause_of_event(event: StoredEvent, reason: str) -> Cause:
    at = event.effective_time[0]
    return Cause(f"{event.key} {event.occurred_us}", reason, EVENT, at, at, None, "", event.tool, event.delivery_id)


def _lists_contact(event: StoredEvent) -> bool:
    """Whether an event of a contact says that it must not be contacted, and names no e-mail address."""
    is_reason = event.effect in _REASONS and event.detail.get("kind") != _UNKNOWN
    return event.record_kind == CONTACT and is_reason and event.via in (VIA_LINK, VIA_LINKEDIN)


def _events_of_readdressed(batch: ApplyBatch) -> Plan[list[StoredEvent]]:
    """Return the stored events that list contacts whose e-mail address this batch has set or changed; bounces only for a first address."""
    resolver = batch.resolvers[CONTACT]
    changed = {
        number: resolver.loaded_keys.get(number, (None,))[0]
        for number, record in resolver.rekeyed.items()
        if isinstance(record, Contact)
        and record.email_key is not None
        and record.status_cause is not None
        and record.email_key not in resolver.loaded_keys.get(number, ())
    }
    if not changed:
        return []
    rows = yield Execute(history_sql.EVENTS_OF, [(batch.client, CONTACT, number) for number in sorted(changed)])
    events = [event for event in map(event_of, rows) if _lists_contact(event)]
    return [event for event in events if event.effect != BOUNCE or changed[event.record_id] is None]
