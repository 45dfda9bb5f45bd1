"""Bodies of requests and responses about webhook endpoints and attempts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.clients.models import Client
from touchbase.common import field_limits as limits
from touchbase.common.timestamps import Micros, to_text, to_text_or_none
from touchbase.event_log.models import event_id
from touchbase.http.schemas import MaybeTime, RecordId, Time, example, named_enum
from touchbase.outgoing.blocklist_tools import BLOCKLISTS
from touchbase.outgoing.models import (
    AUDIT,
    FORMATS,
    KINDS,
    LONGEST_DESCRIPTION,
    LONGEST_SUBJECT,
    LONGEST_TEMPLATE,
    LONGEST_URL,
    LONGEST_VALUE,
    MAX_RECIPIENTS,
    MAX_VALUES,
    ORDERINGS,
    OUTCOMES,
    STATES,
    WEBHOOK,
    Attempt,
    Endpoint,
    EndpointProgress,
)
from touchbase.outgoing.sql.shared import COPIES, FAILED, FAILING
from touchbase.outgoing.validation import host_of

COUNTED = (COPIES, *STATES, FAILING, FAILED)
MAX_RATE = 10_000
LONGEST_OVERLAP = 720
_ORDERING = named_enum("WebhookOrdering", "Whether a failing event holds back later ones of the same record.", ORDERINGS)
_KIND = named_enum(
    "WebhookKind",
    "What an endpoint sends: signed requests, Slack messages, e-mails, statuses, blocked addresses, or the acts of the audit log.",
    KINDS,
)
_FORMAT = named_enum("WebhookFormat", "The form of the body: Standard Webhooks, or CloudEvents 1.0.", FORMATS)
_STATE = named_enum("WebhookEndpointState", "Whether events are sent; while they are not, they wait.", STATES)
_CLIENTS = named_enum("WebhookClients", "Whose events an endpoint gets.", ["one", "all"])
_OUTCOME = named_enum("WebhookOutcome", "What became of a request to an endpoint.", OUTCOMES)
Ordering = Literal["per_record", "none"]
Format = Literal["standard", "cloudevents"]
Kind = Literal["webhook", "slack", "email", "hubspot", "blocklist", "audit"]
Url = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=LONGEST_URL,
        description="https, at a public address. Of the kind slack: the URL of an incoming webhook, which is a secret and not shown again. "
        "Not for email, hubspot and blocklist.",
    ),
]
Types = Annotated[
    list[str],
    Meta(
        max_length=100,
        description="Types of events, such as `contact.replied`; empty: all, for the kinds slack and email replies, for hubspot changes of "
        "status and merges, for blocklist entries of the do-not-contact list.",
    ),
]
To = Annotated[
    list[str], Meta(max_length=MAX_RECIPIENTS, description="E-mail addresses, for the kind email, of domains that the operator allows.")
]
Template = Annotated[
    str,
    Meta(
        max_length=LONGEST_TEMPLATE,
        description="Text of a message with values such as `{{person}}` and `{{contact.email}}`, for the kinds slack and email; empty: the "
        "usual text.",
    ),
]
SubjectTemplate = Annotated[str, Meta(max_length=LONGEST_SUBJECT, description="Subject of an e-mail, as `template`.")]
Values = Annotated[
    dict[Annotated[str, Meta(max_length=limits.NAME)], Annotated[str, Meta(max_length=LONGEST_VALUE)]],
    Meta(
        max_length=MAX_VALUES,
        description="For the kind hubspot: a status -> the internal name that HubSpot has for it. Others are written as they are.",
    ),
]
Tool = Annotated[
    str,
    Meta(
        max_length=limits.NAME,
        description=f"For the kind blocklist: the campaign tool whose blocklist gets the entries: {', '.join(BLOCKLISTS)}. The client's "
        "connection of the tool has the access token.",
    ),
]
Fields = Annotated[list[str], Meta(max_length=100, description="Members of `data.object` that are sent, and `id`; empty: all.")]
Filter = Annotated[
    dict[str, Any],
    Meta(
        description="`contact` and `company`: a filter tree, as `where` of a search, that the record of an event must match when the event "
        "is sent. Events of other things, and of records that do not exist any more, are sent."
    ),
]
Rate = Annotated[int, Meta(ge=0, le=MAX_RATE, description="Most requests a second; 0: no limit.")]
Description = Annotated[str, Meta(max_length=LONGEST_DESCRIPTION)]


class WebhookEndpointRequest(Struct, forbid_unknown_fields=True):
    """A new endpoint. It gets the events from now on; `missing_since` of a replay sends earlier ones."""

    url: Url | UnsetType = UNSET
    kind: Kind = "webhook"
    to: To = []
    template: Template = ""
    template_subject: SubjectTemplate = ""
    values: Values = {}
    tool: Tool = ""
    types: Types = []
    fields: Fields = []
    filter: Filter = {}
    ordering: Ordering = "per_record"
    format: Format = "standard"
    rate_limit: Annotated[Rate, Meta(description="Left out: 0; slack, blocklist: 1; email, hubspot: 5.")] | UnsetType = UNSET
    description: Description = ""
    disabled: bool = False


class WebhookEndpointChange(Struct, forbid_unknown_fields=True):
    """Changes of an endpoint; members that are left out stay."""

    url: Url | UnsetType = UNSET
    to: To | UnsetType = UNSET
    template: Template | UnsetType = UNSET
    template_subject: SubjectTemplate | UnsetType = UNSET
    values: Values | UnsetType = UNSET
    tool: Tool | UnsetType = UNSET
    types: Types | UnsetType = UNSET
    fields: Fields | UnsetType = UNSET
    filter: Filter | UnsetType = UNSET
    ordering: Ordering | UnsetType = UNSET
    format: Format | UnsetType = UNSET
    rate_limit: Rate | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    disabled: Annotated[bool, Meta(description="true: send nothing, and let events wait; false: send.")] | UnsetType = UNSET


class WebhookPreviewRequest(Struct, forbid_unknown_fields=True):
    """An endpoint as it may be added, and an event."""

    kind: Kind = "slack"
    to: To = []
    template: Template = ""
    template_subject: SubjectTemplate = ""
    values: Values = {}
    tool: Tool = ""
    type: Annotated[str, Meta(max_length=100, description="Of the event of a fictitious person; left out: a reply.")] | UnsetType = UNSET
    event: (
        Annotated[str, Meta(max_length=40, description="The id of a stored event, such as `evt_1207`, in place of a fictitious one.")]
        | UnsetType
    ) = UNSET


class WebhookPreviewOut(Struct):
    """Preview of a message."""

    kind: Annotated[str, Meta(extra_json_schema=_KIND)]
    type: Annotated[str, Meta(description="Of the event.")]
    headers: Annotated[dict[str, str], Meta(description="Of the request, or of the mail. A signature is made when an event is sent.")]
    body: Annotated[Any, Meta(description="The JSON body of the request, or the text of the mail.")]
    source: Annotated[str, Meta(description="The complete source of the mail.")] | UnsetType = UNSET
    requests: Annotated[list[str], Meta(description="Method and path of each request to the tool.")] | UnsetType = UNSET
    not_sent: Annotated[str, Meta(description="Why nothing would be written to the tool.")] | UnsetType = UNSET


class WebhookSecretRotation(Struct, forbid_unknown_fields=True):
    """How long the present secret signs too."""

    overlap_hours: Annotated[int, Meta(ge=0, le=LONGEST_OVERLAP)] = 24


class WebhookReplay(Struct, forbid_unknown_fields=True):
    """Events to send again: exactly one member."""

    event: Annotated[str, Meta(max_length=40, description="The id of one event, in any state.")] | UnsetType = UNSET
    failed_since: Annotated[Time, Meta(description="Events that began to fail since then and are not delivered.")] | UnsetType = UNSET
    missing_since: (
        Annotated[
            Time,
            Meta(description="Events since then that were never delivered, also skipped ones and those from before the endpoint was made."),
        ]
        | UnsetType
    ) = UNSET


class WebhooksReplayed(Struct):
    """How many events will be sent."""

    events: int


class ProgressOut(Struct):
    """How far an endpoint has been served."""

    waiting: Annotated[int, Meta(description="Events that it will be sent; ones that its types or filter leave out do not count.")]
    failed: Annotated[int, Meta(description="Events of which all attempts failed; they wait for a replay.")]
    failing_since_time: Annotated[MaybeTime, Meta(description="The first failure since the last success.")]
    last_delivered_time: MaybeTime


class CopiesOut(Struct):
    """The copies of an endpoint of all clients: each client's events have their own order, retries and state."""

    clients: Annotated[int, Meta(description="Copies.")]
    active: Annotated[int, Meta(description="Copies that send.")]
    paused: Annotated[int, Meta(description="Copies that failed for days.")]
    disabled: Annotated[int, Meta(description="Copies that somebody or the receiver has stopped.")]
    failing: Annotated[int, Meta(description="Copies whose last request failed.")]
    failed: Annotated[int, Meta(description="Events of which all attempts failed.")]


