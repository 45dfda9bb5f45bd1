"""HTTP resources of deliveries, for administrators: read and replay one. `delivery_list.py` lists and searches them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from touchbase.auth.authentication import ADMIN
from touchbase.common.timestamps import to_text, to_text_or_none
from touchbase.connections.api import TOOLS, ChannelOut
from touchbase.deliveries.delivery import REMOVED_BY_ERASURE, REMOVED_BY_RETENTION, REMOVED_UNSEARCHABLE, STATES, Delivery
from touchbase.deliveries.work import ProcessingStore
from touchbase.errors import Fault
from touchbase.history.events import CHANNELS, COMPANY, CONTACT, StoredEvent
from touchbase.http import query_parameters as query
from touchbase.http.dependencies import AppKey
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import CLIENT, Parameters
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import ProblemOut, Time, encode, named_enum, problems_out
from touchbase.inbox.service import MOST_EVENTS, as_replayed, find_delivery, get_delivery, replay_delivery
from touchbase.inbox.worker import Read

READ: AppKey[Read] = AppKey()
"""Translates a webhook with the adapters, for dry runs and erasure."""
PROCESSING: AppKey[ProcessingStore] = AppKey()
"""The store, which also applies deliveries."""
RECORD_KINDS = {CONTACT: "contact", COMPANY: "company"}
_RECORD_KIND = named_enum("RecordKind", "The kind of record.", tuple(RECORD_KINDS.values()))
_WHY = named_enum(
    "BodyRemovalReason",
    "Why a body was removed: retention, the erasure of a person in the webhook, or an erasure that could not search the body.",
    (REMOVED_BY_RETENTION, REMOVED_BY_ERASURE, REMOVED_UNSEARCHABLE),
)
named_enum("BodyEncoding", "The encoding of a body: text, or base64 if it is not UTF-8.", ("utf-8", "base64"))

DeliveryStateOut = Annotated[str, Meta(extra_json_schema=named_enum("DeliveryState", "The state of a received webhook.", STATES))]


class DeliveryOut(Struct):
    """One stored webhook and its state."""

    id: int
    client_id: str
    channel: ChannelOut
    state: DeliveryStateOut
    tool: str | None
    received_at: Time
    applied_at: Time | None
    attempts: int
    repeats: Annotated[int, Meta(description="Number of repeats with the same bytes.")]
    error: str | None
    size: int
    verified: Annotated[
        bool | None,
        Meta(description="Whether its signature or secret was right; false: none was required; null: stored before they were."),
    ]
    problems: Annotated[list[ProblemOut], Meta(description="Problems of what was applied.")]


class DeliveryEvent(Struct):
    """One event that a delivery caused, and its record; null while the record is unknown."""

    event: str
    occurred_at: Time
    campaign: str | None
    status: Annotated[str | None, Meta(description="The status that it asks for: the tool's word, or the client's word for it.")]
    record: Annotated[str, Meta(extra_json_schema=_RECORD_KIND)] | None
    record_id: int | None


class RawBody(Struct):
    """A body byte for byte: as text when it is UTF-8, else in base64."""

    encoding: Literal["utf-8", "base64"]
    content: str


class BodyRemoved(Struct):
    """Why and when a delivery's body was removed."""

    why: Annotated[
        str, Meta(extra_json_schema=_WHY, description="`retention`: past the retention period. `erased`: a person in it was erased.")
    ]
    at: Time


class DeliveryDetail(DeliveryOut):
    """One stored webhook with headers, query and body, and the events it caused."""

    headers: dict[str, str]
    query: str
    body: Annotated[RawBody | None, Meta(description="null once it was removed; headers and query are then empty.")]
    body_removed: BodyRemoved | None
    events: list[DeliveryEvent]
    more_events: Annotated[bool, Meta(description=f"Whether it caused more than {MOST_EVENTS:,} events; `events` are the first ones.")]


def delivery_out(delivery: Delivery) -> DeliveryOut:
    """Return a delivery as listed."""
    applied = delivery.applied_us
    return DeliveryOut(
        delivery.id, delivery.client_id, delivery.channel, delivery.state, delivery.tool, to_text(delivery.received_us),
        to_text_or_none(applied), delivery.attempts, delivery.repeats, delivery.error, delivery.size,
        delivery.verified, problems_out(delivery.problems),
    )  # fmt: skip


