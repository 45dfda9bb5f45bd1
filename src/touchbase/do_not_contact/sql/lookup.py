"""Plans that read the lists: suppressed addresses, one entry, and pages.

They also mark the records that must not be contacted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol

import msgspec

from touchbase.common.normalize import former_linkedin_key
from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.addresses import KIND_OF_REF, Address, covering_domains
from touchbase.do_not_contact.models import (
    CLIENT_LIST,
    DOMAIN,
    EMAIL,
    INSTALLATION,
    INSTALLATION_LIST,
    KINDS,
    LINKEDIN_URL,
    STATUS,
    Addresses,
    Entry,
    Suppressed,
)
from touchbase.do_not_contact.sql import hashing
from touchbase.do_not_contact.sql.opt_outs import further_addresses
from touchbase.do_not_contact.sql.statements import (
    DOMAIN_OF_COMPANY,
    ENTRIES_OF,
    ENTRY,
    FIND_LISTED,
    FIND_LISTED_INSTALLATION,
    LISTED_KINDS,
    PERSON_BY_EMAIL,
    PERSON_BY_LINK,
    PERSON_BY_LINKEDIN,
    SHARED,
    EntryRow,
    installation_entry,
)
from touchbase.erasure_marks import EMAIL as EMAIL_REF
from touchbase.erasure_marks import LINKEDIN as LINKEDIN_REF
from touchbase.erasure_marks import find_erasure_key
from touchbase.history.status_words import is_opt_out_word
from touchbase.sql.cell_answers import AnswerMerge, Answers, Division, divide_clients, named_clients
from touchbase.sql.filters import ACTIVE_CLIENTS, Where, among
from touchbase.sql.operation import query
from touchbase.sql.rows import names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select

Item = tuple[int, Addresses]
"""A client's number, and addresses to look up for it."""
Place = tuple[int, str, str]
"""A client's number, and the kind and value of an entry."""


@dataclass(slots=True)
class Listed:
    """The kinds of entries that one client and the installation have."""

    own: frozenset[str]
    has_hashes: bool
    shared: frozenset[str]
    kinds: frozenset[str]
    """Of both."""
    opt_outs: frozenset[str]
    """The client's own names of statuses that opt out."""

    @property
    def any(self) -> bool:
        """Whether there are any entries."""
        return bool(self.kinds)

    @property
    def has_domains(self) -> bool:
        """Whether there are entries of domains."""
        return DOMAIN in self.kinds

    @property
    def has_addresses(self) -> bool:
        """Whether there are entries of people's addresses."""
        return EMAIL in self.kinds or LINKEDIN_URL in self.kinds

    def opts_out(self, status: str | None) -> bool:
        """Return whether a status of a contact opts the person out."""
        return is_opt_out_word(status) or status in self.opt_outs


@dataclass(slots=True)
class _Matches:
    """Entries by address: of the clients, and of the installation."""

    hashes: dict[Place, Place] = field(default_factory=dict)
    """Under which hash an address may be listed."""
    own: dict[Place, Row] = field(default_factory=dict)
    shared: dict[tuple[str, ...], Row] = field(default_factory=dict)


def listed_kinds(clients: Iterable[int]) -> Plan[dict[int, Listed]]:
    """Return by client which kinds of entries there are."""
    rows = yield Execute(LISTED_KINDS, [(client,) for client in sorted(set(clients))])
    listed: dict[int, Listed] = {}
    for client, *flags in rows:
        own, shared = _present(flags[:3]), _present(flags[4:7])
        opt_outs = frozenset[str]() if flags[7] is None else frozenset(_decode_names(flags[7]).contact_opt_outs)
        listed[client] = Listed(own, bool(flags[3]), shared, own | shared, opt_outs)
    return listed


class _Names(msgspec.Struct):
    contact_opt_outs: list[str]


_decode_names = msgspec.json.Decoder(_Names).decode


def _present(flags: Sequence[object]) -> frozenset[str]:
    return frozenset(kind for kind, there in zip(KINDS, flags, strict=True) if there)