class WebhookEndpointOut(Struct):
    """An endpoint."""

    id: RecordId
    client_id: Annotated[str | None, Meta(description="Whose events it gets; null: those of all clients, or the audit log.")]
    clients: Annotated[
        Literal["one", "all"],
        Meta(description="Whether it gets the events of one client, or of all, also of later ones.", extra_json_schema=_CLIENTS),
    ]
    shared_id: Annotated[int | None, Meta(description="The endpoint of all clients that this is a client's copy of; null: none.")]
    kind: Annotated[str, Meta(extra_json_schema=_KIND)]
    url: Annotated[
        str,
        Meta(
            description="Of the kind slack, and of a copy, only its host, of email `mailto:` and the recipients, of hubspot and "
            "blocklist a name."
        ),
    ]
    to: list[str]
    template: str
    template_subject: str
    values: dict[str, str]
    tool: str
    types: list[str]
    fields: list[str]
    filter: dict[str, Any]
    ordering: Annotated[str, Meta(extra_json_schema=_ORDERING)]
    format: Annotated[str, Meta(extra_json_schema=_FORMAT)]
    rate_limit: int
    description: str
    state: Annotated[str, Meta(extra_json_schema=_STATE)]
    state_reason: Annotated[str | None, Meta(description="Why it is paused or disabled.")]
    state_since_time: Time
    created_time: Time
    updated_time: Time
    progress: ProgressOut | UnsetType = UNSET
    copies: Annotated[CopiesOut, Meta(description="Only of an endpoint of all clients that each has a copy of.")] | UnsetType = UNSET
    secret: Annotated[str, Meta(description="Shown only in the response that makes it.")] | UnsetType = UNSET
    previous_secret_until_time: Annotated[Time, Meta(description="Until when the secret before it signs too.")] | UnsetType = UNSET


