"""Types of shared. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


BodyEncoding = Literal["utf-8", "base64"]
"""The encoding of a body: text, or base64 if it is not UTF-8."""

Channel = Literal["email_campaign", "crm"]
"""The kind of tool."""

CustomFieldType = Literal["text", "number", "boolean", "date", "datetime", "email", "url", "select"]
"""The type of a declared custom field."""

DeliveryState = Literal["received", "applied", "ignored", "parked", "unrecognised", "failed"]
"""The state of a received webhook."""

JobState = Literal["uploading", "preview", "queued", "running", "succeeded", "failed", "cancelled"]
"""What a job waits for, or how it ended."""

MessageChannel = Literal["email", "linkedin"]
"""What a message was sent by."""

MessageDirection = Literal["sent", "received"]
"""Whether the client sent a message or received it."""

MessageSource = Literal["webhook", "api"]
"""What made a message: a received webhook, or a request."""

OnDuplicate = Literal["error", "return", "update"]
"""What creating a record does if it exists: refuse, return it, or merge into it."""

SuppressionKind = Literal["email", "domain", "linkedin_url"]
"""The kind of a listed address."""

SuppressionList = Literal["client", "installation"]
"""The client's own list, or that of the installation."""

SuppressionReason = Literal["complained", "unsubscribed", "requested", "legal", "competitor", "customer", "other", "hard_bounced"]
"""Why an address must not be contacted."""

SuppressionSource = Literal["event", "import", "api", "person"]
"""Who put an address on the list."""


class ConnectionSettingsBody(TypedDict):
    """A client's settings for one tool; omitted ones have their defaults."""

    status_property: NotRequired[dict[str, str | None]]
    status_labels: NotRequired[dict[str, str | None]]
    objects: NotRequired[dict[str, str]]
    create_unknown: NotRequired[bool | None]
    linkedin_reply_counts: NotRequired[bool | None]
    deals_set_status: NotRequired[bool]
    deal_labels: NotRequired[dict[str, str | None]]
    time_zone: NotRequired[str | None]
    fields: NotRequired[dict[str, str]]
    events: NotRequired[dict[str, str]]
    api_base: NotRequired[str | None]
    api_user: NotRequired[str | None]
    location_id: NotRequired[str | None]
    allow_v1_signatures: NotRequired[bool]
    signature_max_age: NotRequired[int | None]
    written_property: NotRequired[str | None]
    silence_alarm: NotRequired[bool]


class JobOut(TypedDict):
    """A job."""

    id: int
    kind: str
    state: JobState
    created_at: str
    updated_at: str
    started_at: str | None
    finished_at: str | None
    settings: dict[str, Any]
    progress: dict[str, Any]
    error: str | None
    files: dict[str, str]
    files_until: str | None
    preview: NotRequired[dict[str, Any]]


class MessageOut(TypedDict):
    """A mail or LinkedIn message, sent or received."""

    id: int
    contact_id: int
    contact_email: str | None
    direction: MessageDirection
    channel: MessageChannel
    occurred_at: str
    tool: str
    mailbox: str | None
    subject: str | None
    text: str | None
    html: str | None
    campaign_id: str | None
    campaign_name: str | None
    step: str | None
    message_id: str | None
    thread_id: str | None
    category: str | None
    interested: bool | None
    custom_fields: dict[str, str]
    source: MessageSource
    delivery_id: int | None


class ProblemOut(TypedDict):
    """A problem of an event that was applied nevertheless."""

    code: str
    detail: str


class RawBody(TypedDict):
    """A body byte for byte: as text when it is UTF-8, else in base64."""

    encoding: BodyEncoding
    content: str


class SuppressionOut(TypedDict):
    """One entry of a do-not-contact list."""

    id: int
    kind: SuppressionKind
    value: str | None
    reason: SuppressionReason
    source: SuppressionSource
    note: str
    since: str
    until: str | None
    active: bool
    created_time: str
    updated_time: str
    tool: str | None
    delivery_id: int | None
