"""Reading contacts and companies: one by id, or a filtered page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from touchbase.common import normalize
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault, NotFound
from touchbase.records import validation
from touchbase.records.commands import FindUnited, ListCompanies, ListContacts
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import RecordType
from touchbase.sql.store import Store

Place = tuple[Micros, int]
"""Cursor of a page: `created_us` (`updated_us` in that order) and id of its last record."""

R = TypeVar("R", Contact, Company)


async def get_record(store: Store, kind: RecordType[R], client: int, record_id: int) -> R:
    """Return one record; `NotFound` also when it is another client's, or was merged into another record (`data["existing_id"]`)."""
    found = await store.read(kind.get(client, record_id))
    if found is not None:
        return found
    merged_into = await store.read(FindUnited(client, kind.kind, record_id))
    if merged_into is None:
        raise NotFound(f"there is no {kind.name} with id {record_id}")
    detail = f"there is no {kind.name} with id {record_id} any more: it was merged into {merged_into}"
    raise NotFound(detail, data={"existing_id": merged_into})


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Filter of a list; None matches every record. A record must match all that are given."""

    email: str | None = None
    linkedin_url: str | None = None
    domain: str | None = None
    status: str | None = None
    company_id: int | None = None
    updated_since_us: Micros | None = None


async def list_contacts(
    store: Store, client: int, filters: RecordFilter, limit: int, after: Place | None
) -> tuple[list[Contact], Place | None]:
    """Return a page of contacts, newest last, and the cursor of the next; e-mail and LinkedIn match in normal form."""
    faults: list[Fault] = []
    email_key = validation.email(filters.email, "?email", faults)
    validation.raise_if_any(faults)
    linkedin_key = None if filters.linkedin_url is None else normalize.linkedin_search_key(filters.linkedin_url)
    query = ListContacts(
        client, limit + 1, after, email_key, linkedin_key, filters.status, filters.company_id, filters.updated_since_us
    )  # fmt: skip
    return _page(await store.read(query), limit, filters.updated_since_us)


async def list_companies(
    store: Store, client: int, filters: RecordFilter, limit: int, after: Place | None
) -> tuple[list[Company], Place | None]:
    """Return a page of companies, newest last, and the cursor of the next; the domain matches in normal form."""
    faults: list[Fault] = []
    domain = None if filters.domain is None else validation.domain(filters.domain, "?domain", faults)
    validation.raise_if_any(faults)
    query = ListCompanies(client, limit + 1, after, domain, filters.status, filters.updated_since_us)
    return _page(await store.read(query), limit, filters.updated_since_us)


def _page(found: list[R], limit: int, updated_since_us: Micros | None) -> tuple[list[R], Place | None]:
    page = found[:limit]
    if len(found) <= limit:
        return page, None
    last = page[-1]
    return page, (last.updated_us if updated_since_us is not None else last.created_us, last.id)
