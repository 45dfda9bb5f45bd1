"""HTTP resource of mappings: settings of a connection that are saved together with a replay of stored deliveries, as one change."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from touchbase.administration.connections import PATH, TAG, changeable_client, channel_in_path, check_connection, patched
from touchbase.auth.authentication import ADMIN
from touchbase.clients.models import Client
from touchbase.common import field_limits as limits
from touchbase.common.timestamps import to_text
from touchbase.connections.api import CONNECTIONS, ConnectionSettingsChange, Name
from touchbase.connections.models import Connection, ignoring_entries
from touchbase.errors import Fault, Invalid, NotFound
from touchbase.http.conditional import changed_since, if_match, tags_named
from touchbase.http.endpoint import Call, author_of
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import RecordId, encode, example, named_enum
from touchbase.inbox import replay as replaying
from touchbase.inbox.api.replay import ReplayOut, first_deliveries, replay_out, try_deliveries
from touchbase.inbox.service import DeliveryFilter, get_delivery
from touchbase.jobs.api import JobOut, job_response
from touchbase.mapping.plans import MappedDeliveries, map_connection

named_enum("ReadAgainState", "The state of webhooks that are read again.", ("unrecognised", "failed", "ignored", "parked", "applied"))


RuleName = Annotated[str, Meta(min_length=1, max_length=limits.NAME)]


def check_rule_name(name: str | None, member: str) -> None:
    """Raise `Invalid` if the name of a rule cannot be one."""
    if name is not None and (why := limits.why_no_name(name)) is not None:
        raise Invalid([Fault(f"/{member}", "blank", why)])


class MappingRequest(Struct, forbid_unknown_fields=True):
    """Settings to save, and the stored webhooks to read again with them."""

    settings: Annotated[ConnectionSettingsChange, Meta(description="Settings to change, as in a `PATCH` of the connection.")]
    state: Annotated[
        Literal["unrecognised", "failed", "ignored", "parked", "applied"],
        Meta(description="Webhooks in this state are read again."),
    ] = "unrecognised"
    of_tool: Annotated[Name | None, Meta(description="Only webhooks that were taken for this tool's; null: all of the channel.")] = None
    like: Annotated[
        RecordId | None, Meta(description="Try the group of this webhook, such as an `example_id`; null: the newest ones of all.")
    ] = None
    rule_name: Annotated[RuleName | None, Meta(description="Name of the rule, if the settings ignore another event or object.")] = None
    dry_run: Annotated[bool, Meta(description="Only return what would change; nothing is stored.")] = False


example(MappingRequest, {"settings": {"fields": {"email": "prospect.mail", "status": "outcome"}}, "like": 4711})


async def save(call: Call) -> Response:
    """Handle `POST` of a mapping."""
    client = await changeable_client(call)
    channel, tool = channel_in_path(call), call.path("tool")
    try:
        current: Connection | None = await call.api[CONNECTIONS].get(client.number, channel, tool)
    except NotFound:
        current = None
    tags = tags_named(call)
    if tags is not None and (current is None or to_text(current.updated_us) not in tags):
        raise await changed_since(call, "connection", "connection.", client.number, f"{channel}/{tool}")
    now, by = call.api.dependencies.clock(), author_of(call.scope)
    present = current or Connection(client.number, channel, tool, now, now)

    def check(request: MappingRequest) -> None:
        check_rule_name(request.rule_name, "rule_name")
        check_connection(call, channel, tool, [], False, patched(present.settings, request.settings), present.access_token)

    request = await call.body(MappingRequest, check)
    check(request)
    settings = patched(present.settings, request.settings)
    proposed = replaying.Proposed(channel, tool, settings)
    tried = await _tried(call, client, request, proposed)
    if request.dry_run:
        return Response(200, encode(tried))
    _refuse_without_effect(tried, has_meaning=bool(settings.events))
    if request.rule_name is not None and not set(ignoring_entries(settings)) - set(ignoring_entries(present.settings)):
        raise Invalid([Fault("/rule_name", "no_rule", "names a rule that ignores, but these settings ignore nothing else: leave it out")])
    new = Connection(client.number, channel, tool, present.created_us, now, present.secrets, settings, present.access_token)
    command = map_connection(new, current, MappedDeliveries(request.state, request.of_tool), now, by, (request.rule_name or "").strip())
    await call.starter()
    try:
        response = await call.write_and_respond(lambda writes: writes.write(command), lambda job: job_response(call, job, {}, 202))
    finally:
        call.api[CONNECTIONS].forget(client.number)
    call.api.dependencies.on_job()
    return response


async def _tried(call: Call, client: Client, request: MappingRequest, proposed: replaying.Proposed) -> ReplayOut:
    if request.like is not None:
        await get_delivery(call.api.dependencies.store, request.like, client.number)  # raises `NotFound`
    filters = DeliveryFilter(client.number, proposed.channel, request.of_tool, request.state, like=request.like)
    pages, left, cursor = await first_deliveries(call, filters)
    return replay_out(await try_deliveries(call, pages, proposed), left, cursor)


def _refuse_without_effect(tried: ReplayOut, *, has_meaning: bool) -> None:
    """Raise `Invalid` if the stored deliveries would change nothing, and no meaning was given that ignores them or shows them alone."""
    effects = {} if tried.would is None else tried.would.effects
    if effects.get("changes") or (has_meaning and (effects.get("timeline_only") or effects.get("no_effect"))):
        return
    counts = ", ".join(f"{count} {effect.replace('_', ' ')}" for effect, count in effects.items()) or "none is stored in this state"
    detail = f"no stored webhook would change anything with these settings ({counts}): `dry_run` shows why, `PATCH` stores them anyway"
    raise Invalid([Fault("/settings", "no_effect", detail)])


ROUTES = [
    Route(
        "POST", f"{PATH}/{{channel}}/{{tool}}/mapping", save, scope=ADMIN, operation_id="map_connection", tag=TAG,
        summary="Save how stored webhooks are read, and read them again",
        description="Stores the settings, connects the tool if it is not yet, and starts a job that reads the stored webhooks again: one "
        "change (`GET /team/v1/changes?job_id=`), whose revert restores the settings, withdraws what the replay brought, and projects the "
        "records again. Settings with which no stored webhook would change anything are a 422 `no_effect`, unless they give an event a "
        "meaning. With `dry_run` nothing is stored, and the response shows what would change.",
        headers=(if_match("connection"),), body=MappingRequest,
        success=(Success(202, "The job.", JobOut, headers=("Location",)), Success(200, "What would change (`dry_run`).", ReplayOut)),
        problems=(404, 409, 412),
    ),
]  # fmt: skip