@query
def find_suppressed(client: int, items: list[Addresses], now: Micros) -> Plan[list[Suppressed | None]]:
    """For each item, why it must not be contacted now: by the client's list, the installation's list, or a contact's status.

    Of an address that leads to a contact all that the contact has counts, also of one that it does not show.
    `client`: `INSTALLATION`: by that list alone.
    """
    listed = yield from listed_kinds([client])
    if client == INSTALLATION:
        return (yield from suppressed_items([(client, item) for item in items], listed, now))
    people = yield from _people(client, items)
    expanded: list[Item] = []
    owners: list[int] = []
    for index, item in enumerate(items):
        of_item = [item] if item.contact is not None else [item, *people.get(item, ())]
        expanded += [(client, addresses) for addresses in of_item]
        owners += [index] * len(of_item)
    matches: list[Suppressed | None] = [None] * len(items)
    for index, match in zip(owners, (yield from suppressed_items(expanded, listed, now)), strict=True):
        matches[index] = matches[index] or match
    return matches


def _people(client: int, items: Iterable[Addresses]) -> Plan[dict[Addresses, list[Addresses]]]:
    """Return by item the contacts that its addresses lead to, for items that name no contact."""
    unknown = {item for item in items if item.contact is None}
    emails = sorted({item.email for item in unknown if item.email is not None})
    profiles = sorted({item.linkedin for item in unknown if item.linkedin is not None})
    by_address: dict[Address, list[Addresses]] = {}
    for kind, values, statement in ((EMAIL, emails, PERSON_BY_EMAIL), (LINKEDIN_URL, profiles, PERSON_BY_LINKEDIN)):
        for row in (yield Execute(statement, [(client, value) for value in values])) if values else ():
            by_address.setdefault((kind, row[0]), []).append(_person(row[1:]))
    refs = [(client, EMAIL_REF, email) for email in emails] + [(client, LINKEDIN_REF, profile) for profile in profiles]
    for row in (yield Execute(PERSON_BY_LINK, refs)) if refs else ():
        by_address.setdefault((KIND_OF_REF[row[0]], row[1]), []).append(_person(row[2:]))
    return {
        item: by_address.get((EMAIL, item.email or ""), []) + by_address.get((LINKEDIN_URL, item.linkedin or ""), []) for item in unknown
    }


def _person(row: Row) -> Addresses:
    _, number, status, email, linkedin, domain = row
    return Addresses(email, linkedin, domain, number, status)


def suppressed_items(items: Sequence[Item], listed: Mapping[int, Listed], now: Micros) -> Plan[list[Suppressed | None]]:
    """Return for each item why it must not be contacted; only kinds that are `listed` are looked up."""
    matches = (yield from _listed_items(items, listed, now)) if any(kinds.any for kinds in listed.values()) else [None] * len(items)
    return [
        Suppressed(STATUS) if match is None and item.status is not None and listed[client].opts_out(item.status) else match
        for match, (client, item) in zip(matches, items, strict=True)
    ]


def _listed_items(items: Sequence[Item], listed: Mapping[int, Listed], now: Micros) -> Plan[list[Suppressed | None]]:
    covers = _covers(items, listed)
    contacts = {(client, item.contact) for client, item in items if item.contact is not None and listed[client].has_addresses}
    further = yield from further_addresses(contacts)
    if further:
        for (client, item), cover in zip(items, covers, strict=True):
            more = further.get((client, item.contact or 0), ())
            cover += [(client, kind, value) for kind, value in more if kind in listed[client].kinds]
    places = set(chain.from_iterable(covers))
    matches = _Matches()
    own = [place for place in places if place[1] in listed[place[0]].own]
    if own:
        matches.hashes = yield from _hashes(own, listed)
        own += matches.hashes.values()
        matches.own = {(row[6], row[0], row[1]): row for row in (yield Execute(FIND_LISTED, own))}
    shared = {place[1:] for place in places if place[1] in listed[place[0]].shared}
    if shared:
        matches.shared = {(row[0], row[1]): row for row in (yield Execute(FIND_LISTED_INSTALLATION, list(shared)))}
    if not matches.own and not matches.shared:
        return [None] * len(items)
    return [_first(cover, matches, now) for cover in covers]


def _covers(items: Sequence[Item], listed: Mapping[int, Listed]) -> list[list[Place]]:
    """Return for each item the places of the entries that cover it, the most specific first, without kinds that are not listed.

    Written for speed: a match looks up a thousand items.
    """
    by_domain: dict[tuple[int, str], list[Place]] = {}
    covers: list[list[Place]] = []
    for client, addresses in items:
        kinds, email = listed[client].kinds, addresses.email
        places: list[Place] = []
        covers.append(places)
        if email is not None and EMAIL in kinds:
            places.append((client, EMAIL, email))
        if addresses.linkedin is not None and LINKEDIN_URL in kinds:
            places.append((client, LINKEDIN_URL, addresses.linkedin))
            if listed[client].has_hashes and (former := former_linkedin_key(addresses.linkedin_url or "")) is not None:
                places.append((client, LINKEDIN_URL, former))
        if DOMAIN in kinds:
            for domain in (None if email is None else email[email.rfind("@") + 1 :], addresses.domain):
                if domain is not None:
                    covering = by_domain.get((client, domain))
                    if covering is None:
                        covering = by_domain[client, domain] = [
                            (client, DOMAIN, covering_domain) for covering_domain in covering_domains(domain)
                        ]
                    places += covering
    return covers


