"""Identity resolution: which record an event is about, independent of the order of arrival.

A record has one *primary* key (a contact's e-mail address, a company's domain); a contact may have a LinkedIn key; links lead to
the record from a tool's object ids and from former primary keys. The primary key decides; other identities in the same event
belong to the same record, as do two objects that were merged in their CRM. Two records that turn out to be the same are united,
unless both were created through the API and have addresses of their own (a merge in the CRM makes these one too), or have two objects
of one type with different addresses.

A `Resolver` works without I/O on maps that the store filled for one batch; afterwards the store writes the changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.history.events import COMPANY, CONTACT
from touchbase.history.identity_links import Link, Links, Ref
from touchbase.history.last_writer_wins import CARRIED, DELIBERATE, FIRST, NEVER, SEVERAL, SINCE, Stamp, beats
from touchbase.history.problems import OTHER_PERSON, add_problem
from touchbase.identity.event_subject import EventSubject
from touchbase.identity.object_claims import Claims, primary_name
from touchbase.records.fields import EXTERNAL_ID
from touchbase.records.further_emails import by_key, further_emails, is_promoted, set_further_emails
from touchbase.records.models import Company, Contact, Record
from touchbase.records.primary_keys import (
    api_since,
    former_key,
    former_key_of,
    is_before,
    keys_of,
    linkedin_stamp,
    merge_fields,
    name_creation,
    owned_since,
    primary_key,
    primary_stamp,
    swap_primary_keys,
)
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql.address_book import word_of
from touchbase.records.sql.same_person import is_another, may_be_one


@dataclass(slots=True)
class Resolver:
    """Resolves events about one kind of record (CONTACT or COMPANY) of one client."""

    client: int
    kind: int
    new_id: Callable[[], int]
    links: Links
    create_unknown: bool = True
    """Whether events with `may_create` None may create records."""
    by_primary: dict[str, Record] = field(default_factory=dict)
    by_linkedin: dict[str, Record] = field(default_factory=dict)
    by_id: dict[int, Record] = field(default_factory=dict)
    created: dict[int, Record] = field(default_factory=dict)
    rekeyed: dict[int, Record] = field(default_factory=dict)
    """Records whose primary or LinkedIn key changed."""
    statuses: dict[int, str | None] = field(default_factory=dict)
    """The status of each record when it was loaded."""
    status_paths: dict[int, str | None] = field(default_factory=dict)
    """The statuses with their times of each record when it was loaded."""
    shown: dict[int, tuple[object, ...]] = field(default_factory=dict)
    """The visible values of each record when it was loaded."""
    searched: dict[int, tuple[object, ...]] = field(default_factory=dict)
    """The values of the full-text index of each record when it was loaded."""
    loaded_keys: dict[int, tuple[str | None, ...]] = field(default_factory=dict)
    """The addresses of each record when it was loaded."""
    external_ids: dict[int, str | None] = field(default_factory=dict)
    """The external id of each record when it was loaded."""
    touched: set[int] = field(default_factory=set)
    """Records with changes outside their own row."""
    united: list[tuple[Record, Record]] = field(default_factory=list)
    """(gone, survivor): the history and links of the first belong to the second now."""
    owned: dict[int, dict[tuple[Ref, int], Micros | None]] = field(default_factory=dict)
    """By an absorbed record, since when it and its survivor had their keys; None: not known."""
    by_crm: set[int] = field(default_factory=set)
    """Absorbed records that requests made, whose objects a CRM merged into those of their survivors."""
    claims: Claims = field(default_factory=Claims)
    separate_pairs: list[tuple[int, int]] = field(default_factory=list)
    """Records that were not united because their objects differ."""
    doubtful: list[set[int]] = field(default_factory=list)
    """Records whose events are separated again by their whole histories: their objects differ, or an address is older than known."""

    def resolve(self, subject: EventSubject) -> Record | Link | None:
        """Return the record that the event is about, the link under which it waits, or None if no record may be created.

        The event's detail gets the ids of the records that it makes part of another one.
        """
        before = len(self.united)
        target = self._resolve(subject)
        if joined := [absorbed.id for absorbed, _ in self.united[before:] if absorbed.id not in self.created]:
            subject.detail["joined"] = joined
        return target

    def _resolve(self, subject: EventSubject) -> Record | Link | None:
        if subject.ref is not None and subject.merged is not None:
            self._merge(subject.ref, subject.merged, is_absorbed=subject.event.absorbed)
        if subject.ref is not None and subject.absorbs is not None:
            self._merge(subject.absorbs, subject.ref, is_absorbed=True)
        record = self._existing(subject)
        if record is None:
            may_create = self.create_unknown if subject.may_create is None else subject.may_create
            if not may_create or (subject.primary is None and (subject.linkedin is None or self.kind == COMPANY)):
                return None if subject.ref is None else self.links.park(subject.ref)
            record = self._create(subject)
        elif subject.primary is not None and subject.primary == primary_key(record):
            self._restamp_primary(record, subject)
        elif subject.primary is not None and self.by_primary.get(subject.primary, record) is record:
            self._set_primary(record, subject)
        if subject.linkedin is not None and self.kind == CONTACT:
            record = self._claim_linkedin(record, subject)
        if subject.ref is not None:
            self.links.set_record(subject.ref, record.id)
        if subject.primary is not None:
            self._record_claim(record, subject)
        return record

    def record_addresses(self, subject: EventSubject) -> None:
        """Store in the event's detail which addresses it names."""
        event, named = subject.event, dict[str, str | None]()
        if subject.primary is not None:
            named[self._primary_field] = event.domain if self.kind == COMPANY else event.email
        if subject.linkedin is not None:
            named["linkedin_url"] = event.linkedin_url
        if named:
            subject.detail["named"] = named

    def _record_claim(self, record: Record, subject: EventSubject) -> None:
        """Record the address that an event gives to its object, and mark records whose histories have to be separated again."""
        if (claim := subject.claim) is not None and subject.ref is not None:
            self.claims.add(record.id, subject.ref, claim)
            if self.claims.differ(record.id):
                self.doubtful.append({record.id})
            if self.claims.has_several(record.id) and SEVERAL not in record.stamps:
                record.stamps[SEVERAL], self.rekeyed[record.id] = NEVER, record
                self.doubtful.append({record.id})  # earlier claims may not be loaded
            if SEVERAL in record.stamps and (record.id in self.rekeyed or subject.primary != primary_key(record)):
                self.doubtful.append({record.id})  # the address of an absorbed object does not count
        owner_by_address = self.by_primary.get(subject.primary or "")
        if owner_by_address is not None and SINCE in owner_by_address.stamps and subject.stamp[1:] < owner_by_address.stamps[SINCE][1:]:
            if claim is not None and owner_by_address is not record and self.claims.address(record.id, subject.ref) == claim[1]:
                self.separate_pairs.append((owner_by_address.id, record.id))
            former = self._linked(former_key(self.kind, subject.primary or ""))
            self.doubtful.append({candidate.id for candidate in (record, owner_by_address, former) if candidate is not None})

    def unite_equal(self) -> None:
        """Unite records whose objects differed during the batch but have the same address at its end."""
        for first, second in ((self.by_id.get(first_id), self.by_id.get(second_id)) for first_id, second_id in self.separate_pairs):
            if first is not None and second is not None and first is not second and not self.claims.differ(first.id, second.id):
                self.unite(first, second)

    def _existing(self, subject: EventSubject) -> Record | None:
        owner = self._owner(subject.primary, subject.stamp[1]) if subject.primary is not None else None
        linked = self._linked(subject.ref) if subject.ref is not None else None
        if owner is None and linked is None:
            return self._contact_by_linkedin(subject)
        if owner is None:
            assert linked is not None
            if subject.primary is not None:
                self._set_primary(linked, subject)
            return linked
        if linked is None or linked is owner:
            return owner
        if (by_api := self._owner_by_api(subject, owner, linked)) is not None:
            return by_api
        is_one = _may_be_one(owner, linked) or self.claims.joins_by_first_address(subject.ref)
        if owner.from_api and linked.from_api and not is_one:
            self._note_other(subject, subject.primary or "", linked)
            return owner
        return self._owner_if_separate(subject, owner, linked) or self.unite(owner, linked)

    def _note_other(self, subject: EventSubject, about: str, second: Record) -> None:
        """Note that an event names another record too, for a person to decide whether they are one."""
        add_problem(subject.event.problems, OTHER_PERSON, about)
        subject.detail["other"] = second.id

    def _owner_if_separate(self, subject: EventSubject, owner: Record, linked: Record) -> Record | None:
        """Return the record that the event belongs to, if the objects of the two records differ; else None."""
        if (claim := subject.claim) is not None and subject.ref is not None:
            self.claims.add(linked.id, subject.ref, claim)
        if not self.claims.differ(owner.id, linked.id):
            return None
        self.separate_pairs.append((owner.id, linked.id))
        self.doubtful.append({owner.id, linked.id})
        return owner if claim is None else linked

    def _contact_by_linkedin(self, subject: EventSubject) -> Record | None:
        linked = self._linkedin_owner(subject.linkedin, subject.stamp[1]) if subject.linkedin is not None else None
        # Another address with the same LinkedIn profile is another person, until an event says otherwise.
        if linked is None or (isinstance(linked, Contact) and subject.primary is not None and is_another(linked, [subject.primary])):
            return None
        if subject.primary is not None:
            self._set_primary(linked, subject)
        return linked

    def _owner_by_api(self, subject: EventSubject, owner: Record, linked: Record) -> Record | None:
        """Return the record that the event belongs to, if the API moved an address of `linked` to `owner`; else None."""
        assert subject.primary is not None
        since = api_since(owner, self._primary_field)
        # An address that objects of both records had: a separation made the link, and the claims decide.
        if since is None or (SINCE in owner.stamps and since < owner.stamps[SINCE][1]):
            return None
        is_deliberate = subject.stamp[0] == DELIBERATE
        if self._linked(former_key(self.kind, subject.primary)) is linked:
            return linked if is_deliberate or subject.stamp[1] < since else owner
        # An address that the API replaced before it gave it to another record; what a request replaced may only become known later.
        left = api_since(linked, self._primary_field)
        return linked if is_deliberate and left is not None and subject.stamp[1] < left < since else None

    @property
    def _primary_field(self) -> str:
        return primary_name(self.kind)

    def _owner(self, primary: str, at: Micros) -> Record | None:
        """Return the owner of a primary key at a time: the present owner, or the former one before that."""
        owner, former = self.by_primary.get(primary), self._former(former_key(self.kind, primary), at)
        return former if owner is None or is_before(at, owner, former, self._primary_field) else owner

    def _linked(self, ref: Ref) -> Record | None:
        number = self.links.record_id(ref)
        return None if number is None else self.by_id.get(number)

    def _former(self, ref: Ref, at: Micros) -> Record | None:
        """Return who had a key at a time, or has it as a further one."""
        former = self.links.owner_at(ref, at)
        return None if former is None else self.by_id.get(former[2])

    def _merge(self, ref: Ref, merged_ref: Ref, *, is_absorbed: bool) -> None:
        """Unite two merged objects in one record, or in one link under which their events wait."""
        mine, theirs = self._linked(ref), self._linked(merged_ref)
        self.claims.merge(ref, merged_ref, is_absorbed=is_absorbed)
        if mine is None and theirs is None:
            self.links.merge_parking(ref, merged_ref)
            return
        record = mine or theirs
        assert record is not None
        if mine is None or theirs is None:
            self.links.set_record(merged_ref if theirs is None else ref, record.id)
        elif mine is not theirs and is_absorbed and mine.from_api and theirs.from_api:
            record = theirs
            self.by_crm.add(mine.id)
            self.absorb(theirs, mine)
        elif mine is not theirs:
            record = self.unite(mine, theirs)
        if is_absorbed:
            record.stamps[SEVERAL] = NEVER  # its addresses are the absorbing object's

    def _create(self, subject: EventSubject) -> Record:
        record: Record
        if self.kind == COMPANY:
            assert subject.primary is not None
            record = Company(self.client, self.new_id(), subject.received_us, subject.received_us, subject.primary, from_api=False)
            record.stamps["domain"] = subject.stamp
        else:
            record = Contact(self.client, self.new_id(), subject.received_us, subject.received_us, origin=subject.tool, from_api=False)
            record.stamps["origin"] = (CARRIED, *subject.stamp[1:])
            if subject.primary is not None:
                record.email, record.email_key = subject.event.email, subject.primary
                record.stamps["email"] = subject.stamp
        self.by_id[record.id] = self.created[record.id] = record
        if subject.primary is not None:
            self.by_primary[subject.primary] = record
        return record

    def create_separate(self, primary: str, received_us: Micros) -> Record:
        """Create a record for events that are in another record's history; its addresses are set afterwards."""
        record: Record
        if self.kind == COMPANY:
            record = Company(self.client, self.new_id(), received_us, received_us, primary, from_api=False)
        else:
            record = Contact(self.client, self.new_id(), received_us, received_us, from_api=False)
        self.by_id[record.id] = self.created[record.id] = record
        return record

    def _set_primary(self, record: Record, subject: EventSubject) -> None:
        """Set a record's primary key, which has no owner; the losing key becomes a former key."""
        assert subject.primary is not None
        field_name = self._primary_field
        old = primary_key(record)
        present = primary_stamp(record, field_name)
        if not beats(subject.stamp, present):  # also if the address was removed
            self.links.set_record(former_key(self.kind, subject.primary), record.id, present[1])
            return
        if old is not None:
            self.by_primary.pop(old, None)
            before = self._linked(former_key(self.kind, old))
            self.links.set_record(
                former_key(self.kind, old), record.id, None if is_promoted(record) else subject.stamp[1], owned_since(record, field_name)
            )
            if before is not None and before is not record:
                self.doubtful.append({record.id, before.id})
        record.stamps.pop(SINCE, None)
        record.stamps[field_name] = subject.stamp
        if isinstance(record, Contact):
            record.email, record.email_key = subject.event.email, subject.primary
        else:
            record.domain = subject.primary
        self.by_primary[subject.primary] = self.rekeyed[record.id] = record

    def _restamp_primary(self, record: Record, subject: EventSubject) -> None:
        """Update the stamp of an equal key, so that an older change does not win later."""
        field_name = self._primary_field
        if beats(subject.stamp, primary_stamp(record, field_name)):
            record.stamps[field_name] = subject.stamp
            if isinstance(record, Contact):
                record.email = subject.event.email
            self.rekeyed[record.id] = record

    def _claim_linkedin(self, record: Record, subject: EventSubject) -> Record:
        """Set a record's LinkedIn key; unite it with the present owner if both can be the same person."""
        assert isinstance(record, Contact)
        assert subject.linkedin is not None
        owner = self._linkedin_owner(subject.linkedin, subject.stamp[1])
        if isinstance(owner, Contact) and owner is not record:
            if not may_be_one([owner, record]):
                if (owner.stamps.keys() | record.stamps.keys()) & {SINCE, SEVERAL}:
                    self.doubtful.append({owner.id, record.id})
                self._note_other(subject, subject.linkedin, owner)
                return record
            united = self.unite(record, owner)
            assert isinstance(united, Contact)
            record = united
        if self.by_linkedin.get(subject.linkedin, record) is record:
            self._set_linkedin(record, subject)
        return record

    def _linkedin_owner(self, linkedin: str, at: Micros) -> Record | None:
        owner, former = self.by_linkedin.get(linkedin), self._former(("", "linkedin", linkedin), at)
        return former if owner is None or is_before(at, owner, former, "linkedin_url") else owner

    def _set_linkedin(self, record: Contact, subject: EventSubject) -> None:
        assert subject.linkedin is not None
        old, present, ref = record.linkedin_key, linkedin_stamp(record), ("", "linkedin", subject.linkedin)
        if not beats(subject.stamp, present):
            if old != subject.linkedin and self._linked(ref) is not record:  # a row that a write has closed stays closed
                self.links.set_record(ref, record.id, _replaced_at(record, subject.stamp, present))
            return
        if old is not None and old != subject.linkedin:
            self.by_linkedin.pop(old, None)
            until_us = _replaced_at(record, present, subject.stamp)
            self.links.set_record(("", "linkedin", old), record.id, until_us, owned_since(record, "linkedin_url"))
        record.linkedin_url, record.linkedin_key = subject.event.linkedin_url, subject.linkedin
        record.stamps["linkedin_url"] = subject.stamp
        self.by_linkedin[subject.linkedin] = self.rekeyed[record.id] = record

    def further_profiles(self) -> Iterator[tuple[Contact, str]]:
        """Yield the contacts with the profiles that the batch has left them as further ones."""
        for ref, link in self.links.changed.items():
            contact = self.by_id.get(link.record_id or 0)
            if ref[:2] == ("", "linkedin") and link.until_us is None and isinstance(contact, Contact) and ref[2] != contact.linkedin_key:
                yield contact, ref[2]

    def unite(self, first: Record, second: Record) -> Record:
        """Unite two records; return the survivor."""
        survivor, absorbed = (first, second) if self._survives(first, second) else (second, first)
        self.absorb(survivor, absorbed)
        return survivor

    def absorb(self, survivor: Record, absorbed: Record) -> None:
        """Merge a record into its survivor."""
        name_creation(absorbed)
        since = self.owned[absorbed.id] = {
            (former_key_of(name, key), record.id): owned_since(record, name)
            for record in (survivor, absorbed)
            for name, key in zip(RECORD_TYPES[self.kind].identities, keys_of(record), strict=True)
            if key is not None
        }
        self._join_keys(survivor, absorbed, {ref: since_us for (ref, _), since_us in since.items()})
        external_ids = [record.external_id for record in (survivor, absorbed)]
        merge_fields(survivor, absorbed)
        for external_id in external_ids:
            if external_id is not None and external_id != survivor.external_id:
                self.links.set_record(("", word_of(self.kind, EXTERNAL_ID), external_id), survivor.id)
        if isinstance(survivor, Contact) and isinstance(absorbed, Contact) and absorbed.further_emails is not None:
            set_further_emails(survivor, by_key([*further_emails(survivor), *further_emails(absorbed)]))
        self.by_id.pop(absorbed.id, None)
        self.rekeyed.pop(absorbed.id, None)
        self.rekeyed[survivor.id] = survivor
        self.links.move(absorbed.id, survivor.id)
        self.claims.join(absorbed.id, survivor.id)
        # A link leads from the id of the removed record to the survivor.
        self.links.set_record(("", "company" if self.kind == COMPANY else "contact", str(absorbed.id)), survivor.id)
        self.united.append((absorbed, survivor))
        self.doubtful.append({survivor.id})  # earlier claims of their objects may not be loaded

    def _survives(self, first: Record, second: Record) -> bool:
        if first.from_api != second.from_api:
            return first.from_api
        if first.from_api and (primary_key(first) is None) != (primary_key(second) is None):
            return primary_key(first) is not None
        if (first.id in self.created) != (second.id in self.created):
            return second.id in self.created  # not by id: ids of several processes do not rise with time
        return first.id < second.id

    def _join_keys(self, survivor: Record, absorbed: Record, since: Mapping[Ref, Micros | None]) -> None:
        field_name = self._primary_field
        stamp = primary_stamp(absorbed, field_name)
        if beats(stamp, primary_stamp(survivor, field_name)):
            swap_primary_keys(survivor, absorbed)
            survivor.stamps[field_name] = stamp
            survivor.stamps.pop(FIRST, None)
            if FIRST in absorbed.stamps:
                survivor.stamps[FIRST] = absorbed.stamps[FIRST]
            survivor.stamps.pop(SINCE, None)
            if SINCE in absorbed.stamps:
                survivor.stamps[SINCE] = absorbed.stamps[SINCE]
        present, former = primary_key(survivor), primary_key(absorbed)
        if former is not None:
            self.by_primary.pop(former, None)
            ref = former_key(self.kind, former)
            self.links.set_record(ref, survivor.id, since_us=since.get(ref))
        if present is not None:
            self.by_primary[present] = survivor
        if isinstance(survivor, Contact) and isinstance(absorbed, Contact):
            self._join_linkedin(survivor, absorbed, since)

    def _join_linkedin(self, survivor: Contact, absorbed: Contact, since: Mapping[Ref, Micros | None]) -> None:
        if beats(linkedin_stamp(absorbed), linkedin_stamp(survivor)):
            stamp = linkedin_stamp(absorbed)
            survivor.linkedin_url, absorbed.linkedin_url = absorbed.linkedin_url, survivor.linkedin_url
            survivor.linkedin_key, absorbed.linkedin_key = absorbed.linkedin_key, survivor.linkedin_key
            survivor.stamps["linkedin_url"] = stamp
        if absorbed.linkedin_key is not None and absorbed.linkedin_key != survivor.linkedin_key:
            self.by_linkedin.pop(absorbed.linkedin_key, None)
            ref = ("", "linkedin", absorbed.linkedin_key)
            self.links.set_record(ref, survivor.id, since_us=since.get(ref))
        if survivor.linkedin_key is not None:
            self.by_linkedin[survivor.linkedin_key] = survivor


def _replaced_at(contact: Contact, lost: Stamp, won: Stamp) -> Micros | None:
    """Return when the write of a profile replaced another one of the contact; None: the other stays a further one of the contact.

    A profile that a campaign tool carries replaces none, and neither does the one with which a request created the contact.
    """
    is_creation = contact.from_api and won[1] == contact.created_us
    return won[1] if won[0] == DELIBERATE and won[1] > lost[1] and not is_creation else None


def _may_be_one(first: Record, second: Record) -> bool:
    """Return whether two records that requests made may be one."""
    return isinstance(first, Contact) and isinstance(second, Contact) and may_be_one([first, second])
