"""Results of the queries of `touchbase verify`: the rows of a client, page by page."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.consistency.inbox import AuditedBody, AuditedDelivery
from touchbase.history.events import StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.status_words import StatusWords
from touchbase.records.models import Company, Contact


@dataclass(slots=True)
class RecordPage:
    """Records with their whole histories, and rows of records that do not exist."""

    records: list[tuple[Contact | Company, list[StoredEvent]]]
    strays: list[tuple[str, int]]
    """`event`, `custom field`, `link` or `former owner`, and the id of the missing record."""
    astray: list[tuple[int, str, str, str]]
    """References to rows that contradict them: the record's id, field, value found, and value expected."""
    links: dict[int, list[Ref]]
    """The links to each of the records."""
    open_emails: dict[int, set[str]]
    """The e-mail addresses of each of the contacts in open rows."""
    companies: dict[Ref, int | None]
    """The companies that the histories name, by ref; None for a deleted one."""
    words: StatusWords
    """The names of the client's statuses."""
    renaming: int | None
    """The job that still gives records the new name of a status; None: no job."""
    last: int | None
    """The last id of the page; None on the last page."""


@dataclass(slots=True)
class WaitingPage:
    """Parking ids: how many events each has, and whether a link without a record leads there."""

    parked: list[tuple[int, int, bool]]
    last: int | None


@dataclass(slots=True)
class AuditedDeliveries:
    """Deliveries by id with the counts of their events, and events of deliveries that do not exist."""

    deliveries: list[AuditedDelivery]
    strays: list[tuple[int, int]]
    """The id of a missing delivery, and how many events name it."""
    last: int | None


@dataclass(slots=True)
class AuditedBodies:
    """Deliveries by id, with their bodies."""

    bodies: list[AuditedBody]
    last: int | None
