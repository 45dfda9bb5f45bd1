"""Connections: the tools that a client has connected, as the administrator makes, reads, changes and removes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.clients.api.settings import one_client
from touchbase.clients.models import DELETING, Client
from touchbase.common import field_limits as limits
from touchbase.common.timestamps import to_text
from touchbase.connections import models as cn
from touchbase.connections.fetch_settings import fetch_faults, fetching_state
from touchbase.connections.fetch_state import FetchState
from touchbase.connections.models import CHANNELS, Connection, ConnectionSettings
from touchbase.connections.oauth import FORM
from touchbase.connections.service import faults_of, new_secret, secret_faults, token_fault, trimmed
from touchbase.errors import Fault, NotFound, WrongState
from touchbase.http.endpoint import Call
from touchbase.http.json_body import read_json, read_struct
from touchbase.http.query_parameters import Parameters
from touchbase.http.responses import Response
from touchbase.http.schemas import ChannelOut, Time, encode
from touchbase.inbox.refused_service import LATELY, Caller, refused_from_now
from touchbase.records.validation import raise_if_any

Channel = Literal["email_campaign", "crm"]
Secret = Annotated[str, Meta(min_length=cn.SHORTEST_SECRET, max_length=cn.LONGEST_SECRET)]
ABOUT_SECRETS = (
    "Any of them is accepted: two while one replaces the other, and up to 50 where each of a tool's webhooks has its own (EspoCRM)."
)
Secrets = Annotated[list[Secret], Meta(max_length=cn.MOST_SECRETS, description=ABOUT_SECRETS)]
Age = Annotated[int, Meta(ge=60, le=30 * 86_400)]
ABOUT_TOKEN = f"With what a CRM's API may be asked for records; never answered. Where tokens end within the hour (Zoho): `{FORM}`."
Token = Annotated[str, Meta(min_length=1, max_length=cn.LONGEST_TOKEN)]
Address = Annotated[str, Meta(min_length=1, max_length=limits.URL)]
Person = Annotated[str, Meta(min_length=1, max_length=limits.EMAIL)]
Word = Annotated[str, Meta(min_length=1, max_length=limits.NAME)]
Zone = Annotated[str, Meta(min_length=1, max_length=limits.NAME)]
Labels = Annotated[dict[Word, Word | None], Meta(max_length=cn.ENTRIES)]
Names = Annotated[dict[Word, Word], Meta(max_length=cn.ENTRIES)]


class ConnectionSettingsBody(Struct, forbid_unknown_fields=True):
    """What a client has decided about one tool. Whatever is left out has its default: the tool is read as usual."""

    status_property: Annotated[Labels, Meta(description="CRM: kind of record -> the property that is its status; null: none is.")] = {}
    status_labels: Annotated[Labels, Meta(description="The tool's label, case ignored -> the client's status; null: moves none.")] = {}
    objects: Annotated[Names, Meta(description="CRM: id of a board, object or webhook -> contact, company, ignore, or an event.")] = {}
    create_unknown: Annotated[bool | None, Meta(description="Whether unknown people are created; null: the client's setting.")] = None
    linkedin_reply_counts: Annotated[bool | None, Meta(description="Whether a LinkedIn reply counts; null: the client's setting.")] = None
    deals_set_status: Annotated[bool, Meta(description="CRM: whether deals set the status of their person and company.")] = False
    deal_labels: Annotated[Labels, Meta(description="Stage of a deal -> the client's status.")] = {}
    time_zone: Annotated[
        Zone | None, Meta(description="IANA name of the zone of times that name none, such as Asia/Kolkata; null: UTC.")
    ] = None
    fields: Annotated[Names, Meta(description="Generic CRM: what we look for -> its path in the body.")] = {}
    api_base: Annotated[Address | None, Meta(description="CRM: where its API is asked for records; null: its usual address.")] = None
    api_user: Annotated[Person | None, Meta(description="CRM: whose access token it is, where the API wants to know.")] = None
    location_id: Annotated[Word | None, Meta(description="GoHighLevel: the only location whose signed calls are accepted.")] = None
    allow_v1_signatures: Annotated[bool, Meta(description="HubSpot: whether a signature of version 1 is proof.")] = False
    signature_max_age: Annotated[Age | None, Meta(description="Seconds that a signature may be old; null: the tool's own window.")] = None


class _Unshown(Struct):
    """A body that may hold a secret: it must not come into a message or a log by way of its repr."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"


