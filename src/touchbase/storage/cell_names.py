"""The names of the cells of a home store, read without its encryption key: for commands that are about one store, and say so."""

from __future__ import annotations

from contextlib import closing

import apsw
import asyncpg

from touchbase.storage.postgres.connection import UNUSABLE, connect
from touchbase.storage.sqlite.connection import open_reader, path_of

_NAMES = "SELECT name FROM cell WHERE state <> 'removed' ORDER BY number"


async def cell_names(url: str) -> list[str]:
    """Return the names of the cells that the store at this address has; none of a store that cannot be read, or of an older version."""
    try:
        if not url.startswith("sqlite:"):
            server = await connect(url)
            try:
                return [str(row["name"]) for row in await server.fetch(_NAMES)]
            finally:
                await server.close()
        path = path_of(url)
        if path is None:
            return []
        with closing(open_reader(path)) as reader:
            return [str(name) for (name,) in reader.execute(_NAMES)]
    except (ValueError, apsw.Error, asyncpg.PostgresError, *UNUSABLE):
        return []
