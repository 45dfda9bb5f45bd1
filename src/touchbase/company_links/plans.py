"""Plans that link contacts to companies by the domains of their e-mail addresses.

A command creates at most `new` companies. If its contacts need more, it changes nothing and says how many: the caller sends it
again. So no ids are reserved for companies that are not created.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec

from touchbase.clients.models import ACTIVE, LINK_CREATE, LINK_OFF
from touchbase.clients.sql.clients import locked
from touchbase.common.timestamps import Micros
from touchbase.company_links.domains import business_domain
from touchbase.event_log.models import DOMAIN, EventType, LoggedEvent
from touchbase.event_log.sql.log import NEWEST_OF, log_events, with_cause
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import CARRIED, DERIVED, stamp_of
from touchbase.history.sql import stamps_of
from touchbase.jobs.models import QUEUED, Job
from touchbase.jobs.sql import insert_job
from touchbase.projection.deleted_records import deleted_having
from touchbase.projection.logged_changes import moved_contact
from touchbase.records.models import Company, Contact
from touchbase.records.primary_keys import former_key
from touchbase.records.projection import current_stamp
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.address_book import OWNER_OF
from touchbase.records.sql.create import create_companies
from touchbase.records.sql.rows import contact_of, contact_row
from touchbase.records.sql.statements import lock_records
from touchbase.records.writes import Creation
from touchbase.sql.builders import RECORD, RECORD_MATCH, find
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete


@dataclass(frozen=True, slots=True)
class Linked:
    """Changes made by linking some contacts."""

    contacts: int = 0
    """Contacts whose company changed."""
    companies: int = 0
    """Companies that were created."""
    wanted: int = 0
    """Companies that must be created first; then nothing was changed."""


NOTHING = Linked()


@dataclass(frozen=True, slots=True)
class Followed:
    """Progress along a client's log of events."""

    linked: Linked = NOTHING
    more: bool = False
    """Whether work is left."""
    start: bool = False
    """The present contacts are to be linked first: `start_linking`."""


@dataclass(frozen=True, slots=True)
class LinkedPage:
    """Progress along a client's contacts."""

    linked: Linked = NOTHING
    scanned: int = 0
    last: int | None = None
    """The last contact of the page; None after the last page."""
    stopped: bool = False
    """The setting has been changed since the job was created."""


PENDING: Columns = (*RECORD, ("domain", "text"))
PENDING_OF = find("pending_domain_links_of", "pending_domain_link", PENDING, RECORD, RECORD_MATCH)
SAVE_PENDING = Statement(
    "save_pending_domain_link",
    PENDING,
    body=f"INSERT INTO pending_domain_link ({names(PENDING)}) SELECT * FROM p WHERE true "
    "ON CONFLICT (client, record_kind, record_id) DO UPDATE SET domain = excluded.domain",
)
DELETE_PENDING = delete("delete_pending_domain_link", "pending_domain_link", RECORD)


@dataclass(slots=True)
class _ContactsToLink:
    """Contacts to link, with their domains where the address decides about the company."""

    by_id: Mapping[int, Contact]
    domains: dict[int, str] = field(default_factory=dict)
    companies: dict[str, int] = field(default_factory=dict)
    """Companies by domain."""

    def company(self, contact: int) -> int | None:
        """Return the company that a contact should have; None without one."""
        return self.companies.get(self.domains.get(contact, ""))


def link_contacts(client: int, mode: str, numbers: Iterable[int], at: Micros, new: int, ids: Ids) -> Plan[Linked]:
    """Link these contacts to the companies of their domains, unless an event or a request decided their company."""
    contact_ids = sorted(set(numbers))
    if not contact_ids:
        return Linked()
    rows = yield from lock_records(client, CONTACT, contact_ids)
    to_link = _ContactsToLink({contact.id: contact for contact in map(contact_of, rows)})
    undecided = [contact for contact in to_link.by_id.values() if not is_decided(contact)]
    for contact in undecided:
        if contact.email_key is not None and (domain := business_domain(contact.email_key)) is not None:
            to_link.domains[contact.id] = domain
    domains = set(to_link.domains.values())
    to_link.companies = yield from _companies(client, domains)
    created = 0
    if mode == LINK_CREATE:
        missing = yield from _not_deleted(client, domains - to_link.companies.keys())
        if len(missing) > new:
            return Linked(wanted=len(missing))
        to_link.companies |= yield from _create(client, missing, at, ids)
        created = len(missing)
    changed = yield from _save(client, to_link, undecided, at)
    yield from _save_pending(client, contact_ids, to_link)
    return Linked(changed, created)


def is_decided(contact: Contact) -> bool:
    """Return whether an event or a request has set or unset the contact's company."""
    return current_stamp(contact, "company_id")[0] >= CARRIED


