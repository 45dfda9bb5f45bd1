"""Consistency of records: compare derived values with the stored events.

A record whose values all follow from its history has no difference. A record from before creations were entries is compared
only with the events that its history has (`records/value_sources.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from touchbase.common.field_limits import MAX_CUSTOM_FIELDS
from touchbase.common.normalize import find_company_domain, find_email_key, linkedin_key
from touchbase.common.timestamps import Micros, to_text
from touchbase.history.events import COMPANY, CONTACT, VIA_API, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import DELIBERATE, LEFT_OUT, NEVER, Stamp, beats
from touchbase.history.status import MOST_STATUSES, REPLY, SENT, path_of
from touchbase.history.status_words import PLAIN, StatusWords
from touchbase.identity.object_claims import plan_separation
from touchbase.records.custom_budget import fitting_fields
from touchbase.records.field_projection import Objects, has_several_objects, projected_custom_fields, projected_fields
from touchbase.records.further_emails import by_key, further_emails, is_promoted
from touchbase.records.models import Company, Contact, Record
from touchbase.records.primary_keys import keys_of
from touchbase.records.projection import current_stamp, field_writes, is_history_complete, origin_write, refold_status
from touchbase.records.value_sources import wrong_links, wrong_values

Path = list[tuple[Micros, str | None]]
"""A record's statuses, each with its beginning."""
STATUS_FIELDS = ("status", "previous_status", "status_changed_us", "status_entry_us", "status_entry_key", "status_cause", "status_path")
SHOWN = {
    "status": "{}_status", "status_changed_us": "status_changed_at", "first_sent_us": "first_campaign_email_sent",
    "last_sent_us": "last_campaign_email_sent", "last_reply_us": "last_reply_received",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that differs from the stored events."""

    subject: str
    """The owner of the value: `contact 12`, `delivery 7`, `link 5`."""
    field: str
    present: str
    wanted: str

    def __str__(self) -> str:
        """Return one line for people."""
        return f"{self.subject}: {self.field} is {self.present}, and must be {self.wanted}"


@dataclass(frozen=True, slots=True)
class _Current:
    """A value of the record, and the stamp of its write."""

    field: str
    value: str | None
    stamp: Stamp


def differences(
    record: Record,
    history: Sequence[StoredEvent],
    links: Sequence[Ref] = (),
    companies: Mapping[Ref, int | None] = MappingProxyType({}),
    words: StatusWords = PLAIN,
    open_emails: Iterable[str] = (),
) -> Iterator[Difference]:
    """Yield the differences of a record, its custom fields and its links from its history.

    `open_emails` are the addresses in its open rows of the address book.
    `companies` are the companies that the history names, by their refs (`value_sources.companies_of`).
    """
    kind = "contact" if isinstance(record, Contact) else "company"
    subject = f"{kind} {record.id}"
    for name, value_now, wanted in (*_status(record, history, words), *_dates(record, history), *_keys(record)):
        if value_now != wanted:
            yield Difference(subject, SHOWN.get(name, name).format(kind), _shown(name, value_now), _shown(name, wanted))
    further, open_emails = sorted(by_key(further_emails(record))), [*open_emails]
    rows = sorted(key for key in open_emails if key not in keys_of(record))
    if isinstance(record, Contact):
        is_wrong = bool(open_emails) if record.email_key is None else is_promoted(record) and record.email_key not in open_emails
        if is_wrong:
            yield Difference(subject, "email", _text(record.email), _text(min(open_emails, default=None)))
    if further != rows:
        yield Difference(subject, "emails", _text(" ".join(further) or None), _text(" ".join(rows) or None))
    yield from _repeats(subject, history)
    for untrue in wrong_values(record, history, companies):
        yield Difference(subject, untrue.field, _text(untrue.stored), untrue.wanted)
    for ref, why in wrong_links(record, history, links):
        yield Difference(subject, "link", " ".join(filter(None, ref)), f"absent, because {why}")
    if has_several_objects(history):
        if (apart := plan_separation(CONTACT if isinstance(record, Contact) else COMPANY, {record.id: history})) is not None:
            addresses = ", ".join(share.address for share in apart.shares)
            yield Difference(subject, "history", "of objects with different addresses", f"divided into a record each: {addresses}")
        yield from _projected(subject, record, history)
        return
    # For a record from before creations were entries it is unknown whether its creation named an origin.
    has_origins = is_history_complete(record, history)
    writes = [(event, *write) for event in history for write in _writes(event, has_origins=has_origins)]
    for event, name, value, stamp in writes:
        current = _Current(name, getattr(record, name), current_stamp(record, name))
        yield from _lost(subject, current, event, value, stamp, history)
    yield from _custom(subject, record, history)


def _projected(subject: str, record: Record, history: Sequence[StoredEvent]) -> Iterator[Difference]:
    """Yield differences in a record of several objects, whose values do not clear or rename one another."""
    objects = Objects.of_history(history)
    for name, current, wanted in projected_fields(record, history, objects):
        if (current.value, current.stamp) != (wanted.value, wanted.stamp):
            yield Difference(subject, name, _text(current.value), f"{_text(wanted.value)}, from its objects")
    for name, current, wanted in projected_custom_fields(record.custom_fields, history, objects):
        if (current.value, current.stamp) != (wanted.value, wanted.stamp):
            yield Difference(
                subject, f"custom field {name}", _text(current.value), f"{_text(wanted.value)}, from the events of its objects"
            )


def _status(record: Record, history: Sequence[StoredEvent], words: StatusWords) -> Iterator[tuple[str, object, object]]:
    fresh = replace(record)
    refold_status(fresh, history, words)
    path, full_path = path_of(record.status_path, words), path_of(fresh.status_path, words)
    if _are_newest(list(path.items()), list(full_path.items())) or _is_shortened(
        record.created_us, list(path.items()), list(full_path.items())
    ):
        fresh.status_path = record.status_path
    for name in STATUS_FIELDS:
        yield name, getattr(record, name), getattr(fresh, name)


def _are_newest(path: Path, full_path: Path) -> bool:
    """Return whether two paths are equal as far as a record keeps them; former names may have been different statuses."""
    most = min(len(path), len(full_path)) if max(len(path), len(full_path)) >= MOST_STATUSES else MOST_STATUSES
    return path[-most:] == full_path[-most:]


def _is_shortened(created_us: Micros, path: Path, full_path: Path) -> bool:
    """Return whether a record lacks older statuses, because it is from before they were stored (a column that came later)."""
    return 1 < len(path) < len(full_path) and path[0][0] == created_us and path[1:] == full_path[1 - len(path) :]


def _dates(record: Record, history: Sequence[StoredEvent]) -> Iterator[tuple[str, object, object]]:
    if not isinstance(record, Contact):
        return
    sent = [event.occurred_us for event in history if event.effect == SENT]
    replied = [event.occurred_us for event in history if event.effect == REPLY]
    yield "first_sent_us", record.first_sent_us, min(sent, default=None)
    yield "last_sent_us", record.last_sent_us, max(sent, default=None)
    yield "last_reply_us", record.last_reply_us, max(replied, default=None)


def _keys(record: Record) -> Iterator[tuple[str, object, object]]:
    if isinstance(record, Company):
        yield "domain", record.domain, find_company_domain(record.domain) if record.domain else ""
        return
    yield "email_key", record.email_key, find_email_key(record.email) if record.email else None
    yield "linkedin_key", record.linkedin_key, linkedin_key(record.linkedin_url) if record.linkedin_url else None


def _repeats(subject: str, history: Sequence[StoredEvent]) -> Iterator[Difference]:
    moments: set[tuple[Micros, str]] = set()
    for event in history:
        if (event.occurred_us, event.key) in moments:
            yield Difference(subject, f"event {event.event} of {to_text(event.occurred_us)}", "stored twice", "stored once")
        moments.add((event.occurred_us, event.key))


def _writes(event: StoredEvent, *, has_origins: bool) -> Iterator[tuple[str, str | None, Stamp]]:
    yield from field_writes(event)
    if has_origins and (origin := origin_write(event)) is not None:
        yield "origin", *origin


def _custom(subject: str, record: Record, history: Sequence[StoredEvent]) -> Iterator[Difference]:
    fields = {custom_field.name: custom_field for custom_field in record.custom_fields}
    if LEFT_OUT in record.stamps:
        yield from _fitting(subject, record, history)
        return
    for event in history:
        for name, value in event.detail.get("custom", {}).items():
            field = fields.get(name)
            if field is None and len(fields) >= MAX_CUSTOM_FIELDS:
                continue  # a full record takes no new names
            stamp = NEVER if field is None else field.stamp
            current = _Current(f"custom field {name}", None if field is None else field.value, stamp)
            yield from _lost(subject, current, event, value, (DELIBERATE, *event.effective_time), history)


def _fitting(subject: str, record: Record, history: Sequence[StoredEvent]) -> Iterator[Difference]:
    """Compare the custom fields of a record, whose history has more than fit, with the fields that fit."""
    fitting, stored = (
        fitting_fields(record, record.custom_fields, history),
        {custom_field.name: custom_field.value for custom_field in record.custom_fields},
    )
    for name, best in sorted(fitting.writes.items()):
        value = None if name in fitting.left_out else best.value
        if stored.get(name) != value:
            yield Difference(subject, f"custom field {name}", _text(stored.get(name)), _text(value))


def _lost(
    subject: str, current: _Current, event: StoredEvent, value: str | None, stamp: Stamp, history: Sequence[StoredEvent]
) -> Iterator[Difference]:
    """Yield a write that should have won, or that has won with another value."""
    if stamp == current.stamp and value != current.value:
        yield Difference(
            subject, current.field, _text(current.value), f"{_text(value)}, set by {event.event} of {to_text(event.occurred_us)}"
        )
    elif beats(stamp, current.stamp) and not _overruled(event, current.stamp, history):
        wanted = f"{_text(value)}, set by the later {event.event} of {to_text(event.occurred_us)}"
        yield Difference(subject, current.field, _text(current.value), wanted)


def _overruled(event: StoredEvent, stamp: Stamp, history: Sequence[StoredEvent]) -> bool:
    """Return whether a later API write replaced an event whose time is in the future of its receipt."""
    return any(later.via == VIA_API and later.effective_time == stamp[1:] and later.received_us >= event.received_us for later in history)


def _shown(name: str, value: object) -> str:
    return to_text(value) if isinstance(value, int) and name.endswith("_us") else _text(value)


def _text(value: object) -> str:
    return "unset" if value is None else repr(value)