class ConnectionRequest(_Unshown, forbid_unknown_fields=True):
    """A tool to be connected; at most once for each channel."""

    channel: Channel
    tool: Word
    secrets: Secrets = []
    generate_secret: Annotated[bool, Meta(description="Make a secret; it is answered this once.")] = False
    settings: ConnectionSettingsBody = msgspec.field(default_factory=ConnectionSettingsBody)
    access_token: Annotated[Token | None, Meta(description=ABOUT_TOKEN)] = None


class ConnectionSettingsChange(Struct, forbid_unknown_fields=True):
    """The settings to change: each one named is replaced whole, null puts back its default."""

    status_property: Labels | UnsetType | None = UNSET
    status_labels: Labels | UnsetType | None = UNSET
    objects: Names | UnsetType | None = UNSET
    create_unknown: bool | UnsetType | None = UNSET
    linkedin_reply_counts: bool | UnsetType | None = UNSET
    deals_set_status: bool | UnsetType | None = UNSET
    deal_labels: Labels | UnsetType | None = UNSET
    time_zone: Zone | UnsetType | None = UNSET
    fields: Names | UnsetType | None = UNSET
    api_base: Address | UnsetType | None = UNSET
    api_user: Person | UnsetType | None = UNSET
    location_id: Word | UnsetType | None = UNSET
    allow_v1_signatures: bool | UnsetType | None = UNSET
    signature_max_age: Age | UnsetType | None = UNSET


class ConnectionChange(_Unshown, forbid_unknown_fields=True):
    """What to change: a JSON merge patch. `secrets` are replaced whole; null, or an empty list, takes them away."""

    secrets: Secrets | UnsetType | None = UNSET
    generate_secret: Annotated[bool, Meta(description="Make a secret; it is answered this once.")] = False
    settings: ConnectionSettingsChange | UnsetType | None = UNSET
    access_token: Annotated[Token | UnsetType | None, Meta(description="Replaces the one there was; null takes it away.")] = UNSET


class FetchingOut(Struct):
    """How asking the tool's API for records goes."""

    state: Annotated[
        Literal["idle", "working", "waiting", "stopped"],
        Meta(description="waiting: after failures, it is tried again; stopped: until the connection is changed."),
    ]
    wanted: Annotated[int, Meta(description="Records still to be asked for.")]
    not_found: Annotated[int, Meta(description="Records that the tool did not have, or would not give.")]
    last_fetched_time: Time | None
    last_error: str | None
    last_error_time: Time | None


class WouldRefuse(Struct):
    """Calls of one tool that came unverified within the last seven days and would be refused from now."""

    tool: Annotated[str | None, Meta(description="null: no tool was recognised.")]
    calls: int
    last_received_time: Time
    reason: Annotated[
        Literal["must_prove", "not_recognised", "verification_required"],
        Meta(description="The secret is its tool's; no other tool is recognised for sure; or the client requires verification."),
    ]


class ConnectionOut(_Unshown):
    """One connection; its secrets and its access token are never answered, but for a secret just made."""

    channel: ChannelOut
    tool: str
    secret: Annotated[Literal["set", "not set"], Meta(description="Whether calls must prove who sends them.")]
    secret_count: int
    created_time: Time
    updated_time: Time
    settings: ConnectionSettingsBody
    access_token: Literal["set", "not set"]
    fetching: FetchingOut | None = None
    generated_secret: str | UnsetType = UNSET
    would_refuse: Annotated[
        list[WouldRefuse] | UnsetType, Meta(description="Only when secrets were set: who called lately and would be refused from now.")
    ] = UNSET


