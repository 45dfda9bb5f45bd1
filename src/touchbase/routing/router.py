"""The store of an installation with cells: a command or query goes to the store of its client, one about all clients to each store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

from touchbase.cells.models import HOME, HOME_NAME, OPEN, REMOVED
from touchbase.cells.sql import read_directory
from touchbase.deliveries.work import DryRunResult, ProcessingStore, Translate, WorkReport
from touchbase.do_not_contact.models import INSTALLATION
from touchbase.do_not_contact.sql.copies import copy_installation_list, raise_list_revision, read_installation_list
from touchbase.do_not_contact.sql.entries import remove_entry, save_entries
from touchbase.errors import Fault, Invalid, Overloaded, StoreUnavailable, TouchbaseError
from touchbase.idempotency.execute_once import execute_once
from touchbase.objects.bucket import Bucket
from touchbase.routing import names
from touchbase.routing.cell_store import CellStore, OpenStore, refuse_former_kind
from touchbase.routing.names import Placement
from touchbase.sql.cell_answers import AnswerMerge, Division
from touchbase.sql.operation import Command, Query, is_of_all_clients
from touchbase.sql.outage import Outage
from touchbase.sql.store import Vacuumed
from touchbase.sql.unanswered import is_missing

if TYPE_CHECKING:
    from touchbase.storage.postgres.standby import Standby

LOG = logging.getLogger("touchbase.databases")
T = TypeVar("T")
POLL_SECONDS = 0.5
"""How often the directory is read again."""
PAUSE_SECONDS = 5.0
"""Seconds between two attempts while it cannot be read."""
CHECK_ROUNDS = 4
"""Rounds after which each cell is checked, and a closed cell is tried again."""
LIST_CHANGES: frozenset[object] = frozenset({save_entries, remove_entry})
"""Commands that can change the installation's list, of which the cells have copies."""
OnOpened = Callable[[CellStore], Awaitable[None]]


