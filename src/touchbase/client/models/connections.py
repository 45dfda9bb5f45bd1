"""Types of connections. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from touchbase.client.models.shared import Channel, ConnectionSettingsBody


FetchingState = Literal["idle", "working", "waiting", "stopped"]
"""The state of fetching records from a tool's API."""

SecretState = Literal["set", "not set"]
"""Whether there is a secret; it is never shown."""

UnverifiedReason = Literal["must_prove", "not_recognised", "verification_required"]
"""Why unverified webhooks would be refused from now on."""


class CallsOut(TypedDict):
    """The webhooks that the tool sent since it was connected."""

    last_time: str
    per_day: float
    usual_interval_seconds: int | None
    silent_since_time: str | None


class ConnectionChange(TypedDict):
    """A JSON merge patch."""

    secrets: NotRequired[list[str] | None]
    generate_secret: NotRequired[bool]
    settings: NotRequired[ConnectionSettingsChange | None]
    access_token: NotRequired[str | None]


class ConnectionOut(TypedDict):
    """One connection; secrets and access token are never shown, except a newly generated secret, once."""

    channel: Channel
    tool: str
    secret: SecretState
    secret_count: int
    created_time: str
    updated_time: str
    settings: ConnectionSettingsBody
    access_token: SecretState
    fetching: FetchingOut | None
    calls: CallsOut | None
    generated_secret: NotRequired[str]
    would_refuse: NotRequired[list[WouldRefuse]]


class ConnectionPage(TypedDict):
    """All connections of a client, by channel and tool."""

    data: list[ConnectionOut]
    next_cursor: str | None


class ConnectionRequest(TypedDict):
    """A tool to connect, at most once on each channel."""

    channel: Channel
    tool: str
    secrets: NotRequired[list[str]]
    generate_secret: NotRequired[bool]
    settings: NotRequired[ConnectionSettingsBody]
    access_token: NotRequired[str | None]


class ConnectionSettingsChange(TypedDict):
    """Settings to change: each given one is replaced as a whole, null restores its default."""

    status_property: NotRequired[dict[str, str | None] | None]
    status_labels: NotRequired[dict[str, str | None] | None]
    objects: NotRequired[dict[str, str] | None]
    create_unknown: NotRequired[bool | None]
    linkedin_reply_counts: NotRequired[bool | None]
    deals_set_status: NotRequired[bool | None]
    deal_labels: NotRequired[dict[str, str | None] | None]
    time_zone: NotRequired[str | None]
    fields: NotRequired[dict[str, str] | None]
    events: NotRequired[dict[str, str] | None]
    api_base: NotRequired[str | None]
    api_user: NotRequired[str | None]
    location_id: NotRequired[str | None]
    allow_v1_signatures: NotRequired[bool | None]
    signature_max_age: NotRequired[int | None]
    written_property: NotRequired[str | None]
    silence_alarm: NotRequired[bool | None]


class FetchingOut(TypedDict):
    """State of fetching records from the tool's API."""

    state: FetchingState
    wanted: int
    not_found: int
    last_fetched_time: str | None
    last_error: str | None
    last_error_time: str | None


class SilenceOut(TypedDict):
    """A time in which the tool's usual calls did not come."""

    since_time: str
    noticed_time: str
    ended_time: str | None
    calls_per_day: float
    usual_interval_seconds: int | None


class SilencePage(TypedDict):
    """The silences of a connection, newest first."""

    data: list[SilenceOut]
    next_cursor: str | None


class WouldRefuse(TypedDict):
    """Unverified webhooks of one tool within the last seven days that would be refused from now on."""

    tool: str | None
    calls: int
    last_received_time: str
    reason: UnverifiedReason
