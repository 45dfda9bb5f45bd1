"""HTTP resource of refused webhooks, for administrators."""

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
from touchbase.inbox.refused import CAUSES, ListRefusals, RefusedWebhook, list_refusals

LISTING = "refusals"


class RefusalOut(Struct):
    """One refused webhook, or several alike within a second. The body is not stored."""

    received_at: Time
    client_id: Annotated[str, Meta(description="The id in the URL, even if there is no such client.")]
    channel: ChannelOut
    tool: Annotated[str | None, Meta(description="The tool that the webhook resembles, unverified.")]
    cause: Annotated[str, Meta(extra_json_schema={"enum": list(CAUSES)})]
    size: Annotated[int, Meta(description="Bytes of the body that were read.")]
    calls: Annotated[int, Meta(description="Number of like webhooks in that second, if more arrived than are listed one by one.")]
    headers: Annotated[
        dict[str, str], Meta(description="Headers that help to find the sender; values of signatures and tokens are hidden.")
    ]


class RefusalPage(Struct):
    """A page of refused webhooks, newest first; `next_cursor` is null on the last one. The last 1,000 of each client are stored."""

    data: list[RefusalOut]
    next_cursor: str | None


async def refusals(call: Call) -> Response:
    """Handle `GET` of a page of refused webhooks; only administrators of all clients see those to unknown clients."""
    limited = await call.administrator()
    parameters = Parameters(call.query)
    client_id, channel = parameters.text("client"), parameters.choice("channel", CHANNELS)
    tool, cause, limit = parameters.text("tool"), parameters.choice("cause", tuple(CAUSES)), parameters.limit()
    before: Any = parameters.cursor(LISTING, tuple[int, int])
    parameters.faults += no_such_tool(call, tool, "?tool")
    parameters.done(strict=True)
    client = limited if client_id is None else await client_number(call, client_id, limited, "?client")
    page, following = await list_refusals(call.api.parts.store, ListRefusals(limit, client, channel, tool, cause, before))
    cursor = None if following is None else cursor_text(LISTING, following)
    return Response(body=encode(RefusalPage([refusal_out(one) for one in page], cursor)))


def refusal_out(one: RefusedWebhook) -> RefusalOut:
    """Return a refused webhook as listed."""
    return RefusalOut(to_text(one.received_us), one.client_id, one.channel, one.tool, one.cause, one.size, one.calls, one.headers)
