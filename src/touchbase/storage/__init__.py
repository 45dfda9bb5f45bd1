"""Storage: the engines that keep records, chosen by the scheme of an address."""

from __future__ import annotations

from touchbase.domain.errors import UnusableStore
from touchbase.domain.ports import Store
from touchbase.storage.postgres.engine import PostgresStore
from touchbase.storage.sqlite.engine import SqliteStore

ENGINES = ("postgresql", "sqlite")
QUEUE_LIMIT = 4_096


async def open_store(url: str, *, queue_limit: int = QUEUE_LIMIT, as_is: bool = False) -> Store:
    """Open the store at this address: `sqlite:///file.db`, `sqlite://` (private) or `postgresql://…`.

    Its schema is brought up to date where that is safe by itself: on SQLite, and in an empty PostgreSQL
    database. Another PostgreSQL database with pending migrations is refused. With `as_is` the schema is
    left as found, for `migrate` to be called. `UnusableStore` says what to change.
    """
    scheme = url.partition(":")[0].casefold()
    if scheme == "sqlite":
        return await SqliteStore.open(url, queue_limit=queue_limit, as_is=as_is)
    if scheme in ("postgresql", "postgres"):
        return await PostgresStore.open(url, queue_limit=queue_limit, as_is=as_is)
    raise UnusableStore(f"no storage engine is called '{scheme}'; there are {', '.join(ENGINES)}")
