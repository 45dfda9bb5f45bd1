"""HTTP resource of the numbers beside the screens: conversations, due tasks, and what needs a person."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.attention.api import items_of
from touchbase.auth.authentication import READ
from touchbase.conversations.api import CLIENT, TAG
from touchbase.conversations.plans import MOST_COUNTED, count_conversations
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import encode, example
from touchbase.tasks.plans import count_due_tasks

BY_CLIENT = query.flag("by_client", "Also the open conversations of each client that has any.")
ATTENTION = query.flag("attention", "Also how much needs a person, which costs as much as the list of it.")


class OpenOfClient(Struct):
    """The open conversations of one client."""

    client_id: str
    open: Annotated[int, Meta(description="With a reply of a person that is not handled, up to 999.")]


class Counters(Struct):
    """Numbers of conversations, due tasks and what needs a person, each up to 999."""

    open: Annotated[int, Meta(description="With a reply of a person that is not handled.")]
    snoozed: Annotated[int, Meta(description="The same, until a time or the next reply.")]
    automatic: Annotated[int, Meta(description="With replies of machines alone.")]
    unassigned: Annotated[int, Meta(description="Open ones on which nobody works.")]
    mine: Annotated[int, Meta(description="Open ones of the person who calls; 0 for a key.")]
    unread: Annotated[int, Meta(description="Open ones that the person who calls has not read; 0 for a key.")]
    tasks_due: Annotated[
        int, Meta(description="Open tasks of the person who calls that are due, or will be today; for a key of all that are due.")
    ]
    attention: Annotated[
        int | UnsetType, Meta(description="With `attention`: what needs a person and is not snoozed, the items of the attention list.")
    ] = UNSET
    clients: Annotated[list[OpenOfClient] | UnsetType, Meta(description="With `by_client`: the clients with open ones.")] = UNSET


example(Counters, {"open": 46, "snoozed": 5, "automatic": 14, "unassigned": 31, "mine": 12, "unread": 4, "tasks_due": 3})


async def get_counters(call: Call) -> Response:
    """Handle `GET` of the numbers."""
    caller, parameters = await call.principal(of_several=True), call.parameters()
    parameters.done()
    clients, user_id = await call.visible(caller, parameters[CLIENT]), "" if caller.user is None else caller.user.id
    counts = await call.api.dependencies.store.read(count_conversations(clients, call.api.dependencies.clock(), user_id))
    now = call.api.dependencies.clock()
    ends = now + 1 if caller.user is None else caller.user.day_ends(now)
    tasks = await call.api.dependencies.store.read(count_due_tasks(clients, user_id or None, ends))
    numbers = asdict(counts)
    by_client = numbers.pop("by_client")
    shown = Counters(**numbers, tasks_due=min(sum(tasks.values()), MOST_COUNTED))
    if parameters[ATTENTION]:
        items = await items_of(call, caller, parameters[CLIENT])
        shown.attention = min(sum(item.snoozed_until_us is None for item in items), MOST_COUNTED)
    if parameters[BY_CLIENT]:
        named = await call.api.clients.of(by_client)
        shown.clients = [OpenOfClient(named[number].client_id, by_client[number]) for number in sorted(by_client.keys() & named.keys())]
    return Response(body=encode(shown))


ROUTES = [
    Route(
        "GET", "/team/v1/counters", get_counters, scope=READ, operation_id="get_counters", tag=TAG, summary="Count conversations",
        description="The numbers of conversations that are open, snoozed and automatic, of due tasks, "
        "and with `attention` of what needs a person.",
        query=(CLIENT, BY_CLIENT, ATTENTION), success=(Success(200, "The numbers.", Counters),), problems=(404,),
    ),
]  # fmt: skip
