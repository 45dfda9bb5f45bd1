"""Bodies of requests and responses about connections."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.common import field_limits as limits
from touchbase.common.timestamps import to_text, to_text_or_none
from touchbase.connections import models as cn
from touchbase.connections.fetch_state import FetchState, fetching_state
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.connections.oauth import FORMAT
from touchbase.connections.rhythm import CallStatistics, per_day
from touchbase.connections.service import Connections
from touchbase.connections.tools import Tools
from touchbase.history.events import CHANNELS, CRM
from touchbase.http.dependencies import AppKey
from touchbase.http.schemas import Time, example, named_enum

Channel = Literal["email_campaign", "crm"]
CONNECTIONS: AppKey[Connections] = AppKey()
TOOLS: AppKey[Tools] = AppKey()
FETCH_ALLOWED: AppKey[Collection[str]] = AppKey()
"""Origins from which records may be fetched although they are not public or not https."""
ChannelOut = Annotated[str, Meta(extra_json_schema=named_enum("Channel", "The kind of tool.", CHANNELS))]
named_enum("UnverifiedReason", "Why unverified webhooks would be refused from now on.", get_args(cn.UnverifiedReason))
named_enum("SecretState", "Whether there is a secret; it is never shown.", ("set", "not set"))
named_enum("FetchingState", "The state of fetching records from a tool's API.", ("idle", "working", "waiting", "stopped"))
named_enum(
    "ToolEvidence",
    "Where facts about a tool are from.",
    ("documentation", "running program", "captured body", "code of integrators", "nothing but our guess"),
)
Secret = Annotated[str, Meta(min_length=cn.SHORTEST_SECRET, max_length=cn.LONGEST_SECRET)]
ABOUT_SECRETS = "Any of them is accepted: two during a rotation, and up to 50 for a tool with one secret for each webhook (EspoCRM)."
Secrets = Annotated[list[Secret], Meta(max_length=cn.MAX_SECRETS, description=ABOUT_SECRETS)]
Age = Annotated[int, Meta(ge=60, le=30 * 86_400)]
ABOUT_TOKEN = (
    "Access token of the tool's API, to fetch a CRM's records or to fill a campaign tool's blocklist; never shown. Where tokens expire "
    f"within the hour (Zoho): `{FORMAT}`."
)
Token = Annotated[str, Meta(min_length=1, max_length=cn.LONGEST_TOKEN)]
Address = Annotated[str, Meta(min_length=1, max_length=limits.URL)]
Person = Annotated[str, Meta(min_length=1, max_length=limits.EMAIL)]
Name = Annotated[str, Meta(min_length=1, max_length=limits.NAME)]
Zone = Annotated[str, Meta(min_length=1, max_length=limits.NAME)]
Labels = Annotated[dict[Name, Name | None], Meta(max_length=cn.MAX_ENTRIES)]
Names = Annotated[dict[Name, Name], Meta(max_length=cn.MAX_ENTRIES)]


class ConnectionSettingsBody(Struct, forbid_unknown_fields=True):
    """A client's settings for one tool; omitted ones have their defaults."""

    status_property: Annotated[
        Labels,
        Meta(
            description="CRM: kind of record (`contact`, `company`, or the CRM's word, such as `Lead`) -> the property that is its "
            "status; null: none. A dot leads into an object. monday.com: a column's id, or `group`."
        ),
    ] = {}
    status_labels: Annotated[
        Labels,
        Meta(
            description="The tool's label, or Touchbase's word for it (`replied`) -> the client's status. Case and underscores do not "
            "count. null: the label sets no status. Labels that are not listed stay as they are."
        ),
    ] = {}
    objects: Annotated[
        Names,
        Meta(
            description="CRM: id of a board (monday.com) or object (Attio, HubSpot), or a kind of object -> `contact`, `company` or "
            "`ignore`; EspoCRM: a webhook's id -> its event, such as `Contact.update`."
        ),
    ] = {}
    create_unknown: Annotated[
        bool | None,
        Meta(
            description="Whether an event about an unknown person creates the record; null: campaign tools as the client's setting says, "
            "CRMs do. If not, a CRM's delivery is parked and a campaign tool's ignored; replay it once the record exists."
        ),
    ] = None
    linkedin_reply_counts: Annotated[bool | None, Meta(description="Whether a LinkedIn reply counts; null: the client's setting.")] = None
    unknown_bounces: Annotated[
        bool | None,
        Meta(
            description="Whether a bounce without a type puts the address on the do-not-contact list, like a hard one; null: of tools that "
            "stop the lead themselves. It sets the status `bounced` in any case."
        ),
    ] = None
    deals_set_status: Annotated[
        bool, Meta(description="Pipedrive, Close, GoHighLevel: whether a deal's stage sets the status of its person and company.")
    ] = False
    deal_labels: Annotated[Labels, Meta(description="Stage of a deal (name, number, `won`, `lost`) -> the client's status.")] = {}
    time_zone: Annotated[Zone | None, Meta(description="IANA time zone of times without a zone, such as Asia/Kolkata; null: UTC.")] = None
    fields: Annotated[
        Names,
        Meta(
            description="Tool `generic`: field, or `custom.` with the name of a custom field -> its path in the body; tables: its column."
        ),
    ] = {}
    events: Annotated[Names, Meta(description="Tool `generic`: the tool's name of an event -> Touchbase's event.")] = {}
    api_base: Annotated[
        Address | None, Meta(description="Base URL of the tool's API; null: the tool's default. A change needs the access token again.")
    ] = None
    api_user: Annotated[Person | None, Meta(description="CRM: user of the access token, where the API needs it.")] = None
    location_id: Annotated[
        Name | None, Meta(description="GoHighLevel: the only location whose signed webhooks are accepted; needed with a public key.")
    ] = None
    allow_v1_signatures: Annotated[
        bool, Meta(description="HubSpot: whether a version 1 signature, which covers neither address nor time, is accepted.")
    ] = False
    signature_max_age: Annotated[Age | None, Meta(description="Greatest age of a signature in seconds; null: the tool's own window.")] = (
        None
    )
    written_property: Annotated[
        Name | None, Meta(description="HubSpot: the contacts' property that endpoints of the kind hubspot write statuses to.")
    ] = None
    silence_alarm: Annotated[bool, Meta(description="Whether missing calls, by the tool's own rhythm, are a silence.")] = True


