"""The administrator's list of refused webhook calls."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from touchbase.common.timestamps import to_text
from touchbase.connections.models import CHANNELS
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import Parameters, cursor_text
from touchbase.http.responses import Response
from touchbase.http.schemas import ChannelOut, Time, encode
from touchbase.inbox.api.deliveries import client_number, no_such_tool
from touchbase.inbox.refused import CAUSES, ListRefusals, RefusedWebhook
from touchbase.inbox.refused_service import list_refusals

LISTING = "refusals"


class RefusalOut(Struct):
    """One refused webhook call, or several alike within a second. Its body was not stored."""

    received_at: Time
    client_id: Annotated[str, Meta(description="The id in the address, also where there is no such client.")]
    channel: ChannelOut
    tool: Annotated[str | None, Meta(description="The tool that the call looks like; it has not proved to be that tool's.")]
    cause: Annotated[str, Meta(extra_json_schema={"enum": list(CAUSES)})]
    size: Annotated[int, Meta(description="Bytes of the body, as far as it was read.")]
    calls: Annotated[int, Meta(description="How many calls alike came in that second, where more came than are listed one by one.")]
    headers: Annotated[
        dict[str, str], Meta(description="Those that help to find the sender; of signatures and tokens only that they came.")
    ]


class RefusalPage(Struct):
    """A page of refused calls, newest first; `next_cursor` is null on the last one. The last 1,000 of each client are stored."""

    data: list[RefusalOut]
    next_cursor: str | None


async def refusals(call: Call) -> Response:
    """`GET` of a page of refused calls; calls to addresses of no client are shown to administrators of all clients only."""
    limited = await call.administrator()
    parameters = Parameters(call.query)
    client_id, channel = parameters.text("client"), parameters.choice("channel", CHANNELS)
    tool, cause, limit = parameters.text("tool"), parameters.choice("cause", tuple(CAUSES)), parameters.limit()
    before: Any = parameters.cursor(LISTING, tuple[int, int])
    parameters.faults += no_such_tool(call, tool, "?tool")
    parameters.done(strict=True)
    client = limited if client_id is None else await client_number(call, client_id, limited, "?client")
    page, place = await list_refusals(call.api.parts.store, ListRefusals(limit, client, channel, tool, cause, before))
    return Response(body=encode(RefusalPage([described(one) for one in page], None if place is None else cursor_text(LISTING, place))))


def described(one: RefusedWebhook) -> RefusalOut:
    """A refused call as it is listed."""
    return RefusalOut(to_text(one.received_us), one.client_id, one.channel, one.tool, one.cause, one.size, one.calls, one.headers)
