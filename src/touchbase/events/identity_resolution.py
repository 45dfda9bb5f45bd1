"""Resolving: which of our records an event is about, whatever order the events arrived in.

A record has one *primary* key (a contact's e-mail, a company's domain); a contact may have a LinkedIn
key; and any number of links lead to it: a tool's object ids, and former primary keys. The primary key
decides; the others are remembered, and whatever is seen together belongs to one record, as do two objects
that their CRM has merged. Two records that turn out to be one are united, unless both were made through
the API, or have two objects of one kind with different addresses: those stay as they are.

A `Resolver` works on maps that the store filled for one batch and keeps them true as it goes; it does
no I/O, and afterwards the store writes what it says has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.events.event_subject import EventSubject
from touchbase.events.object_claims import Claims, primary_name
from touchbase.history.events import COMPANY, CONTACT
from touchbase.history.identity_links import Link, Links, Ref
from touchbase.history.last_writer_wins import CARRIED, DELIBERATE, NEVER, SEVERAL, SINCE, beats
from touchbase.records.company import Company
from touchbase.records.contact import Contact
from touchbase.records.primary_keys import (
    api_since,
    former_key,
    is_before,
    join_fields,
    linkedin_stamp,
    primary_key,
    primary_stamp,
    take_primary,
)
from touchbase.records.projection import Record


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
    loaded_keys: dict[int, tuple[str | None, ...]] = field(default_factory=dict)
    """The addresses of each record as it was loaded."""
    touched: set[int] = field(default_factory=set)
    """Records of which something besides their own row changed."""
    united: list[tuple[Record, Record]] = field(default_factory=list)
    """(gone, kept): the history and links of the first belong to the second now."""
    claims: Claims = field(default_factory=Claims)
    apart: list[tuple[int, int]] = field(default_factory=list)
    """Records that were not united because their objects differ."""
    doubtful: list[set[int]] = field(default_factory=list)
    """Records whose events are divided anew by their whole histories, as their objects differ or an address is older than known."""

    def resolve(self, seen: EventSubject) -> Record | Link | None:
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
        if seen.primary is not None:
            self._note_claim(record, seen)
        return record

    def note_addresses(self, seen: EventSubject) -> None:
        """Let the history say which addresses an event names."""
        event, named = seen.event, dict[str, str | None]()
        if seen.primary is not None:
            named[self._primary_field] = event.domain if self.kind == COMPANY else event.email
        if seen.linkedin is not None:
            named["linkedin_url"] = event.linkedin_url
        if named:
            seen.detail["named"] = named

    def _note_claim(self, record: Record, seen: EventSubject) -> None:
        """Remember what an event says of its object's address, and whose histories have to be looked at for it."""
        if (claim := seen.claim) is not None and seen.ref is not None:
            self.claims.note(record.id, seen.ref, claim)
            if self.claims.differ(record.id):
                self.doubtful.append({record.id})
            if self.claims.has_several(record.id) and SEVERAL not in record.stamps:
                record.stamps[SEVERAL] = NEVER
                self.rekeyed[record.id] = record
                self.doubtful.append({record.id})  # their earlier claims may not be loaded
        holder = self.by_primary.get(seen.primary or "")
        if holder is not None and SINCE in holder.stamps and seen.stamp[1:] < holder.stamps[SINCE][1:]:
            if claim is not None and holder is not record and self.claims.address(record.id, seen.ref) == claim[1]:
                self.apart.append((holder.id, record.id))
            former = self._linked(former_key(self.kind, seen.primary or ""))
            self.doubtful.append({one.id for one in (record, holder, former) if one is not None})

    def unite_alike(self) -> None:
        """Unite the records whose objects differed for a while and have one address again by the end of a batch."""
        for one, other in ((self.by_id.get(one), self.by_id.get(other)) for one, other in self.apart):
            if one is not None and other is not None and one is not other and not self.claims.differ(one.id, other.id):
                self.unite(one, other)

    def _known(self, seen: EventSubject) -> Record | None:
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
        return self._apart(seen, owner, linked) or self.unite(owner, linked)

    def _apart(self, seen: EventSubject, owner: Record, linked: Record) -> Record | None:
        """Whose event it is where the two have objects that differ; None elsewhere."""
        if (claim := seen.claim) is not None and seen.ref is not None:
            self.claims.note(linked.id, seen.ref, claim)
        if not self.claims.differ(owner.id, linked.id):
            return None
        self.apart.append((owner.id, linked.id))
        self.doubtful.append({owner.id, linked.id})
        return owner if claim is None else linked

    def _known_by_linkedin(self, seen: EventSubject) -> Record | None:
        found = self._linkedin_owner(seen.linkedin, seen.stamp[1]) if seen.linkedin is not None else None
        # Another address on the same profile is another person until something says otherwise.
        if found is None or (seen.primary is not None and primary_key(found) is not None):
            return None
        if seen.primary is not None:
            self._set_primary(found, seen)
        return found

    def _holder_by_api(self, seen: EventSubject, owner: Record, linked: Record) -> Record | None:
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
        return primary_name(self.kind)

    def _owner(self, primary: str, at: Micros) -> Record | None:
        """Who has a primary key, or had it at a time before it came to its present owner."""
        found, former = self.by_primary.get(primary), self._linked(former_key(self.kind, primary))
        return former if found is None or is_before(at, found, former, self._primary_field) else found

    def _linked(self, ref: Ref) -> Record | None:
        number = self.links.record_id(ref)
        return None if number is None else self.by_id.get(number)

    def _merge(self, ref: Ref, other: Ref) -> None:
        """What two merged objects stand for is one record, or one place to wait in."""
        mine, theirs = self._linked(ref), self._linked(other)
        self.claims.merge(ref, other)
        if mine is None and theirs is None:
            self.links.wait_together(ref, other)
        elif mine is None or theirs is None:
            known = mine or theirs
            assert known is not None
            self.links.lead(other if theirs is None else ref, known.id)
        elif mine is not theirs and not (mine.from_api and theirs.from_api):
            self.unite(mine, theirs)

    def _create(self, seen: EventSubject) -> Record:
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

    def make_apart(self, primary: str, received_us: Micros) -> Record:
        """A record for events that are in another's history; the addresses that they name are set afterwards."""
        made: Record
        if self.kind == COMPANY:
            made = Company(self.client, self.new_id(), received_us, received_us, primary, from_api=False)
        else:
            made = Contact(self.client, self.new_id(), received_us, received_us, from_api=False)
        self.by_id[made.id] = self.created[made.id] = made
        return made

    def _set_primary(self, record: Record, seen: EventSubject) -> None:
        """Give a record a primary key that nobody has; the one that loses stays as a former key."""
        assert seen.primary is not None
        field_name = self._primary_field
        old = primary_key(record)
        if not beats(seen.stamp, primary_stamp(record, field_name)):  # also where the address was taken away
            self.links.lead(former_key(self.kind, seen.primary), record.id)
            return
        if old is not None:
            self.by_primary.pop(old, None)
            before = self._linked(former_key(self.kind, old))
            self.links.lead(former_key(self.kind, old), record.id)
            if before is not None and before is not record:
                self.doubtful.append({record.id, before.id})
        record.stamps.pop(SINCE, None)
        record.stamps[field_name] = seen.stamp
        if isinstance(record, Contact):
            record.email, record.email_key = seen.event.email, seen.primary
        else:
            record.domain = seen.primary
        self.by_primary[seen.primary] = self.rekeyed[record.id] = record

    def _restamp_primary(self, record: Record, seen: EventSubject) -> None:
        """The same key again counts as a write of it: a change older than this sighting must not win later."""
        field_name = self._primary_field
        if beats(seen.stamp, primary_stamp(record, field_name)):
            record.stamps[field_name] = seen.stamp
            if isinstance(record, Contact):
                record.email = seen.event.email
            self.rekeyed[record.id] = record

    def _claim_linkedin(self, record: Record, seen: EventSubject) -> Record:
        """The record with this LinkedIn address too, united with whoever had it if that can be the same person."""
        assert isinstance(record, Contact)
        assert seen.linkedin is not None
        owner = self._linkedin_owner(seen.linkedin, seen.stamp[1])
        if isinstance(owner, Contact) and owner is not record:
            if (owner.email_key and record.email_key) or (owner.from_api and record.from_api):
                if (owner.stamps.keys() | record.stamps.keys()) & {SINCE, SEVERAL}:
                    self.doubtful.append({owner.id, record.id})
                return record
            united = self.unite(record, owner)
            assert isinstance(united, Contact)
            record = united
        if self.by_linkedin.get(seen.linkedin, record) is record:
            self._set_linkedin(record, seen)
        return record

    def _linkedin_owner(self, linkedin: str, at: Micros) -> Record | None:
        found, former = self.by_linkedin.get(linkedin), self._linked(("", "linkedin", linkedin))
        return former if found is None or is_before(at, found, former, "linkedin_url") else found

    def _set_linkedin(self, record: Contact, seen: EventSubject) -> None:
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

    def unite(self, one: Record, other: Record) -> Record:
        """Let two records be one from now on; answers the one that is kept."""
        kept, gone = (one, other) if self._keeps(one, other) else (other, one)
        self._join_keys(kept, gone)
        join_fields(kept, gone)
        self.by_id.pop(gone.id, None)
        self.rekeyed.pop(gone.id, None)
        self.rekeyed[kept.id] = kept
        self.links.move(gone.id, kept.id)
        self.claims.join(gone.id, kept.id)
        # The record's old id still tells where it went.
        self.links.lead(("", "company" if self.kind == COMPANY else "contact", str(gone.id)), kept.id)
        self.united.append((gone, kept))
        self.doubtful.append({kept.id})  # what their objects have claimed before may not be loaded
        return kept

    def _keeps(self, one: Record, other: Record) -> bool:
        if one.from_api != other.from_api:
            return one.from_api
        if (one.id in self.created) != (other.id in self.created):
            return other.id in self.created  # whatever their ids: those of several processes do not rise with time
        return one.id < other.id

    def _join_keys(self, kept: Record, gone: Record) -> None:
        field_name = self._primary_field
        stamp = primary_stamp(gone, field_name)
        if beats(stamp, primary_stamp(kept, field_name)):
            take_primary(kept, gone)
            kept.stamps[field_name] = stamp
            kept.stamps.pop(SINCE, None)
            if SINCE in gone.stamps:
                kept.stamps[SINCE] = gone.stamps[SINCE]
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