def _event(event: StoredEvent) -> DeliveryEvent:
    kind = RECORD_KINDS.get(event.record_kind)
    return DeliveryEvent(event.event, to_text(event.occurred_us), event.campaign, event.status, kind, event.record_id if kind else None)


def delivery_detail(delivery: Delivery, events: Sequence[StoredEvent]) -> DeliveryDetail:
    """Return a delivery with its content and events."""
    body = raw_body(delivery.body) if delivery.body_removed is None else None
    caused = [_event(event) for event in events[:MOST_EVENTS]]
    return DeliveryDetail(
        **msgspec.structs.asdict(delivery_out(delivery)), headers=delivery.headers, query=delivery.query, body=body,
        body_removed=_removed(delivery), events=caused, more_events=len(events) > MOST_EVENTS,
    )  # fmt: skip


def raw_body(body: bytes) -> RawBody:
    """Return a body as JSON: UTF-8 text, or base64."""
    try:
        return RawBody("utf-8", body.decode("utf-8"))
    except UnicodeDecodeError:
        return RawBody("base64", b64encode(body).decode("ascii"))


def _removed(delivery: Delivery) -> BodyRemoved | None:
    if delivery.body_removed is None or delivery.body_removed_us is None:
        return None
    return BodyRemoved(delivery.body_removed, to_text(delivery.body_removed_us))


TOOL = query.text("tool", "Only of this tool.", member="tool")
CHANNEL = query.choice("channel", CHANNELS, "Only on this channel.", member="channel")
STATE = query.choice("state", STATES, "Deliveries in this state.", member="state")


async def checked_client(call: Call, parameters: Parameters, limited: int | None) -> int | None:
    """Return the number of the client to filter by, None for all. Raises `Invalid` with all faults, and `Forbidden`."""
    parameters.faults += no_such_tool(call, parameters[TOOL], "?tool")
    parameters.done()
    client_id = parameters[CLIENT]
    return limited if client_id is None else await call.client_number(client_id, limited, "?client")


def no_such_tool(call: Call, name: str | None, pointer: str) -> list[Fault]:
    """Return a fault for a filter by an unknown tool: an empty page would suggest that no webhook had been received."""
    tools = {tool for channel in CHANNELS for tool in call.api[TOOLS].tools(channel)}
    if name is None or not tools or name in tools:
        return []
    return [
        Fault(pointer, "tool_not_found", f"no tool is called {name[:100]!r}; docs/reference/tools.md, or `touchbase tools`, lists them")
    ]


async def delivery(call: Call) -> Response:
    """Handle `GET` of one delivery."""
    limited = await call.administrator()
    delivery_row, events = await get_delivery(call.api.dependencies.store, call.id("delivery"), limited)
    if delivery_row.body_removed is None:
        await call.record("body.read", "delivery", delivery_row.id, delivery_row.client)
    return Response(body=encode(delivery_detail(delivery_row, events)))


async def replay(call: Call) -> Response:
    """Handle `POST` that replays a delivery."""
    limited = await call.administrator()
    delivery = await find_delivery(call.api.dependencies.store, call.id("delivery"), limited)
    now = call.api.dependencies.clock()
    response = await call.write_and_respond(
        lambda writes: replay_delivery(writes, delivery, now),
        lambda count: Response(202, encode(delivery_out(as_replayed(delivery) if count else delivery))),
    )
    call.api.dependencies.on_stored(delivery.client)
    return response


INBOX = Tag("Inbox", "The received webhooks (deliveries), and how to apply them again.")
ROUTES = [
    Route(
        "GET", "/admin/v1/deliveries/{id}", delivery, scope=ADMIN, operation_id="get_delivery", tag=INBOX,
        summary="Get one delivery with its body",
        description="Returns the delivery with its headers, query, body and the events that it caused.",
        success=(Success(200, "The delivery.", DeliveryDetail),),
    ),
    Route(
        "POST", "/admin/v1/deliveries/{id}/replay", replay, scope=ADMIN, operation_id="replay_delivery", tag=INBOX,
        summary="Apply one delivery again",
        description="Queues one delivery to be applied again. Known events change nothing. It has no body and no options.",
        success=(Success(202, "It waits to be applied.", DeliveryOut),),
    ),
]  # fmt: skip
