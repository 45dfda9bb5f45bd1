"""Survivorship: the source record of each value of a merged record, and the merge's writes.

Without a write each field has its last written value, as when webhooks prove two records to be one. A policy that chooses another
value writes it, at the time of the merge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from touchbase.common.normalize import ADDRESS_KEYS
from touchbase.history.events import StoredEvent
from touchbase.history.last_writer_wins import CLEARED, NEVER, Stamp, beats
from touchbase.history.status import REPLY, SENT, STATUS
from touchbase.history.status_words import StatusWords
from touchbase.merging.models import CUSTOM, IF_EMPTY, KEEP, MOST_COMPLETE, NEWEST, MergedField, Policy
from touchbase.records.further_emails import all_emails, by_key, is_promoted, set_further_emails
from touchbase.records.models import Contact, CustomField, Record
from touchbase.records.primary_keys import is_creation, of_own_creation, own_creation
from touchbase.records.projection import current_stamp, refold_status
from touchbase.records.record_type import IDENTITY_FIELDS, RECORD_TYPES, stamped_fields, type_of

Value = str | int | None


@dataclass(slots=True)
class MergedRecord:
    """Outcome of a merge: the future survivor, the origin of its values, and the values to write."""

    record: Record
    fields: list[MergedField]
    writes: dict[str, Value] = field(default_factory=dict)
    custom: dict[str, str | None] = field(default_factory=dict)
    status: str | None = None
    writes_status: bool = False


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The value of one record, with its stamp."""

    value: Any
    stamp: Stamp
    source: int


def merged(
    records: Sequence[Record], histories: Mapping[int, Sequence[StoredEvent]], policy: Policy, entry: StoredEvent, words: StatusWords
) -> MergedRecord:
    """Compute a merge of records into the first of them; `entry` is the merge's own entry of the history, without values."""
    survivor = records[0]
    histories = {number: [_in_survivors_history(event, survivor.id) for event in events] for number, events in histories.items()}
    ranked = _ranked(records, policy.survivorship)
    outcome = MergedRecord(replace(survivor, custom_fields=[], stamps=dict(survivor.stamps)), [])
    for name in stamped_fields(survivor):
        values = [_Candidate(_written(record, name), _stamp(record, current_stamp(record, name), survivor), record.id) for record in ranked]
        chosen, newest = _chosen(values, policy, name, survivor.id), _newest(values)
        if name == "email" and chosen.value is None and name not in policy.from_ids:
            chosen = _first_email(ranked) or chosen
        setattr(outcome.record, name, chosen.value)
        outcome.fields.append(MergedField(name, chosen.value, chosen.source, getattr(survivor, name)))
        is_decided = policy.survivorship != NEWEST or name in policy.from_ids
        is_identity = name in IDENTITY_FIELDS and is_decided and (chosen.value is not None or newest.value is not None)
        if chosen.value != newest.value or is_identity:
            outcome.writes[name] = chosen.value
    _set_keys(outcome.record, records)
    _merge_custom(outcome, ranked, policy, survivor)
    _merge_status(outcome, ranked, list(chain.from_iterable(histories.values())), policy, entry, survivor, words)
    return outcome


def _ranked(records: Sequence[Record], survivorship: str) -> list[Record]:
    """Return the records, the preferred one first."""
    if survivorship != MOST_COMPLETE:
        return [*records]
    return sorted(records, key=lambda record: -_filled(record))  # stable: of equal ones the survivor comes first


def _filled(record: Record) -> int:
    fields = sum(getattr(record, name) is not None for name in stamped_fields(record))
    return fields + (record.status is not None) + sum(custom_field.value is not None for custom_field in record.custom_fields)


def _written(record: Record, name: str) -> Value:
    value: Value = None if name == "email" and is_promoted(record) else getattr(record, name)
    return value


def _newest(values: Sequence[_Candidate]) -> _Candidate:
    best = values[0]
    for value in values[1:]:
        if beats(value.stamp, best.stamp):
            best = value
    return best


def _chosen(values: Sequence[_Candidate], policy: Policy, name: str, survivor: int) -> _Candidate:
    survivorship = policy.survivorship
    if name in policy.from_ids:
        return next(value for value in values if value.source == policy.from_ids[name])
    if survivorship == NEWEST:
        return _newest(values)
    if survivorship == KEEP:
        return next(value for value in values if value.source == survivor)
    assert survivorship in (IF_EMPTY, MOST_COMPLETE)
    return next((value for value in values if value.value is not None), values[0])


