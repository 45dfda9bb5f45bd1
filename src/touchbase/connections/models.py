"""Connections: which tools a client has connected, with what secret, and what the client has decided about each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from touchbase.common.timestamps import SECOND, Micros

SECRETS = 2
"""Secrets of one connection that are valid at once: while one replaces the other, either is accepted."""
MOST_SECRETS = 50
"""The same for a tool that gives each of its webhooks a secret of its own."""
GENERATED = "tbs_"
"""How secrets begin that we have made."""
SHORTEST_SECRET = 8
LONGEST_SECRET = 4_000
"""In characters; a public key in PEM fits."""
LONGEST_TOKEN = 4_000
"""Characters of an access token."""
ENTRIES = 500
"""Entries of one setting that is a table, such as `status_labels`."""

CONTACT = "contact"
COMPANY = "company"
IGNORE = "ignore"
MAPPED = ("event", "object_type", "id", "email", "domain", "status", "occurred_at", "first_name", "last_name", "name", "linkedin_url")
"""What `fields` may say where to find."""
FRESH: Micros = SECOND
"""How long another process's change of a connection may stay unseen here."""


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """What a client has decided about one connected tool; without any decision the tool is read as usual."""

    status_property: Mapping[str, str | None] = field(default_factory=dict)
    """CRM: kind of record (contact, company, or the CRM's own word for it) -> the property that is its status; None: none is."""
    status_labels: Mapping[str, str | None] = field(default_factory=dict)
    """The tool's label (case ignored) -> the client's status; None: it moves no status."""
    objects: Mapping[str, str] = field(default_factory=dict)
    """CRM: an id of a board, object or hook -> contact, company, ignore, or an event such as `Contact.update`."""
    create_unknown: bool | None = None
    """Whether an event about an unknown person or company creates the record; None: as the client's settings say."""
    linkedin_reply_counts: bool | None = None
    """Whether a LinkedIn reply moves `last_reply_received`; None: as the client's settings say."""
    deals_set_status: bool = False
    """CRM: whether the stage of a deal sets the status of its person and company."""
    deal_labels: Mapping[str, str | None] = field(default_factory=dict)
    """Stage of a deal (case ignored) -> the client's status; a stage that is not listed sets none."""
    time_zone: str | None = None
    """The IANA name of the zone of times that name none; None: UTC, but never later than the receipt."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Generic CRM: one of `MAPPED` -> its path in the body, such as `data.person.mail`."""
    api_base: str | None = None
    """CRM: where its API is asked for records; None: the tool's usual address."""
    api_user: str | None = None
    """CRM: whose access token it is, where the tool's API wants to know (Copper: an e-mail address)."""
    location_id: str | None = None
    """GoHighLevel: the only location whose signed calls are accepted."""
    allow_v1_signatures: bool = False
    """HubSpot: whether a signature of version 1, which covers neither the address nor a time, is proof."""
    signature_max_age: int | None = None
    """Seconds that the time in a signature may lie back; None: the tool's own window."""

    def has_word_for(self, *told: str | None) -> bool:
        """Whether `status_labels` lists one of these texts."""
        return any(text is not None and folded(text) in _folded(self.status_labels) for text in told)

    def word_for(self, *told: str | None) -> str | None:
        """The client's status for the first of these texts that `status_labels` lists; None when it moves none."""
        return _listed(self.status_labels, told)

    def deal_word(self, *stages: str | None) -> str | None:
        """The status that a deal gives its person and company, by the first of these that `deal_labels` lists, if any."""
        return _listed(self.deal_labels, stages) if self.deals_set_status else None


NO_SETTINGS = ConnectionSettings()


@dataclass(slots=True)
class Connection:
    """One tool that a client has connected on one channel; (client, channel, tool) is unique."""

    client: int
    channel: str
    tool: str
    created_us: Micros
    updated_us: Micros
    secrets: list[str] = field(default_factory=list, repr=False)
    """What its calls must prove to know; none: they need no proof."""
    settings: ConnectionSettings = NO_SETTINGS
    access_token: str = field(default="", repr=False)
    """With what the tool's API may be asked for records; empty: it is never asked."""
    guarded_us: Micros | None = field(default=None, compare=False)
    """Since when it has secrets; the store sets it."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A webhook call at the door: all of it that a proof of its sender may need. Header names are lower case."""

    channel: str
    method: str
    url: str
    """The address that the sender called, with its query."""
    headers: Mapping[str, str]
    query: str
    body: bytes
    settings: ConnectionSettings = NO_SETTINGS
    """Those of the connection whose secret is checked."""
    memo: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What checks have made of the body already, so that it is unpacked and parsed once a call."""

    def under(self, settings: ConnectionSettings) -> Arrival:
        """The same call, for a connection with these settings."""
        made = replace(self, settings=settings)
        object.__setattr__(made, "memo", self.memo)
        return made


ACCEPTED, DROPPED, REFUSED = "accepted", "dropped", "refused"


@dataclass(frozen=True, slots=True)
class Sender:
    """What checking a call's sender came to.

    Accepted: `tool` has proved itself where `verified`. Dropped: a tool's test call, to be answered and not stored. Refused: `tool`
    is the one that the call looks like, if any. `secrets` are those of the channel, none of which must lie in the inbox.
    """

    tool: str | None = None
    verified: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)
    outcome: str = ACCEPTED


UNPROVEN = Sender()


def folded(label: str) -> str:
    """A label as labels are compared: case and underscores do not count."""
    return label.casefold().replace("_", " ").strip()


def _folded(labels: Mapping[str, str | None]) -> dict[str, str | None]:
    return {folded(label): status for label, status in labels.items()}


def _listed(labels: Mapping[str, str | None], told: Iterable[str | None]) -> str | None:
    known = _folded(labels)
    return next((known[folded(text)] for text in told if text is not None and folded(text) in known), None)


EMAIL_CAMPAIGN = "email_campaign"
CRM = "crm"
CHANNELS = (EMAIL_CAMPAIGN, CRM)
