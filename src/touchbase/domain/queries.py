"""Queries: everything that only reads. `Query[T]` answers a `T`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from touchbase.domain.api_key import ApiKey
from touchbase.domain.client import Client
from touchbase.domain.company import Company
from touchbase.domain.connection import Connection
from touchbase.domain.contact import Contact
from touchbase.domain.delivery import Delivery
from touchbase.domain.events import StoredEvent
from touchbase.domain.fetching import Fetching
from touchbase.domain.links import Ref
from touchbase.domain.once import KnownAnswer, RequestKey
from touchbase.domain.recompute_inbox import AuditedBody, AuditedDelivery
from touchbase.domain.times import Micros

T_co = TypeVar("T_co", covariant=True)


class Query(Generic[T_co]):
    """Something asked that changes nothing."""

    __slots__ = ()


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
class ListDeliveries(Query[list[Delivery]]):
    """Deliveries without their bodies, newest first; `before` is the last id of the page before."""

    limit: int
    client: int | None = None
    channel: str | None = None
    tool: str | None = None
    state: str | None = None
    before: int | None = None
    received_since_us: Micros | None = None
    problems: bool = False
    """Only those that have a problem."""


@dataclass(slots=True)
class CountDeliveries(Query[int]):
    """How many deliveries of one client `ListDeliveries` would list."""

    client: int
    channel: str | None = None
    tool: str | None = None
    state: str | None = None
    before: int | None = None
    received_since_us: Micros | None = None


@dataclass(slots=True)
class DeliveryGroup:
    """Deliveries in one state that look alike: how many, since when, and one of them to look at."""

    client_id: str
    channel: str
    tool: str | None
    state: str
    shape: str | None
    """`domain/shape.py`."""
    count: int
    first_us: Micros
    last_us: Micros
    example_id: int
    """The newest of them."""
    reason: str | None
    """Why that one is not applied."""


@dataclass(slots=True)
class GroupDeliveries(Query[list[DeliveryGroup]]):
    """Groups of deliveries in one of the states that changed nothing, largest first."""

    state: str
    limit: int
    client: int | None = None
    channel: str | None = None
    tool: str | None = None


@dataclass(slots=True)
class GetDelivery(Query[Delivery | None]):
    """One delivery with headers and body; of any client when `client` is None."""

    id: int
    client: int | None = None


@dataclass(slots=True)
class DeliveryEvents(Query[list[StoredEvent]]):
    """The stored events that one delivery caused."""

    client: int
    delivery_id: int


@dataclass(slots=True)
class FindUnited(Query[int | None]):
    """The id of the record that the one with this id is part of now, since the two turned out to be one."""

    client: int
    kind: int
    id: int


@dataclass(slots=True)
class FindClient(Query[Client | None]):
    """The client of this `client_id`; with `at` also by a former one that is honoured then."""

    client_id: str
    at: Micros | None = None


@dataclass(slots=True)
class ListClients(Query[list[Client]]):
    """All clients by `client_id`."""


@dataclass(slots=True)
class ListConnections(Query[list[Connection]]):
    """All connections of one client, by channel and tool."""

    client: int


@dataclass(slots=True)
class DueFetches(Query[list[tuple[int, str]]]):
    """Active clients (by number) and tools with an access token, of which records are wanted and may be asked for by `now_us`.

    Those first that may be asked for the longest.
    """

    now_us: Micros


@dataclass(slots=True)
class ListFetching(Query[list[Fetching]]):
    """How asking each of a client's tools for records goes; without those that nothing was ever wanted of."""

    client: int


@dataclass(slots=True)
class BusyClients(Query[list[int]]):
    """Numbers of the active clients that have deliveries due by `now_us`."""

    now_us: Micros


@dataclass(slots=True)
class FindKey(Query[ApiKey | None]):
    """The kept API key of this id."""

    key_id: str


@dataclass(slots=True)
class InboxCounts:
    """How many deliveries are in each state, and when the oldest of each was received."""

    by_state: dict[str, int]
    oldest_us: dict[str, Micros]
    """Without the states that nothing is in."""


@dataclass(slots=True)
class CountInbox(Query[InboxCounts]):
    """Counts over all clients; states that end (`applied`, `ignored`) are not counted, there may be millions."""


@dataclass(slots=True)
class AnyKey(Query[bool]):
    """Whether any API key is kept."""


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


@dataclass(slots=True)
class FindAnswer(Query[KnownAnswer | None]):
    """The answer that is kept for a request's key, whatever request it belongs to; None when its time is over."""

    request: RequestKey


@dataclass(slots=True)
class OldCalls(Query[list[tuple[int, bytes]]]):
    """Client and key of calls received before `before_us` that are still recognised, in this order, those behind `after`."""

    before_us: Micros
    limit: int
    after: tuple[int, bytes] | None = None


@dataclass(slots=True)
class ExpiredAnswers(Query[list[tuple[int, str]]]):
    """Client and key of kept answers whose time is over by `now_us`, those that ended first."""

    now_us: Micros
    limit: int