def _hashes(own: Iterable[Place], listed: Mapping[int, Listed]) -> Plan[dict[Place, Place]]:
    """Return the places under which addresses may be listed as hashes, for clients with such entries."""
    wanted = [place for place in own if listed[place[0]].has_hashes and place[1] != DOMAIN]
    key = (yield from find_erasure_key()) if wanted else None
    if key is None:
        return {}
    return {(client, kind, value): (client, kind, hashing.hashed_value(key, client, (kind, value))) for client, kind, value in wanted}


def _first(places: Sequence[Place], matches: _Matches, now: Micros) -> Suppressed | None:
    """Return the first active entry at these places: of the client's list, then of the installation's."""
    for place in places:
        row = matches.own.get(place)
        if (row is None or not _is_active(row, now)) and matches.hashes:
            row = matches.own.get(matches.hashes.get(place, place))
        if row is not None and _is_active(row, now):
            return Suppressed(row[2], CLIENT_LIST, place[1], place[2], row[3], row[4])
    for place in places if matches.shared else ():
        row = matches.shared.get(place[1:])
        if row is not None and _is_active(row, now):
            return Suppressed(row[2], INSTALLATION_LIST, place[1], place[2], row[3], row[4])
    return None


def _is_active(row: Row, now: Micros) -> bool:
    return row[4] is None or bool(row[4] > now)


@query
def get_entry(client: int, id: int) -> Plan[Entry | None]:
    """One entry by its id."""
    params: Row
    if client == INSTALLATION:
        sql, params = f"SELECT {names(SHARED)} FROM installation_suppression WHERE id = ?", (id,)
    else:
        sql = f"SELECT {names(ENTRY)} FROM suppression WHERE client = ? AND id = ? AND reason IS NOT NULL"
        params = (client, id)
    rows = yield Select(sql, params)
    return _entry(client, rows[0]) if rows else None


@query
def find_address(client: int, id: int) -> Plan[Address | None]:
    """Kind and value of an entry of a client, also of a removed one; None if the store has only its hash, or nothing."""
    rows = yield Select("SELECT kind, value FROM suppression WHERE client = ? AND id = ? AND hashed = 0", (client, id))
    return (rows[0][0], rows[0][1]) if rows else None


def _entry(client: int, row: Row) -> Entry:
    return installation_entry(row) if client == INSTALLATION else EntryRow(*row).entry()


@query
def find_entries(client: int, addresses: list[tuple[str, str]]) -> Plan[list[Entry]]:
    """The entries of these addresses (kind and normal form), with hashed ones; for a person's export."""
    stored = yield from hashing.stored_addresses(client, addresses)
    keys = sorted({(client, *place) for place, _ in stored.values()})
    if not keys:
        return []
    rows = [EntryRow(*row) for row in (yield Execute(ENTRIES_OF, keys))]
    return sorted((row.entry() for row in rows if row.reason is not None), key=lambda entry: entry.id)


@query
def list_clear_addresses(client: int, limit: int, after: tuple[str, str] = ("", "")) -> Plan[list[Address]]:
    """Addresses (kind and normal form) that a client's list stores in clear, also of removed entries, in their order, after `after`."""
    rows = yield Select(
        "SELECT kind, value FROM suppression WHERE client = ? AND (kind, value) > (?, ?) AND hashed = 0 ORDER BY kind, value LIMIT ?",
        (client, *after, limit),
    )
    return [(row[0], row[1]) for row in rows]


