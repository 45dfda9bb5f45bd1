"""Queries that read contacts, companies and their histories."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.history.events import StoredEvent
from touchbase.records.company import Company
from touchbase.records.contact import Contact
from touchbase.sql.command import Query


@dataclass(slots=True)
class GetContact(Query[Contact | None]):
    """One contact of one client, with its custom fields."""

    client: int
    id: int


@dataclass(slots=True)
class GetCompany(Query[Company | None]):
    """One company of one client, with its custom fields."""

    client: int
    id: int


@dataclass(slots=True)
class ListContacts(Query[list[Contact]]):
    """Contacts in order of (created_us, id), newest last, or of (updated_us, id) when `updated_since_us` is given.

    Filters are equal-to and combine with and; `email_key` and `linkedin_key` are normal forms.
    `after` is the same pair of the last contact of the page before.
    """

    client: int
    limit: int
    after: tuple[Micros, int] | None = None
    email_key: str | None = None
    linkedin_key: str | None = None
    status: str | None = None
    company_id: int | None = None
    updated_since_us: Micros | None = None


@dataclass(slots=True)
class ListCompanies(Query[list[Company]]):
    """Companies, as `ListContacts`."""

    client: int
    limit: int
    after: tuple[Micros, int] | None = None
    domain: str | None = None
    status: str | None = None
    updated_since_us: Micros | None = None


@dataclass(slots=True)
class GetHistory(Query[list[StoredEvent]]):
    """All events of one record, oldest first, by (occurred_us, key)."""

    client: int
    record_kind: int
    record_id: int


@dataclass(slots=True)
class FindUnited(Query[int | None]):
    """The id of the record that the one with this id is part of now, since the two turned out to be one."""

    client: int
    kind: int
    id: int
