"""Link contacts: what a contact's company is follows from its address and the companies there are now.

These plans lock the client's row, as inbox batches do: which company has a domain stays true until the transaction ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from touchbase.clients.models import LINK_CREATE
from touchbase.common.timestamps import Micros
from touchbase.company_links.commands import Linked
from touchbase.company_links.domains import business_domain
from touchbase.event_log.models import DOMAIN, LoggedEvent
from touchbase.event_log.sql.log import log_events, with_cause
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import CARRIED, DERIVED
from touchbase.projection.deleted_records import deleted_having
from touchbase.projection.logged_changes import moved_contact
from touchbase.records.commands import CreateCompany
from touchbase.records.models import Company, Contact
from touchbase.records.primary_keys import former_key
from touchbase.records.projection import current_stamp
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.create import create_companies
from touchbase.records.sql.rows import contact_of, contact_row
from touchbase.sql.builders import RECORD, RECORD_MATCH, find
from touchbase.sql.ids import Ids
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Row, Statement, delete

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
    """Give these contacts the companies of their domains, unless an event or a request decided their company."""
    asked = sorted(set(numbers))
    if not asked:
        return Linked()
    rows = yield Execute(records_sql.CONTACT_BY_ID, [(client, number) for number in asked])
    found = _ContactsToLink({contact.id: contact for contact in map(contact_of, rows)})
    undecided = [contact for contact in found.by_id.values() if not is_decided(contact)]
    for contact in undecided:
        if contact.email_key is not None and (domain := business_domain(contact.email_key)) is not None:
            found.domains[contact.id] = domain
    domains = set(found.domains.values())
    found.companies = yield from _companies(client, domains)
    created = 0
    if mode == LINK_CREATE:
        missing = yield from _not_deleted(client, domains - found.companies.keys())
        if len(missing) > new:
            return Linked(wanted=len(missing))
        found.companies |= yield from _create(client, missing, at, ids)
        created = len(missing)
    changed = yield from _save(client, found, undecided, at)
    yield from _save_pending(client, asked, found)
    return Linked(changed, created)


def is_decided(contact: Contact) -> bool:
    """Return whether an event or a request has set or unset the contact's company."""
    return current_stamp(contact, "company_id")[0] >= CARRIED


def _companies(client: int, domains: Iterable[str]) -> Plan[dict[str, int]]:
    """Return the companies that have these domains, or had them and were not replaced by another one."""
    wanted = sorted(domains)
    if not wanted:
        return {}
    rows = yield Execute(records_sql.COMPANY_HAVING_DOMAIN, [(client, domain) for domain in wanted])
    companies: dict[str, int] = {row[4]: row[1] for row in rows}
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
    commands = [CreateCompany(Company(client, 0, at, at, domain)) for domain in domains]

    def by_domain(event: LoggedEvent) -> LoggedEvent:
        return replace(event, cause={"origin": DOMAIN, "domain": event.changed["domain"][1]})

    yield from with_cause(create_companies(commands, ids), by_domain)
    return {command.record.domain: command.record.id for command in commands}


def _save(client: int, found: _ContactsToLink, undecided: Iterable[Contact], at: Micros) -> Plan[int]:
    """Store the companies of contacts that have another one; return how many."""
    changed: list[Contact] = []
    events: list[LoggedEvent] = []
    for contact in undecided:
        before, after = contact.company_id, found.company(contact.id)
        if before == after:
            continue
        contact.company_id, contact.updated_us = after, max(at, contact.updated_us + 1)
        if after is None:
            contact.stamps.pop("company_id", None)
        else:
            contact.stamps["company_id"] = DERIVED
        changed.append(contact)
        cause = {"origin": DOMAIN}
        if (domain := found.domains.get(contact.id)) is not None:
            cause["domain"] = domain
        events.append(moved_contact(client, contact.id, before, after, contact.updated_us, cause))
    if changed:
        yield Execute(records_sql.UPDATE_CONTACT, [contact_row(contact) for contact in changed])
        yield from log_events(events)
    return len(changed)


def _save_pending(client: int, asked: Sequence[int], found: _ContactsToLink) -> Plan[None]:
    """Store which of these contacts wait for a company with their domain."""
    rows = yield Execute(PENDING_OF, [(client, CONTACT, number) for number in asked])
    stored: dict[int, str] = {row[2]: row[3] for row in rows}
    wanted = {number: domain for number, domain in found.domains.items() if domain not in found.companies}
    if gone := sorted(stored.keys() - wanted.keys()):
        yield Execute(DELETE_PENDING, [(client, CONTACT, number) for number in gone])
    fresh: list[Row] = [(client, CONTACT, number, domain) for number, domain in sorted(wanted.items()) if stored.get(number) != domain]
    if fresh:
        yield Execute(SAVE_PENDING, fresh)
