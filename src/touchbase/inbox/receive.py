"""Receiving a webhook call: keep it byte for byte, so that the sender gets its answer at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from json.encoder import encode_basestring as quoted

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.connections.fetch_state import FETCHED
from touchbase.connections.models import UNPROVEN, Sender
from touchbase.errors import Overloaded
from touchbase.history.dedupe_keys import EVENT_ENDINGS, body_key
from touchbase.inbox.commands import CountRepeat, StoredDelivery, StoreDelivery
from touchbase.inbox.redaction import without_logins, without_secrets
from touchbase.sql.store import Store

# Proofs of who calls, which must not lie in the inbox, our own mark of what we have fetched, and what belongs to the connection only.
NOT_KEPT = frozenset(
    {
        b"authorization", b"proxy-authorization", b"cookie", b"x-api-key",
        FETCHED.encode(),
        b"host", b"connection", b"keep-alive", b"content-length", b"transfer-encoding", b"te", b"expect",
    }
)  # fmt: skip
AT_ONCE = 64 * 1024
LONG_SECRET = 200
"""Bytes of a body, and characters of a secret, that are looked through on the event loop."""


def kept_headers(headers: Iterable[tuple[bytes, bytes]]) -> tuple[dict[str, str], str]:
    """The headers that are kept, names in lower case, and those among them that name the event, as one text."""
    kept: dict[str, str] = {}
    naming: list[str] = []
    for raw, value in headers:
        name = raw.lower()
        if name in NOT_KEPT or name.startswith(b"accept"):
            continue
        text, content = name.decode("latin-1"), value.decode("latin-1")
        kept[text] = f"{kept[text]}, {content}" if text in kept else content
        if name.endswith(EVENT_ENDINGS):
            naming.append(f"{text}: {content}")
    return kept, "\n".join(sorted(naming))


def _as_json(headers: Mapping[str, str]) -> bytes:
    """The headers as JSON: an object of texts has no need of an encoder for everything."""
    return f"{{{','.join([f'{quoted(name)}:{quoted(value)}' for name, value in headers.items()])}}}".encode()


async def receive_webhook(
    store: Store, client: Client, channel: str, headers: Iterable[tuple[bytes, bytes]], *, query: str, body: bytes, at: Micros,
    sender: Sender = UNPROVEN,
) -> StoredDelivery:  # fmt: skip
    """Keep one call; returns once it is on disk, and says whether it repeats one that we had.

    The body is kept as it arrived, `Content-Encoding` not undone; only a secret and a login in it are struck out. Raises
    `Overloaded`: then nothing was kept.
    """
    kept, naming = kept_headers(headers)
    if sender.secrets:
        strike = partial(without_secrets, sender.secrets, kept, query, body)
        is_long = len(body) > AT_ONCE or any(len(secret) > LONG_SECRET for secret in sender.secrets)
        kept, query, body = await asyncio.to_thread(strike) if is_long else strike()
    kept, query, body = without_logins(kept, query, body)
    command = StoreDelivery(
        client=client.number,
        channel=channel,
        key=body_key(channel, query, naming, body),
        headers=_as_json(kept),
        query=query,
        body=body,
        received_us=at,
        tool=sender.tool,
        verified=sender.verified,
    )
    found = await store.write(command)
    if found.is_repeat:
        # A count is no reason to ask the sender for a call that we have.
        with suppress(Overloaded):
            await store.write(CountRepeat(client.number, found.id))
    return found
