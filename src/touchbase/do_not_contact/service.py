"""Reading a do-not-contact list: which addresses are suppressed, and all its entries in pages."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.commands import ListEntries
from touchbase.do_not_contact.models import Addresses, Entry, Suppressed
from touchbase.do_not_contact.sql.lookup import find_suppressed
from touchbase.sql.store import Store

EXPORT_PAGE = 2_000
"""Entries read at once for an export."""


async def suppressed(store: Store, client: int, items: Sequence[Addresses], now: Micros) -> list[Suppressed | None]:
    """Return for each item why it must not be contacted, or None; one query for all of them."""
    return await store.read(find_suppressed(client, list(items), now))


async def entry_pages(store: Store, query: ListEntries) -> AsyncGenerator[list[Entry], None]:
    """Yield all entries that match the query, in pages of `EXPORT_PAGE`."""
    query = replace(query, limit=EXPORT_PAGE)
    while page := await store.read(query):
        yield page
        if len(page) < query.limit:
            return
        query = replace(query, after=(page[-1].created_us, page[-1].id))
