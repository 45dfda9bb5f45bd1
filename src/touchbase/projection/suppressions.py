"""Do-not-contact list: entries from the events of a batch, in the transaction that applies them.

An event that names an address lists that address. An event that names an object alone, such as a CRM's opt-out mark, and one that sets
a status which opts out list the e-mail address of their contact; a later address of the contact too. A bounce lists one address only: that
which the contact has, or the first that it gets. A re-subscription counts for all addresses of the contact. Every receipt of an event
counts, also a repeated one: the same causes come out whatever the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from touchbase.clients.models import SuppressOn
from touchbase.do_not_contact.addresses import Address
from touchbase.do_not_contact.models import API, COMPLAINED, EMAIL, EVENT, HARD_BOUNCED, LINKEDIN_URL, RESUBSCRIBED, UNSUBSCRIBED, Cause
from touchbase.do_not_contact.models import STATUS as STATUS_REASON
from touchbase.do_not_contact.sql.entries import ID, add_causes
from touchbase.do_not_contact.sql.opt_outs import (
    StatusOptOut,
    addresses_of,
    cause_key,
    further_addresses,
    list_opt_outs,
    opted_out_at,
)
from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT, VIA_API, VIA_LINK, VIA_LINKEDIN, Event, StoredEvent, effect_of
from touchbase.history.problems import STATUS_REFUSED
from touchbase.history.sql import event_of
from touchbase.history.status import BOUNCE, COMPLAINT, INITIAL, RESUBSCRIBE, STATUS, UNSUBSCRIBE
from touchbase.history.status_words import StatusWords
from touchbase.identity.event_subject import EventSubject
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.normalization import DeliveryOutcome
from touchbase.records.models import Contact
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan

_REASONS = {UNSUBSCRIBE: UNSUBSCRIBED, COMPLAINT: COMPLAINED, BOUNCE: HARD_BOUNCED, RESUBSCRIBE: RESUBSCRIBED}
_LISTING = frozenset({*_REASONS, STATUS, INITIAL})
"""Effects of events that may make an entry."""
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
    return {ID: PARKED_EVENTS + 2 * sum(effect_of(event) in _LISTING for event in events)}


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
        if address is not None and is_wanted(reason, setting):
            entries.append((address, _cause_of_subject(subject, reason, delivery)))
            if id(subject) in named.erased:
                hidden.add(address)
    words, contacts = batch.settings.words(CONTACT), batch.resolvers[CONTACT].by_id
    events = [event for event in new if lists_contact(event, words)]
    events += yield from _events_of_readdressed(batch, words)
    for event in events:
        record, reason = contacts.get(event.record_id), reason_of(event, words)
        if isinstance(record, Contact) and record.email_key is not None and is_wanted(reason, setting):
            entries.append(((EMAIL, record.email_key), cause_of(event, reason)))
    entries += yield from _resubscribed(batch, new)
    yield from add_causes(batch.client, entries, ids, batch.now_us, hidden)
    if setting.unsubscribed and setting.complained and (ended := _ended_by_events(batch, words)):
        yield from list_opt_outs(ended, batch.now_us)


def _resubscribed(batch: ApplyBatch, new: Sequence[StoredEvent]) -> Plan[list[Listed]]:
    """Return the re-subscriptions of contacts for every address that leads to them: the person may have opted out by another one."""
    events = [event for event in new if event.record_kind == CONTACT and event.effect == RESUBSCRIBE]
    if not events or not batch.settings.suppress_on.unsubscribed:
        return []
    further = yield from further_addresses((batch.client, event.record_id) for event in events)
    listed: list[Listed] = []
    for event in events:
        record = batch.resolvers[CONTACT].by_id.get(event.record_id)
        addresses = list(further.get((batch.client, event.record_id), ()))
        if isinstance(record, Contact):
            addresses += addresses_of(record)
        listed += [(address, cause_of(event, RESUBSCRIBED)) for address in addresses]
    return listed


def _ended_by_events(batch: ApplyBatch, words: StatusWords) -> list[StatusOptOut]:
    """Return the contacts whose status opted out until the batch: another status of a tool lifts no opt-out, but a re-subscription does.

    They have an entry, but for those without an e-mail address, or from before statuses made entries.
    """
    resolver = batch.resolvers[CONTACT]
    opt_outs: list[StatusOptOut] = []
    for number, status in resolver.statuses.items():
        if status is None or not words.opts_out(status):
            continue
        contact = resolver.by_id.get(number)
        if not isinstance(contact, Contact) or words.opts_out(contact.status) or contact.status_cause == RESUBSCRIBE:
            continue
        since = opted_out_at(contact, words.opts_out)
        if since is not None:
            note = f"status {since[1]!r}"
            opt_outs.append(StatusOptOut(batch.client, number, addresses_of(contact), since[0], note, EVENT, if_unlisted=True))
    return opt_outs


def is_wanted(reason: str, setting: SuppressOn) -> bool:
    """Return whether a client's settings want entries with this reason."""
    return reason == STATUS_REASON or bool(getattr(setting, UNSUBSCRIBED if reason == RESUBSCRIBED else reason))


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


def cause_of(event: StoredEvent, reason: str) -> Cause:
    """Return the cause that an event of a contact is for the contact's address."""
    at, note = event.effective_time[0], f"status {_status_of(event)!r}" if reason == STATUS_REASON else ""
    if event.via == VIA_API:
        return Cause(cause_key(event.record_id, at), reason, API, at, at, None, note)
    return Cause(f"{event.key} {event.occurred_us}", reason, EVENT, at, at, None, note, event.tool, event.delivery_id)


def _status_of(event: StoredEvent) -> str | None:
    """Return the status that an event says: one that the client has not declared is refused, but an opt-out all the same."""
    refused: str | None = event.detail.get("problems", {}).get(STATUS_REFUSED)
    return event.status or refused


def reason_of(event: StoredEvent, words: StatusWords) -> str:
    """Return the reason of an event that lists its contact; empty for others."""
    if event.effect in (STATUS, INITIAL):
        return STATUS_REASON if words.opts_out(words.of(_status_of(event))) else ""
    return _REASONS.get(event.effect, "")


def lists_contact(event: StoredEvent, words: StatusWords) -> bool:
    """Whether an event of a contact says that it must not be contacted, and names no e-mail address, or sets a status that opts out."""
    if event.record_kind != CONTACT or event.effect not in _LISTING:
        return False
    is_reason = event.effect in _REASONS and event.detail.get("kind") != _UNKNOWN
    return reason_of(event, words) == STATUS_REASON or (is_reason and event.via in (VIA_LINK, VIA_LINKEDIN))


def _events_of_readdressed(batch: ApplyBatch, words: StatusWords) -> Plan[list[StoredEvent]]:
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
    events = [event for event in map(event_of, rows) if lists_contact(event, words)]
    return [event for event in events if event.effect != BOUNCE or changed[event.record_id] is None]
