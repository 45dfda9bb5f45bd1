"""Receive a webhook: redact secrets and store it byte for byte, before the response is sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from json.encoder import encode_basestring as quoted

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.connections.fetch_state import FETCHED
from touchbase.connections.models import UNPROVEN, Sender
from touchbase.errors import Overloaded
from touchbase.history.dedupe_keys import EVENT_ENDINGS, body_key
from touchbase.inbox.redaction import needs_process, redact
from touchbase.inbox.sql.commands import StoredDelivery, count_repeat, store_delivery
from touchbase.sandbox.pool import Sandbox
from touchbase.sandbox.task import Task
from touchbase.sql.store import Store

# Credentials, the mark of fetched records, and headers of the transport only.
UNSTORED_HEADERS = frozenset(
    {
        b"authorization", b"proxy-authorization", b"cookie", b"x-api-key",
        FETCHED.encode(),
        b"host", b"connection", b"keep-alive", b"content-length", b"transfer-encoding", b"te", b"expect",
    }
)  # fmt: skip
REDACT: Task[[Sequence[str], dict[str, str], str, bytes], tuple[dict[str, str], str, bytes]] = Task("touchbase.inbox.redaction:redact")
"""For bodies that are not small. Its process gets the secrets; they are in no other."""


def stored_headers(headers: Iterable[tuple[bytes, bytes]]) -> tuple[dict[str, str], str]:
    """Return the headers to store, names in lower case, and those among them that name the event, as one text."""
    stored: dict[str, str] = {}
    naming: list[str] = []
    for raw, value in headers:
        name = raw.lower()
        if name in UNSTORED_HEADERS or name.startswith(b"accept"):
            continue
        text, content = name.decode("latin-1"), value.decode("latin-1")
        stored[text] = f"{stored[text]}, {content}" if text in stored else content
        if name.endswith(EVENT_ENDINGS):
            naming.append(f"{text}: {content}")
    return stored, "\n".join(sorted(naming))


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
    found = await store.write(command)
    if found.is_repeat:
        # The webhook is stored; a count that fails is no reason to have it sent again.
        with suppress(Overloaded):
            await store.write(count_repeat(client.number, found.id))
    return found
