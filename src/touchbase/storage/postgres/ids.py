"""Ids for concurrent batches: each batch gets its own part of the process's blocks before it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

import asyncpg

from touchbase.errors import TouchbaseError
from touchbase.sql.ids import Ids
from touchbase.storage.batch import reserve
from touchbase.storage.postgres.connection import UNUSABLE, ReconnectingConnection, close_if_unusable, run

LOG = logging.getLogger("touchbase.storage")

RETURN_SECONDS = 2.0
"""Seconds that a stop waits for the return of unused ids: another process may hold the lock of their rows."""


class SharedIds:
    """The blocks of this process. Ids that a batch got and did not use are skipped.

    Blocks are reserved on a separate connection, because a rollback of the batch that needs them must not
    free the ids again.
    """

    def __init__(self, connection: ReconnectingConnection) -> None:
        self._connection = connection
        self._left = Ids()
        self._reserving = asyncio.Lock()

    async def cut(self, needs: Mapping[str, int]) -> Ids:
        """Split off as many ids as needed of each name."""
        if self._left.missing(needs):
            async with self._reserving:
                while short := self._left.missing(needs):  # a loop, as another batch may take ids while we wait
                    for name, count in short.items():
                        self._left.fill(name, await self._reserve(name, count), count)
                return self._left.cut(needs)
        return self._left.cut(needs)

    def use_address(self, url: str) -> None:
        """Reserve blocks at this address; those that are left stay this process's own."""
        self._connection.use_address(url)

    async def _reserve(self, name: str, count: int) -> int:
        connection = await self._connection.connection()
        try:
            return await run(connection, reserve(name, count, self._left.give_up(name)))
        except Exception as error:
            close_if_unusable(connection, error)
            raise

    async def close(self) -> None:
        """Return unused parts of the blocks, and close the connection."""
        try:
            async with asyncio.timeout(RETURN_SECONDS):
                for name in self._left.names():
                    await self._reserve(name, 0)
        except (TouchbaseError, asyncpg.PostgresError, *UNUSABLE) as error:  # a timeout is an OSError
            LOG.warning("ids that were reserved and not used are skipped: %s", error)
        finally:
            await self._connection.close()
