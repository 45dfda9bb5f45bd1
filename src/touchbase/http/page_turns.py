"""Pages in the making: how many at once, and how many bytes each may have, so that all of them fit into little memory.

A page of 8 MB takes five times its bytes while it is read and encoded. A single one may have all of them; of several at once each later
one gets half of what is left, at least `LEAST_BYTES`, and ends there with its cursor.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from touchbase.common.fair_quota import FairTurns

PLACES = 12
"""Pages that are made at once in one process; further requests wait for their turn."""
WHOLE_PLACES = 2
"""The same of numbered pages, which may not end early, and of pages that take the history of a record, long before they are cut."""
LEAST_BYTES = 512 * 1024
STREAM_BYTES = 1024 * 1024
"""Bytes of a page of a stream, whose receiver sees no pages."""
UNREAD_SHARE = 4
"""A page gets at most this part of the memory left for responses that their receivers have not read yet."""


def _unlimited() -> int:
    return 2**40


class PageTurns:
    """Gives out the places, fairly between clients, and the bytes; one event loop owns it."""

    def __init__(self) -> None:
        self._turns = {False: FairTurns(PLACES), True: FairTurns(WHOLE_PLACES)}
        self._bytes = 0
        """Of the pages in the making."""
        self.unread_left: Callable[[], int] = _unlimited
        """Returns the bytes of responses that may still wait for their receivers."""

    async def acquire(self, client: int, most: int, *, is_full_page: bool = False) -> int:
        """Wait for a place; return the bytes that the page may have, for a full page the `most` of any page. `release` it with them."""
        await self._turns[is_full_page].acquire(client)
        left = min((2 * most - self._bytes) // 2, self.unread_left() // UNREAD_SHARE)
        size = most if is_full_page else min(most, max(LEAST_BYTES, left))
        self._bytes += size
        return size

    def release(self, client: int, size: int, is_full_page: bool = False) -> None:
        """Return the place of a page that is encoded or abandoned."""
        self._bytes -= size
        self._turns[is_full_page].release(client)

    @asynccontextmanager
    async def place(self, client: int, most: int) -> AsyncIterator[int]:
        """Take a place while a page of a long request is made; yields the bytes that it may have."""
        size = await self.acquire(client, most)
        try:
            yield size
        finally:
            self.release(client, size)
