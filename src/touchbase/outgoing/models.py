"""Endpoints of outgoing webhooks, the events that one of them still misses, and attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from touchbase.common.timestamps import Micros

ACTIVE, PAUSED, DISABLED = "active", "paused", "disabled"
STATES = (ACTIVE, PAUSED, DISABLED)
PER_RECORD, UNORDERED = "per_record", "none"
ORDERINGS = (PER_RECORD, UNORDERED)
STANDARD, CLOUDEVENTS = "standard", "cloudevents"
FORMATS = (STANDARD, CLOUDEVENTS)
WEBHOOK, SLACK, EMAIL, HUBSPOT, BLOCKLIST, AUDIT = "webhook", "slack", "email", "hubspot", "blocklist", "audit"
KINDS = (WEBHOOK, SLACK, EMAIL, HUBSPOT, BLOCKLIST, AUDIT)
"""Signed requests for programs; a message in a Slack channel; an e-mail; the status of a contact, written to its HubSpot contact; an
entry of the do-not-contact list, put on the blocklist of a campaign tool; the acts of the audit log, as signed requests."""
SIGNED = (WEBHOOK, AUDIT)
"""Kinds with a secret of their own, which signs."""
KIND_SETTINGS = ("to", "template", "template_subject", "values", "tool")
"""Further settings of endpoints of other kinds than `webhook`."""
DELIVERED, REFUSED, TIMEOUT, UNREACHABLE, SKIPPED = "delivered", "refused", "timeout", "unreachable", "skipped"
OUTCOMES = (DELIVERED, REFUSED, TIMEOUT, UNREACHABLE, SKIPPED)
"""Outcomes of an attempt: a 2xx, another status, no response in time, no connection, nothing to send (hubspot, blocklist)."""
DONE = (DELIVERED, SKIPPED)
"""Outcomes after which an event is not sent again."""
EVERY_CLIENT = 0
"""Stands for the client of endpoints of all clients."""
SHARED_KINDS = (WEBHOOK, SLACK, EMAIL, AUDIT)
"""Kinds of endpoints of all clients; the others write through a connection of one client. The audit log is one, so no client has a copy."""
MAX_ENDPOINTS = 100
"""Endpoints of one client, copies aside; endpoints of all clients."""
TESTS_A_MINUTE = 10
"""Tests and previews of one client's endpoints: each test sends a message to people or to another service."""
LONGEST_URL = 2_000
LONGEST_DESCRIPTION = 1_000
MAX_RECIPIENTS = 20
MAX_VALUES = 200
"""Statuses that an endpoint of the kind hubspot may translate."""
LONGEST_VALUE = 255
LONGEST_TEMPLATE, LONGEST_SUBJECT = 3_000, 200
"""Characters of a template, as many as Slack accepts in one section; of a subject."""
RESPONSE_BYTES = 2_000
"""Bytes of a response body that an attempt keeps."""
MAX_UNDONE = 10_000
"""Events of one endpoint that may wait for another attempt; further ones wait in the log."""
SHARDS = 32
"""Shares of the clients that processes divide among themselves; a client's share is its number modulo this."""

Record = tuple[int, int]
"""Kind and id of a record, or `SUPPRESSION` and the id of an entry of a do-not-contact list."""
SUPPRESSION = 3
"""Stands for the kind of a record: the events of an entry keep their order too."""
AUDIT_LOG: Record = (4, 0)
"""Stands for the record of all acts, which keep one order."""
ACTS = 1_000
"""Numbers of acts in a microsecond: more than any server writes."""


def act_number(at: Micros) -> int:
    """Return the number of the first act of a microsecond."""
    return at * ACTS


def order_key(record_kind: int | None, record_id: int | None, data: Mapping[str, Any]) -> Record | None:
    """Return an event's subject, among whose events it keeps its order; None: nothing."""
    if record_kind is not None and record_id is not None:
        return record_kind, record_id
    if "act" in data:
        return AUDIT_LOG
    return (SUPPRESSION, data["suppression_id"]) if "suppression_id" in data else None


@dataclass(frozen=True, slots=True)
class Secret:
    """A signing secret; a replaced one signs too until `until_us`."""

    value: str = field(repr=False)
    until_us: Micros | None = None


