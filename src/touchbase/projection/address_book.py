"""Further e-mail addresses of the contacts of a batch: which rows of the address book are open, by the contacts' whole histories.

An address stays a person's while a source of it has it: an object of a tool whose latest address it is, a request. A source that has
replaced it closes it, unless another has it. So the order in which events arrive does not matter. What a request closed stays closed
until an object names it later; a merge by request closes nothing. A contact without an e-mail address that a write has set gets the first
of its further ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from touchbase.common.field_limits import MAX_EMAILS
from touchbase.common.normalize import find_email_key
from touchbase.common.timestamps import Micros
from touchbase.errors import DeliveryRefused
from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT, VIA_API, StoredEvent
from touchbase.history.identity_links import Link, Ref
from touchbase.history.last_writer_wins import FIRST, EffectiveTime
from touchbase.history.sql import event_of, link_of
from touchbase.identity.lookup import load_owners
from touchbase.identity.rekey import close_rows_of_others, leave_written_email, owner_of
from touchbase.identity.resolution import Resolver
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.crm_merges import listing_ref
from touchbase.records.field_projection import MERGED_FROM
from touchbase.records.further_emails import all_emails, by_key, promote, set_further_emails
from touchbase.records.models import Contact
from touchbase.records.primary_keys import former_key
from touchbase.records.projection import OF_ABSORBED, object_of
from touchbase.sql.statement import Execute, Plan

Source = tuple[str, ...]
"""An object of a tool, or the requests on one record."""


def settle_further_emails(batch: ApplyBatch, new: Iterable[StoredEvent]) -> Plan[None]:
    """Open and close the rows of the records whose keys the batch changed, and set the further addresses of contacts."""
    for resolver in batch.resolvers.values():
        close_rows_of_others(resolver, batch.now_us)
    resolver = batch.resolvers[CONTACT]
    contacts = [contact for number in sorted(_to_settle(resolver, new)) if isinstance(contact := resolver.by_id.get(number), Contact)]
    if not contacts:
        return
    keys = [(batch.client, CONTACT, contact.id) for contact in contacts]
    links: dict[int, dict[Ref, Link]] = {contact.id: {} for contact in contacts}
    for row in (yield Execute(history_sql.LINKS_OF, keys)):
        if row[1:3] == former_key(CONTACT, "")[:2]:
            resolver.links.by_ref.setdefault((row[1], row[2], row[3]), link_of(row))
    for ref, link in resolver.links.by_ref.items():
        if ref[:2] == former_key(CONTACT, "")[:2] and link.record_kind == CONTACT and link.record_id in links:
            links[link.record_id][ref] = link
    histories: dict[int, list[StoredEvent]] = {contact.id: [] for contact in contacts}
    for row in (yield Execute(history_sql.EVENTS_OF, keys)):
        histories[row[2]].append(event_of(row))
    for contact in contacts:
        yield from _settle(batch, contact, links[contact.id].values(), _Named.in_history(contact.id, histories[contact.id]))


def _to_settle(resolver: Resolver, new: Iterable[StoredEvent]) -> set[int]:
    word = former_key(CONTACT, "")[:2]
    numbers = {link.record_id for ref, link in resolver.links.changed.items() if ref[:2] == word and link.record_kind == CONTACT}
    for number in (*resolver.rekeyed, *resolver.created, *resolver.touched, *resolver.links.losers):
        contact = resolver.by_id.get(number)
        if isinstance(contact, Contact) and (contact.further_emails is not None or FIRST in contact.stamps):
            numbers.add(number)
    for event in new:
        if event.record_kind == CONTACT and (len(event.detail.get("emails", ())) > 1):
            numbers.add(event.record_id)
        elif event.record_kind == CONTACT and (email := event.detail.get("named", {}).get("email")) is not None:
            contact = resolver.by_id.get(event.record_id)
            if isinstance(contact, Contact) and contact.email != email and find_email_key(email) != contact.email_key:
                numbers.add(event.record_id)
    return {number for number in numbers if number is not None}


def _settle(batch: ApplyBatch, contact: Contact, links: Collection[Link], named: _Named) -> Plan[None]:
    resolver, before = batch.resolvers[CONTACT], (contact.email, contact.further_emails, contact.stamps.get(FIRST))
    texts = by_key(all_emails(contact.email, contact.further_emails)) | {key: text for key, (_, _, text) in named.texts.items()}
    leave_written_email(resolver, contact)
    own = {link.ref[2]: link for link in links if link.record_id == contact.id}  # one settled before may have taken an address
    listed = {key for _, keys in named.latest.values() for key in keys if key not in own and key != contact.email_key}
    reopened = {key for key, link in own.items() if link.until_us is not None and named.is_open(link) and key != contact.email_key}
    yield from load_owners(batch.client, CONTACT, resolver, "email", [*listed, *reopened])
    # An address of another person stays theirs.
    new = {key for key in listed if owner_of(resolver, "email", key) is None}
    for source, (_, keys) in named.latest.items():
        for key in (keys & listed) - new if source[0] else ():
            resolver.links.set_record(listing_ref((source[0], source[1], key)), contact.id)
    for key in sorted(new):
        resolver.links.set_record(former_key(CONTACT, key), contact.id)
    for key, link in own.items():
        if key != contact.email_key and (is_open := named.is_open(link)) is not None:
            is_others = key in reopened and key in resolver.by_primary
            resolver.links.set_until(link, None if is_open and not is_others else (link.until_us or batch.now_us))
    if taken := sorted(new | {key for key in reopened if own[key].until_us is None}):
        batch.claimed.append((contact, taken))
    emails = {key: texts.get(key, key) for key in new | {key for key, link in own.items() if link.until_us is None}}
    promote(contact, emails)
    if contact.email_key is not None:
        resolver.by_primary[contact.email_key] = contact
    set_further_emails(contact, emails)
    _refuse_above_limit(batch, contact, len(all_emails(*before[:2])))
    if (contact.email, contact.further_emails, contact.stamps.get(FIRST)) != before:
        resolver.rekeyed[contact.id] = contact
        resolver.touched.add(contact.id)


def _refuse_above_limit(batch: ApplyBatch, contact: Contact, before: int) -> None:
    """Raise `DeliveryRefused` if webhooks take a contact over the limit, or one that is over it still further."""
    count = len(all_emails(contact.email, contact.further_emails))
    grows = count > before or any(survivor is contact for _, survivor in batch.resolvers[CONTACT].united)
    if batch.deliveries and count > MAX_EMAILS and grows:
        raise DeliveryRefused(
            f"contact {contact.id} would have {count} e-mail addresses by this webhook, and at most {MAX_EMAILS} are possible, so it is "
            "not applied: remove addresses of the contact that it does not need, or correct the merge in the tool, then replay this webhook"
        )


@dataclass(slots=True)
class _Named:
    """The addresses in one contact's history."""

    latest: dict[Source, tuple[EffectiveTime, frozenset[str]]] = field(default_factory=dict)
    """The last addresses of each source."""
    sources: dict[str, set[Source]] = field(default_factory=dict)
    texts: dict[str, tuple[bool, EffectiveTime, str]] = field(default_factory=dict)
    """The last written form of each address: a source's counts more than a campaign tool's."""
    requests: set[Micros] = field(default_factory=set)
    """Times of the requests."""
    replaced: dict[str, EffectiveTime] = field(default_factory=dict)
    """The last request that replaced or removed each address as the first one."""

    @classmethod
    def in_history(cls, number: int, history: Sequence[StoredEvent]) -> _Named:
        """Read the history of a contact."""
        named, lists, first = cls(), dict[Source, dict[str, str]](), dict[int, str | None]()
        for event in sorted(history, key=lambda event: event.effective_time):
            if event.via == VIA_API:
                named.requests.add(event.occurred_us)
            if event.event == "contact.merged":
                continue  # the address that a merge chose replaces none
            by_api = event.via == VIA_API
            values, emails = event.detail.get("fields" if by_api else "named", {}), event.detail.get("emails")
            if "email" not in values and emails is None:
                continue
            absorbed = event.detail.get(OF_ABSORBED)
            merged_from = event.detail.get(MERGED_FROM, () if absorbed is None else (absorbed,))
            source = ("", str(merged_from[0] if merged_from else number)) if by_api else object_of(event)
            keys = by_key([*filter(None, [values.get("email")]), *(emails or ())])
            if source is not None:
                before = lists.get(source, {})
                if emails is None:  # it replaces or removes the first address, or makes a further one the first, and leaves the others
                    open_lists = lists.values() if by_api else (before,)  # a merge brings lists of requests on other records
                    is_promotion = bool(keys) and any(keys.keys() <= listed.keys() for listed in open_lists)
                    keys |= dict(islice(before.items(), 0 if is_promotion else 1, None))
                lists[source] = keys
                record = merged_from[0] if merged_from else number
                previous, first[record] = first.get(record), next(iter(keys), None)
                # A first address that was named before makes the previous one a further one.
                if by_api and previous is not None and previous not in keys and first[record] not in named.texts:
                    named.replaced[previous] = event.effective_time
            named.add(event.effective_time, source, keys)
        return named

    def add(self, at: EffectiveTime, source: Source | None, keys: Mapping[str, str]) -> None:
        """Add the addresses that a source had from a time on; None: an event that names a person and no object."""
        for key, text in keys.items():
            written = (source is not None, at, text)
            self.texts[key] = max(self.texts.get(key, written), written)
            if source is not None:
                self.sources.setdefault(key, set()).add(source)
        if source is not None and (source not in self.latest or self.latest[source][0] < at):
            self.latest[source] = (at, frozenset(keys))

    def is_open(self, link: Link) -> bool | None:
        """Whether the row of an address is open; None if the history does not say."""
        key = link.ref[2]
        having = [self.latest[source][0] for source in self.sources.get(key, ()) if key in self.latest[source][1]]
        if (replaced := self.replaced.get(key)) is not None and not any(at > replaced for at in having):
            return False
        if link.until_us is not None and link.until_us in self.requests:  # a request closed it
            return any(at[0] > link.until_us for at in having)
        return bool(having) if key in self.sources else None
