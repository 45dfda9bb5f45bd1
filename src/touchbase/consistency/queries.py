"""Queries of `touchbase verify`: the rows of a client, page by page."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.consistency.inbox import AuditedBody, AuditedDelivery
from touchbase.history.events import StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.records.company import Company
from touchbase.records.contact import Contact
from touchbase.sql.command import Query


@dataclass(slots=True)
class RecordPage:
    """Records with their whole histories, and what is kept about records that are not there."""

    records: list[tuple[Contact | Company, list[StoredEvent]]]
    strays: list[tuple[str, int]]
    """`event`, `custom field` or `link`, and the id of the record that it is about."""
    astray: list[tuple[int, str, str, str]]
    """What stands at a record and cannot: the record's id, what it is, what it says, and why not."""
    links: dict[int, list[Ref]]
    """What leads to each of the records."""
    companies: dict[Ref, int]
    """The companies that the histories name, by what they name them."""
    last: int | None
    """The last id that was looked at; None when these were all."""


@dataclass(slots=True)
class AuditRecords(Query[RecordPage]):
    """Records of one kind above the id `after`, in order of id, and all that is kept about ids up to the last of them.

    Everything is of one moment.
    """

    client: int
    kind: int
    after: int
    limit: int


@dataclass(slots=True)
class WaitingPage:
    """Places where events wait: how many events, and whether a link leads there that has no record yet."""

    places: list[tuple[int, int, bool]]
    last: int | None


@dataclass(slots=True)
class AuditWaiting(Query[WaitingPage]):
    """Places above `after` where events of one client wait."""

    client: int
    after: int
    limit: int


@dataclass(slots=True)
class DeliveryPage:
    """Deliveries by id with the counts of their events, and events of deliveries that are not there."""

    deliveries: list[AuditedDelivery]
    strays: list[tuple[int, int]]
    """The id of a delivery that is not there, and how many events name it."""
    last: int | None


@dataclass(slots=True)
class AuditDeliveries(Query[DeliveryPage]):
    """Deliveries of one client above the id `after`, in order of id."""

    client: int
    after: int
    limit: int


@dataclass(slots=True)
class BodyPage:
    """Deliveries by id, with their bodies."""

    bodies: list[AuditedBody]
    last: int | None


@dataclass(slots=True)
class AuditBodies(Query[BodyPage]):
    """Deliveries of one client above the id `after` with their bodies, in order of id."""

    client: int
    after: int
    limit: int
