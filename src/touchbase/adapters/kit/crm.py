"""Shared code of CRM adapters: one item of a webhook, read into an `CrmItem`, becomes our events.

An adapter defines the CRM's property names (`RecordShape`) and the item's content (`CrmItem`). This module decides, for all CRMs
alike, which events follow and which fields they carry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from touchbase.adapters.kit.crm_values import (
    Record,
    display_text,
    email_address,
    email_addresses,
    first_of,
    host,
    linked_id,
    linkedin_from,
    option_text,
    status_text,
)
from touchbase.adapters.kit.extract import dig, split_name, text
from touchbase.adapters.kit.opt_outs import is_opt_in, is_opt_out_of_topic, opt_out_in
from touchbase.common.timestamps import Micros
from touchbase.history.events import Event, PropertyChange

CONTACT: Final = "contact"
COMPANY: Final = "company"
CREATED: Final = "created"
UPDATED: Final = "updated"
DELETED: Final = "deleted"
STATUS_CHANGED: Final = "status_changed"
NOUNS = {
    CONTACT: ("contact", "contacts", "person", "people", "persons", "lead", "leads", "prospect", "prospects", "customer", "customers"),
    COMPANY: ("company", "companies", "account", "accounts", "organization", "organisation", "organizations", "organisations"),
}
"""Words for a kind of record in the names of events, objects and tables."""

PREFERENCES: Final = "email_preferences_changed"
RESUBSCRIBED: Final = "email_resubscribed"

NOT_SENT: Final = object()
"""Marks a previous value that the CRM does not send, as distinct from an empty one."""

Changes = Mapping[str, tuple[object, object]]
"""Property -> (value now, value before or NOT_SENT)."""

# Not stored as custom fields: links to other objects, and counters.
_BOOKKEEPING = ("_id", "_ids", "Id", "Ids", "_ID", "_count", "_by")
_MAX_NAME_LENGTH = 200
_MAX_VALUE_LENGTH = 10_000


@dataclass(frozen=True, slots=True)
class RecordShape:
    """The CRM's property names for one kind of record; for each field the first property that has a value is used.

    `useful` names the properties of a whole record that become custom fields; None means all of its scalars (an
    administrator has selected them). Changes of `noise` properties are not reported.
    """

    kind: str
    email: tuple[str, ...] = ()
    further_email: tuple[str, ...] = ()
    """Properties with the further addresses of a person, besides a list in one of `email`."""
    first_name: tuple[str, ...] = ()
    last_name: tuple[str, ...] = ()
    full_name: tuple[str, ...] = ()
    linkedin: tuple[str, ...] = ()
    domain: tuple[str, ...] = ()
    company: tuple[str, ...] = ()
    """The company's name; for a contact, its employer's name."""
    employer: tuple[str, ...] = ()
    """Contacts only: properties that link to the company, by its record id or as an embedded object."""
    employer_type: str = ""
    """The CRM's name for the linked record type."""
    employer_id: Callable[[object], str | None] = linked_id
    useful: tuple[str, ...] | None = ()
    noise: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(init=False, default_factory=dict)
    """Properties that hold a record's name, mapped to our field names."""
    own: frozenset[str] = field(init=False, default=frozenset())
    """Properties that map to standard fields and never become custom fields."""

    def __post_init__(self) -> None:
        of_person = {"first_name": (*self.first_name, *self.full_name), "last_name": self.last_name}
        places = {"name": self.company} if self.kind == COMPANY else of_person
        names = {name: ours for ours, theirs in places.items() for name in theirs}
        domain = self.domain if self.kind == COMPANY else ()
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "own", frozenset((*names, *self.email, *self.further_email, *self.linkedin, *domain, *self.employer)))


