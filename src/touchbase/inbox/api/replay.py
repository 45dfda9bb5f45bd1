"""HTTP resources of the inbox for administrators: groups of deliveries that changed nothing, and replays by filter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from touchbase.auth.authentication import ADMIN
from touchbase.common import field_limits as limits
from touchbase.common.timestamps import Micros, to_text
from touchbase.connections.api import TOOLS, ChannelOut, ConnectionSettingsBody, settings_of
from touchbase.connections.validation import connection_faults
from touchbase.deliveries.payload_fingerprint import fingerprint_parts
from touchbase.deliveries.work import EFFECTS, DryRunDelivery, DryRunResult
from touchbase.errors import Fault
from touchbase.history.events import COMPANY, CONTACT
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import CLIENT, LIMIT, cursor_text, cursor_value, parse_time
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import RecordId, Time, encode, example, named_enum
from touchbase.inbox import replay as service
from touchbase.inbox.api.deliveries import CHANNEL, INBOX, PROCESSING, READ, TOOL, DeliveryStateOut, checked_client, no_such_tool
from touchbase.inbox.queries import DeliveryGroup
from touchbase.inbox.service import GROUPED, DeliveryFilter, get_delivery, group_deliveries
from touchbase.records.validation import raise_if_any

MAX_AT_ONCE = 1_000
MOST_BYTES = 64 * 1024 * 1024
"""Bytes of the bodies of deliveries after which a request takes no further page of them."""
LONGEST_SHOWN = 200
"""Characters of a value that a dry run shows."""
_RECORDS = {CONTACT: "contact", COMPANY: "company"}
PAGE = 250
named_enum("UnchangedState", "The states of deliveries that changed nothing.", GROUPED)
Name = Annotated[str, Meta(min_length=1, max_length=limits.NAME)]


class DeliveryGroupOut(Struct):
    """Similar deliveries in one state; `reason` is of the newest one, `example_id`."""

    client_id: str
    channel: ChannelOut
    tool: str | None
    state: DeliveryStateOut
    event: Annotated[str | None, Meta(description="The tool's name of the event, if known.")]
    keys: Annotated[list[str], Meta(description="The first twelve keys at the top level of the body.")]
    count: int
    first_received_at: Time
    last_received_at: Time
    example_id: int
    reason: str | None


class DeliveryGroups(Struct):
    """Groups of deliveries that changed nothing, largest first."""

    data: list[DeliveryGroupOut]


class ProposedConnection(Struct, forbid_unknown_fields=True):
    """Settings of a connection to try in a dry run, before they are stored."""

    channel: Literal["email_campaign", "crm"]
    tool: Name
    settings: ConnectionSettingsBody


class ReplayRequest(Struct, forbid_unknown_fields=True):
    """Which deliveries to replay: at least one filter; deliveries must match all given filters."""

    client: Name | None = None
    channel: Literal["email_campaign", "crm"] | None = None
    tool: Name | None = None
    state: Literal["received", "applied", "ignored", "parked", "unrecognised", "failed"] | None = None
    received_since: Annotated[str | None, Meta(description="Only deliveries received at this time or later.")] = None
    like: Annotated[
        RecordId | None,
        Meta(description="With `dry_run`: only deliveries of the group of this one, such as an `example_id`; then `client` is needed too."),
    ] = None
    dry_run: Annotated[bool, Meta(description="Only return what would change; nothing is stored.")] = False
    connection: Annotated[
        ProposedConnection | None,
        Meta(description="With `dry_run` and `client`: read the deliveries as if the client's connection of this tool had these settings."),
    ] = None
    cursor: Annotated[str | None, Meta(description="`next_cursor` of the previous response.")] = None


example(ReplayRequest, {"tool": "hubspot", "state": "unrecognised", "received_since": "2026-11-01T00:00:00Z", "dry_run": True})


_EFFECT = named_enum("DeliveryEffect", "; ".join(f"`{effect}`: {text}" for effect, text in EFFECTS.items()) + ".", tuple(EFFECTS))


class DryRunRecordOut(Struct):
    """A record that a delivery would create or change."""

    record: Annotated[Literal["contact", "company"], Meta(description="The kind of the record.")]
    id: Annotated[int | None, Meta(description="null: it would be created.")]
    changed: Annotated[
        dict[str, list[str | int | float | bool | None]],
        Meta(
            description=f"By field, its values before and after, the first {LONGEST_SHOWN} characters; together with the other deliveries "
            "of the group that are about the record."
        ),
    ]


class DryRunDeliveryOut(Struct):
    """Would-be outcome of one delivery."""

    id: int
    state: Annotated[str, Meta(description="The present state; empty: it could not be tried.")]
    would_be: Annotated[DeliveryStateOut, Meta(description="The state that it would have.")]
    effect: Annotated[str, Meta(description="What it would do to records.", extra_json_schema=_EFFECT)]
    events: Annotated[int, Meta(description="The events that it would have.")]
    error: str | None
    records: Annotated[list[DryRunRecordOut], Meta(description="The records that it would change.")]
    inferred: Annotated[
        dict[str, str],
        Meta(description="Of a body without an adapter: the paths of values that `fields` does not name, by their names in `fields`."),
    ]


class DryRunOut(Struct):
    """Preview of a replay. Deliveries are tried in groups of 100 that do not see each other's changes."""

    outcomes: Annotated[dict[str, int], Meta(description="Deliveries by the state that they would get.")]
    effects: Annotated[dict[str, int], Meta(description="Deliveries by their effect.")]
    records_made: int
    records_changed: int
    fields: Annotated[dict[str, int], Meta(description="The number of records in which each field would change.")]
    deliveries: list[DryRunDeliveryOut]


