"""Ids for several groups in flight: each group gets its own piece of the process's blocks before it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from touchbase.sql.ids import Ids
from touchbase.storage.batch import reserve
from touchbase.storage.postgres.connection import ReconnectingConnection, give_up_reader, run


class SharedIds:
    """The blocks of this process. What a group was given and did not take is given up, never given again.

    Blocks are reserved on a connection of their own, because a roll-back of the group that wants them
    must not give the ids out again.
    """

    def __init__(self, line: ReconnectingConnection) -> None:
        self._line = line
        self._left = Ids()
        self._reserving = asyncio.Lock()

    async def cut(self, needs: Mapping[str, int]) -> Ids:
        """A piece with as many ids as needed of each name."""
        if self._left.missing(needs):
            async with self._reserving:
                while short := self._left.missing(needs):  # again, as another group may cut while we wait
                    for name, count in short.items():
                        self._left.fill(name, await self._reserved(name, count), count)
                return self._left.cut(needs)
        return self._left.cut(needs)

    async def _reserved(self, name: str, count: int) -> int:
        connection = await self._line.connection()
        try:
            return await run(connection, reserve(name, count))
        except Exception as error:
            give_up_reader(connection, error)
            raise

    async def close(self) -> None:
        """Let go of the connection."""
        await self._line.close()