class _HiddenRepr(Struct):
    """A body that may contain a secret, which the repr must not show in messages and logs."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"


class ConnectionRequest(_HiddenRepr, forbid_unknown_fields=True):
    """A tool to connect, at most once on each channel."""

    channel: Channel
    tool: Name
    secrets: Secrets = []
    generate_secret: Annotated[bool, Meta(description="Make a secret; it is answered this once.")] = False
    settings: ConnectionSettingsBody = msgspec.field(default_factory=ConnectionSettingsBody)
    access_token: Annotated[Token | None, Meta(description=ABOUT_TOKEN)] = None


example(
    ConnectionRequest,
    {
        "channel": "crm",
        "tool": "hubspot",
        "generate_secret": True,
        "settings": {"status_property": {"contact": "hs_lead_status"}, "status_labels": {"Open Deal": "open"}},
    },
)


class ConnectionSettingsChange(Struct, forbid_unknown_fields=True):
    """Settings to change: each given one is replaced as a whole, null restores its default."""

    status_property: Labels | UnsetType | None = UNSET
    status_labels: Labels | UnsetType | None = UNSET
    objects: Names | UnsetType | None = UNSET
    create_unknown: bool | UnsetType | None = UNSET
    linkedin_reply_counts: bool | UnsetType | None = UNSET
    unknown_bounces: bool | UnsetType | None = UNSET
    deals_set_status: bool | UnsetType | None = UNSET
    deal_labels: Labels | UnsetType | None = UNSET
    time_zone: Zone | UnsetType | None = UNSET
    fields: Names | UnsetType | None = UNSET
    events: Names | UnsetType | None = UNSET
    api_base: Address | UnsetType | None = UNSET
    api_user: Person | UnsetType | None = UNSET
    location_id: Name | UnsetType | None = UNSET
    allow_v1_signatures: bool | UnsetType | None = UNSET
    signature_max_age: Age | UnsetType | None = UNSET
    written_property: Name | UnsetType | None = UNSET
    silence_alarm: bool | UnsetType | None = UNSET


class ConnectionChange(_HiddenRepr, forbid_unknown_fields=True):
    """A JSON merge patch. `secrets` are replaced as a whole; null or an empty list removes them."""

    secrets: Secrets | UnsetType | None = UNSET
    generate_secret: Annotated[bool, Meta(description="Make a secret; it is answered this once.")] = False
    settings: ConnectionSettingsChange | UnsetType | None = UNSET
    access_token: Annotated[Token | UnsetType | None, Meta(description="Replaces the stored one; null removes it.")] = UNSET


example(ConnectionChange, {"secrets": ["a-new-secret-of-the-app"], "settings": {"status_labels": {"Open Deal": "open"}}})


class FetchingOut(Struct):
    """State of fetching records from the tool's API."""

    state: Annotated[
        Literal["idle", "working", "waiting", "stopped"],
        Meta(description="waiting: failed, a retry follows; stopped: until the connection is changed."),
    ]
    wanted: Annotated[int, Meta(description="Records still to be fetched.")]
    not_found: Annotated[int, Meta(description="Records that the tool does not have, or refuses to return.")]
    last_fetched_time: Time | None
    last_error: str | None
    last_error_time: Time | None