@dataclass(frozen=True, slots=True)
class Installation:
    """The operator's settings for messages to people."""

    public_url: str = ""
    """Where people reach this server; empty: messages contain no link."""
    mail_from: str = ""
    """The sender of e-mails; empty: this process sends none."""
    slack_token: str = field(default="", repr=False)
    """Bot token with which people are told in Slack; empty: nobody is."""
    client_handle: str = ""
    """The client in links to the console; empty: links name none."""
    client_name: str = ""
    """The client in texts."""
    mail_domains: Sequence[str] = ()
    """Domains to which e-mails may be sent, in normal form, or `*`."""


NOWHERE = Installation()


@dataclass(slots=True)
class Endpoint:
    """Where a client's events are sent."""

    client: int
    id: int
    url: str
    created_us: Micros
    updated_us: Micros
    types: Sequence[str] = ()
    """Empty: all types."""
    fields: Sequence[str] = ()
    """Members of the object that are sent; empty: all."""
    filter: Mapping[str, Any] = field(default_factory=dict)
    """`contact` and `company` -> the filter tree that the record of an event must match."""
    ordering: str = PER_RECORD
    format: str = STANDARD
    rate: int = 0
    """Requests a second; 0: no limit."""
    description: str = ""
    secrets: Sequence[Secret] = field(default=(), repr=False)
    """The present one first."""
    state: str = ACTIVE
    reason: str | None = None
    state_us: Micros = 0
    version: int = 1
    kind: str = WEBHOOK
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Its settings of `KIND_SETTINGS`."""
    shared_id: int | None = None
    """The endpoint of all clients that this is a copy of; None: it is the client's own."""
    shared_version: int = 0
    """The version of it that was copied."""

    @property
    def target(self) -> str:
        """The URL that requests go to, unless a message has its own. Slack's is a secret, stored as one; `url` shows its host only."""
        return self.secrets[0].value if self.kind == SLACK and self.secrets else self.url

    def signing(self, now: Micros) -> list[str]:
        """Return the secrets that sign at this time."""
        return [secret.value for secret in self.secrets if secret.until_us is None or secret.until_us > now]


@dataclass(slots=True)
class EndpointProgress:
    """How far an endpoint has been served."""

    start: int = 0
    position: int = 0
    failing_since_us: Micros | None = None
    delivered_us: Micros | None = None
    waiting: int = 0
    """Events that it will be sent, by its types and filter; set in lists only."""
    failed: int = 0
    """Events of which all attempts failed; set in lists only."""


@dataclass(slots=True)
class Pending:
    """An event that is not delivered: up to the position, or later and failed."""

    sequence: int
    record: Record | None
    attempts: int
    first_us: Micros
    next_us: Micros | None
    """None: all attempts failed."""


@dataclass(slots=True)
class Attempt:
    """One request to an endpoint; the store sets `id`."""

    client: int
    endpoint_id: int
    sequence: int
    """Of the event; 0: a test."""
    type: str
    at: Micros
    number: int
    outcome: str
    status: int | None
    latency_us: int
    response: str = ""
    """The beginning of the response body."""
    error: str = ""
    id: int = 0


@dataclass(frozen=True, slots=True)
class Served:
    """An endpoint as the process that serves it reads it."""

    endpoint: Endpoint
    client_id: str
    progress: EndpointProgress
    pending: list[Pending]
    """Deliveries with a further attempt."""


@dataclass(frozen=True, slots=True)
class Leadership:
    """The shards that a process has, and how many are its fair share."""

    shards: frozenset[int]
    fair: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """Events that endpoints that are not disabled will be sent, of all active clients, and endpoints by state."""

    waiting: int
    oldest_us: Micros | None
    endpoints: dict[str, int]
    failing: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """An endpoint that does not work."""

    client_id: str
    endpoint_id: int
    url: str
    state: str
    reason: str | None
    failing_since_us: Micros | None
    state_us: Micros
    waiting: int
    """Events that are tried again."""
    failed: int
    """Events of which all attempts failed."""
    status: int | None
    """Of the last attempt."""
    error: str | None


@dataclass(frozen=True, slots=True)
class MailEndpoint:
    """Client, id and `mailto:` URL of an endpoint of the kind email."""

    client_id: str
    endpoint_id: int
    url: str


@dataclass(frozen=True, slots=True)
class WriteBack:
    """Facts that decide whether a contact's status is written to a tool."""

    objects: list[str]
    """Ids of the tool's objects that are this contact."""
    is_theirs: bool
    """Whether webhooks or fetched records of the tool have set the present status."""
