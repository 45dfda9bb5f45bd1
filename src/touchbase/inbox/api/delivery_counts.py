"""HTTP resource of the inbox, for administrators: how many deliveries came, and what became of them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from touchbase.auth.authentication import ADMIN
from touchbase.connections.api import ChannelOut
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import CLIENT
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import encode, example
from touchbase.inbox.api.deliveries import CHANNEL, INBOX, TOOL, DeliveryStateOut, checked_client
from touchbase.inbox.api.delivery_list import only_client
from touchbase.inbox.queries import MOST_COUNTED
from touchbase.inbox.sql.queries import count_states

SINCE = query.time("received_since", "Only deliveries received at this time or later.", member="received_since_us")


class DeliveryCountOut(Struct):
    """Deliveries of one tool in one state."""

    channel: ChannelOut
    tool: str | None
    state: DeliveryStateOut
    count: int


class DeliveryCounts(Struct):
    """Deliveries by channel, tool and state, the most first."""

    data: list[DeliveryCountOut]
    complete: Annotated[bool, Meta(description=f"Whether all were counted; false: only the newest {MOST_COUNTED:,} were.")]


example(
    DeliveryCounts,
    {
        "data": [
            {"channel": "email_campaign", "tool": "smartlead", "state": "applied", "count": 4120},
            {"channel": "crm", "tool": "hubspot", "state": "parked", "count": 3},
        ],
        "complete": True,
    },
)


async def counts(call: Call) -> Response:
    """Handle `GET` of the counts."""
    limited = await call.administrator()
    asked = call.parameters()
    client = await checked_client(call, asked, limited)
    store = call.api.dependencies.store
    if client is None:
        client = await only_client(store)
    found = await store.read(count_states(client, asked[CHANNEL], asked[TOOL], asked[SINCE]))
    rows = [DeliveryCountOut(count.channel, count.tool, count.state, count.count) for count in found.counts]
    return Response(body=encode(DeliveryCounts(rows, found.is_complete)))


ROUTES = [
    Route(
        "GET", "/admin/v1/deliveries/counts", counts, scope=ADMIN, operation_id="count_deliveries", tag=INBOX,
        summary="Count deliveries by tool and state",
        description="Counts the deliveries of one client (`client`, unless there is only one) by channel, tool and state. At most the "
        f"newest {MOST_COUNTED:,} are counted; `complete` says whether these are all.",
        query=(CLIENT, TOOL, CHANNEL, SINCE), success=(Success(200, "The counts.", DeliveryCounts),),
    ),
]  # fmt: skip
