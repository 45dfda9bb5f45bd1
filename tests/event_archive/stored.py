"""A file of archived events, without object storage."""

from __future__ import annotations

from touchbase.event_archive.plans import EventFile, begin_event_file, store_event_file
from touchbase.sql.store import Store


async def archive_an_event(store: Store, client: int, at: int) -> None:
    """Store the row of a file with the client's first event."""
    place = f"{client}/events/place"
    await store.write(begin_event_file(client, place, at))
    assert await store.write(store_event_file(client, EventFile(client, 1, 1, at, at, 1, 9, "0f", "[]", f"{place} salt", at), None, 0))
