"""Bodies of lookups: the people or companies to look up, and the matches."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.http.schemas import MaybeTime, example
from touchbase.records.api.schemas import identified
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE

MAX_ITEMS = 1_000
"""Items of one request."""
_NULL = Meta(description="Null if there is none, or if the item is unknown.")
_SUPPRESSED = Meta(
    description="Why the addresses of the item, or of its record, must not be contacted: the reason on a do-not-contact list. Null if "
    "they may be.",
    examples=["unsubscribed"],
)


@identified(CONTACT_TYPE)
class ContactMatchItem(Struct):
    """A person: an e-mail address, a LinkedIn address, your own id, or several of them."""


@identified(COMPANY_TYPE)
class CompanyMatchItem(Struct):
    """A company: its domain, or an address that contains it, or your own id."""


class ContactMatchRequest(Struct):
    """The people to look up."""

    items: Annotated[list[ContactMatchItem], Meta(min_length=1, max_length=MAX_ITEMS)]


class CompanyMatchRequest(Struct):
    """The companies to look up."""

    items: Annotated[list[CompanyMatchItem], Meta(min_length=1, max_length=MAX_ITEMS)]


class MatchError(Struct):
    """Why an item could not be looked up: it is invalid, or it names two records."""

    code: str
    detail: str


class ContactMatch(Struct):
    """Match of one item; `id` is null if there is no such contact."""

    id: int | None = None
    contact_status: Annotated[str | None, _NULL] = None
    last_campaign_email_sent: MaybeTime = None
    last_reply_received: MaybeTime = None
    suppressed: Annotated[str | None, _SUPPRESSED] = None
    error: MatchError | UnsetType = UNSET


class CompanyMatch(Struct):
    """Match of one item; `id` is null if there is no such company."""

    id: int | None = None
    company_status: Annotated[str | None, _NULL] = None
    suppressed: Annotated[str | None, _SUPPRESSED] = None
    error: MatchError | UnsetType = UNSET


class ClientContactMatch(Struct):
    """A client that has the contact."""

    client_id: str
    id: int
    contact_status: str | None
    last_campaign_email_sent: MaybeTime
    last_reply_received: MaybeTime


class ClientCompanyMatch(Struct):
    """A client that has the company."""

    client_id: str
    id: int
    company_status: str | None


class ContactClients(Struct):
    """The clients that have one item, by their ids; none if the list is empty."""

    clients: list[ClientContactMatch]
    error: MatchError | UnsetType = UNSET


class CompanyClients(Struct):
    """The clients that have one item, by their ids; none if the list is empty."""

    clients: list[ClientCompanyMatch]
    error: MatchError | UnsetType = UNSET


class ContactMatches(Struct):
    """One entry for each item, in the order of the items."""

    data: list[ContactMatch]


class CompanyMatches(Struct):
    """One entry for each item, in the order of the items."""

    data: list[CompanyMatch]


class ContactClientMatches(Struct):
    """One entry for each item, in the order of the items."""

    data: list[ContactClients]


class CompanyClientMatches(Struct):
    """One entry for each item, in the order of the items."""

    data: list[CompanyClients]


_SENT = {"last_campaign_email_sent": "2026-11-20T09:30:00Z", "last_reply_received": None}
_MATCHED = {"id": 1042, "contact_status": "contacted", **_SENT}
_UNKNOWN = {"id": None, "contact_status": None, "last_campaign_email_sent": None, "last_reply_received": None}
_WRONG = {"code": "email", "detail": "/email is not an e-mail address: An email address must have an @-sign."}
example(
    ContactMatchRequest,
    {"items": [{"email": "jane@example.com"}, {"linkedin_url": "linkedin.com/in/john-doe"}, {"external_id": "crm-4711"}, {"email": "n/a"}]},
)
_NOT_LISTED, _LISTED = {"suppressed": None}, {"suppressed": "unsubscribed"}
example(
    ContactMatches,
    {"data": [{**_MATCHED, **_LISTED}, *2 * [{**_UNKNOWN, **_NOT_LISTED}], {**_UNKNOWN, **_NOT_LISTED, "error": _WRONG}]},
)
example(ContactClientMatches, {"data": [{"clients": [{"client_id": "acme", **_MATCHED}]}, {"clients": []}]})
example(CompanyMatchRequest, {"items": [{"domain": "example.com"}]})
example(CompanyMatches, {"data": [{"id": 17, "company_status": "target", **_NOT_LISTED}]})
example(CompanyClientMatches, {"data": [{"clients": [{"client_id": "acme", "id": 17, "company_status": "target"}]}]})
