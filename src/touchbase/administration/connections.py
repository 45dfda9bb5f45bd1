"""HTTP resources of connections, for administrators: create, list, read, change, delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.adapters.catalogue import evidence_of
from touchbase.auth.authentication import ADMIN
from touchbase.clients.models import DELETING, Client
from touchbase.common.timestamps import to_text, to_text_or_none
from touchbase.connections.api import (
    CONNECTIONS,
    FETCH_ALLOWED,
    NOTHING,
    TOOLS,
    ConnectionChange,
    ConnectionDetails,
    ConnectionOut,
    ConnectionPage,
    ConnectionRequest,
    ConnectionSettingsBody,
    ConnectionSettingsChange,
    WouldRefuse,
    connection_out,
    settings_of,
)
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.connections.rhythm import Silence, per_day
from touchbase.connections.service import new_secret
from touchbase.connections.sql.silence import list_silences
from touchbase.connections.validation import connection_faults, fetch_faults, secret_faults, token_fault, trim_secrets
from touchbase.errors import Fault, NotFound, PreconditionFailed, WrongState
from touchbase.history.events import CHANNELS, EMAIL_CAMPAIGN
from touchbase.http.conditional import ETAG, changed_since, if_match, tags_named
from touchbase.http.endpoint import Call, author_of
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import Time, encode
from touchbase.inbox.refused import LOOKBACK, AffectedSender, find_affected_senders
from touchbase.jobs.api import JobOut, job_response
from touchbase.jobs.models import DUE
from touchbase.jobs.sql import create_job, list_jobs
from touchbase.loading.job import KIND, new_load
from touchbase.loading.requests import SOURCES
from touchbase.outgoing.blocklist_tools import BLOCKLISTS
from touchbase.records.validation import raise_if_any


class SilenceOut(Struct):
    """A time in which the tool's usual calls did not come."""

    since_time: Annotated[Time, Meta(description="The last call before it.")]
    noticed_time: Annotated[Time, Meta(description="When so many usual calls were missing that it was recognised.")]
    ended_time: Annotated[Time | None, Meta(description="The next call, or when the alarm was turned off; null: it lasts.")]
    calls_per_day: Annotated[float, Meta(ge=0, description="Of the seven days before it.", examples=[310.4])]
    usual_interval_seconds: Annotated[
        int | None,
        Meta(description="Usual time between two calls at the hour of `noticed_time`; null: less than one is usual.", examples=[240]),
    ]


class SilencePage(Struct):
    """The silences of a connection, newest first."""

    data: list[SilenceOut]
    next_cursor: str | None = None


def silence_out(silence: Silence) -> SilenceOut:
    """Return a silence as shown."""
    ended = to_text_or_none(silence.ended_us)
    return SilenceOut(to_text(silence.since_us), to_text(silence.noticed_us), ended, per_day(silence.week), silence.usual_interval_seconds)


def would_refuse(senders: Sequence[AffectedSender]) -> list[WouldRefuse]:
    """Return the affected senders as shown."""
    return [WouldRefuse(sender.tool, sender.calls, to_text(sender.last_us), sender.reason) for sender in senders]


def _out(
    connection: Connection, generated: str | None = None, details: ConnectionDetails = NOTHING, refused: list[WouldRefuse] | None = None
) -> ConnectionOut:
    return connection_out(connection, generated, details, refused, evidence=evidence_of(connection.channel, connection.tool))


async def connections(call: Call) -> Response:
    """Handle `GET` of a client's connections."""
    client = await call.client_in_path()
    call.parameters().done()
    listed = await call.api[CONNECTIONS].all(client.number)
    details = await _details_of(call, client.number)
    return Response(body=encode(ConnectionPage([_out(connected, details=details(connected)) for connected in listed])))


