"""HTTP resource of refused webhooks, for administrators."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from touchbase.auth import ADMIN
from touchbase.common.timestamps import to_text
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import ChannelOut, Time, encode, fitting, named_enum
from touchbase.inbox.api.deliveries import CHANNEL, CLIENT, INBOX, TOOL, checked_client
from touchbase.inbox.refused import CAUSES, ListRefusals, RefusedWebhook, list_refusals, place_of

LISTING = "refusals"
CAUSE = query.choice("cause", tuple(CAUSES), "Webhooks that were refused for this cause.", member="cause")
_CAUSE = named_enum("RefusalCause", ". ".join(f"`{cause}`: {about}" for cause, about in CAUSES.items()) + ".", tuple(CAUSES))


class RefusalOut(Struct):
    """One refused webhook, or several alike within a second. The body is not stored."""

    received_at: Time
    client_id: Annotated[str, Meta(description="The id in the URL, even if there is no such client.")]
    channel: ChannelOut
    tool: Annotated[str | None, Meta(description="The tool that the webhook resembles, unverified.")]
    cause: Annotated[str, Meta(extra_json_schema=_CAUSE)]
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
    asked = call.parameters()
    before: Any = asked.cursor(LISTING, tuple[int, int])
    client = await checked_client(call, asked, limited)
    parts = call.api.dependencies
    page, following = await list_refusals(parts.store, ListRefusals(asked[LIMIT], client, before=before, **asked.filters))
    data = fitting(map(refusal_out, page), parts.limits.page_bytes)
    if len(data) < len(page):
        following = place_of(page[len(data) - 1])
    cursor = None if following is None else cursor_text(LISTING, following)
    return Response(body=encode(RefusalPage(data, cursor)))  # type: ignore[arg-type]  # encoded items


def refusal_out(one: RefusedWebhook) -> RefusalOut:
    """Return a refused webhook as listed."""
    return RefusalOut(to_text(one.received_us), one.client_id, one.channel, one.tool, one.cause, one.size, one.calls, one.headers)


ROUTES = [
    Route(
        "GET", "/admin/v1/refusals", refusals, scope=ADMIN, operation_id="list_refusals", tag=INBOX,
        summary="List refused webhooks, newest first",
        description="Refused webhooks, each with its cause. Their bodies are not stored; the last 1,000 of each client are listed. "
        "Webhooks to addresses of no client are shown only to keys without a client.",
        query=(*PAGE, CLIENT, TOOL, CHANNEL, CAUSE), success=(Success(200, "A page.", RefusalPage),),
    ),
]  # fmt: skip
