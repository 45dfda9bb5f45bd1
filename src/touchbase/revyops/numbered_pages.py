"""Numbered pages of records, read by positions: page 9,000 of a million contacts costs as much as page 1.

After a page the place where the next one begins is remembered for some minutes, so a reader of page after page never
skips records, and none is left out or sent twice when others are deleted in between. Any other page begins at the
nearest remembered place before it, or at the first record, from where an index skips the records between.
The number of records is counted with the first page, and corrected by what later pages show.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from touchbase.clients.models import Client
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.records.models import Record
from touchbase.search.across_clients import Place, SearchFor, counts_across, records_across
from touchbase.search.sorting import Position
from touchbase.search.sql.plans import find_position
from touchbase.sql.store import Store

LONGEST_PAGE = 100
"""Records in one numbered page."""
REMEMBERED: Micros = 600 * SECOND
"""How long the count and the places of a list are remembered after its last page."""
MOST_LISTS = 500
MOST_PLACES = 64
"""Remembered places of one list: the latest."""


@dataclass(frozen=True, slots=True)
class NumberedPage:
    """One page, and how many records there are."""

    records: list[tuple[Client, Record]]
    count: int
    is_cut: bool = False
    """Whether it has fewer records than it should have, because they have too many bytes."""


@dataclass(slots=True)
class _Read:
    """Counts and positions of one list, from the pages read so far."""

    counts: dict[int, int]
    """By number of client, when the first page was read."""
    total: int
    places: OrderedDict[int, Place] = field(default_factory=OrderedDict)
    """By page, where it begins."""
    until_us: Micros = 0

    def begins(self, page: int, place: Place) -> None:
        """Remember where a page begins."""
        self.places[page] = place
        self.places.move_to_end(page)
        if len(self.places) > MOST_PLACES:
            self.places.popitem(last=False)


class PagesRead:
    """Cache of lists that are read by numbered pages, in one process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lists: OrderedDict[Hashable, _Read] = OrderedDict()

    def find(self, key: Hashable) -> _Read | None:
        """Return the cached list, or None."""
        read, now = self._lists.get(key), self._clock()
        if read is None or read.until_us <= now:
            return None
        self.put(key, read)
        return read

    def put(self, key: Hashable, read: _Read) -> None:
        """Cache a list in place of the least recently read."""
        read.until_us = self._clock() + REMEMBERED
        self._lists[key] = read
        self._lists.move_to_end(key)
        if len(self._lists) > MOST_LISTS:
            self._lists.popitem(last=False)


@dataclass(frozen=True, slots=True)
class _PageReader:
    """Reads the pages of one list: the records of some clients, by number of client and then in the order of creation."""

    store: Store
    clients: Sequence[Client]
    search_for: SearchFor
    size: int
    page_bytes: int

    async def counts(self) -> _Read:
        """Count the records."""
        counts = await counts_across(self.store, self.clients, self.search_for)
        return _Read(counts, sum(counts.values()))

    async def records(self, read: _Read, place: Place) -> tuple[list[tuple[Client, Record]], Place | None]:
        """Return the records of the page that begins at a place, and where the next page begins."""
        clients = [
            client for client in self.clients if read.counts.get(client.number) or client.number == place.client or len(self.clients) == 1
        ]
        return await records_across(self.store, clients, self.search_for, place, self.size, page_bytes=self.page_bytes)

    async def place(self, read: _Read, page: int) -> Place | None:
        """Return where a page begins; None if there are fewer records."""
        if page == 1:
            return Place(self.clients[0].number) if self.clients else None
        if page in read.places:
            return read.places[page]
        nearest = max((place for place in read.places if place < page), default=None)
        if nearest is not None:
            begins = read.places[nearest]
            owner = next((client for client in self.clients if client.number == begins.client), None)
            position = None if owner is None else await self._skip(owner, begins.after, (page - nearest) * self.size)
            if position is not None:
                return position
        return await self._from_the_first(read, (page - 1) * self.size)

    async def _from_the_first(self, read: _Read, skip: int) -> Place | None:
        for client in self.clients:
            count = read.counts.get(client.number, 0)
            if skip < count or client is self.clients[-1]:  # of the last client there may be more by now
                return await self._skip(client, None, skip)
            skip -= count
        return None

    async def _skip(self, client: Client, after: Position | None, skip: int) -> Place | None:
        if skip == 0:
            return Place(client.number, after)
        search = self.search_for(client)
        search.after = after
        position = await self.store.read(find_position(client.number, search, skip))
        return None if position is None else Place(client.number, position)


async def read_page(
    store: Store,
    pages: PagesRead,
    key: Hashable,
    clients: Sequence[Client],
    search_for: SearchFor,
    page: int,
    size: int,
    page_bytes: int = 0,
) -> NumberedPage:
    """Return a page of the records that a search finds in these clients, which are in the order of their numbers.

    `key` identifies the list: the caller's clients, the filters and the size of a page. Pages begin at 1.
    """
    reader = _PageReader(store, clients, search_for, size, page_bytes)
    read = pages.find(key) if page > 1 else None
    if read is None:
        read = await reader.counts()
        pages.put(key, read)
    begins = await reader.place(read, page)
    if begins is None:
        return NumberedPage([], read.total)
    records, after = await reader.records(read, begins)
    read.begins(page, begins)
    if after is not None and len(records) < size:
        return NumberedPage(records, read.total, is_cut=True)
    if after is not None:
        read.begins(page + 1, after)
        read.total = max(read.total, page * size + 1)
    elif records or page == 1:
        read.total = (page - 1) * size + len(records)
    return NumberedPage(records, read.total)