class ConnectionPage(Struct):
    """A client's connections, by channel and tool: always all of them."""

    data: list[ConnectionOut]
    next_cursor: str | None = None


_request = msgspec.json.Decoder(ConnectionRequest)
_change = msgspec.json.Decoder(ConnectionChange)


async def connections(call: Call) -> Response:
    """`GET` of a client's connections."""
    client = await one_client(call)
    Parameters(call.query).done(strict=True)
    found = await call.api.connections.all(client.number)
    told = await call.api.connections.fetching(client.number)
    return Response(body=encode(ConnectionPage([described(one, fetching=told.get(one.tool)) for one in found])))


async def connect(call: Call) -> Response:
    """`POST` of a new connection."""
    client, api = await _lasting(call), call.api
    body = await read_json(call.receive, call.headers, api.parts.limits)
    asked = read_struct(body, _request, ConnectionRequest, lambda partly: _check_new(call, partly))
    _check_new(call, asked)
    made = new_secret() if asked.generate_secret else None
    secrets = [*trimmed(asked.secrets), *([made] if made else [])]
    now = api.parts.clock()
    wanted = Connection(client.number, asked.channel, asked.tool, now, now, secrets, settings_of(asked.settings), asked.access_token or "")
    place = api.parts.reached_at(f"/admin/v1/clients/{client.client_id}/connections/{asked.channel}/{asked.tool}")

    refused = would_refuse(await refused_from_now(api.parts.store, client, wanted, now - LATELY))

    def answer(kept: Connection) -> Response:
        # A secret is shown this once: the answer is kept without it.
        hidden = encode(described(kept, refused=refused)) if made else None
        return Response(201, encode(described(kept, made, refused=refused)), headers=[(b"location", place)], stored_body=hidden)

    return await call.settle(lambda writes: api.connections.connect(wanted, writes), answer)


async def connection(call: Call) -> Response:
    """`GET` of one connection."""
    found = await _connection(call)
    told = await call.api.connections.fetching(found.client)
    return Response(body=encode(described(found, fetching=told.get(found.tool))))


async def change(call: Call) -> Response:
    """`PATCH` of one connection."""
    client = await _lasting(call)
    known = await _connection(call)
    body = await read_json(call.receive, call.headers, call.api.parts.limits)
    asked = read_struct(body, _change, ConnectionChange, lambda partly: _changed(call, known, partly))
    made = new_secret() if asked.generate_secret else None
    token = None if asked.access_token is UNSET else asked.access_token or ""
    changed = await call.api.connections.change(known, lambda now: (*_changed(call, now, asked, made), token))
    told = await call.api.connections.fetching(known.client)
    refused = []
    if asked.secrets is not UNSET or made:
        since = max(call.api.parts.clock() - LATELY, known.guarded_us or 0)
        refused = would_refuse(await refused_from_now(call.api.parts.store, client, changed, since))
    return Response(body=encode(described(changed, made, told.get(known.tool), refused)))


async def disconnect(call: Call) -> Response:
    """`DELETE` of one connection."""
    client = await one_client(call)
    await call.api.connections.disconnect(client.number, _channel(call), call.path("tool"))
    return Response(204)


def settings_of(body: ConnectionSettingsBody) -> ConnectionSettings:
    """The settings in our words."""
    return ConnectionSettings(**msgspec.structs.asdict(body))


def would_refuse(found: Sequence[Caller]) -> list[WouldRefuse]:
    """Who would be refused from now, as it is shown."""
    return [WouldRefuse(one.tool, one.calls, to_text(one.last_us), one.reason) for one in found]