class ReplayOut(Struct):
    """How many deliveries were replayed (or would be), how many matching ones are left, and the cursor for those.

    Deliveries whose body was deleted cannot be replayed and do not count.
    """

    count: int
    left: int
    next_cursor: str | None
    would: DryRunOut | None = None


UNCHANGED_STATE = query.choice("state", GROUPED, "Deliveries in this state.", member="state")


async def groups(call: Call) -> Response:
    """Return the deliveries that changed nothing, in groups (`GET`)."""
    limited = await call.administrator()
    parameters = call.parameters()
    client = await checked_client(call, parameters, limited)
    page = await group_deliveries(call.api.dependencies.store, DeliveryFilter(client, **parameters.filters), parameters[LIMIT])
    return Response(body=encode(DeliveryGroups([group_out(group) for group in page])))


def group_out(group: DeliveryGroup) -> DeliveryGroupOut:
    """Return a group as the API shows it."""
    event, keys = fingerprint_parts(group.fingerprint)
    return DeliveryGroupOut(
        group.client_id, group.channel, group.tool, group.state, event, keys, group.count, to_text(group.first_us),
        to_text(group.last_us), group.example_id, group.reason,
    )  # fmt: skip


async def replay_many(call: Call) -> Response:
    """Replay the matching deliveries (`POST`), up to `MAX_AT_ONCE`, or do a dry run."""
    limited = await call.administrator()
    parts = call.api.dependencies
    request = await call.body(ReplayRequest, _check)
    since, position = _check(request)
    raise_if_any([*no_such_tool(call, request.tool, "/tool"), *_proposal_faults(call, request)])
    client = limited if request.client is None else await call.client_number(request.client, limited, "/client")
    if request.like is not None and client is not None:
        await get_delivery(parts.store, request.like, client)  # raises `NotFound`
    filters = DeliveryFilter(client, request.channel, request.tool, request.state, since, like=request.like)
    chosen, left, cursor = await first_deliveries(call, filters, position)
    if request.dry_run:
        proposed = request.connection
        settings = None if proposed is None else service.Proposed(proposed.channel, proposed.tool, settings_of(proposed.settings))
        return Response(200, encode(replay_out(await try_deliveries(call, chosen, settings), left, cursor)))
    now = parts.clock()
    response = await call.write_and_respond(
        lambda writes: service.replay_pages(writes, chosen, now), lambda count: Response(202, encode(ReplayOut(count, left, cursor)))
    )
    for page in chosen:
        parts.on_stored(page.client.number)
    return response


async def first_deliveries(
    call: Call, filters: DeliveryFilter, position: service.Cursor | None = None
) -> tuple[list[service.ReplayPage], int, str | None]:
    """Return as many pages of matching deliveries as one request may replay, how many are left, and the cursor for those."""
    chosen, position = await _chosen(call, filters, position)
    left = 0 if position is None else await service.count(call.api.dependencies.store, filters, position)
    return chosen, left, None if position is None else cursor_text("replay", position)


async def _chosen(
    call: Call, filters: DeliveryFilter, position: service.Cursor | None
) -> tuple[list[service.ReplayPage], service.Cursor | None]:
    """Return as many pages as one request may replay, and the cursor after them; None if nothing is left."""
    chosen: list[service.ReplayPage] = []
    count = size = 0
    async for page in service.pages(call.api.dependencies.store, filters, position, PAGE):
        chosen.append(page)
        count += len(page.deliveries)
        size += sum(delivery.size for delivery in page.deliveries)
        if page.cursor is None or count + PAGE > MAX_AT_ONCE or size > MOST_BYTES:
            return chosen, page.cursor
    return chosen, None


