"""Types of inbox. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from touchbase.client.models.shared import Channel, ConnectionSettingsBody, DeliveryState, ProblemOut, RawBody


BodyRemovalReason = Literal["retention", "erased", "unsearchable"]
"""Why a body was removed: retention, the erasure of a person in the webhook, or an erasure that could not search the body."""

FoundIn = Literal["history", "body"]
"""Where a search found a delivery: in the history of the person, or by what its body contains."""

RecordEvent = Literal[
    "campaign_completed", "company.created", "company.deleted", "company.status_changed", "company.updated", "contact.created",
    "contact.deleted", "contact.status_changed", "contact.updated", "contact_saved", "email_auto_replied", "email_bounced",
    "email_clicked", "email_deferred", "email_delivered", "email_opened", "email_replied", "email_resubscribed", "email_send_failed",
    "email_sent", "email_spam_complaint", "email_unsubscribed", "lead_status_changed", "linkedin_invite_accepted", "linkedin_invite_sent",
    "linkedin_other", "linkedin_replied", "linkedin_sent", "manual_email_sent",
]
"""An event of the shared vocabulary that makes an entry in a record's history."""

RecordKind = Literal["contact", "company"]
"""The kind of record."""

RefusalCause = Literal["not_verified", "test_call", "unknown_client", "too_large", "foreign_origin", "rate", "storage"]
"""`not_verified`: the webhook does not prove its sender."""

UnchangedState = Literal["unrecognised", "parked", "failed", "ignored"]
"""The states of deliveries that changed nothing."""

UnsearchableCause = Literal["retention", "erased", "unsearchable", "unreadable"]
"""Why a body cannot be searched: it was removed (retention, or the erasure of a person in it), or is unreadable."""


class BodyRemoved(TypedDict):
    """Why and when a delivery's body was removed."""

    why: BodyRemovalReason
    at: str


class DeliveryCountOut(TypedDict):
    """Deliveries of one tool in one state."""

    channel: Channel
    tool: str | None
    state: DeliveryState
    count: int


class DeliveryCounts(TypedDict):
    """Deliveries by channel, tool and state, the most first."""

    data: list[DeliveryCountOut]
    complete: bool


class DeliveryDetail(TypedDict):
    """One stored webhook with headers, query and body, and the events it caused."""

    id: int
    client_id: str
    channel: Channel
    state: DeliveryState
    tool: str | None
    received_at: str
    applied_at: str | None
    attempts: int
    repeats: int
    error: str | None
    size: int
    verified: bool | None
    problems: list[ProblemOut]
    headers: dict[str, str]
    query: str
    body: RawBody | None
    body_removed: BodyRemoved | None
    events: list[DeliveryEvent]
    more_events: bool


class DeliveryEvent(TypedDict):
    """One event that a delivery caused, and its record; null while the record is unknown."""

    event: str
    occurred_at: str
    campaign: str | None
    status: str | None
    record: RecordKind | None
    record_id: int | None


class DeliveryGroupOut(TypedDict):
    """Similar deliveries in one state; `reason` is that of the newest one, `example_id`."""

    client_id: str
    channel: Channel
    tool: str | None
    state: DeliveryState
    event: str | None
    keys: list[str]
    count: int
    first_received_at: str
    last_received_at: str
    example_id: int
    reason: str | None


class DeliveryGroups(TypedDict):
    """Groups of deliveries that changed nothing, largest first."""

    data: list[DeliveryGroupOut]


class DeliveryOut(TypedDict):
    """One stored webhook and its state."""

    id: int
    client_id: str
    channel: Channel
    state: DeliveryState
    tool: str | None
    received_at: str
    applied_at: str | None
    attempts: int
    repeats: int
    error: str | None
    size: int
    verified: bool | None
    problems: list[ProblemOut]


class DeliveryPage(TypedDict):
    """A page of deliveries, newest first; `next_cursor` is null on the last one."""

    data: list[DeliveryRow]
    next_cursor: str | None
    search: SearchProgress | None


class DeliveryRow(TypedDict):
    """One stored webhook, the events that it made and the people they are about."""

    id: int
    client_id: str
    channel: Channel
    state: DeliveryState
    tool: str | None
    received_at: str
    applied_at: str | None
    attempts: int
    repeats: int
    error: str | None
    size: int
    verified: bool | None
    problems: list[ProblemOut]
    people: list[PersonOut]
    events: list[str]
    more_events: bool
    found_in: FoundIn | None


class DryRunOut(TypedDict):
    """What a replay would change."""

    outcomes: dict[str, int]
    records_made: int
    records_changed: int
    fields: dict[str, int]


class PersonOut(TypedDict):
    """A contact that an event of a delivery is about; without addresses while it is in the bin."""

    contact_id: int
    email: str | None
    linkedin_url: str | None


class ProposedConnection(TypedDict):
    """Settings of a connection to try in a dry run, before they are stored."""

    channel: Channel
    tool: str
    settings: ConnectionSettingsBody


class RefusalOut(TypedDict):
    """One refused webhook, or several alike within a second."""

    received_at: str
    client_id: str
    channel: Channel
    tool: str | None
    cause: RefusalCause
    size: int
    calls: int
    headers: dict[str, str]
    body_id: str | None


class RefusalPage(TypedDict):
    """A page of refused webhooks, newest first; `next_cursor` is null on the last one."""

    data: list[RefusalOut]
    next_cursor: str | None


class RefusedReplay(TypedDict):
    """The delivery that a refused webhook became; it waits to be applied."""

    delivery_id: int
    is_repeat: bool


class RefusedWebhookOut(TypedDict):
    """A refused webhook with its headers, query and body; headers and parameters in which a secret is sent are left out."""

    id: str
    client_id: str
    channel: Channel
    tool: str | None
    first_received_at: str
    last_received_at: str
    calls: int
    size: int
    headers: dict[str, str]
    query: str
    body: RawBody | None
    replayed_at: str | None
    replayed_by: str | None
    delivery_id: int | None


class ReplayOut(TypedDict):
    """How many deliveries were replayed (or would be), how many matching ones are left, and the cursor for those."""

    count: int
    left: int
    next_cursor: str | None
    would: DryRunOut | None


class ReplayRequest(TypedDict):
    """Which deliveries to replay: at least one filter; deliveries must match all given filters."""

    client: NotRequired[str | None]
    channel: NotRequired[Channel | None]
    tool: NotRequired[str | None]
    state: NotRequired[DeliveryState | None]
    received_since: NotRequired[str | None]
    like: NotRequired[int | None]
    dry_run: NotRequired[bool]
    connection: NotRequired[ProposedConnection | None]
    cursor: NotRequired[str | None]


class SearchProgress(TypedDict):
    """How far a search for a person, a text or an event has come."""

    complete: bool
    back_to: str | None
    not_searchable: list[UnsearchableOut]


class UnsearchableOut(TypedDict):
    """Deliveries whose bodies could not be searched."""

    cause: UnsearchableCause
    count: int
    example_id: int
