"""The store of one cell, which may be down: it is opened in the background, and requests that need it are refused with 503 until then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

from touchbase.cells.models import Cell
from touchbase.cells.sql import raise_ids
from touchbase.deliveries.work import ProcessingStore
from touchbase.errors import Overloaded, StoreUnavailable, TouchbaseError, UnusableStore
from touchbase.sql.outage import Outage
from touchbase.sql.store import check_in_time
from touchbase.storage import part_of_database

if TYPE_CHECKING:
    from touchbase.storage.postgres.engine import PostgresEngine

LOG = logging.getLogger("touchbase.databases")
RETRY_AFTER = 5
OpenStore = Callable[[str], Awaitable[ProcessingStore]]


def refuse_former_kind(cell: Cell) -> None:
    """Raise `UnusableStore` for a SQLite file or a schema, in which earlier versions let a cell live."""
    if kind := part_of_database(cell.address):
        raise UnusableStore(
            f"database {cell.name} is {kind}, and this version has PostgreSQL databases only: with the version that made it move its "
            f"clients to another one (`touchbase clients move`) and remove it (`touchbase cells remove {cell.name}`), then start this one"
        )


class CellStore:
    """A cell and, once it could be opened, its store."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.is_new = True
        """It was never tried to open it."""
        self.reason: str | None = "it is not open yet"
        """Why it cannot be used; None while it can."""
        self.outage = Outage(f"the database {cell.name}")
        self.list_revision = 0
        """The revision of its copy of the installation's do-not-contact list, as far as this process knows."""
        self._store: ProcessingStore | None = None

    @property
    def store(self) -> ProcessingStore:
        """The open store. Raises `StoreUnavailable`."""
        if self._store is None:
            raise self.unavailable()
        return self._store

    @property
    def is_open(self) -> bool:
        """Whether the store was opened; it may not answer all the same."""
        return self._store is not None

    async def take_over(self, cell: Cell) -> None:
        """Apply a change of the directory; a store that is open goes on at a changed address."""
        is_elsewhere, self.cell = cell.address != self.cell.address, cell
        if is_elsewhere and self._store is not None:
            await cast("PostgresEngine", self._store).use_address(cell.address)  # `refuse_former_kind`
            LOG.info("database %s is used at another address", cell.name)

    def unavailable(self) -> StoreUnavailable:
        """Return the error for a request of a client of this cell."""
        return StoreUnavailable(
            f"the database of this client ({self.cell.name}) cannot be used now; the server's log says why", retry_after=RETRY_AFTER
        )

    async def open(self, open_store: OpenStore) -> bool:
        """Try to open the store; return whether it is open now."""
        self.is_new = False
        try:
            store = await open_store(self.cell.address)
            try:
                await store.write(raise_ids(self.cell.first_id))
            except BaseException:
                await store.close()
                raise
        except (TouchbaseError, OSError, TimeoutError) as error:
            self._note(str(error) or type(error).__name__)
            return False
        self._store = store
        self._note(None)
        LOG.info("database %s is open", self.cell.name)
        return True

    async def check(self) -> None:
        """Find out whether the store can write now."""
        if self._store is None:
            return
        try:
            await check_in_time(self._store)
        except Overloaded as error:
            self._note(error.detail)
        else:
            self._note(None)

    def _note(self, reason: str | None) -> None:
        self.reason = reason
        if reason is None:
            self.outage.works("the database")
        else:
            self.outage.down("the database", reason)

    async def close(self) -> None:
        """Close the store."""
        store, self._store = self._store, None
        if store is not None:
            await asyncio.shield(store.close())
