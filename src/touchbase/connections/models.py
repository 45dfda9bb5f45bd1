"""Connections: a client's tools with their secrets and settings; incoming webhooks and the result of a signature check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from touchbase.common.timestamps import SECOND, Micros

SECRETS = 2
"""Secrets of one connection that are valid at the same time, so that a secret can be rotated."""
MAX_SECRETS = 50
"""The same limit for a tool that has one secret for each webhook."""
GENERATED_PREFIX = "tbs_"
"""Prefix of secrets that Touchbase generated."""
SHORTEST_SECRET = 8
LONGEST_SECRET = 4_000
"""Characters; a public key in PEM fits."""
LONGEST_TOKEN = 4_000
"""Characters of an access token."""
MAX_ENTRIES = 500
"""Entries of one setting that is a mapping, such as `status_labels`."""

CONTACT = "contact"
COMPANY = "company"
IGNORE = "ignore"
MAPPABLE_FIELDS = (
    "event",
    "object_type",
    "id",
    "email",
    "domain",
    "status",
    "occurred_at",
    "first_name",
    "last_name",
    "name",
    "linkedin_url",
    "company",
    "company_id",
    "phone",
    "title",
)
"""Fields whose path `fields` may give for a CRM; `company_id` links to a company by its id in the CRM."""
CAMPAIGN_FIELDS = (
    "event", "email", "linkedin_url", "first_name", "last_name", "name", "occurred_at", "status", "campaign", "campaign_id", "company",
    "phone", "title",
)  # fmt: skip
"""Fields whose path `fields` may give for a campaign tool; the last three are custom fields."""
CUSTOM_PREFIX = "custom."
"""Begins an entry of `fields` for a custom field: `custom.Plan`."""
DECLARED_EVENTS = (
    "email_sent", "email_delivered", "email_opened", "email_clicked", "email_replied", "email_auto_replied", "email_bounced",
    "email_unsubscribed", "email_spam_complaint", "manual_email_sent", "lead_status_changed", "linkedin_sent", "linkedin_replied",
    "linkedin_invite_sent", "linkedin_invite_accepted", "linkedin_other", "meeting_booked", "meeting_canceled", "meeting_rescheduled",
    "meeting_no_show", "other",
)  # fmt: skip
"""Meanings that `events` may give to an event of a campaign tool."""
DECLARED_CRM_EVENTS = (
    "contact.created", "contact.updated", "contact.deleted", "company.created", "company.updated", "company.deleted", "email_unsubscribed",
    "email_resubscribed", "email_bounced", "email_preferences_changed", "meeting_booked", "meeting_canceled", "meeting_rescheduled",
    "meeting_no_show", "status", "timeline", "ignored",
)  # fmt: skip
"""The same for a CRM. `status`: it sets the status and no other field; `timeline`: it changes no field."""
_IGNORING = ("ignored", "other")
"""Those of both that ignore an event."""
CACHE_TTL: Micros = SECOND
"""How long cached connections are used; a change by another process shows after this time at the latest."""


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """A client's settings for one connected tool; without them the adapter's defaults apply."""

    status_property: Mapping[str, str | None] = field(default_factory=dict)
    """CRM: kind of record (contact, company, or the CRM's own name for it) -> the property with its status; None: it has none."""
    status_labels: Mapping[str, str | None] = field(default_factory=dict)
    """The tool's label (case ignored) -> the client's status; None: the label sets no status."""
    objects: Mapping[str, str] = field(default_factory=dict)
    """CRM: an id of a board, object or webhook -> contact, company, ignore, or an event such as `Contact.update`."""
    create_unknown: bool | None = None
    """Whether an event about an unknown person or company creates the record; None: the client's setting applies."""
    linkedin_reply_counts: bool | None = None
    """Whether a LinkedIn reply sets `last_reply_received`; None: the client's setting applies."""
    unknown_bounces: bool | None = None
    """Whether a bounce without a type is a hard one, which lists the address; None: of tools that stop the lead themselves."""
    deals_set_status: bool = False
    """CRM: whether the stage of a deal sets the status of its person and company."""
    deal_labels: Mapping[str, str | None] = field(default_factory=dict)
    """Stage of a deal (case ignored) -> the client's status; an unlisted stage sets none."""
    time_zone: str | None = None
    """IANA time zone of times without a zone; None: UTC, but never later than the receipt."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Tool `generic`: one of `MAPPABLE_FIELDS` or `CAMPAIGN_FIELDS`, or `custom.NAME` -> its path, such as `data.person.mail`."""
    events: Mapping[str, str] = field(default_factory=dict)
    """Tool `generic`: the tool's name of an event (case ignored) -> one of `DECLARED_EVENTS`, for a CRM of `DECLARED_CRM_EVENTS`."""
    api_base: str | None = None
    """CRM: base URL of its API; None: the tool's default."""
    api_user: str | None = None
    """CRM: the user of the access token, where the tool's API needs it (Copper: an e-mail address)."""
    location_id: str | None = None
    """GoHighLevel: the only location whose signed webhooks are accepted."""
    allow_v1_signatures: bool = False
    """HubSpot: whether a version 1 signature, which covers neither the URL nor a time, is accepted."""
    written_property: str | None = None
    """HubSpot: the contacts' property that statuses are written to; values that Touchbase has written there are not read back."""
    signature_max_age: int | None = None
    """Greatest age of a signature's timestamp in seconds; None: the tool's own window."""
    silence_alarm: bool = True
    """Whether the connection is called silent when its usual calls do not come."""

    def has_status_label(self, *labels: str | None) -> bool:
        """Return whether `status_labels` lists one of these labels."""
        return any(label is not None and folded(label) in _folded(self.status_labels) for label in labels)

    def status_for_label(self, *labels: str | None) -> str | None:
        """Return the client's status for the first label that `status_labels` lists, or None."""
        return _lookup(self.status_labels, labels)

    def declared_event(self, name: str | None) -> str | None:
        """Return the meaning that `events` gives to an event's name, or None."""
        return _lookup(self.events, (name,)) if self.events else None

    def status_for_deal(self, *stages: str | None) -> str | None:
        """Return the status that a deal sets, for the first stage that `deal_labels` lists, or None."""
        return _lookup(self.deal_labels, stages) if self.deals_set_status else None


NO_SETTINGS = ConnectionSettings()


@dataclass(slots=True)
class Connection:
    """One tool of a client on one channel; (client, channel, tool) is unique."""

    client: int
    channel: str
    tool: str
    created_us: Micros
    updated_us: Micros
    secrets: list[str] = field(default_factory=list, repr=False)
    """Webhooks must prove one of them; empty: no proof is needed."""
    settings: ConnectionSettings = NO_SETTINGS
    access_token: str = field(default="", repr=False)
    """Access token of the tool's API; empty: no records are fetched."""
    guarded_us: Micros | None = field(default=None, compare=False)
    """When it got its first secret; the store sets it."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """An incoming webhook before it is stored, with all that a signature check may need. Header names are lower case."""

    channel: str
    method: str
    url: str
    """The URL that the sender used, with the query."""
    headers: Mapping[str, str]
    query: str
    body: bytes
    settings: ConnectionSettings = NO_SETTINGS
    """Settings of the connection whose secret is checked."""
    memo: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """Results shared between checks, so that the body is decoded and parsed once."""

    def under(self, settings: ConnectionSettings) -> Arrival:
        """Return the same webhook with another connection's settings; the memo is shared."""
        arrival = replace(self, settings=settings)
        object.__setattr__(arrival, "memo", self.memo)
        return arrival


def connection_of(connections: Iterable[Connection], channel: str, tool: str) -> Connection | None:
    """Return the connection of a tool, or None."""
    return next((connection for connection in connections if (connection.channel, connection.tool) == (channel, tool)), None)


ACCEPTED, DROPPED, REFUSED = "accepted", "dropped", "refused"


@dataclass(frozen=True, slots=True)
class Sender:
    """Result of a signature check.

    Accepted: `tool` is proved if `verified`. Dropped: a tool's test request, to be confirmed and not stored. Refused: `tool`
    is the one that the webhook resembles, if any. `secrets` are those of the channel, to be redacted before the webhook is stored.
    """

    tool: str | None = None
    verified: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)
    outcome: str = ACCEPTED


UNPROVEN = Sender()


def ignoring_entries(settings: ConnectionSettings) -> list[str]:
    """Return the entries of settings that ignore webhooks, such as `events.call.finished`."""
    events = [f"events.{name}" for name, meaning in settings.events.items() if meaning in _IGNORING]
    return events + [f"objects.{name}" for name, kind in settings.objects.items() if kind == IGNORE]


def folded(label: str) -> str:
    """Return a label for comparison: case and underscores are ignored."""
    return label.casefold().replace("_", " ").strip()


def _folded(labels: Mapping[str, str | None]) -> dict[str, str | None]:
    return {folded(label): status for label, status in labels.items()}


def _lookup(table: Mapping[str, str | None], labels: Iterable[str | None]) -> str | None:
    folded_table = _folded(table)
    return next((folded_table[folded(label)] for label in labels if label is not None and folded(label) in folded_table), None)


UnverifiedReason = Literal["must_prove", "not_recognised", "verification_required"]
"""Why a webhook that does not prove its sender is refused."""