async def connect(call: Call) -> Response:
    """Handle `POST` of a new connection."""
    client, api = await changeable_client(call), call.api
    request = await call.body(ConnectionRequest, lambda partly: _check_new(call, partly))
    _check_new(call, request)
    secret = new_secret() if request.generate_secret else None
    secrets = [*trim_secrets(request.secrets), *([secret] if secret else [])]
    now = api.dependencies.clock()
    new = Connection(
        client.number, request.channel, request.tool, now, now, secrets, settings_of(request.settings), request.access_token or ""
    )
    location = call.reached_at(f"/admin/v1/clients/{client.client_id}/connections/{request.channel}/{request.tool}")

    refused = would_refuse(await find_affected_senders(api.dependencies.store, client, new, now - LOOKBACK))

    def response(stored: Connection) -> Response:
        # A generated secret is shown once: the response stored for retries leaves it out.
        hidden = encode(_out(stored, refused=refused)) if secret else None
        return Response(201, encode(_out(stored, secret, refused=refused)), headers=[(b"location", location)], stored_body=hidden)

    return await call.write_and_respond(lambda writes: api[CONNECTIONS].connect(new, writes, author_of(call.scope)), response)


async def connection(call: Call) -> Response:
    """Handle `GET` of one connection."""
    connected = await connection_in_path(call)
    details = await _details_of(call, connected.client)
    return Response(body=encode(_out(connected, details=details(connected))), headers=[_etag(connected)])


def _etag(connection: Connection) -> tuple[bytes, bytes]:
    return ETAG, f'"{to_text(connection.updated_us)}"'.encode()


async def change(call: Call) -> Response:
    """Handle `PATCH` of one connection."""
    client = await changeable_client(call)
    present = await connection_in_path(call)
    request = await call.body(ConnectionChange, lambda partly: _changed(call, present, partly))
    secret = new_secret() if request.generate_secret else None
    token, tags = None if request.access_token is UNSET else request.access_token or "", tags_named(call)

    def decide(current: Connection) -> tuple[list[str] | None, ConnectionSettings, str | None]:
        if tags is not None and to_text(current.updated_us) not in tags:
            raise PreconditionFailed("the connection has changed since it was read")
        return (*_changed(call, current, request, secret), token)

    try:
        changed = await call.api[CONNECTIONS].change(present, decide, author_of(call.scope))
    except PreconditionFailed:
        target = f"{present.channel}/{present.tool}"
        raise await changed_since(call, "connection", "connection.", client.number, target) from None
    more = await _details_of(call, present.client)
    refused = []
    if request.secrets is not UNSET or secret:
        since = max(call.api.dependencies.clock() - LOOKBACK, present.guarded_us or 0)
        refused = would_refuse(await find_affected_senders(call.api.dependencies.store, client, changed, since))
    return Response(body=encode(_out(changed, secret, more(changed), refused)), headers=[_etag(changed)])


async def silences(call: Call) -> Response:
    """Handle `GET` of the silences of one connection."""
    connected = await connection_in_path(call)
    call.parameters().done()
    listed = await call.api.dependencies.store.read(list_silences(connected.client, connected.channel, connected.tool))
    return Response(body=encode(SilencePage([silence_out(silence) for silence in listed])))


async def load(call: Call) -> Response:
    """Handle `POST` of a first load."""
    client = await changeable_client(call)
    connected, parts = await connection_in_path(call), call.api.dependencies
    call.parameters().done()
    loads = await parts.store.read(list_jobs(client.number, 100, kind=KIND))
    last = next((job for job in loads if job.settings.get("tool") == connected.tool), None)
    job = new_load(connected, parts.clock(), await call.starter(), last)
    if last is not None and last.state in DUE:
        raise WrongState(f"job {last.id} loads the history of {connected.tool} already: wait for it, or cancel it")
    job = await parts.store.write(create_job(job))
    parts.on_job()
    return job_response(call, job, {}, 201)