async def try_deliveries(call: Call, chosen: Sequence[service.ReplayPage], settings: service.Proposed | None) -> DryRunResult:
    """Return what a replay would change, with these settings of a connection in place of its own; nothing is stored."""
    runner = service.DryRunner(call.api[PROCESSING], call.api[READ], call.api.dependencies.clock)
    result = DryRunResult()
    for page in chosen:
        sizes = {delivery.id: delivery.size for delivery in page.deliveries}
        service.add_result(result, await runner.dry_run(page.client.number, [*sizes], settings, sizes))
    return result


def _proposal_faults(call: Call, request: ReplayRequest) -> list[Fault]:
    """Return the faults of a proposed connection, as its own requests would say them."""
    proposed, senders = request.connection, call.api[TOOLS]
    if proposed is None:
        return []
    faults = [] if request.dry_run else [Fault("/connection", "dry_run", "is only tried: send dry_run true, or store it at the connection")]
    if request.client is None:
        faults.append(Fault("/client", "required", "must name the client whose connection it is"))
    settings = settings_of(proposed.settings)
    kinds = senders.kinds(proposed.channel, proposed.tool, settings)
    proposal_faults = connection_faults(proposed.channel, proposed.tool, settings, senders.tools(proposed.channel), kinds)
    return [*faults, *(Fault(f"/connection{fault.pointer}", fault.code, fault.detail) for fault in proposal_faults)]


def replay_out(result: DryRunResult, left: int, cursor: str | None) -> ReplayOut:
    """Return the response to a dry run."""
    outcomes = Counter(delivery.state for delivery in result.deliveries)
    effects = Counter(delivery.effect for delivery in result.deliveries)
    deliveries = [DryRunDeliveryOut(**values) for values in map(dry_run_values, result.deliveries)]
    would = DryRunOut(dict(outcomes), dict(effects), result.created, result.changed, result.fields, deliveries)
    return ReplayOut(len(result.deliveries), left, cursor, would)


def dry_run_values(delivery: DryRunDelivery) -> dict[str, Any]:
    """Return a delivery of a dry run with the names of the API."""
    records = [
        {"record": _RECORDS[record.kind], "id": record.id, "changed": {name: [*map(_cut, pair)] for name, pair in record.changed.items()}}
        for record in delivery.records
    ]
    state = {
        "id": delivery.id,
        "state": delivery.was,
        "would_be": delivery.state,
        "effect": delivery.effect,
        "events": delivery.events,
        "error": delivery.error,
        "inferred": delivery.inferred,
    }
    return {**state, "records": records}


def _cut(value: object) -> object:
    return value[:LONGEST_SHOWN] if isinstance(value, str) else value


def _check(request: ReplayRequest) -> tuple[Micros | None, service.Cursor | None]:
    """Return the time and cursor of a request; raises `Invalid` with all faults beyond its types."""
    faults: list[Fault] = []
    if not any((request.client, request.channel, request.tool, request.state, request.received_since)):
        faults.append(Fault("", "required", "must have a filter: client, channel, tool, state or received_since"))
    if request.like is not None and not request.dry_run:
        faults.append(Fault("/like", "dry_run", "is for dry runs: a replay changes the group; send its filters, or dry_run true"))
    if request.like is not None and request.client is None:
        faults.append(Fault("/client", "required", "must name the client of the delivery in like"))
    since = parse_time(request.received_since, "/received_since", faults)
    position: service.Cursor | None = None
    if request.cursor is not None and (position := cursor_value(request.cursor, "replay", tuple[str, int | None])) is None:
        faults.append(Fault("/cursor", "cursor", "is not a cursor of this request; start again without it"))
    raise_if_any(faults)
    return since, position


ROUTES = [
    Route(
        "GET", "/admin/v1/deliveries/groups", groups, scope=ADMIN, operation_id="group_deliveries", tag=INBOX,
        summary="Count similar deliveries that changed nothing",
        description="Deliveries that changed nothing, grouped by client, channel, tool, state, event name and the keys of the body; "
        "the largest groups come first.",
        query=(LIMIT, CLIENT, TOOL, CHANNEL, UNCHANGED_STATE), success=(Success(200, "Groups.", DeliveryGroups),),
    ),
    Route(
        "POST", "/admin/v1/deliveries/replay", replay_many, scope=ADMIN, operation_id="replay_deliveries", tag=INBOX,
        summary="Apply many deliveries again",
        description=f"Queues up to {MAX_AT_ONCE:,} deliveries that match all given filters (`client`, `channel`, `tool`, `state`, "
        "`received_since`) to be applied again; at least one filter is required. `next_cursor` continues with the others. With `dry_run` "
        "nothing is stored, and the response shows what would change, also under settings of a connection that are not stored yet.",
        body=ReplayRequest,
        success=(Success(202, "They wait to be applied.", ReplayOut), Success(200, "What would change (`dry_run`).", ReplayOut)),
    ),
]  # fmt: skip
