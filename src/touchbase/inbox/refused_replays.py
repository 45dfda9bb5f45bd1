"""Replay of refused webhooks, once their secret is right."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros, to_text
from touchbase.connections.models import Connection, Sender
from touchbase.errors import WrongState
from touchbase.inbox.receive import receive_webhook
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