def _companies(client: int, domains: Iterable[str]) -> Plan[dict[str, int]]:
    """Return the companies that have these domains, or had them and were not replaced by another one."""
    wanted = sorted(domains)
    if not wanted:
        return {}
    rows = yield Execute(OWNER_OF[COMPANY]["domain"], [(client, domain) for domain in wanted])
    companies: dict[str, int] = {row[1]: row[2] for row in rows}
    refs = [former_key(COMPANY, domain) for domain in wanted if domain not in companies]
    links = (yield Execute(history_sql.LINK_BY_REF, [(client, *ref) for ref in refs])) if refs else []
    return companies | {row[3]: row[6] for row in links if row[5] == COMPANY and row[6] is not None}


def _not_deleted(client: int, domains: Iterable[str]) -> Plan[list[str]]:
    """Return the domains that no deleted company had: a person deleted that one, and may restore it."""
    refs: dict[Ref, str] = {former_key(COMPANY, domain): domain for domain in domains}
    deleted = yield from deleted_having(client, COMPANY, refs)
    return sorted(domain for ref, domain in refs.items() if ref not in deleted)


def _create(client: int, domains: Sequence[str], at: Micros, ids: Ids) -> Plan[dict[str, int]]:
    """Create companies, each with the domain as the cause of its event."""
    if not domains:
        return {}
    creations = [Creation(Company(client, 0, at, at, domain)) for domain in domains]

    def by_domain(event: LoggedEvent) -> LoggedEvent:
        return replace(event, cause={"origin": DOMAIN, "domain": event.changed["domain"][1]})

    yield from with_cause(create_companies(creations, ids), by_domain)
    return {creation.record.domain: creation.record.id for creation in creations}


def _save(client: int, to_link: _ContactsToLink, undecided: Iterable[Contact], at: Micros) -> Plan[int]:
    """Store the companies of contacts that have another one; return how many."""
    changed: list[Contact] = []
    events: list[LoggedEvent] = []
    for contact in undecided:
        before, after = contact.company_id, to_link.company(contact.id)
        if before == after:
            continue
        contact.company_id, contact.updated_us = after, max(at, contact.updated_us + 1)
        if after is None:
            contact.stamps.pop("company_id", None)
        else:
            contact.stamps["company_id"] = DERIVED
        changed.append(contact)
        cause = {"origin": DOMAIN}
        if (domain := to_link.domains.get(contact.id)) is not None:
            cause["domain"] = domain
        events.append(moved_contact(client, contact.id, before, after, contact.updated_us, cause))
    if changed:
        yield Execute(records_sql.UPDATE_CONTACT, [contact_row(contact) for contact in changed])
        yield from log_events(events)
    return len(changed)


def _save_pending(client: int, contact_ids: Sequence[int], to_link: _ContactsToLink) -> Plan[None]:
    """Store which of these contacts wait for a company with their domain."""
    rows = yield Execute(PENDING_OF, [(client, CONTACT, number) for number in contact_ids])
    stored: dict[int, str] = {row[2]: row[3] for row in rows}
    wanted = {number: domain for number, domain in to_link.domains.items() if domain not in to_link.companies}
    if gone := sorted(stored.keys() - wanted.keys()):
        yield Execute(DELETE_PENDING, [(client, CONTACT, number) for number in gone])
    fresh: list[Row] = [(client, CONTACT, number, domain) for number, domain in sorted(wanted.items()) if stored.get(number) != domain]
    if fresh:
        yield Execute(SAVE_PENDING, fresh)


KIND = "contacts.link_companies"
_STATE: Columns = (("client", "bigint"), ("mode", "text"), ("position", "bigint"), ("job_id", "bigint"))
STATE_OF = Statement(
    "company_linking_of",
    _STATE[:1],
    body=f"SELECT {names(_STATE, 't.')} FROM p CROSS JOIN company_linking t WHERE t.client = p.client",
)
SAVE_STATE = Statement(
    "save_company_linking",
    _STATE,
    body=f"INSERT INTO company_linking ({names(_STATE)}) SELECT * FROM p WHERE true ON CONFLICT (client) "
    "DO UPDATE SET mode = excluded.mode, position = excluded.position, job_id = excluded.job_id",
)
DELETE_STATE = delete("delete_company_linking", "company_linking", _STATE[:1])
FORGET_PENDING = Statement(
    "forget_pending_domain_links",
    (("client", "bigint"), ("most", "bigint")),
    sqlite="DELETE FROM pending_domain_link WHERE client = ?1 AND (record_kind, record_id) IN (SELECT record_kind, record_id "
    "FROM pending_domain_link WHERE client = ?1 ORDER BY record_kind, record_id LIMIT ?2) RETURNING record_id",
    body="DELETE FROM pending_domain_link t USING p WHERE t.client = p.client AND (t.record_kind, t.record_id) IN ("
    "SELECT s.record_kind, s.record_id FROM pending_domain_link s WHERE s.client = p.client ORDER BY s.record_kind, s.record_id "
    "LIMIT (SELECT most FROM p)) RETURNING t.record_id",
)
_CONTACT_EVENTS = ("created", "updated", "merged", "deleted", "restored", "erased")
_COMPANY_EVENTS = ("created", "updated", "merged", "restored")
FOLLOWED = [EventType(f"contact.{what}") for what in _CONTACT_EVENTS] + [EventType(f"company.{what}") for what in _COMPANY_EVENTS]
DECISIVE = {CONTACT: ('"email":', '"company_id":'), COMPANY: ('"domain":',)}
"""Fields that the changes of an `updated` event must name for it to matter, as text of their JSON."""
# As in the index of migration 0003.
_DOMAIN = "replace(t.email_key, rtrim(t.email_key, replace(t.email_key, '@', '')), '')"
_DERIVED = f'%"company_id":{encode(DERIVED)}%'
_merged = msgspec.json.Decoder(dict[str, Any]).decode


