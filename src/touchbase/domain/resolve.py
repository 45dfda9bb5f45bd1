"""Resolving: which of our records an event is about, whatever order the events arrived in.

A record has one *primary* key (a contact's e-mail, a company's domain); a contact may have a LinkedIn
key; and any number of links lead to it: a tool's object ids, and former primary keys. The primary key
decides; the others are remembered, and whatever is seen together belongs to one record, as do two objects
that their CRM has merged. Two records that turn out to be one are united, unless both were made through
the API: those stay as they are.

A `Resolver` works on maps that the store filled for one batch and keeps them true as it goes; it does
no I/O, and afterwards the store writes what it says has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from touchbase.domain.company import Company
from touchbase.domain.contact import Contact
from touchbase.domain.events import COMPANY, CONTACT, Detail, Event
from touchbase.domain.fold import Record
from touchbase.domain.links import Link, Links, Ref
from touchbase.domain.primary_keys import (
    api_since,
    former_key,
    is_before,
    join_fields,
    key_of,
    linkedin_stamp,
    primary_key,
    primary_stamp,
    take_primary,
)
from touchbase.domain.stamps import CARRIED, DELIBERATE, Stamp, beats, place_of
from touchbase.domain.times import Micros


@dataclass(slots=True)
class Sighting:
    """The identities that one event names, in normal form, and when."""

    event: Event
    kind: int
    """CONTACT or COMPANY."""
    tool: str
    primary: str | None
    linkedin: str | None
    ref: Ref | None
    at: Micros
    key: str
    received_us: Micros
    may_create: bool | None
    """Whether it may make a record; None: as the client's settings say."""
    detail: Detail
    """What the history keeps of the event besides."""
    own_id: bool = False
    """Whether the key is the tool's own id of the fact: then its time tells nothing more."""
    merged: Ref | None = None
    """The object that `ref` was merged into: both are one from then on, and were so all along."""

    @property
    def stamp(self) -> Stamp:
        """How strongly the event's own values are meant: a CRM's deliberately, a campaign tool's in passing."""
        return (DELIBERATE if "." in self.event.event else CARRIED, *place_of(self.at, self.received_us, self.key))