async def disconnect(call: Call) -> Response:
    """Handle `DELETE` of one connection."""
    client = await call.client_in_path()
    channel, tool = channel_in_path(call), call.path("tool")
    try:
        await call.api[CONNECTIONS].disconnect(client.number, channel, tool, tags_named(call))
    except PreconditionFailed:
        raise await changed_since(call, "connection", "connection.", client.number, f"{channel}/{tool}") from None
    return Response(204)


def patched(current: ConnectionSettings, changes: ConnectionSettingsChange | UnsetType | None) -> ConnectionSettings:
    """Return the settings with these changes; null restores a default."""
    if changes is None:
        return ConnectionSettings()
    changed = {} if changes is UNSET else msgspec.structs.asdict(changes)
    usual = msgspec.structs.asdict(ConnectionSettingsBody())
    now = {name: getattr(current, name) for name in usual}
    now |= {name: usual[name] if value is None else value for name, value in changed.items() if value is not UNSET}
    return ConnectionSettings(**now)


def _changed(
    call: Call, current: Connection, change: ConnectionChange, new_secret: str | None = None
) -> tuple[list[str] | None, ConnectionSettings]:
    """Return the secrets and settings of a connection after this change. Raises `Invalid`."""
    settings = patched(current.settings, change.settings)
    secrets = None if change.secrets is UNSET else trim_secrets(change.secrets or [])
    token = current.access_token if change.access_token is UNSET else change.access_token
    faults = token_fault(current, settings, has_new_token=change.access_token is not UNSET)
    check_connection(call, current.channel, current.tool, secrets or [], change.generate_secret, settings, token, faults)
    if new_secret is not None:
        # The previous secret stays valid until it is removed.
        most = call.api[TOOLS].most_secrets(current.channel, current.tool)
        secrets = [new_secret, *(current.secrets if secrets is None else secrets)][:most]
    return secrets, settings


def check_connection(
    call: Call, channel: str, tool: str, secrets: list[str], generated: bool, settings: ConnectionSettings, token: str | None,
    more: Sequence[Fault] = (),
) -> None:  # fmt: skip
    """Raise `Invalid` with all faults of a new or changed connection; `generated`: a secret is generated in addition."""
    tools = call.api[TOOLS]
    faults = [
        *connection_faults(channel, tool, settings, tools.tools(channel), tools.kinds(channel, tool, settings)),
        *more,
    ]
    faults += secret_faults(tools, channel, tool, secrets, settings, more=int(generated))
    has_blocklist = tool in BLOCKLISTS if channel == EMAIL_CAMPAIGN else None
    faults += fetch_faults(tool, token, settings, tools.fetcher(channel, tool), call.api[FETCH_ALLOWED], has_blocklist=has_blocklist)
    raise_if_any(faults)


def _check_new(call: Call, request: ConnectionRequest) -> None:
    check_connection(
        call,
        request.channel,
        request.tool,
        trim_secrets(request.secrets),
        request.generate_secret,
        settings_of(request.settings),
        request.access_token,
    )


async def changeable_client(call: Call) -> Client:
    """Return the client in the path, for a request without parameters: a `dry_run` that is not tried must not be carried out.

    Raises `WrongState` while it is being deleted: a connection stored then would never be deleted.
    """
    client = await call.client_in_path()
    call.parameters().done()
    if client.state == DELETING:
        raise WrongState(f"client {client.client_id!r} is being deleted and can no longer be changed")
    return client


async def _details_of(call: Call, client: int) -> Callable[[Connection], ConnectionDetails]:
    """Return a lookup of the fetch state and the call statistics of a connection."""
    states, calls = await call.api[CONNECTIONS].fetching(client), await call.api[CONNECTIONS].calls(client)
    return lambda connection: ConnectionDetails(states.get(connection.tool), calls.get((connection.channel, connection.tool)))


async def connection_in_path(call: Call) -> Connection:
    """Return the connection that the path names. Raises `NotFound`."""
    client = await call.client_in_path()
    return await call.api[CONNECTIONS].get(client.number, channel_in_path(call), call.path("tool"))


