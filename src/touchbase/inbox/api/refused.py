"""HTTP resource of refused webhooks, for administrators."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from touchbase.auth.authentication import ADMIN
from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros, to_text, to_text_or_none
from touchbase.connections.api import CONNECTIONS, ChannelOut
from touchbase.connections.models import Connection, Sender
from touchbase.errors import WrongState
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call, author_of
from touchbase.http.query_parameters import CLIENT, LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import MaybeTime, PageOf, Time, encode, fitting, named_enum
from touchbase.inbox.api.deliveries import CHANNEL, INBOX, TOOL, RawBody, checked_client, no_such_tool, raw_body
from touchbase.inbox.queries import RefusedWebhook
from touchbase.inbox.receive import receive_webhook
from touchbase.inbox.refused import CAUSES, page_of_refusals, place_of
from touchbase.inbox.refused_bodies import RefusedBody, no_such_body
from touchbase.inbox.sql import refused_bodies as sql_refused_bodies
from touchbase.inbox.sql.commands import StoredDelivery
from touchbase.inbox.sql.refused_bodies import note_replay
from touchbase.sandbox.pool import Sandbox
from touchbase.sandbox.task import TaskStopped
from touchbase.sql.store import Store

LOG = logging.getLogger("touchbase.refusals")


async def get_refused_body(store: Store, client: int, digest: str) -> RefusedBody:
    """Return one refused webhook with its body. `NotFound`."""
    refused_body = await store.read(sql_refused_bodies.get_refused_body(client, digest))
    if refused_body is None:
        raise no_such_body(digest)
    return refused_body


async def replay_refused(
    store: Store, client: Client, digest: str, connections: Sequence[Connection], by: str, at: Micros, sandbox: Sandbox,
    tool: str | None = None,
) -> StoredDelivery:  # fmt: skip
    """Receive a refused webhook as if it had proved its sender; `by` vouches for it. `NotFound`, and `WrongState` if it was replayed."""
    refused = await get_refused_body(store, client.number, digest)
    if refused.content is None:
        when = to_text(refused.replayed_us or 0)
        raise WrongState(f"{refused.replayed_by} replayed this webhook at {when}: it is delivery {refused.delivery_id}")
    secrets = tuple(secret for connection in connections if connection.channel == refused.channel for secret in connection.secrets)
    chosen = tool or refused.tool
    sender = Sender(chosen, verified=True, secrets=secrets)
    try:
        stored = await receive_webhook(
            store, client, refused.channel, _raw(refused.content.headers), query=refused.content.query, body=refused.content.body,
            at=refused.first_us, sandbox=sandbox, sender=sender,
        )  # fmt: skip
    except TaskStopped as stopped:
        raise WrongState(f"the body could not be searched for secrets: {stopped.why}; nothing was stored") from None
    await store.write(note_replay(client.number, digest, at, by, stored.id))
    LOG.info("%s replayed the refused webhook %s of client %s as delivery %d", by, digest, client.client_id, stored.id)
    return stored


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in headers.items()]


LISTING = "refusals"
_PATH = "/admin/v1/clients/{client_id}/refused-webhooks/{refused_id}"
CAUSE = query.choice("cause", tuple(CAUSES), "Webhooks that were refused for this cause.", member="cause")
_CAUSE = named_enum("RefusalCause", ". ".join(f"`{cause}`: {about}" for cause, about in CAUSES.items()) + ".", tuple(CAUSES))


class RefusalOut(Struct):
    """One refused webhook, or several alike within a second."""

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
    body_id: Annotated[
        str | None, Meta(description="The id of its body, which is stored encrypted for some days; equal webhooks have the same one.")
    ]


class RefusedWebhookOut(Struct):
    """A refused webhook with its headers, query and body; headers and parameters in which a secret is sent are left out."""

    id: str
    client_id: str
    channel: ChannelOut
    tool: Annotated[str | None, Meta(description="The tool that the webhook resembles, unverified.")]
    first_received_at: Time
    last_received_at: Time
    calls: Annotated[int, Meta(description="How often it arrived.")]
    size: int
    headers: dict[str, str]
    query: str
    body: Annotated[RawBody | None, Meta(description="null once it was replayed: then its delivery has it.")]
    replayed_at: Annotated[MaybeTime, Meta(description="When it was replayed; null: it was not.")]
    replayed_by: Annotated[str | None, Meta(description="The API key that replayed it, or the command line.")]
    delivery_id: Annotated[int | None, Meta(description="The delivery that the replay made.")]


class RefusedReplay(Struct):
    """The delivery that a refused webhook became; it waits to be applied."""

    delivery_id: int
    is_repeat: Annotated[bool, Meta(description="Whether the same webhook had been received already.")]


class RefusalPage(PageOf[RefusalOut]):
    """A page of refused webhooks, newest first; `next_cursor` is null on the last one. The last 1,000 of each client are stored."""


async def refusals(call: Call) -> Response:
    """Handle `GET` of a page of refused webhooks; webhooks to unknown clients only for administrators of all clients."""
    limited = await call.administrator()
    parameters = call.parameters()
    before: Any = parameters.cursor(LISTING, tuple[int, int])
    client = await checked_client(call, parameters, limited)
    parts = call.api.dependencies
    page_bytes = await call.page_bytes()
    page, following = await page_of_refusals(parts.store, parameters[LIMIT], client, before=before, **parameters.filters)
    data = fitting(map(refusal_out, page), page_bytes)
    if len(data) < len(page):
        following = place_of(page[len(data) - 1])
    cursor = None if following is None else cursor_text(LISTING, following)
    return Response(body=encode(RefusalPage(data, cursor)))  # type: ignore[arg-type]  # encoded items


def refusal_out(refusal: RefusedWebhook) -> RefusalOut:
    """Return a refused webhook as listed."""
    return RefusalOut(
        to_text(refusal.received_us),
        refusal.client_id,
        refusal.channel,
        refusal.tool,
        refusal.cause,
        refusal.size,
        refusal.calls,
        refusal.headers,
        refusal.body,
    )


def refused_out(body: RefusedBody, client_id: str) -> RefusedWebhookOut:
    """Return a refused webhook with its body."""
    content, replayed = body.content, body.replayed_us
    return RefusedWebhookOut(
        body.digest, client_id, body.channel, body.tool, to_text(body.first_us), to_text(body.received_us), body.calls, body.size,
        content.headers if content else {}, content.query if content else "", raw_body(content.body) if content else None,
        to_text_or_none(replayed), body.replayed_by, body.delivery_id,
    )  # fmt: skip


async def refused_webhook(call: Call) -> Response:
    """Handle `GET` of one refused webhook with its body."""
    client = await call.client_in_path()
    call.parameters().done()
    refused_body = await get_refused_body(call.api.dependencies.store, client.number, call.path("refused_id"))
    await call.record("body.read", "refused_webhook", refused_body.digest, client.number)
    return Response(body=encode(refused_out(refused_body, client.client_id)))


async def replay_refused_webhook(call: Call) -> Response:
    """Handle `POST` that replays a refused webhook."""
    client, parts = await call.client_in_path(), call.api.dependencies
    parameters = call.parameters()
    parameters.faults += no_such_tool(call, parameters[TOOL], "?tool")
    parameters.done()
    connections, now = await call.api[CONNECTIONS].of(client.number), parts.clock()
    author = author_of(call.scope).key_id
    by = "an administrator without a key" if author is None else f"API key {author}"
    stored = await replay_refused(parts.store, client, call.path("refused_id"), connections, by, now, parts.sandbox, parameters[TOOL])
    parts.on_stored(client.number)
    return Response(202, encode(RefusedReplay(stored.id, stored.is_repeat)))


ROUTES = [
    Route(
        "GET", "/admin/v1/refusals", refusals, scope=ADMIN, operation_id="list_refusals", tag=INBOX,
        summary="List refused webhooks, newest first",
        description="Refused webhooks, each with its cause; the last 1,000 of each client are listed. The body of one whose "
        "signature or secret was missing or wrong is stored for some days, and can be replayed. "
        "Webhooks to addresses of no client are shown only to keys without a client.",
        query=(*PAGE, CLIENT, TOOL, CHANNEL, CAUSE), success=(Success(200, "A page.", RefusalPage),),
    ),
    Route(
        "GET", f"{_PATH}", refused_webhook, scope=ADMIN, operation_id="get_refused_webhook", tag=INBOX,
        summary="Get one refused webhook with its body",
        description="Returns what was received, by the `body_id` of the list. Headers and parameters with secrets are left out.",
        success=(Success(200, "The webhook.", RefusedWebhookOut),), problems=(404,),
    ),
    Route(
        "POST", f"{_PATH}/replay", replay_refused_webhook, scope=ADMIN, operation_id="replay_refused_webhook", tag=INBOX,
        summary="Receive a refused webhook after all",
        description="Stores the webhook as a delivery, at the time of its first call. Its proof is not checked again: the request vouches "
        "for it, and is recorded. `tool` says whose it is, if it does not look like it.",
        query=(TOOL,), success=(Success(202, "It waits to be applied.", RefusedReplay),), problems=(404, 409),
    ),
]  # fmt: skip
