"""Types of endpoints. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


WebhookEndpointState = Literal["active", "paused", "disabled"]
"""Whether events are sent; while they are not, they wait."""

WebhookFormat = Literal["standard", "cloudevents"]
"""The form of the body: Standard Webhooks, or CloudEvents 1.0."""

WebhookKind = Literal["webhook", "slack", "email", "hubspot"]
"""What an endpoint sends: signed requests, Slack messages, e-mails, or statuses to HubSpot."""

WebhookOrdering = Literal["per_record", "none"]
"""Whether a failing event holds back later ones of the same record."""

WebhookOutcome = Literal["delivered", "refused", "timeout", "unreachable", "skipped"]
"""What became of a request to an endpoint."""


class ProgressOut(TypedDict):
    """How far an endpoint has been served."""

    waiting: int
    failed: int
    failing_since_time: str | None
    last_delivered_time: str | None


class WebhookAttemptOut(TypedDict):
    """A request to an endpoint."""

    id: int
    endpoint_id: int
    event: str | None
    type: str
    time: str
    attempt: int
    outcome: WebhookOutcome
    status: int | None
    latency_ms: float
    response_body: str
    error: str


class WebhookAttemptPage(TypedDict):
    """A page of attempts, newest first."""

    data: list[WebhookAttemptOut]
    next_cursor: str | None


class WebhookEndpointChange(TypedDict):
    """Changes of an endpoint; what is left out stays."""

    url: NotRequired[str]
    to: NotRequired[list[str]]
    template: NotRequired[str]
    template_subject: NotRequired[str]
    values: NotRequired[dict[str, str]]
    types: NotRequired[list[str]]
    fields: NotRequired[list[str]]
    filter: NotRequired[dict[str, Any]]
    ordering: NotRequired[WebhookOrdering]
    format: NotRequired[WebhookFormat]
    rate_limit: NotRequired[int]
    description: NotRequired[str]
    disabled: NotRequired[bool]


class WebhookEndpointOut(TypedDict):
    """An endpoint."""

    id: int
    kind: WebhookKind
    url: str
    to: list[str]
    template: str
    template_subject: str
    values: dict[str, str]
    types: list[str]
    fields: list[str]
    filter: dict[str, Any]
    ordering: WebhookOrdering
    format: WebhookFormat
    rate_limit: int
    description: str
    state: WebhookEndpointState
    state_reason: str | None
    state_since_time: str
    created_time: str
    updated_time: str
    progress: NotRequired[ProgressOut]
    secret: NotRequired[str]
    previous_secret_until_time: NotRequired[str]


class WebhookEndpointPage(TypedDict):
    """A page of endpoints, oldest first."""

    data: list[WebhookEndpointOut]
    next_cursor: str | None


class WebhookEndpointRequest(TypedDict):
    """A new endpoint."""

    url: NotRequired[str]
    kind: NotRequired[WebhookKind]
    to: NotRequired[list[str]]
    template: NotRequired[str]
    template_subject: NotRequired[str]
    values: NotRequired[dict[str, str]]
    types: NotRequired[list[str]]
    fields: NotRequired[list[str]]
    filter: NotRequired[dict[str, Any]]
    ordering: NotRequired[WebhookOrdering]
    format: NotRequired[WebhookFormat]
    rate_limit: NotRequired[int]
    description: NotRequired[str]
    disabled: NotRequired[bool]


class WebhookPreviewOut(TypedDict):
    """What would be sent."""

    kind: WebhookKind
    type: str
    headers: dict[str, str]
    body: Any
    source: NotRequired[str]
    requests: NotRequired[list[str]]
    not_sent: NotRequired[str]


class WebhookPreviewRequest(TypedDict):
    """An endpoint as it may be added, and an event."""

    kind: NotRequired[WebhookKind]
    to: NotRequired[list[str]]
    template: NotRequired[str]
    template_subject: NotRequired[str]
    values: NotRequired[dict[str, str]]
    type: NotRequired[str]
    event: NotRequired[str]


class WebhookReplay(TypedDict):
    """What to send again: exactly one member."""

    event: NotRequired[str]
    failed_since: NotRequired[str]
    missing_since: NotRequired[str]


class WebhookSecretRotation(TypedDict):
    """How long the present secret signs too."""

    overlap_hours: NotRequired[int]


class WebhooksReplayed(TypedDict):
    """How many events will be sent."""

    events: int