def channel_in_path(call: Call) -> str:
    """Return the channel that the path names. Raises `NotFound`."""
    channel = call.path("channel")
    if channel not in CHANNELS:
        raise NotFound(f"there is no channel {channel[:100]!r}; the channels are {', '.join(CHANNELS)}")
    return channel


TAG = Tag("Connections", "The tools that a client has connected: secrets, settings, and access tokens.")
PATH = "/admin/v1/clients/{client_id}/connections"
_SHOWN = (Success(200, "The connection; secrets are never shown.", ConnectionOut, ("ETag",)),)
ROUTES = [
    Route(
        "GET", PATH, connections, scope=ADMIN, operation_id="list_connections", tag=TAG, summary="List a client's connections",
        description="All connections of the client, by channel and tool. Secrets and access tokens are never shown.",
        success=(Success(200, "All connections.", ConnectionPage),), problems=(422,),
    ),
    Route(
        "POST", PATH, connect, scope=ADMIN, operation_id="connect", tag=TAG, summary="Connect a tool",
        description="A client has at most one connection of a tool on each channel; a second one is a 409. "
        "A secret that the server generates is shown only in this response. `would_refuse` lists the tools whose webhooks of the last week "
        "would be refused from now on. A secret that the server cannot encrypt is a 422 `no_encryption_key`.",
        body=ConnectionRequest, success=(Success(201, "The new connection.", ConnectionOut, ("Location",)),),
    ),
    Route(
        "GET", f"{PATH}/{{channel}}/{{tool}}", connection, scope=ADMIN, operation_id="get_connection", tag=TAG,
        summary="Get one connection",
        description="Returns the connection, the state of fetching from the tool's API, and how often the tool calls. Secrets and access "
        "tokens are never shown.",
        success=_SHOWN,
    ),
    Route(
        "PATCH", f"{PATH}/{{channel}}/{{tool}}", change, scope=ADMIN, operation_id="change_connection", tag=TAG,
        summary="Update one connection",
        description="The body is a JSON merge patch (RFC 7396): a member that is left out stays. Lists and settings in the body "
        "replace the old ones as a whole. Another `api_base` without the access token is a 422. The ETag is `updated_time`, in quotes.",
        headers=(if_match("connection"),), body=ConnectionChange, success=_SHOWN, problems=(409, 412),
    ),
    Route(
        "GET", f"{PATH}/{{channel}}/{{tool}}/silences", silences, scope=ADMIN, operation_id="list_silences", tag=TAG,
        summary="List the silences of one connection",
        description="Times in which the tool's usual calls did not come, newest first: the last 50. A silence is recognised by the tool's "
        "own rhythm of the last weeks, and ends with the next call, or when the setting `silence_alarm` is turned off.",
        success=(Success(200, "The silences.", SilencePage),), problems=(422,),
    ),
    Route(
        "POST", f"{PATH}/{{channel}}/{{tool}}/load", load, scope=ADMIN, operation_id="load_connection", tag=TAG,
        summary="Load what a campaign tool knows from before",
        description="Starts a job that reads the tool's leads, messages and blocklist through its API with the connection's access token, "
        f"for {', '.join(SOURCES)}. Events have their own times; what a webhook brought already is not repeated. The entries of its "
        "blocklist come on the do-not-contact list. A load can be cancelled, and started again. 409: one is at work already.",
        success=(Success(201, "The job.", JobOut, headers=("Location",)),), problems=(409, 422),
    ),
    Route(
        "DELETE", f"{PATH}/{{channel}}/{{tool}}", disconnect, scope=ADMIN, operation_id="disconnect", tag=TAG,
        summary="Disconnect a tool",
        description="Removes the connection with its secrets, settings and silences. Records and deliveries stay.",
        headers=(if_match("connection"),), success=(Success(204, "Disconnected; records and deliveries stay."),), problems=(412,),
    ),
]  # fmt: skip
