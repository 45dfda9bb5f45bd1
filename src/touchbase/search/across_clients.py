"""One search over the records of several clients: client by client, each by its own indexes and settings.

Of more than `FEW_CLIENTS` it is found by one statement for all with equal settings which have records that match, and how many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from touchbase.clients.models import Client
from touchbase.records.models import Record
from touchbase.search.queries import RecordSearch
from touchbase.search.service import search_records
from touchbase.search.sorting import Position, position_of
from touchbase.search.sql.plans import clients_with_matches, count_matches, count_matches_of
from touchbase.search.tree import Node
from touchbase.sql.store import Store

FEW_CLIENTS = 50
"""Clients that are searched one by one: the indexes of each find a rare value at once."""
SearchFor = Callable[[Client], RecordSearch[Any]]
"""Returns the search among one client's records: a filter may mean something else by the client's settings."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the records of several clients: a client's number, and the position after which to read; None: from its first record."""

    client: int
    after: Position | None = None


def by_settings(search: SearchFor) -> SearchFor:
    """Return the same search, made once for clients with equal settings: making it for ten thousand takes seconds."""
    searches: dict[bytes, RecordSearch[Any]] = {}

    def search_for(client: Client) -> RecordSearch[Any]:
        key = msgspec.json.encode(client.settings)
        if key not in searches:
            searches[key] = search(client)
        return replace(searches[key], client=client.number)

    return search_for


async def counts_across(store: Store, clients: Sequence[Client], search_for: SearchFor) -> dict[int, int]:
    """Return how many records of each client a search finds; clients without any may be left out."""
    if len(clients) <= FEW_CLIENTS:
        return {client.number: await store.read(count_matches(search_for(client))) for client in clients}
    counts: dict[int, int] = {}
    for search, numbers in _alike(clients, search_for):
        counts |= await store.read(count_matches_of(search, numbers))
    return counts


async def with_matches(store: Store, clients: Sequence[Client], search_for: SearchFor, limit: int) -> Sequence[Client]:
    """Return the clients of which a search finds records, at least the first `limit`."""
    if len(clients) <= FEW_CLIENTS:
        return clients
    numbers: set[int] = set()
    for search, alike in _alike(clients, search_for):
        numbers |= {*await store.read(clients_with_matches(search, alike, limit))}
    return [client for client in clients if client.number in numbers]


def _alike(clients: Sequence[Client], search_for: SearchFor) -> Iterable[tuple[RecordSearch[Any], list[int]]]:
    """Return the clients' numbers by what a search means for them."""
    groups: dict[Node, tuple[RecordSearch[Any], list[int]]] = {}
    for client in clients:
        search = search_for(client)
        groups.setdefault(search.where, (search, []))[1].append(client.number)
    return groups.values()


async def records_across(
    store: Store, clients: Sequence[Client], search_for: SearchFor, place: Place | None, limit: int, *, most: int | None = None,
    page_bytes: int = 0,
) -> tuple[list[tuple[Client, Record]], Place | None]:  # fmt: skip
    """Return up to `limit` records from a place on, and the place of the next ones; None if there are none.

    `clients` are in the order of their numbers. Only `most` of them are searched, and the page ends when its custom fields have
    `page_bytes`, if that is not 0: then it may have fewer records.
    """
    records: list[tuple[Client, Record]] = []
    searched, left = 0, page_bytes
    for client in clients:
        if place is not None and client.number < place.client:
            continue
        if searched == most:
            return records, Place(client.number)
        after = place.after if place is not None and place.client == client.number else None
        search = replace(search_for(client), limit=limit + 1 - len(records), after=after, page_bytes=left)
        page = await search_records(store, search)
        records += [(client, record) for record in page.records]
        searched += 1
        if len(records) > limit:
            owner, last = records[limit - 1]
            return records[:limit], Place(owner.number, position_of(last, search.sort))
        if page_bytes and page.records:
            left -= sum(len(field.value or "") for record in page.records for field in record.custom_fields)
            if page.next is not None or left <= 0:
                return records, Place(client.number, position_of(page.records[-1], search.sort))
    return records, None