@query
def list_entries(
    client: int,
    limit: int,
    now: Micros,
    after: tuple[Micros, int] | None = None,
    kind: str | None = None,
    value: str | None = None,
    reason: str | None = None,
    source: str | None = None,
    active: bool | None = None,
) -> Plan[list[Entry]]:
    """Entries in order of (created_us, id), newest last; filters that are None filter nothing.

    `value` is the address in normal form; it comes with `kind`.
    """
    shared = client == INSTALLATION
    where = Where() if shared else Where("client = ? AND reason IS NOT NULL", client)
    if value is not None and kind is not None and not shared:
        stored = yield from hashing.stored_addresses(client, [(kind, value)])
        where.equal("value", stored[kind, value][0][1])
    else:
        where.equal("value", value)
    where.equal("kind", kind)
    where.equal("reason", reason)
    where.equal("source", source)
    if active is not None:
        where.add("(until_us IS NULL OR until_us > ?)" if active else "until_us <= ?", now)
    if after is not None:
        where.add("(created_us, id) > (?, ?)", *after)
    columns, table = (SHARED, "installation_suppression") if shared else (ENTRY, "suppression")
    rows = yield Select(f"SELECT {names(columns)} FROM {table} WHERE {where} ORDER BY created_us, id LIMIT ?", (*where.params, limit))
    return [_entry(client, row) for row in rows]


def _oldest_of_all(call: Any, answers: Answers) -> list[tuple[int, Entry]]:
    return sorted(chain.from_iterable(answers.values()), key=_place_of)[: call.limit]


def _place_of(owned: tuple[int, Entry]) -> tuple[Micros, int, int]:
    client, entry = owned
    return entry.created_us, client, entry.id


@query(
    clients=named_clients,
    unnamed=ALL_CLIENTS,
    divide=Division(divide_clients, _oldest_of_all, partial=True),
    merge=AnswerMerge(_oldest_of_all),
    long=True,
)
def list_all_entries(
    clients: Sequence[int] | None, limit: int, now: Micros, after: tuple[Micros, int, int] | None, filters: Mapping[str, Any]
) -> Plan[list[tuple[int, Entry]]]:
    """Entries of the lists of these clients (None: of all active ones), each with its client, newest last.

    `after`: time, client and id of the last one of a page. `filters` are those of `list_entries`.
    """
    if clients == []:
        return []
    condition, numbers = ACTIVE_CLIENTS if clients is None else among(clients)
    has_entries = "EXISTS (SELECT 1 FROM suppression s WHERE s.client = k.id AND s.reason IS NOT NULL)"
    rows = yield Select(f"SELECT k.id FROM client k WHERE k.id {condition} AND {has_entries} ORDER BY k.id", numbers)
    entries: list[tuple[int, Entry]] = []
    for (client,) in rows:
        behind = None if after is None else (after[0], after[2] if client == after[1] else sys.maxsize if client < after[1] else 0)
        page = yield from list_entries.plan(client, limit, now, behind, **filters)
        entries = sorted((*entries, *((client, entry) for entry in page)), key=_place_of)[:limit]
    return entries


class MarkedRecord(Protocol):
    """A contact or company."""

    client: int
    suppressed: str | None
    """Set to the reason, if it must not be contacted."""


def mark_records(records: Sequence[MarkedRecord], now: Micros, listed: Mapping[int, Listed] | None = None) -> Plan[None]:
    """Set `suppressed` on these records."""
    if listed is None:
        listed = yield from listed_kinds({record.client for record in records})
    if not any(kinds.any for kinds in listed.values()):
        for record in records:
            status: str | None = getattr(record, "status", None)
            if (is_opt_out_word(status) or status in listed[record.client].opt_outs) and hasattr(record, "email_key"):
                record.suppressed = STATUS
        return
    domains = yield from _company_domains(records, listed)
    items = [_item(record, domains) for record in records]
    for record, match in zip(records, (yield from suppressed_items(items, listed, now)), strict=True):
        record.suppressed = None if match is None else match.reason


def _company_domains(records: Sequence[MarkedRecord], listed: Mapping[int, Listed]) -> Plan[dict[tuple[int, int], str]]:
    """Return the domains of the contacts' companies, where entries of domains exist."""
    keys = {
        (record.client, company)
        for record in records
        if listed[record.client].has_domains and (company := getattr(record, "company_id", None)) is not None
    }
    rows = (yield Execute(DOMAIN_OF_COMPANY, sorted(keys))) if keys else []
    return {(row[0], row[1]): row[2] for row in rows}


def _item(record: MarkedRecord, domains: dict[tuple[int, int], str]) -> Item:
    domain: str | None = getattr(record, "domain", None)
    if not hasattr(record, "email_key"):
        return (record.client, Addresses(domain=domain))
    company = domains.get((record.client, getattr(record, "company_id", None) or 0))
    contact = getattr(record, "id", 0) or None  # a row of an import may have no contact yet
    linkedin, status, url = (getattr(record, name, None) for name in ("linkedin_key", "status", "linkedin_url"))
    return (record.client, Addresses(record.email_key, linkedin, domain or company, contact, status, url))
