"""The administrator's calls about the inbox: its deliveries, and applying one again."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from touchbase.common.timestamps import to_text
from touchbase.connections.models import CHANNELS
from touchbase.errors import Fault, Forbidden, Invalid
from touchbase.history.events import COMPANY, CONTACT, StoredEvent
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import Parameters, cursor_text
from touchbase.http.request_body import read_body
from touchbase.http.responses import Response
from touchbase.http.schemas import ChannelOut, DeliveryStateOut, ProblemOut, Time, encode, problems_out
from touchbase.inbox.delivery import GONE_ERASED, GONE_RETENTION, STATES, Delivery
from touchbase.inbox.service import DeliveryFilter, find_delivery, get_delivery, list_deliveries, put_back, replay_delivery

RECORD_KINDS = {CONTACT: "contact", COMPANY: "company"}
_RECORD_KIND = {"enum": list(RECORD_KINDS.values())}
_WHY = {"enum": [GONE_RETENTION, GONE_ERASED]}


class DeliveryOut(Struct):
    """One kept webhook call and where it stands."""

    id: int
    client_id: str
    channel: ChannelOut
    state: DeliveryStateOut
    tool: str | None
    received_at: Time
    applied_at: Time | None
    attempts: int
    repeats: Annotated[int, Meta(description="How often the same bytes arrived again.")]
    error: str | None
    size: int
    verified: Annotated[
        bool | None,
        Meta(description="Whether the call has proved who sends it; false: nobody asked it to; null: kept before that was known."),
    ]
    problems: Annotated[list[ProblemOut], Meta(description="What went wrong with what was applied.")]


class DeliveryPage(Struct):
    """A page of deliveries, newest first; `next_cursor` is null on the last one."""

    data: list[DeliveryOut]
    next_cursor: str | None


class DeliveryEvent(Struct):
    """One event that a delivery caused, and the record it belongs to; neither while nobody knows whose it is."""

    event: str
    occurred_at: Time
    campaign: str | None
    record: Annotated[str, Meta(extra_json_schema=_RECORD_KIND)] | None
    record_id: int | None


class RawBody(Struct):
    """A body byte for byte: as text when it is UTF-8, else in base64."""

    encoding: Literal["utf-8", "base64"]
    content: str


class BodyRemoved(Struct):
    """Why a delivery has no body any more, and since when."""

    why: Annotated[
        str, Meta(extra_json_schema=_WHY, description="`retention`: its time is over. `erased`: it names a person who was erased.")
    ]
    at: Time


class DeliveryDetail(DeliveryOut):
    """One kept webhook call with everything that came, and the events it caused."""

    headers: dict[str, str]
    query: str
    body: Annotated[RawBody | None, Meta(description="null once it was removed: then headers and query are gone too.")]
    body_removed: BodyRemoved | None
    events: list[DeliveryEvent]


def described(delivery: Delivery) -> DeliveryOut:
    """A delivery as it is listed."""
    applied = delivery.applied_us
    return DeliveryOut(
        delivery.id, delivery.client_id, delivery.channel, delivery.state, delivery.tool, to_text(delivery.received_us),
        None if applied is None else to_text(applied), delivery.attempts, delivery.repeats, delivery.error, delivery.size,
        delivery.verified, problems_out(delivery.problems),
    )  # fmt: skip


def _event(event: StoredEvent) -> DeliveryEvent:
    kind = RECORD_KINDS.get(event.record_kind)
    return DeliveryEvent(event.event, to_text(event.occurred_us), event.campaign, kind, event.record_id if kind else None)


def in_detail(delivery: Delivery, events: Sequence[StoredEvent]) -> DeliveryDetail:
    """A delivery as it is shown alone."""
    body = raw_body(delivery.body) if delivery.body_gone is None else None
    caused = [_event(event) for event in events]
    return DeliveryDetail(
        **msgspec.structs.asdict(described(delivery)), headers=delivery.headers, query=delivery.query, body=body,
        body_removed=_removed(delivery), events=caused,
    )  # fmt: skip


def raw_body(body: bytes) -> RawBody:
    """A body as JSON can carry it."""
    try:
        return RawBody("utf-8", body.decode("utf-8"))
    except UnicodeDecodeError:
        return RawBody("base64", b64encode(body).decode("ascii"))


def _removed(delivery: Delivery) -> BodyRemoved | None:
    if delivery.body_gone is None or delivery.body_gone_us is None:
        return None
    return BodyRemoved(delivery.body_gone, to_text(delivery.body_gone_us))


REPLAYS_ONE = "must be empty: this call takes no options; POST /admin/v1/deliveries/replay knows dry_run and filters"


async def deliveries(call: Call) -> Response:
    """`GET` of a page of the inbox."""
    limited = await call.administrator()
    parameters = Parameters(call.query)
    client_id = parameters.text("client")
    channel, state = parameters.choice("channel", CHANNELS), parameters.choice("state", STATES)
    tool, since, limit = parameters.text("tool"), parameters.time("received_since"), parameters.limit()
    problems = parameters.choice("problems", ("true", "false")) == "true"
    before: int | None = parameters.cursor("deliveries", int)
    parameters.faults += no_such_tool(call, tool, "?tool")
    parameters.done(strict=True)
    client = limited if client_id is None else await client_number(call, client_id, limited, "?client")
    page, place = await list_deliveries(call.api.parts.store, DeliveryFilter(client, channel, tool, state, since, problems), limit, before)
    more = None if place is None else cursor_text("deliveries", place)
    return Response(body=encode(DeliveryPage([described(each) for each in page], more)))


def no_such_tool(call: Call, name: str | None, pointer: str) -> list[Fault]:
    """A fault where a filter names a tool that there is not: it would find nothing, and look as if nothing had come."""
    tools = {tool for channel in CHANNELS for tool in call.api.parts.senders.tools(channel)}
    if name is None or not tools or name in tools:
        return []
    return [
        Fault(pointer, "tool_not_found", f"no tool is called {name[:100]!r}; docs/reference/tools.md, or `touchbase tools`, lists them")
    ]


async def client_number(call: Call, client_id: str, limited: int | None, pointer: str) -> int:
    """The number of the client that a filter names; `Forbidden` when this administrator may not ask about it."""
    found = await call.api.clients.find(client_id)
    if limited is not None and (found is None or found.number != limited):
        # Also when there is no such client: a client's id is a secret, and nobody may try out which there are.
        raise Forbidden("this key belongs to another client")
    if found is None:
        raise Invalid([Fault(pointer, "client_not_found", f"there is no client {client_id[:100]!r}")])
    return found.number


async def delivery(call: Call) -> Response:
    """`GET` of one delivery."""
    limited = await call.administrator()
    found, events = await get_delivery(call.api.parts.store, call.id("delivery"), limited)
    return Response(body=encode(in_detail(found, events)))


async def replay(call: Call) -> Response:
    """`POST` that puts a delivery back to be applied again. Whoever asks for more than that must not get just that."""
    limited = await call.administrator()
    await _refuse_options(call)
    found = await find_delivery(call.api.parts.store, call.id("delivery"), limited)
    now = call.api.parts.clock()
    answer = await call.settle(
        lambda writes: replay_delivery(writes, found, now),
        lambda count: Response(202, encode(described(put_back(found) if count else found))),
    )
    call.api.parts.on_stored(found.client)
    return answer


async def _refuse_options(call: Call) -> None:
    Parameters(call.query).done(strict=True)
    limits = call.api.parts.limits
    body = await read_body(call.receive, call.headers, limits.api_body_bytes, limits)
    if body.strip() not in (b"", b"{}"):
        raise Invalid([Fault("", "unexpected", REPLAYS_ONE)])
