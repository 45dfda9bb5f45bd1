"""Store deliveries without notifying the inbox worker, as another process would."""

from __future__ import annotations

import asyncio
import json
import time

from fault_tests.journal import Journal
from fault_tests.writers import body_of
from touchbase.clients.sql.clients import ensure_client
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import EMAIL_CAMPAIGN
from touchbase.inbox.sql.commands import store_delivery
from touchbase.stores import open_store

HEADERS = b'{"content-type":"application/json"}'
AT_ONCE = 500


def store_unnotified(database: str, journal: Journal, count: int = 1) -> None:
    """Store `count` deliveries about new people; the journal has them as acknowledged."""
    asyncio.run(_keep(database, journal, [f"waiting{number}@example.com" for number in range(count)]))


async def _keep(database: str, journal: Journal, emails: list[str]) -> None:
    store = await open_store(database)
    try:
        at = time.time_ns() // 1000
        client = await store.write(ensure_client(journal.client, at))
        journal.webhooks |= dict.fromkeys(emails, True)
        bodies = [json.dumps(body_of(email)).encode() for email in emails]
        keys = [body_key(EMAIL_CAMPAIGN, "", "", body) for body in bodies]
        deliveries = [
            store_delivery(client.number, EMAIL_CAMPAIGN, key, HEADERS, "", body, at) for key, body in zip(keys, bodies, strict=True)
        ]
        for first in range(0, len(deliveries), AT_ONCE):
            await asyncio.gather(*(store.write(delivery) for delivery in deliveries[first : first + AT_ONCE]))
    finally:
        await store.close()