@dataclass(slots=True)
class CrmItem:
    """Content of one webhook item about one CRM record.

    `record` holds the record's current properties in the body. `changed` is None if the CRM does not send what changed:
    then the item is a snapshot of the record. `status` names the status properties. If `nulls_clear` is set, a null in
    `record` clears the field; otherwise only a null in `changed` does.
    """

    shape: RecordShape
    what: str
    object_type: str | None
    object_id: str | None
    source_event: str | None = None
    at: Micros | None = None
    key: str | None = None
    record: Record = field(default_factory=dict)
    changed: Changes | None = None
    status: tuple[str, ...] = ()
    merged_into: str | None = None
    asks_erasure: bool = False
    restored: bool = False
    nulls_clear: bool = False
    thin: bool = False
    """The webhook leaves out part of the record, so the record should be fetched from the API."""
    status_at: Mapping[str, Micros | None] = field(default_factory=dict)
    """When a status property was set, if the CRM sends that time separately from the record's own."""

    def events(self) -> list[Event]:
        """Return the item as events; an item without a record id gives `unrecognised`."""
        head = self._head()
        has_key = (head.email or head.linkedin_url) if self.shape.kind == CONTACT else head.domain
        if self.object_id is None and has_key is None:
            return [other_event("unrecognised", self.source_event, self.object_type)]
        if self.what == DELETED:
            return [head]
        head.thin = self.thin
        events = self._events_of(head) if self.changed is None else self._changes(head, self.changed)
        return [*events, *self._opt_outs(head)] if self.shape.kind == CONTACT else events

    def _opt_outs(self, head: Event) -> Iterator[Event]:
        """Yield the meaning of the record's opt-out members: an opt-out, or with a change an opt-in, or a change of one topic."""
        changed = self.changed
        members = list(self.record.items()) if changed is None else [(name, value) for name, (value, _) in changed.items()]
        if (said := opt_out_in(members)) is not None:
            name, meaning = said
            yield self._mark(head, meaning.event, [PropertyChange(name, display_text(dict(members)[name]))], meaning.kind)
        for name, (value, previous) in (changed or {}).items():
            # Without the previous value only a change of this member alone is an opt-in: others may repeat all of a record's members.
            before = len(changed or {}) == 1 if previous is NOT_SENT else previous
            if is_opt_out_of_topic(name):
                yield self._mark(head, PREFERENCES, [self._change(name, value, previous)])
            elif is_opt_in(name, value, before):
                yield self._mark(head, RESUBSCRIBED, [self._change(name, value, previous)])

    def mark(self, event: str, *changed: PropertyChange) -> Event:
        """Return an event about the item's contact that is no change of its record: an opt-out, a bounce or a meeting."""
        return self._mark(self._head(), event, [*changed], "unknown" if event == "email_bounced" else None)

    def _mark(self, head: Event, event: str, changed: list[PropertyChange], kind: str | None = None) -> Event:
        return Event(
            event, self.at, head.email, head.linkedin_url, kind=kind, object_type=self.object_type, object_id=self.object_id,
            changed=changed, source_event=self.source_event,
        )  # fmt: skip

    def merged(self, *losers: str | None) -> list[Event]:
        """Return the events of a merge: the surviving record, whose values win, and each merged record as deleted and merged into it."""
        events = self.events()
        for loser in dict.fromkeys(losers):
            if loser is not None and self.object_id is not None and loser != self.object_id:
                gone = replace(self, what=DELETED, object_id=loser, merged_into=self.object_id, record={}, changed=None)
                events += gone.events()
        return events

    def _events_of(self, head: Event) -> list[Event]:
        shape = self.shape
        head.fields = self._fields()
        names = self.record if shape.useful is None else shape.useful
        head.custom = self._custom((name, self.record.get(name)) for name in names)
        for name in self.status:
            value = _property(self.record, name)
            if value is not None and (status := status_text(value)) is not None:
                change = self._status(head, status, [PropertyChange(name, status)])
                change.occurred_us = self.status_at.get(name) or self.at
                return [head, change]
        return [head]

    def _changes(self, head: Event, changed: Changes) -> list[Event]:
        changes = {name: self._change(name, *pair) for name, pair in changed.items() if name not in self.shape.noise}
        of_status = [change for name, change in changes.items() if name in self.status]
        others = [self._identity(head, name, *changed[name]) or change for name, change in changes.items() if name not in self.status]
        head.changed = [change for place, change in enumerate(others) if not (change.is_ours and change in others[:place])]
        head.fields = self._fields()
        head.custom = self._custom((name, value) for name, (value, _) in changed.items())
        if not of_status:
            return [head]
        # A status sent both by id and by name changes under both; the adapter lists the better one first.
        values = {name: status_text(changed[name][0]) for name in self.status if name in changed}
        event = self._status(head, next(filter(None, values.values()), None), of_status)
        if head.changed or self.restored or self.what == CREATED:
            return [head, event]
        event.fields = head.fields
        return [event]

    def _change(self, name: str, value: object, previous: object) -> PropertyChange:
        return PropertyChange(
            name, display_text(value), None if previous is NOT_SENT else display_text(previous) or "", self.shape.names.get(name)
        )

    def _identity(self, head: Event, name: str, value: object, previous: object) -> PropertyChange | None:
        """Return the change of an email address, domain or LinkedIn URL as an identity event; None for any other property."""
        shape = self.shape
        is_contact = shape.kind == CONTACT
        places = (
            ("email", shape.email if is_contact else (), head.email, email_address),
            ("linkedin_url", shape.linkedin if is_contact else (), head.linkedin_url, linkedin_from),
            ("domain", () if is_contact else shape.domain, head.domain, host),
        )
        for ours, theirs, now, read in places:
            # A secondary address is an ordinary property change. So is an empty value, which removes no identity.
            if now is not None and name in theirs and read(value) == now:
                before = None if previous is NOT_SENT else read(previous) or ""
                return PropertyChange(ours, now, before, is_ours=True)
        return None

    def _status(self, head: Event, status: str | None, changed: list[PropertyChange]) -> Event:
        return Event(
            f"{self.shape.kind}.{STATUS_CHANGED}",
            self.at,
            head.email,
            head.linkedin_url,
            status,
            object_type=self.object_type,
            object_id=self.object_id,
            domain=head.domain,
            name=head.name,
            changed=changed,
            key=self.key,
            source_event=self.source_event,
            company_object=head.company_object,
        )

    def _head(self) -> Event:
        shape, record = self.shape, self.record
        is_contact = shape.kind == CONTACT
        email = first_of(record, shape.email, email_address) if is_contact else None
        linkedin_url = first_of(record, shape.linkedin, linkedin_from) if is_contact else None
        domain = first_of(record, shape.domain, host)
        # An employer's name is only useful with its domain, because companies are identified by domain.
        name = first_of(record, shape.company, text) if domain or not is_contact else None
        return Event(
            f"{shape.kind}.{self.what}",
            self.at,
            email,
            linkedin_url,
            object_type=self.object_type,
            object_id=self.object_id,
            domain=domain,
            name=name,
            merged_into=self.merged_into,
            absorbed=self.merged_into is not None,
            key=self.key,
            source_event=self.source_event,
            company_object=self._employer(),
            emails=self._emails(email) if is_contact else None,
            asks_erasure=self.asks_erasure and is_contact,
        )

    def _emails(self, first: str | None) -> list[str] | None:
        """Return all addresses of a person, the first one first; None if the record has no list of them."""
        shape, record = self.shape, self.record
        lists = [record[name] for name in shape.email if isinstance(record.get(name), list)]
        lists += [record[name] for name in shape.further_email if name in record]
        if not lists or self.what == DELETED:
            return None
        return list(dict.fromkeys([*([] if first is None else [first]), *(email for values in lists for email in email_addresses(values))]))

    def _employer(self) -> tuple[str, str] | None:
        """Return the object of the contact's company, or None; a deleted contact's link is ignored."""
        shape = self.shape
        if self.what == DELETED:
            return None
        for name in shape.employer:
            value = self.record.get(name)
            # A property such as `company`, whose name does not say id, may also hold the company's name.
            is_link = isinstance(value, dict | list) or name.lower().endswith("id")
            if value is not None and is_link and (employer_id := shape.employer_id(value)) is not None:
                return (shape.employer_type, employer_id)
        return None

    def _fields(self) -> dict[str, str | None]:
        shape = self.shape
        fields: dict[str, str | None] = {}
        if shape.kind == COMPANY:
            self._field(fields, "name", shape.company)
            return fields
        self._field(fields, "first_name", shape.first_name)
        self._field(fields, "last_name", shape.last_name)
        self._field(fields, "linkedin_url", shape.linkedin)
        if "first_name" not in fields and "last_name" not in fields:
            self._full_name(fields)
        return fields

    def _full_name(self, fields: dict[str, str | None]) -> None:
        """Split the full name into first and last name; a part that a changed name no longer has is cleared."""
        names, changed = self.shape.full_name, self.changed or {}
        name = next((name for name in names if name in changed), "")
        before = changed.get(name, (None, None))[1]
        cleared = name != "" and self._is_cleared(name)
        now, was = split_name(first_of(self.record, names, text)), split_name(text(before))
        for ours, part, old in zip(("first_name", "last_name"), now, was, strict=True):
            if part is not None or cleared or (old is not None and now[0] is not None):
                fields[ours] = part

    def _field(self, fields: dict[str, str | None], ours: str, names: tuple[str, ...]) -> None:
        value = first_of(self.record, names, linkedin_from if ours == "linkedin_url" else text)
        if value is not None:
            fields[ours] = value
        elif (self.nulls_clear or self.changed is not None) and any(self._is_cleared(name) for name in names):
            fields[ours] = None

    def _is_cleared(self, name: str) -> bool:
        if self.changed is not None and name in self.changed:
            return display_text(self.changed[name][0]) is None
        return self.nulls_clear and name in self.record and self.record[name] is None

    def _custom(self, pairs: Iterable[tuple[str, object]]) -> dict[str, str | None]:
        custom: dict[str, str | None] = {}
        for name, value in pairs:
            if name in self.shape.own or name in self.shape.noise or name in self.status or name.endswith(_BOOKKEEPING):
                continue
            if (choice := option_text(value)) is not None:
                if len(choice) <= _MAX_VALUE_LENGTH and 0 < len(name) <= _MAX_NAME_LENGTH:
                    custom[name] = choice
            elif self._is_cleared(name):
                custom[name] = None
        return custom


def other_event(event: str, source_event: str | None = None, object_type: str | None = None, object_id: str | None = None) -> Event:
    """Return an event about no contact or company: `ignored`, `handshake` or `unrecognised`."""
    return Event(event, object_type=object_type, object_id=object_id, source_event=source_event)


def _property(record: Record, name: str) -> object:
    """Return a property; `custom_attributes.plan` is looked up in the object `custom_attributes`, unless it is a property name itself."""
    if name in record or "." not in name:
        return record.get(name)
    return dig(record, *name.split("."))