def _first_email(records: Sequence[Record]) -> _Candidate | None:
    """Return the first address of these contacts: one of several is always the first."""
    contacts = [record for record in records if isinstance(record, Contact)]
    emails = ((email, contact.id) for contact in contacts for email in all_emails(contact.email, contact.further_emails))
    return next((_Candidate(email, NEVER, number) for email, number in emails), None)


def _set_keys(record: Record, records: Sequence[Record]) -> None:
    """Set the normal forms of the addresses that were chosen, and the further ones."""
    for key_field in type_of(record).keys:
        if key_field.key != key_field.name:
            value = getattr(record, key_field.name)
            setattr(record, key_field.key, None if value is None else ADDRESS_KEYS[key_field.name](value))
    if isinstance(record, Contact):
        contacts = [merged for merged in records if isinstance(merged, Contact)]
        set_further_emails(record, by_key(chain.from_iterable(all_emails(contact.email, contact.further_emails) for contact in contacts)))


def _merge_custom(outcome: MergedRecord, ranked: Sequence[Record], policy: Policy, survivor: Record) -> None:
    of_record = {record.id: {custom_field.name: custom_field for custom_field in record.custom_fields} for record in ranked}
    own = of_record[survivor.id]
    for name in dict.fromkeys(custom_field.name for record in (survivor, *ranked) for custom_field in record.custom_fields):
        values = [_custom(of_record[record.id].get(name), record, survivor) for record in ranked]
        chosen, newest = _chosen(values, policy, f"{CUSTOM}{name}", survivor.id), _newest(values)
        for cleared in _cleared(ranked):
            if beats(cleared.stamp, newest.stamp):
                is_last_set = policy.survivorship == NEWEST and f"{CUSTOM}{name}" not in policy.from_ids
                chosen, newest = cleared if is_last_set else chosen, cleared
        before = own[name].value if name in own else None
        if chosen.value != newest.value:
            outcome.custom[name] = chosen.value
        if chosen.value is not None or before is not None:
            outcome.fields.append(MergedField(name, chosen.value, chosen.source, before, is_custom=True))
        shown = of_record[chosen.source].get(name)
        if shown is not None:
            outcome.record.custom_fields.append(replace(shown))


def _cleared(records: Sequence[Record]) -> list[_Candidate]:
    """Return the writes that removed all custom fields of a record: in the merged record they also remove older ones of the others."""
    return [_Candidate(None, record.stamps[CLEARED], record.id) for record in records if CLEARED in record.stamps]


def _custom(custom_field: CustomField | None, record: Record, survivor: Record) -> _Candidate:
    if custom_field is None:
        return _Candidate(None, NEVER, record.id)
    stamp = (custom_field.priority, custom_field.stamped_us, custom_field.stamp_key)
    return _Candidate(custom_field.value, _stamp(record, stamp, survivor), record.id)


def _stamp(record: Record, stamp: Stamp, survivor: Record) -> Stamp:
    """Return a stamp as in the survivor: a stamp of another record's creation names that record (`own_creation`)."""
    return stamp if record is survivor else of_own_creation(stamp, record)


def _in_survivors_history(event: StoredEvent, survivor: int) -> StoredEvent:
    return replace(event, key=own_creation(event.record_id)) if event.record_id != survivor and is_creation(event) else event


def _merge_status(
    outcome: MergedRecord,
    ranked: Sequence[Record],
    history: list[StoredEvent],
    policy: Policy,
    entry: StoredEvent,
    survivor: Record,
    words: StatusWords,
) -> None:
    record, name = outcome.record, RECORD_TYPES[entry.record_kind].status
    refold_status(record, history, words)
    values = [_Candidate(words.of(record.status), NEVER, record.id) for record in ranked]
    newest = next((value.source for value in values if value.value == record.status), survivor.id)
    is_last_set = policy.survivorship == NEWEST and name not in policy.from_ids
    chosen = _Candidate(record.status, NEVER, newest) if is_last_set else _chosen(values, policy, name, survivor.id)
    if chosen.value != record.status:
        outcome.status, outcome.writes_status = chosen.value, True
        refold_status(record, [*history, replace(entry, effect=STATUS, status=chosen.value)], words)
    outcome.fields.append(MergedField(name, record.status, chosen.source, survivor.status))
    if isinstance(record, Contact):
        sent = [event.occurred_us for event in history if event.effect == SENT]
        record.first_sent_us, record.last_sent_us = min(sent, default=None), max(sent, default=None)
        record.last_reply_us = max((event.occurred_us for event in history if event.effect == REPLY), default=None)