class _State(NamedTuple):
    """How far the contacts of a client are linked."""

    mode: str
    position: int
    """The sequence up to which the log was followed."""
    job_id: int
    """The job that links the contacts from before."""


@dataclass(slots=True)
class _Subjects:
    """The records that a page of events concerns."""

    contacts: set[int] = field(default_factory=set)
    companies: set[int] = field(default_factory=set)


def _new_companies(calls: Any) -> dict[str, int]:
    return {"company": sum(call.new for call in calls)}


@command(ids=_new_companies, background=True)
def follow_changes(ids: Ids, client: int, limit: int, at: Micros, new: int = 0) -> Plan[Followed]:
    """Link the contacts that the client's newest events concern, up to `limit` events.

    For a client with the setting off it forgets, up to `limit` rows, what an earlier setting left.
    """
    current_client = yield from locked(client)
    if current_client is None or current_client.state != ACTIVE:
        return Followed()
    mode, state = current_client.settings.link_companies_by_email, (yield from _state(client))
    if mode == LINK_OFF:
        return (yield from _forget(client, limit)) if state is not None else Followed()
    newest, oldest = yield from _ends(client)
    if state is None or state.mode != mode or state.position < oldest - 1:
        return Followed(more=True, start=True)
    rows = yield from _events(client, limit, state.position, newest)
    subjects = _subjects(rows)
    waiting = yield from _waiting(client, limit, subjects.companies)
    displaced = yield from _displaced(client, limit, subjects.companies)
    numbers = [*subjects.contacts, *waiting, *displaced]
    linked = yield from link_contacts(client, mode, numbers, at, new, ids)
    if linked.wanted or limit in (len(waiting), len(displaced)):
        return Followed(linked, more=True)  # the same events again
    reached = rows[-1][0] if len(rows) == limit else newest
    yield Execute(SAVE_STATE, [(client, *state._replace(position=reached))])
    return Followed(linked, more=reached < newest)


@command(ids="job")
def start_linking(ids: Ids, client: int, at: Micros) -> Plan[None]:
    """Create the job that links the present contacts, and follow the client's events from now on, if that has not been done."""
    current_client = yield from locked(client)
    if current_client is None or current_client.settings.link_companies_by_email == LINK_OFF:
        return
    mode, state = current_client.settings.link_companies_by_email, (yield from _state(client))
    # Events after the newest one are followed, and the job sees the contacts of all up to it.
    newest, oldest = yield from _ends(client)
    if state is not None and state.mode == mode and state.position >= oldest - 1:
        return  # another process was faster
    job = yield from insert_job(Job(client, 0, KIND, QUEUED, at, at, {"mode": mode}), ids)
    yield Execute(SAVE_STATE, [(client, mode, newest, job.id)])


@command(ids=_new_companies, background=True, large=True)
def link_page(ids: Ids, client: int, job_id: int, after: int, limit: int, at: Micros, new: int = 0) -> Plan[LinkedPage]:
    """Link up to `limit` contacts after the id `after`, for the job with this id."""
    current_client = yield from locked(client)
    state = yield from _state(client)
    if current_client is None or state is None or state.job_id != job_id or current_client.settings.link_companies_by_email != state.mode:
        return LinkedPage(stopped=True)
    rows = yield Select(
        "SELECT id, company_id, stamps, created_us FROM contact WHERE client = ? AND id > ? ORDER BY id LIMIT ?",
        (client, after, limit),
    )
    undecided = [
        number
        for number, company, stamps, current_at in rows
        if stamp_of(stamps_of(stamps), "company_id", company, current_at)[0] < CARRIED
    ]
    linked = yield from link_contacts(client, state.mode, undecided, at, new, ids)
    return LinkedPage(linked, len(rows), rows[-1][0] if len(rows) == limit else None)


