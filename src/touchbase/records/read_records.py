"""Reading contacts and companies: one by id, or a page of those that a caller looks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from touchbase.common import normalize
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault, NotFound
from touchbase.history.events import COMPANY, CONTACT
from touchbase.records import validation
from touchbase.records.company import Company
from touchbase.records.contact import Contact
from touchbase.records.queries import FindUnited, GetCompany, GetContact, ListCompanies, ListContacts
from touchbase.sql.store import Store

Place = tuple[Micros, int]
"""Where a page ends: `created_us` (`updated_us` in that order) and id of its last record."""

R = TypeVar("R", Contact, Company)


async def get_contact(store: Store, client: int, contact_id: int) -> Contact:
    """One contact; `NotFound` also when it is another client's, and where it is part of another contact by now."""
    found = await store.read(GetContact(client, contact_id))
    if found is None:
        raise await _missing(store, FindUnited(client, CONTACT, contact_id), "contact")
    return found


async def get_company(store: Store, client: int, company_id: int) -> Company:
    """One company; `NotFound` as above."""
    found = await store.read(GetCompany(client, company_id))
    if found is None:
        raise await _missing(store, FindUnited(client, COMPANY, company_id), "company")
    return found


async def _missing(store: Store, query: FindUnited, one: str) -> NotFound:
    """The error for a record that is not there; whoever has kept the id of one that was united with another is told which."""
    now = await store.read(query)
    if now is None:
        return NotFound(f"there is no {one} with id {query.id}")
    return NotFound(f"there is no {one} with id {query.id} any more: it was united with {now}", data={"existing_id": now})


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Which records a caller looks for; None means any. All that are given must hold."""

    email: str | None = None
    linkedin_url: str | None = None
    domain: str | None = None
    status: str | None = None
    company_id: int | None = None
    updated_since_us: Micros | None = None


async def list_contacts(
    store: Store, client: int, wanted: RecordFilter, limit: int, after: Place | None
) -> tuple[list[Contact], Place | None]:
    """A page of contacts, newest last, and where the next one begins; e-mail and LinkedIn match in normal form."""
    faults: list[Fault] = []
    email_key = validation.email(wanted.email, "?email", faults)
    validation.raise_if_any(faults)
    linkedin_key = None if wanted.linkedin_url is None else normalize.linkedin_search_key(wanted.linkedin_url)
    query = ListContacts(
        client, limit + 1, after, email_key, linkedin_key, wanted.status, wanted.company_id, wanted.updated_since_us
    )  # fmt: skip
    return _page(await store.read(query), limit, wanted.updated_since_us)


async def list_companies(
    store: Store, client: int, wanted: RecordFilter, limit: int, after: Place | None
) -> tuple[list[Company], Place | None]:
    """A page of companies, newest last, and where the next one begins; the domain matches in normal form."""
    faults: list[Fault] = []
    domain = None if wanted.domain is None else validation.domain(wanted.domain, "?domain", faults)
    validation.raise_if_any(faults)
    query = ListCompanies(client, limit + 1, after, domain, wanted.status, wanted.updated_since_us)
    return _page(await store.read(query), limit, wanted.updated_since_us)


def _page(found: list[R], limit: int, updated_since_us: Micros | None) -> tuple[list[R], Place | None]:
    page = found[:limit]
    if len(found) <= limit:
        return page, None
    last = page[-1]
    return page, (last.updated_us if updated_since_us is not None else last.created_us, last.id)