class CallsOut(Struct):
    """The webhooks that the tool sent since it was connected. Counted when they are processed, and up to ten seconds late."""

    last_time: Annotated[Time, Meta(description="When the last one was received.")]
    per_day: Annotated[float, Meta(ge=0, description="Of the seven days before the last one.", examples=[310.4])]
    usual_interval_seconds: Annotated[
        int | None,
        Meta(
            description="Usual time between two at this hour of the week; null: less than one is usual, or not known yet.", examples=[240]
        ),
    ]
    silent_since_time: Annotated[
        Time | None, Meta(description="The last one before the present silence; null: the connection is not silent.")
    ]


class WouldRefuse(Struct):
    """Unverified webhooks of one tool within the last seven days that would be refused from now on."""

    tool: Annotated[str | None, Meta(description="null: no tool was recognised.")]
    calls: int
    last_received_time: Time
    reason: Annotated[
        Literal["must_prove", "not_recognised", "verification_required"],
        Meta(description="The secret is this tool's; no other tool is recognised for certain; or the client requires verification."),
    ]


class ConnectionOut(_HiddenRepr):
    """One connection; secrets and access token are never shown, except a newly generated secret, once."""

    channel: ChannelOut
    tool: str
    secret: Annotated[Literal["set", "not set"], Meta(description="Whether webhooks must have a signature, or the secret.")]
    secret_count: int
    created_time: Time
    updated_time: Time
    settings: ConnectionSettingsBody
    access_token: Literal["set", "not set"]
    fetching: FetchingOut | None = None
    calls: Annotated[CallsOut | None, Meta(description="null: the tool has not called since it was connected.")] = None
    seen: Annotated[
        tuple[Literal["documentation", "running program", "captured body", "code of integrators", "nothing but our guess"], ...],
        Meta(description="Where the adapter of the tool has its facts from. Empty: the tool has none any more."),
    ] = ()
    generated_secret: str | UnsetType = UNSET
    would_refuse: Annotated[
        list[WouldRefuse] | UnsetType,
        Meta(description="Only when secrets were set: recent senders whose webhooks would be refused from now on."),
    ] = UNSET


class ConnectionPage(Struct):
    """All connections of a client, by channel and tool."""

    data: list[ConnectionOut]
    next_cursor: str | None = None


def settings_of(body: ConnectionSettingsBody) -> ConnectionSettings:
    """Convert the settings of a request body."""
    return ConnectionSettings(**msgspec.structs.asdict(body))


class ConnectionDetails(NamedTuple):
    """Fetch state and call statistics of a connection."""

    fetching: FetchState | None = None
    calls: CallStatistics | None = None


NOTHING = ConnectionDetails()


def connection_out(
    connection: Connection,
    generated: str | None = None,
    details: ConnectionDetails = NOTHING,
    refused: list[WouldRefuse] | None = None,
    *,
    evidence: tuple[Any, ...] = (),
) -> ConnectionOut:
    """Return a connection as shown, with the state of fetching if it has an access token or records wait for one."""
    settings = msgspec.convert(connection.settings, ConnectionSettingsBody, from_attributes=True)
    times = to_text(connection.created_us), to_text(connection.updated_us)
    secret: Literal["set", "not set"] = "set" if connection.secrets else "not set"
    token: Literal["set", "not set"] = "set" if connection.access_token else "not set"
    fetching = details.fetching or FetchState(connection.tool)
    if fetching.wanted and not connection.access_token:
        fetching = replace(fetching, stopped=True, error=f"records wait for an access token to fetch them with: {fetching.wanted}")
    is_shown = connection.channel == CRM and bool(connection.access_token or fetching.wanted)
    state = fetching_out(fetching) if is_shown else None
    shown = (
        connection.channel,
        connection.tool,
        secret,
        len(connection.secrets),
        *times,
        settings,
        token,
        state,
        calls_out(details.calls),
        evidence,
    )
    return ConnectionOut(*shown, generated or UNSET, refused or UNSET)


def calls_out(statistics: CallStatistics | None) -> CallsOut | None:
    """Return the calls as shown."""
    if statistics is None:
        return None
    silent = to_text_or_none(statistics.silent_since_us)
    return CallsOut(to_text(statistics.last_us), per_day(statistics.week), statistics.usual_interval_seconds, silent)


def fetching_out(state: FetchState) -> FetchingOut:
    """Return the state of fetching as shown."""
    fetched = to_text_or_none(state.fetched_us)
    failed = to_text_or_none(state.error_us)
    return FetchingOut(fetching_state(state), state.wanted, state.not_found, fetched, state.error, failed)