def _state(client: int) -> Plan[_State | None]:
    rows = yield Execute(STATE_OF, [(client,)])
    return _State(*rows[0][1:]) if rows else None


def _ends(client: int) -> Plan[tuple[int, int]]:
    """Return the newest sequence of the client's log, and the oldest one that is stored."""
    counters = yield Execute(NEWEST_OF, [(client,)])
    newest = counters[0][1] if counters else 0
    rows = yield Select("SELECT min(sequence) FROM logged_event WHERE client = ?", (client,))
    return newest, rows[0][0] or newest + 1


def _forget(client: int, limit: int) -> Plan[Followed]:
    """Remove the rows of a client whose contacts are not linked any more."""
    rows = yield Execute(FORGET_PENDING, [(client, limit)])
    if len(rows) == limit:
        return Followed(more=True)
    yield Execute(DELETE_STATE, [(client,)])
    return Followed()


def _events(client: int, limit: int, position: int, newest: int) -> Plan[list[Row]]:
    marks = ", ".join("?" * len(FOLLOWED))
    return (
        yield Select(
            "SELECT sequence, type, record_kind, record_id, changed, data FROM logged_event WHERE client = ? AND sequence > ? "
            f"AND sequence <= ? AND type IN ({marks}) ORDER BY sequence LIMIT ?",
            (client, position, newest, *FOLLOWED, limit),
        )
    )


def _subjects(rows: Sequence[Row]) -> _Subjects:
    """Return the contacts and companies for which something may have changed."""
    subjects = _Subjects()
    for _, name, kind, number, changed, data in rows:
        if name.endswith(".updated") and not any(word in changed for word in DECISIVE[kind]):
            continue
        if kind == COMPANY:
            subjects.companies.add(number)
            continue
        subjects.contacts.add(number)
        if name == EventType.CONTACT_MERGED:
            subjects.contacts.update(_merged(data)["merged"])
    return subjects


def _waiting(client: int, limit: int, companies: set[int]) -> Plan[list[int]]:
    """Return contacts that wait for a company with the domain of one of these."""
    if not companies:
        return []
    rows = yield Execute(records_sql.COMPANY_TO_SHOW, [(client, number) for number in sorted(companies)])
    if not (domains := sorted(row[4] for row in rows)):
        return []
    marks = ", ".join("?" * len(domains))
    rows = yield Select(
        f"SELECT record_id FROM pending_domain_link WHERE client = ? AND domain IN ({marks}) ORDER BY domain, record_id LIMIT ?",
        (client, *domains, limit),
    )
    return [row[0] for row in rows]


def _displaced(client: int, limit: int, companies: set[int]) -> Plan[list[int]]:
    """Return contacts that were linked to another company, which had the domain before one of these got it."""
    if not companies:
        return []
    rows = yield Select(
        f"SELECT t.id FROM company c CROSS JOIN contact t WHERE c.client = ? AND c.id IN ({', '.join('?' * len(companies))}) "
        f"AND t.client = c.client AND t.email_key IS NOT NULL AND {_DOMAIN} = c.domain AND t.company_id <> c.id AND t.stamps LIKE ? "
        "ORDER BY t.id LIMIT ?",
        (client, *sorted(companies), _DERIVED, limit),
    )
    return [row[0] for row in rows]


# Literally as in the index of migration 0012: the settings are text, and these are their only members of this form.
_MEMBER = '"link_companies_by_email":"'
_IS_ON = f"k.settings <> replace(replace(k.settings, '{_MEMBER}existing\"', ''), '{_MEMBER}create\"', '')"
_IS_CURRENT = f"replace(k.settings, '{_MEMBER}' || l.mode || '\"', '') <> k.settings"


@query(scope=ALL_CLIENTS)
def clients_to_link(limit: int, after: int = 0) -> Plan[list[int]]:
    """Active clients whose contacts may have to be linked, by number, after the number `after`."""
    rows = yield Select(
        f"SELECT k.id FROM client k WHERE k.state = 'active' AND k.id > ? AND {_IS_ON} AND NOT EXISTS ("
        "SELECT 1 FROM company_linking l LEFT JOIN event_counter c ON c.client = l.client "
        f"WHERE l.client = k.id AND l.position >= COALESCE(c.next - 1, 0) AND {_IS_CURRENT}) "
        "UNION ALL SELECT l.client FROM company_linking l JOIN client k ON k.id = l.client "
        f"WHERE k.state = 'active' AND l.client > ? AND NOT ({_IS_ON}) ORDER BY 1 LIMIT ?",
        (after, after, limit),
    )
    return [row[0] for row in rows]


@query
def count_contacts(client: int) -> Plan[int]:
    """The number of a client's contacts."""
    [(count,)] = yield Select("SELECT count(*) FROM contact WHERE client = ?", (client,))
    return int(count)