def described(
    found: Connection, generated: str | None = None, fetching: FetchState | None = None, refused: list[WouldRefuse] | None = None
) -> ConnectionOut:
    """A connection as it may be shown, with how fetching goes where it has an access token."""
    settings = msgspec.convert(found.settings, ConnectionSettingsBody, from_attributes=True)
    times = to_text(found.created_us), to_text(found.updated_us)
    secret: Literal["set", "not set"] = "set" if found.secrets else "not set"
    token: Literal["set", "not set"] = "set" if found.access_token else "not set"
    told = fetching_out(fetching or FetchState(found.tool)) if found.access_token else None
    shown = (found.channel, found.tool, secret, len(found.secrets), *times, settings, token, told)
    return ConnectionOut(*shown, generated or UNSET, refused or UNSET)


def fetching_out(found: FetchState) -> FetchingOut:
    """How fetching goes, as it may be shown."""
    fetched = None if found.fetched_us is None else to_text(found.fetched_us)
    failed = None if found.error_us is None else to_text(found.error_us)
    return FetchingOut(fetching_state(found), found.wanted, found.noted, fetched, found.error, failed)


def patched(known: ConnectionSettings, changes: ConnectionSettingsChange | UnsetType | None) -> ConnectionSettings:
    """The settings with these changes: null puts back a default."""
    if changes is None:
        return ConnectionSettings()
    given = {} if changes is UNSET else msgspec.structs.asdict(changes)
    usual = msgspec.structs.asdict(ConnectionSettingsBody())
    now = {name: getattr(known, name) for name in usual}
    now |= {name: usual[name] if value is None else value for name, value in given.items() if value is not UNSET}
    return ConnectionSettings(**now)


def _changed(
    call: Call, known: Connection, asked: ConnectionChange, made: str | None = None
) -> tuple[list[str] | None, ConnectionSettings]:
    """The secrets and settings of a connection after this change; raises `Invalid`."""
    settings = patched(known.settings, asked.settings)
    secrets = None if asked.secrets is UNSET else trimmed(asked.secrets or [])
    token = known.access_token if asked.access_token is UNSET else asked.access_token
    faults = token_fault(known, settings, token_given=asked.access_token is not UNSET)
    _check(call, known.channel, known.tool, secrets or [], asked.generate_secret, settings, token, faults)
    if made is not None:
        # The new one comes beside the one before, until that is taken away.
        most = call.api.parts.senders.most_secrets(known.channel, known.tool)
        secrets = [made, *(known.secrets if secrets is None else secrets)][:most]
    return secrets, settings


def _check(
    call: Call, channel: str, tool: str, secrets: list[str], one_more: bool, settings: ConnectionSettings, token: str | None,
    more: Sequence[Fault] = (),
) -> None:  # fmt: skip
    """Raise `Invalid` with everything that is wrong with a connection that is to be; `one_more`: a secret is made beside these."""
    parts = call.api.parts
    faults = [*faults_of(channel, tool, settings, parts.senders.tools(channel), parts.senders.kinds(channel, tool, settings)), *more]
    faults += secret_faults(parts.senders, channel, tool, secrets, settings, more=int(one_more))
    faults += fetch_faults(tool, token, settings, parts.senders.fetcher(channel, tool), parts.fetch_allowed)
    raise_if_any(faults)


def _check_new(call: Call, asked: ConnectionRequest) -> None:
    _check(call, asked.channel, asked.tool, trimmed(asked.secrets), asked.generate_secret, settings_of(asked.settings), asked.access_token)


async def _lasting(call: Call) -> Client:
    """The client that the path names; `WrongState` for one that is being deleted: what is kept of it then would outlive it."""
    client = await one_client(call)
    if client.state == DELETING:
        raise WrongState(f"client {client.client_id!r} is being deleted; nothing of it can be changed any more")
    return client


async def _connection(call: Call) -> Connection:
    client = await one_client(call)
    return await call.api.connections.get(client.number, _channel(call), call.path("tool"))


def _channel(call: Call) -> str:
    channel = call.path("channel")
    if channel not in CHANNELS:
        raise NotFound(f"there is no channel {channel[:100]!r}; there are {', '.join(CHANNELS)}")
    return channel
