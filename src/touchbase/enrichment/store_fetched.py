"""Keeping a record that we have fetched: a delivery like any other, marked as fetched."""

from __future__ import annotations

import json
from collections.abc import Sequence

from touchbase.common.timestamps import Micros
from touchbase.connections.fetch_state import FETCHED
from touchbase.connections.models import CRM, Connection
from touchbase.history.dedupe_keys import body_key
from touchbase.inbox.commands import StoredDelivery, StoreDelivery
from touchbase.inbox.redaction import without_secrets
from touchbase.sql.store import Store


async def keep_fetched(
    store: Store, connection: Connection, object_type: str, body: bytes, at: Micros, shown: Sequence[str] = ()
) -> StoredDelivery:
    """Keep one record as the tool told it at this time; returns once it is on disk.

    Neither the access token nor what the tool was `shown` in its place ever lies in it.

    The time is part of the key: the same record told again later is news where it does not say when it changed.
    """
    _, _, body = without_secrets(shown or (connection.access_token,), {}, "", body)
    headers = {"content-type": "application/json", FETCHED: object_type}
    command = StoreDelivery(
        client=connection.client,
        channel=CRM,
        key=body_key(CRM, "", f"{FETCHED}: {connection.tool} {object_type} {at}", body),
        headers=json.dumps(headers, separators=(",", ":")).encode(),
        query="",
        body=body,
        received_us=at,
        tool=connection.tool,
        verified=True,
    )
    return await store.write(command)