class CellRouter:
    """A store over several. Without cells it is the home store, at the cost of a look at an empty table."""

    def __init__(self, home: ProcessingStore, open_store: OpenStore, bucket: Bucket | None = None) -> None:
        self.home = home
        self.standby: Standby | None = getattr(home, "standby", None)
        """The read database of a home store on PostgreSQL."""
        self.outage = Outage()
        """Outage of the home store."""
        self.placement = Placement()
        self.cells: dict[int, CellStore] = {}
        self.on_opened: OnOpened | None = None
        """Called once for each cell whose store was opened; starts its workers."""
        self.only: frozenset[str] | None = None
        """Names of the databases to open; None: all. Requests that need another one are refused with 503, as while it is down."""
        self.bucket = bucket
        """The object storage for bodies, closed with the stores."""
        self._open_store = open_store
        self._polling: asyncio.Task[None] | None = None
        self._removed: list[CellStore] = []
        self._reading = asyncio.Lock()
        self._looks: dict[int, asyncio.Task[None]] = {}
        """The last attempt to open or to check each cell."""

    async def start(self, *, follow: bool = True) -> None:
        """Read the directory and open the cells. With `follow` changes are followed, and a cell that cannot be opened is tried again.

        Raises `UnusableStore` for a cell that an earlier version has made, of a kind that this one does not serve.
        """
        await self.refresh()
        for cell in self.cells.values():
            refuse_former_kind(cell.cell)
        for cell in list(self.cells.values()):
            await self._open(cell)
        await self.copy_list()
        if not follow:
            return
        self._polling = asyncio.create_task(self._follow(), name="directory of databases")

    async def refresh(self) -> None:
        """Apply changes of the directory."""
        async with self._reading:  # else an earlier answer could be taken over after a later one
            changes = await self.home.read(read_directory(self.placement.revision))
            self.placement.apply(changes)
        for cell in changes.cells:
            cell_store = self.cells.get(cell.number)
            if cell.state == REMOVED:
                if cell_store is not None:
                    # Its workers find nothing there any more; they end, and the store is closed, with the process.
                    self._removed.append(self.cells.pop(cell.number))
            elif cell_store is None:
                self.cells[cell.number] = CellStore(cell)
            else:
                await cell_store.take_over(cell)

    async def _follow(self) -> None:
        is_behind = False
        for turn in range(1, 2**62):
            await asyncio.sleep(PAUSE_SECONDS if is_behind else POLL_SECONDS)
            try:
                await self.refresh()
                await self.copy_list()
                is_behind = False
                self.outage.works("the directory of databases")
            except Overloaded as error:
                self.outage.waits("the directory of databases", error)
                is_behind = True
            except Exception:
                LOG.exception("the directory of databases could not be read; it is tried again")
                is_behind = True
            for number, cell in self.cells.items():
                if (turn % CHECK_ROUNDS == 0 or cell.is_new) and (number not in self._looks or self._looks[number].done()):
                    # In a task of its own: one that does not respond must not delay what is read of the others.
                    self._looks[number] = asyncio.create_task(cell.check() if cell.is_open else self._open(cell))

    async def copy_list(self) -> None:
        """Copy the installation's do-not-contact list into the cells with an earlier version; a cell that is down gets it later."""
        cells = [cell for cell in self.cells.values() if cell.is_open]
        revision = min((cell.list_revision for cell in cells), default=None)
        listed = None if revision is None else await self.home.read(read_installation_list(revision))
        for cell in cells if listed is not None else []:
            if listed is not None and cell.list_revision < listed.revision:
                with suppress(Overloaded):
                    cell.list_revision = await cell.store.write(copy_installation_list(listed))
        latest = max((cell.list_revision for cell in cells), default=0)
        if listed is not None and latest > listed.revision:  # the home store was restored from a backup
            await self.home.write(raise_list_revision(latest))
            await self.copy_list()

    async def _open(self, cell: CellStore) -> None:
        if self.only is not None and cell.cell.name not in self.only:
            return
        try:
            if await cell.open(self._open_store) and self.on_opened is not None:
                await self.on_opened(cell)
        except Exception:
            LOG.exception("database %s could not be taken into use; restart this process", cell.cell.name)

    def store(self, cell: int) -> ProcessingStore:
        """Return the store of a cell. Raises `StoreUnavailable`."""
        if cell == HOME:
            return self.home
        cell_store = self.cells.get(cell)
        if cell_store is None:
            raise StoreUnavailable("the store of this client is not known to this server yet; send this again in a moment", retry_after=1)
        return cell_store.store

    def stores(self) -> dict[int, ProcessingStore]:
        """Return the stores that are open, by the number of their cell."""
        return {HOME: self.home, **{number: cell.store for number, cell in self.cells.items() if cell.is_open}}

    def cell_for_new_client(self, name: str) -> int:
        """Return the cell of this name, or with a blank one the open cell with the fewest clients. Raises `Invalid`, `StoreUnavailable`."""
        if name == HOME_NAME:
            return HOME
        if name:
            cell_store = next((cell for cell in self.cells.values() if cell.cell.name == name), None)
            if cell_store is None:
                names = ", ".join([HOME_NAME, *sorted(cell.cell.name for cell in self.cells.values())])
                raise Invalid([Fault("/database", "unknown_database", f"there is no database {name!r}; there are {names}")])
            return cell_store.cell.number
        counts = self.placement.counts()
        usable = [HOME, *(number for number, cell in self.cells.items() if cell.reason is None and cell.cell.state == OPEN)]
        return min(usable, key=lambda number: (counts.get(number, 0), number))

    def write(self, command: Command[T]) -> Coroutine[Any, Any, T]:
        """Execute one command in the cell of its client."""
        return self._write(command) if self.cells else self.home.write(command)

    async def _write(self, command: Command[T]) -> T:
        inner: Any = command
        if command.operation is execute_once.operation:
            inner = inner.command
        special = names.WRITES.get(type(inner))
        if special is not None:
            return cast(T, await special(self, command, inner))
        division = None if inner is None else inner.operation.divide
        if division is not None:
            parts = division.parts(inner, self.placement.cell_of)
            if len(parts) > 1:
                return cast(T, division.join(inner, {cell: await self.store(cell).write(part) for cell, part in parts.items()}))
        result = await self._store_for(command if inner is None else inner).write(command)
        if inner is not None and type(inner) in LIST_CHANGES and INSTALLATION in inner.operation.clients(inner):
            await self.copy_list()
        return result

    def read(self, query: Query[T]) -> Coroutine[Any, Any, T]:
        """Execute a query in the cell of its client, or in all of them."""
        return self._read(query) if self.cells else self.home.read(query)

    async def _read(self, query: Query[T]) -> T:
        special = names.READS.get(type(query))
        if special is not None:
            return cast(T, await special(self, query))
        merge, division = query.operation.merge, query.operation.divide
        if merge is not None and is_of_all_clients(query):
            answers = await self._ask_all(query, merge)
            answer = merge.join(query, answers)
            if answer is None and merge.needs_all:
                self._refuse_missing(answers)
            return cast(T, answer)
        if division is not None:
            return cast(T, division.join(query, await self._ask_parts(division, query)))
        return await self._store_for(query).read(query)

    async def _ask_parts(self, division: Division, query: Query[Any]) -> dict[int, Any]:
        """Ask each cell its part of a query."""
        parts = division.parts(query, self.placement.cell_of)
        answers: dict[int, Any] = {}
        for cell, part in parts.items():
            try:
                answers[cell] = await self.store(cell).read(part)
            except Overloaded:
                if not division.partial or len(parts) == 1:
                    raise
        return answers

    def _refuse_missing(self, answers: Mapping[int, Any]) -> None:
        """Raise `StoreUnavailable` if a cell did not answer: the record may be there."""
        for number, cell in self.cells.items():
            if number not in answers:
                raise cell.unavailable()

    def _store_for(self, request: Any) -> ProcessingStore:
        """Return the store of the client that a request names; the home store, if it names none."""
        cells = {HOME if client is None else self.placement.cell_of(client) for client in request.operation.clients(request)}
        assert len(cells) <= 1, f"{type(request).__name__} names clients of several cells"
        return self.store(cells.pop() if cells else HOME)

    async def _ask_all(self, query: Query[Any], merge: AnswerMerge) -> dict[int, Any]:
        """Ask all cells at once. A cell without an answer is left out and named, if the caller wants it; else it is an error."""
        in_cell = merge.in_cell or (lambda call, _: call)
        reads = {HOME: self.home.read(in_cell(query, HOME))}
        answers: dict[int, Any] = {}
        for number, cell in list(self.cells.items()):
            if cell.is_open:
                reads[number] = cell.store.read(in_cell(query, number))
            elif not is_missing(cell.cell.name):
                for answer in reads.values():
                    answer.close()
                raise cell.unavailable()
        results = await asyncio.gather(*reads.values(), return_exceptions=True)
        for number, result in zip(reads, results, strict=True):
            if isinstance(result, Overloaded) and number != HOME and is_missing(self.cells[number].cell.name):
                continue
            if isinstance(result, BaseException):
                raise result
            answers[number] = self._without_copies(number, result)
        return answers

    def _without_copies(self, cell: int, answer: Any) -> Any:
        """Leave out rows of clients that live elsewhere, so that no list has a row twice while a client is moved."""
        if not isinstance(answer, list):
            return None if self.placement.is_copy(answer, cell) else answer
        own = [row for row in answer if not self.placement.is_copy(row, cell)]
        if len(own) < len(answer):
            answer[:] = own  # in place: a list that was cut says so itself
        return answer

    async def work(self, client: int, limit: int, translate: Translate, now_us: int) -> WorkReport:
        """Apply waiting deliveries of one client, in its cell."""
        return await self.store(self.placement.cell_of(client)).work(client, limit, translate, now_us)

    async def work_on(self, client: int, ids: Sequence[int], translate: Translate, now_us: int) -> WorkReport:
        """Apply these waiting deliveries of one client, in its cell."""
        return await self.store(self.placement.cell_of(client)).work_on(client, ids, translate, now_us)

    async def dry_run(self, client: int, ids: Sequence[int], translate: Translate, now_us: int) -> DryRunResult:
        """Return the changes that applying these deliveries again would make."""
        return await self.store(self.placement.cell_of(client)).dry_run(client, ids, translate, now_us)

    async def migrate(self) -> list[str]:
        """Bring the home store's schema up to date; `touchbase databases migrate` does the others."""
        return await self.home.migrate()

    async def vacuum(self, *, full: bool = False) -> Vacuumed:
        """Clean the files of the home store."""
        return await self.home.vacuum(full=full)

    async def analyze(self) -> list[str]:
        """Renew statistics of the home store; each cell's workers do the same there."""
        return await self.home.analyze()

    async def check(self) -> None:
        """Raise `Overloaded` unless the home store can write. A cell that is down makes its own clients' requests fail, and no others."""
        await self.home.check()

    async def close(self) -> None:
        """Close all stores."""
        following = [*self._looks.values(), *([] if self._polling is None else [self._polling])]
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
        for cell in (*self.cells.values(), *self._removed):
            with suppress(TouchbaseError):
                await cell.close()
        await self.home.close()
        if self.bucket is not None:
            await self.bucket.close()

    @property
    def warnings(self) -> Sequence[str]:
        """The home store's warnings, a read database that is not used, and the cells that cannot be used."""
        down = [
            f"database {cell.cell.name} cannot be used, its clients get 503: {cell.reason}" for cell in self.cells.values() if cell.reason
        ]
        unread = [] if self.standby is None or self.standby.reason is None else [self.standby.reason]
        return [*self.home.warnings, *(f"the read database is not used, the primary answers: {reason}" for reason in unread), *down]

    @property
    def batch_size_under_load(self) -> int:
        """The largest batch while many requests write."""
        return self.home.batch_size_under_load

    @property
    def blocked_share(self) -> float:
        """The part of the requests that wait for a batch."""
        return self.home.blocked_share

    @property
    def queue_depth(self) -> int:
        """Number of commands that wait for a transaction, in all cells."""
        return sum(store.queue_depth for store in self.stores().values())

    @property
    def commands_taken(self) -> int:
        """Number of commands accepted since the stores were opened."""
        return sum(store.commands_taken for store in self.stores().values())