class WebhookEndpointPage(Struct):
    """A page of endpoints, oldest first."""

    data: list[WebhookEndpointOut]
    next_cursor: str | None = None


class WebhookAttemptOut(Struct):
    """A request to an endpoint."""

    id: RecordId
    client_id: Annotated[
        str | None, Meta(description="Whose event it was; null: an act of the audit log, or a test of an endpoint of all clients.")
    ]
    endpoint_id: RecordId
    event: Annotated[str | None, Meta(description="The event's id, or the number of an act of the audit log; null: a test.")]
    type: str
    time: Time
    attempt: Annotated[int, Meta(description="1 for the first attempt of the event.")]
    outcome: Annotated[str, Meta(extra_json_schema=_OUTCOME)]
    status: Annotated[int | None, Meta(description="Of the response; null: none came.")]
    latency_ms: float
    response_body: Annotated[str, Meta(description="Its first 2,000 bytes.")]
    error: Annotated[str, Meta(description="Why there is no response, why nothing was sent, or what to do about the response.")]


class WebhookRequestOut(Struct):
    """A request to an endpoint, rebuilt from the event and the endpoint: what was sent is not stored."""

    method: Annotated[str, Meta(description="`POST`; of a mail `MAIL`.")]
    url: Annotated[str, Meta(description="As the endpoint shows it: of the kind slack, and of a copy, only the host.")]
    headers: Annotated[
        dict[str, str],
        Meta(
            description="With the signature at the time of the attempt, by the secrets of then that are stored. Those of the HTTP client "
            "and of tracing are left out."
        ),
    ]
    body: Annotated[str, Meta(description="The exact text of the body, or the text of the mail.")]
    curl: Annotated[
        str | None,
        Meta(description="A command that repeats the request; with `$URL` where the URL is not shown. null: a mail."),
    ]
    changed: Annotated[
        list[str],
        Meta(
            description="Changes of the endpoint and the record since the attempt, so that the request may have been another. Others, "
            "such as a renamed status, are not listed."
        ),
    ]


class WebhookAttemptPage(Struct):
    """A page of attempts, newest first."""

    data: list[WebhookAttemptOut]
    next_cursor: str | None = None


