"""Receive a webhook: redact secrets and store it byte for byte, before the response is sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from json.encoder import encode_basestring as quoted

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.connections.models import UNPROVEN, Sender
from touchbase.errors import Overloaded
from touchbase.history.dedupe_keys import body_key
from touchbase.inbox.redaction import needs_process, redact, stored_headers
from touchbase.inbox.sql.commands import StoredDelivery, count_repeat, store_delivery
from touchbase.sandbox.pool import Sandbox
from touchbase.sandbox.task import Task
from touchbase.sql.store import Store

REDACT: Task[[Sequence[str], dict[str, str], str, bytes], tuple[dict[str, str], str, bytes]] = Task("touchbase.inbox.redaction:redact")
"""For bodies that are not small. Its process gets the secrets; they are in no other."""


def _as_json(headers: Mapping[str, str]) -> bytes:
    """Encode the headers as JSON; faster than a general encoder."""
    return f"{{{','.join([f'{quoted(name)}:{quoted(value)}' for name, value in headers.items()])}}}".encode()


async def receive_webhook(
    store: Store, client: Client, channel: str, headers: Iterable[tuple[bytes, bytes]], *, query: str, body: bytes, at: Micros,
    sandbox: Sandbox, sender: Sender = UNPROVEN, trace: str | None = None,
) -> StoredDelivery:  # fmt: skip
    """Store one webhook and return when it is durable; the result says whether it is a repeat.

    The body is stored as received, still compressed; only secrets and logins in it are redacted. `trace`: the span to store
    with it. Raises `Overloaded`, and `TaskStopped` if the redaction exceeds its budget: then nothing was stored.
    """
    stored, naming = stored_headers(headers)
    if needs_process(sender.secrets, stored, body):
        stored, query, body = await sandbox.call(REDACT, sender.secrets, stored, query, body)
    else:
        stored, query, body = redact(sender.secrets, stored, query, body)
    command = store_delivery(
        client=client.number,
        channel=channel,
        key=body_key(channel, query, naming, body),
        headers=_as_json(stored),
        query=query,
        body=body,
        received_us=at,
        tool=sender.tool,
        verified=sender.verified,
        trace=trace,
    )
    delivery = await store.write(command)
    if delivery.is_repeat:
        # The webhook is stored; a count that fails is no reason to have it sent again.
        with suppress(Overloaded):
            await store.write(count_repeat(client.number, delivery.id))
    return delivery