@dataclass(slots=True)
class Resolver:
    """Resolves the events about one kind of record (CONTACT or COMPANY) of one client."""

    client: int
    kind: int
    new_id: Callable[[], int]
    links: Links
    create_unknown: bool = True
    """Whether sightings that leave it to the client may make records."""
    by_primary: dict[str, Record] = field(default_factory=dict)
    by_linkedin: dict[str, Record] = field(default_factory=dict)
    by_id: dict[int, Record] = field(default_factory=dict)
    created: dict[int, Record] = field(default_factory=dict)
    rekeyed: dict[int, Record] = field(default_factory=dict)
    """Records whose primary or LinkedIn key changed."""
    statuses: dict[int, str | None] = field(default_factory=dict)
    """The status of each record as it was loaded."""
    shown: dict[int, tuple[object, ...]] = field(default_factory=dict)
    """What an answer showed of each record as it was loaded."""
    touched: set[int] = field(default_factory=set)
    """Records of which something besides their own row changed."""
    united: list[tuple[Record, Record]] = field(default_factory=list)
    """(gone, kept): the history and links of the first belong to the second now."""

    def resolve(self, seen: Sighting) -> Record | Link | None:
        """The record that the event is about, the link it has to wait under, or None for nobody we know."""
        if seen.ref is not None and seen.merged is not None:
            self._merge(seen.ref, seen.merged)
        record = self._known(seen)
        if record is None:
            may_create = self.create_unknown if seen.may_create is None else seen.may_create
            if not may_create or (seen.primary is None and (seen.linkedin is None or self.kind == COMPANY)):
                return None if seen.ref is None else self.links.park(seen.ref)
            record = self._create(seen)
        elif seen.primary is not None and seen.primary == primary_key(record):
            self._restamp_primary(record, seen)
        elif seen.primary is not None and self.by_primary.get(seen.primary, record) is record:
            self._set_primary(record, seen)
        if seen.linkedin is not None and self.kind == CONTACT:
            record = self._claim_linkedin(record, seen)
        if seen.ref is not None:
            self.links.lead(seen.ref, record.id)
        return record

    def note_addresses(self, seen: Sighting, record_id: int | None) -> None:
        """Let the history say which addresses an event names, but for what each event of a campaign tool repeats."""
        record = None if record_id is None else self.by_id.get(record_id)
        if record is None:
            return
        event, named = seen.event, dict[str, str | None]()
        for name, text, key in (
            (self._primary_field, event.domain if self.kind == COMPANY else event.email, seen.primary),
            ("linkedin_url", event.linkedin_url, seen.linkedin),
        ):
            repeats = key == key_of(record, name) and record.stamps.get(name) != seen.stamp and seen.stamp[0] != DELIBERATE
            if key is not None and not repeats:
                named[name] = text
        if named:
            seen.detail["named"] = named

    def _known(self, seen: Sighting) -> Record | None:
        owner = self._owner(seen.primary, seen.stamp[1]) if seen.primary is not None else None
        linked = self._linked(seen.ref) if seen.ref is not None else None
        if owner is None and linked is None:
            return self._known_by_linkedin(seen)
        if owner is None:
            assert linked is not None
            if seen.primary is not None:
                self._set_primary(linked, seen)
            return linked
        if linked is None or linked is owner:
            return owner
        if (holder := self._holder_by_api(seen, owner, linked)) is not None:
            return holder
        if owner.from_api and linked.from_api:
            return owner
        return self._unite(owner, linked)

    def _known_by_linkedin(self, seen: Sighting) -> Record | None:
        found = self._linkedin_owner(seen.linkedin, seen.stamp[1]) if seen.linkedin is not None else None
        # Another address on the same profile is another person until something says otherwise.
        if found is None or (seen.primary is not None and primary_key(found) is not None):
            return None
        if seen.primary is not None:
            self._set_primary(found, seen)
        return found

    def _holder_by_api(self, seen: Sighting, owner: Record, linked: Record) -> Record | None:
        """Whose event it is where the API has given an address of the linked record to its present owner; None elsewhere."""
        assert seen.primary is not None
        since = self._since(owner)
        if since is None:
            return None
        is_deliberate = seen.stamp[0] == DELIBERATE
        if self._linked(former_key(self.kind, seen.primary)) is linked:
            return linked if is_deliberate or seen.stamp[1] < since else owner
        # An address that the API had replaced before it gave it to another; what a call replaced may only be known later.
        left = api_since(linked, self._primary_field)
        return linked if is_deliberate and left is not None and seen.stamp[1] < left < since else None

    def _since(self, record: Record) -> Micros | None:
        return api_since(record, self._primary_field)

    @property
    def _primary_field(self) -> str:
        return "domain" if self.kind == COMPANY else "email"

    def _owner(self, primary: str, at: Micros) -> Record | None:
        """Who has a primary key, or had it at a time before the API gave it to its present owner."""
        found, former = self.by_primary.get(primary), self._linked(former_key(self.kind, primary))
        return former if found is None or is_before(at, found, former, self._primary_field) else found

    def _linked(self, ref: Ref) -> Record | None:
        number = self.links.record_id(ref)
        return None if number is None else self.by_id.get(number)

    def _merge(self, ref: Ref, other: Ref) -> None:
        """What two merged objects stand for is one record, or one place to wait in."""
        mine, theirs = self._linked(ref), self._linked(other)
        if mine is None and theirs is None:
            self.links.wait_together(ref, other)
        elif mine is None or theirs is None:
            known = mine or theirs
            assert known is not None
            self.links.lead(other if theirs is None else ref, known.id)
        elif mine is not theirs and not (mine.from_api and theirs.from_api):
            self._unite(mine, theirs)

    def _create(self, seen: Sighting) -> Record:
        made: Record
        if self.kind == COMPANY:
            assert seen.primary is not None
            made = Company(self.client, self.new_id(), seen.received_us, seen.received_us, seen.primary, from_api=False)
            made.stamps["domain"] = seen.stamp
        else:
            made = Contact(self.client, self.new_id(), seen.received_us, seen.received_us, origin=seen.tool, from_api=False)
            made.stamps["origin"] = (CARRIED, *seen.stamp[1:])
            if seen.primary is not None:
                made.email, made.email_key = seen.event.email, seen.primary
                made.stamps["email"] = seen.stamp
        self.by_id[made.id] = self.created[made.id] = made
        if seen.primary is not None:
            self.by_primary[seen.primary] = made
        return made

    def _set_primary(self, record: Record, seen: Sighting) -> None:
        """Give a record a primary key that nobody has; the one that loses stays as a former key."""
        assert seen.primary is not None
        field_name = "domain" if self.kind == COMPANY else "email"
        old = primary_key(record)
        if not beats(seen.stamp, primary_stamp(record, field_name)):  # also where the address was taken away
            self.links.lead(former_key(self.kind, seen.primary), record.id)
            return
        if old is not None:
            self.by_primary.pop(old, None)
            self.links.lead(former_key(self.kind, old), record.id)
        record.stamps[field_name] = seen.stamp
        if isinstance(record, Contact):
            record.email, record.email_key = seen.event.email, seen.primary
        else:
            record.domain = seen.primary
        self.by_primary[seen.primary] = self.rekeyed[record.id] = record

    def _restamp_primary(self, record: Record, seen: Sighting) -> None:
        """The same key again counts as a write of it: a change older than this sighting must not win later."""
        field_name = "domain" if self.kind == COMPANY else "email"
        if beats(seen.stamp, primary_stamp(record, field_name)):
            record.stamps[field_name] = seen.stamp
            if isinstance(record, Contact):
                record.email = seen.event.email
            self.rekeyed[record.id] = record

    def _claim_linkedin(self, record: Record, seen: Sighting) -> Record:
        """The record with this LinkedIn address too, united with whoever had it if that can be the same person."""
        assert isinstance(record, Contact)
        assert seen.linkedin is not None
        owner = self._linkedin_owner(seen.linkedin, seen.stamp[1])
        if isinstance(owner, Contact) and owner is not record:
            if (owner.email_key and record.email_key) or (owner.from_api and record.from_api):
                return record
            united = self._unite(record, owner)
            assert isinstance(united, Contact)
            record = united
        if self.by_linkedin.get(seen.linkedin, record) is record:
            self._set_linkedin(record, seen)
        return record

    def _linkedin_owner(self, linkedin: str, at: Micros) -> Record | None:
        found, former = self.by_linkedin.get(linkedin), self._linked(("", "linkedin", linkedin))
        return former if found is None or is_before(at, found, former, "linkedin_url") else found

    def _set_linkedin(self, record: Contact, seen: Sighting) -> None:
        assert seen.linkedin is not None
        old = record.linkedin_key
        if not beats(seen.stamp, linkedin_stamp(record)):
            if old != seen.linkedin:
                self.links.lead(("", "linkedin", seen.linkedin), record.id)
            return
        if old is not None and old != seen.linkedin:
            self.by_linkedin.pop(old, None)
            self.links.lead(("", "linkedin", old), record.id)
        record.linkedin_url, record.linkedin_key = seen.event.linkedin_url, seen.linkedin
        record.stamps["linkedin_url"] = seen.stamp
        self.by_linkedin[seen.linkedin] = self.rekeyed[record.id] = record

    def _unite(self, one: Record, other: Record) -> Record:
        kept, gone = (one, other) if self._keeps(one, other) else (other, one)
        self._join_keys(kept, gone)
        join_fields(kept, gone)
        self.by_id.pop(gone.id, None)
        self.rekeyed.pop(gone.id, None)
        self.rekeyed[kept.id] = kept
        self.links.move(gone.id, kept.id)
        # The record's old id still tells where it went.
        self.links.lead(("", "company" if self.kind == COMPANY else "contact", str(gone.id)), kept.id)
        self.united.append((gone, kept))
        return kept

    def _keeps(self, one: Record, other: Record) -> bool:
        if one.from_api != other.from_api:
            return one.from_api
        if (one.id in self.created) != (other.id in self.created):
            return other.id in self.created  # whatever their ids: those of several processes do not rise with time
        return one.id < other.id

    def _join_keys(self, kept: Record, gone: Record) -> None:
        field_name = "domain" if self.kind == COMPANY else "email"
        stamp = primary_stamp(gone, field_name)
        if beats(stamp, primary_stamp(kept, field_name)):
            take_primary(kept, gone)
            kept.stamps[field_name] = stamp
        present, former = primary_key(kept), primary_key(gone)
        if former is not None:
            self.by_primary.pop(former, None)
            self.links.lead(former_key(self.kind, former), kept.id)
        if present is not None:
            self.by_primary[present] = kept
        if isinstance(kept, Contact) and isinstance(gone, Contact):
            self._join_linkedin(kept, gone)

    def _join_linkedin(self, kept: Contact, gone: Contact) -> None:
        if beats(linkedin_stamp(gone), linkedin_stamp(kept)):
            stamp = linkedin_stamp(gone)
            kept.linkedin_url, gone.linkedin_url = gone.linkedin_url, kept.linkedin_url
            kept.linkedin_key, gone.linkedin_key = gone.linkedin_key, kept.linkedin_key
            kept.stamps["linkedin_url"] = stamp
        if gone.linkedin_key is not None and gone.linkedin_key != kept.linkedin_key:
            self.by_linkedin.pop(gone.linkedin_key, None)
            self.links.lead(("", "linkedin", gone.linkedin_key), kept.id)
        if kept.linkedin_key is not None:
            self.by_linkedin[kept.linkedin_key] = kept