_ENDPOINT = {
    "id": 3, "client_id": "acme", "clients": "one", "shared_id": None,
    "kind": "webhook", "url": "https://crm.example.com/hooks/touchbase", "to": [], "template": "", "template_subject": "",
    "values": {}, "tool": "", "types": ["contact.replied", "contact.status_changed"], "fields": [],
    "filter": {"contact": {"contact_status[in]": ["interested", "replied"]}}, "ordering": "per_record", "format": "standard",
    "rate_limit": 50, "description": "Replies to the CRM", "state": "active", "state_reason": None,
    "state_since_time": "2026-11-20T09:30:00Z", "created_time": "2026-11-20T09:30:00Z", "updated_time": "2026-11-20T09:30:00Z",
    "progress": {"waiting": 0, "failed": 0, "failing_since_time": None, "last_delivered_time": "2026-11-20T10:02:11Z"},
}  # fmt: skip
example(WebhookEndpointOut, _ENDPOINT)
example(
    WebhookEndpointRequest,
    {name: _ENDPOINT[name] for name in ("url", "types", "filter", "ordering", "rate_limit", "description")},
)
example(
    WebhookPreviewRequest,
    {"kind": "slack", "template": "*{{person}}* replied: {{text}}", "event": "evt_1207"},
)
example(
    WebhookPreviewOut,
    {
        "kind": "slack", "type": "contact.replied", "headers": {"content-type": "application/json"},
        "body": {
            "text": "Ada Lovelace (ada@acme.example, Acme) replied",
            "blocks": [
                {"type": "section", "text": {"type": "mrkdwn", "text": "*Ada Lovelace (ada@acme.example, Acme) replied*", "verbatim": True}}
            ],
        },
    },
)  # fmt: skip
example(WebhookEndpointChange, {"types": ["contact.replied"], "rate_limit": 10})
example(WebhookSecretRotation, {"overlap_hours": 24})
example(WebhookReplay, {"failed_since": "2026-11-20T09:30:00Z"})
example(WebhooksReplayed, {"events": 12})
example(
    WebhookAttemptOut,
    {
        "id": 81, "client_id": "acme",
        "endpoint_id": 3, "event": "evt_1207", "type": "contact.replied", "time": "2026-11-20T10:02:11Z", "attempt": 2,
        "outcome": "refused", "status": 503, "latency_ms": 41.2, "response_body": "down for maintenance", "error": "",
    },
)  # fmt: skip

example(
    WebhookRequestOut,
    {
        "method": "POST", "url": "https://crm.example.com/hooks/touchbase",
        "headers": {
            "content-type": "application/json", "webhook-id": "evt_1207_3", "webhook-timestamp": "1795168931",
            "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
        },
        "body": '{"id":"evt_1207"}', "curl": "curl https://crm.example.com/hooks/touchbase --data-raw '{\"id\":\"evt_1207\"}'",
        "changed": ["the record was changed at 2026-11-20T11:00:00Z"],
    },
)  # fmt: skip


def url_out(e: Endpoint) -> str:
    """Return the URL as shown: of a copy only the host, since the whole is the operator's, not the client's."""
    return e.url if e.shared_id is None or e.kind != WEBHOOK else host_of(e.url)


def endpoint_out(
    e: Endpoint,
    client: Client,
    progress: EndpointProgress | None = None,
    secret: str | None = None,
    until: Micros | None = None,
    copies: Mapping[tuple[int, str], int] | None = None,
) -> WebhookEndpointOut:
    """Return an endpoint as shown; `copies`: counts of those of all clients."""
    times = (to_text(e.state_us), to_text(e.created_us), to_text(e.updated_us))
    is_copied = not client.number and e.kind != AUDIT
    shown = UNSET if progress is None or is_copied else _progress_out(progress)
    url = url_out(e)
    counted = UNSET if copies is None or not is_copied else CopiesOut(*(copies.get((e.id, name), 0) for name in COUNTED))
    return WebhookEndpointOut(
        e.id, client.client_id or None, "one" if client.number else "all", e.shared_id,
        e.kind, url, list(e.settings.get("to", [])), e.settings.get("template", ""), e.settings.get("template_subject", ""),
        dict(e.settings.get("values", {})), e.settings.get("tool", ""),
        list(e.types), list(e.fields), dict(e.filter), e.ordering, e.format, e.rate, e.description, e.state, e.reason, *times,
        shown, counted, secret or UNSET, UNSET if until is None else to_text(until),
    )  # fmt: skip


def _progress_out(p: EndpointProgress) -> ProgressOut:
    return ProgressOut(p.waiting, p.failed, to_text_or_none(p.failing_since_us), to_text_or_none(p.delivered_us))


def attempt_out(a: Attempt, client: Client) -> WebhookAttemptOut:
    """Return an attempt as shown."""
    event = (event_id(a.sequence) if client.number else f"act_{a.sequence}") if a.sequence else None
    return WebhookAttemptOut(
        a.id,
        client.client_id or None,
        a.endpoint_id,
        event,
        a.type,
        to_text(a.at),
        a.number,
        a.outcome,
        a.status,
        round(a.latency_us / 1_000, 1),
        a.response,
        a.error,
    )
