"""The administrator's calls about many deliveries: groups of those that changed nothing, and replays by filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from touchbase.common import field_limits as limits
from touchbase.common.timestamps import Micros, to_text
from touchbase.connections.models import CHANNELS
from touchbase.errors import Fault
from touchbase.events import replay as service
from touchbase.events.work import DryRunResult
from touchbase.http.endpoint import Call
from touchbase.http.json_body import read_json, read_struct
from touchbase.http.query_parameters import Parameters, cursor_text, cursor_value, moment
from touchbase.http.responses import Response
from touchbase.http.schemas import ChannelOut, DeliveryStateOut, Time, encode
from touchbase.inbox.api.deliveries import client_number, no_such_tool
from touchbase.inbox.payload_fingerprint import parts_of
from touchbase.inbox.queries import DeliveryGroup
from touchbase.inbox.service import GROUPED, DeliveryFilter, group_deliveries
from touchbase.records.validation import raise_if_any

MOST_AT_ONCE = 1_000
PAGE = 250
Named = Annotated[str, Meta(min_length=1, max_length=limits.NAME)]


class DeliveryGroupOut(Struct):
    """Deliveries in one state that look alike; `reason` is that of the newest, `example_id`."""

    client_id: str
    channel: ChannelOut
    tool: str | None
    state: DeliveryStateOut
    event: Annotated[str | None, Meta(description="The event as the tool names it, where that is known.")]
    keys: Annotated[list[str], Meta(description="The keys at the top of the body, the first twelve.")]
    count: int
    first_received_at: Time
    last_received_at: Time
    example_id: int
    reason: str | None


class DeliveryGroups(Struct):
    """Groups of deliveries that changed nothing, largest first."""

    data: list[DeliveryGroupOut]


class ReplayRequest(Struct, forbid_unknown_fields=True):
    """Which deliveries to apply again: at least one filter; all that are given must fit."""

    client: Named | None = None
    channel: Literal["email_campaign", "crm"] | None = None
    tool: Named | None = None
    state: Literal["received", "applied", "ignored", "parked", "unrecognised", "failed"] | None = None
    received_since: Annotated[str | None, Meta(description="Only those received then or later.")] = None
    dry_run: Annotated[bool, Meta(description="Only answer what would change; nothing is stored.")] = False
    cursor: Annotated[str | None, Meta(description="`next_cursor` of the call before.")] = None


class DryRunOut(Struct):
    """What applying the deliveries again would change. Pieces of a hundred know nothing of each other."""

    outcomes: Annotated[dict[str, int], Meta(description="Deliveries by the state they would end in.")]
    records_made: int
    records_changed: int
    fields: Annotated[dict[str, int], Meta(description="In how many records each value would be another.")]


class ReplayOut(Struct):
    """How many deliveries were put back (or would be), how many are still to come, and where to go on for those.

    One whose body was removed cannot be applied again, and does not count.
    """

    count: int
    left: int
    next_cursor: str | None
    would: DryRunOut | None = None


_decoder = msgspec.json.Decoder(ReplayRequest)


async def groups(call: Call) -> Response:
    """`GET` of the deliveries that changed nothing, in groups."""
    limited = await call.administrator()
    parameters = Parameters(call.query)
    client_id = parameters.text("client")
    state, channel = parameters.choice("state", GROUPED), parameters.choice("channel", CHANNELS)
    tool, limit = parameters.text("tool"), parameters.limit()
    parameters.faults += no_such_tool(call, tool, "?tool")
    parameters.done(strict=True)
    client = limited if client_id is None else await client_number(call, client_id, limited, "?client")
    found = await group_deliveries(call.api.parts.store, DeliveryFilter(client, channel, tool, state), limit)
    return Response(body=encode(DeliveryGroups([described_group(each) for each in found])))


def described_group(group: DeliveryGroup) -> DeliveryGroupOut:
    """A group as it is shown."""
    event, keys = parts_of(group.shape)
    return DeliveryGroupOut(
        group.client_id, group.channel, group.tool, group.state, event, keys, group.count, to_text(group.first_us),
        to_text(group.last_us), group.example_id, group.reason,
    )  # fmt: skip


async def replay_many(call: Call) -> Response:
    """`POST` that puts the chosen deliveries back to be applied again, up to so many at once, or rehearses that."""
    limited = await call.administrator()
    parts = call.api.parts
    body = await read_json(call.receive, call.headers, parts.limits)
    asked = read_struct(body, _decoder, ReplayRequest, _checked)
    since, place = _checked(asked)
    raise_if_any(no_such_tool(call, asked.tool, "/tool"))
    client = limited if asked.client is None else await client_number(call, asked.client, limited, "/client")
    sought = DeliveryFilter(client, asked.channel, asked.tool, asked.state, since)
    chosen, place = await _chosen(call, sought, place)
    left = 0 if place is None else await service.count(parts.store, sought, place)
    cursor = None if place is None else cursor_text("replay", place)
    if asked.dry_run:
        told = await _rehearsed(call, chosen)
        return Response(200, encode(ReplayOut(len(told.deliveries), left, cursor, _rehearsal(told))))
    now = parts.clock()
    answer = await call.settle(
        lambda writes: service.put_back_all(writes, chosen, now), lambda count: Response(202, encode(ReplayOut(count, left, cursor)))
    )
    for page in chosen:
        parts.on_stored(page.client.number)
    return answer


async def _chosen(call: Call, sought: DeliveryFilter, place: service.Place | None) -> tuple[list[service.Page], service.Place | None]:
    """As many pages as one call may take, and the place behind them; None when nothing is left."""
    chosen: list[service.Page] = []
    count = 0
    async for page in service.pages(call.api.parts.store, sought, place, PAGE):
        chosen.append(page)
        count += len(page.deliveries)
        if page.place is None or count + PAGE > MOST_AT_ONCE:
            return chosen, page.place
    return chosen, None


async def _rehearsed(call: Call, chosen: Sequence[service.Page]) -> DryRunResult:
    rehearser = service.DryRunner(call.api.parts.store, call.api.parts.read, call.api.parts.clock)
    told = DryRunResult()
    for page in chosen:
        service.add(told, await rehearser.dry_run(page.client.number, [each.id for each in page.deliveries]))
    return told


def _rehearsal(told: DryRunResult) -> DryRunOut:
    outcomes: dict[str, int] = {}
    for one in told.deliveries:
        outcomes[one.state] = outcomes.get(one.state, 0) + 1
    return DryRunOut(outcomes, told.created, told.changed, told.fields)


def _checked(asked: ReplayRequest) -> tuple[Micros | None, service.Place | None]:
    """The moment and the place that a request names; raises `Invalid` with everything that is wrong beyond its types."""
    faults: list[Fault] = []
    if not any((asked.client, asked.channel, asked.tool, asked.state, asked.received_since)):
        faults.append(Fault("", "required", "must have a filter: client, channel, tool, state or received_since"))
    since = moment(asked.received_since, "/received_since", faults)
    place: service.Place | None = None
    if asked.cursor is not None and (place := cursor_value(asked.cursor, "replay", tuple[str, int | None])) is None:
        faults.append(Fault("/cursor", "cursor", "is none of this call's; begin again without it"))
    raise_if_any(faults)
    return since, place
