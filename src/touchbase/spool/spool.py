"""Spool webhooks, and receive them once their store can be used again."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from touchbase.common.cipher import Cipher
from touchbase.common.seldom import Seldom
from touchbase.common.threads import on_thread
from touchbase.errors import Overloaded, StoreUnavailable
from touchbase.metrics import SPOOLED, Metrics
from touchbase.spool.counting import FAILED, SpoolCounter, SpoolCounts
from touchbase.spool.files import SpoolFiles, TakenFile
from touchbase.spool.models import SpooledWebhook, from_bytes, to_bytes
from touchbase.sql.worker import Worker

MAX_CLIENTS = 100_000
"""Ids in the file; above, the older half goes."""
HASH_LENGTH = 32
"""Hexadecimal digits of a hash in the file."""


class KnownClients:
    """Ids of clients with stored webhooks, in a file next to the spool: so they are known after a restart without the store.

    The file has hashes, one a line, because a client's id is as good as a password for webhooks. Before any is stored, all ids
    count as known.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names = set[str]()
        """Ids that this process has added, so that adding costs a look-up."""
        self._hashes: dict[str, None] = {}
        self._size = 0
        """Bytes of the file when it was read."""
        self._unsaved: list[str] = []
        self._read()

    def add(self, client_id: str) -> None:
        """Remember an id; the caller saves it later."""
        if client_id in self._names:
            return
        if len(self._names) >= MAX_CLIENTS:
            self._names.clear()
        self._names.add(client_id)
        name = _hash(client_id)
        if name not in self._hashes:
            self._hashes[name] = None
            self._unsaved.append(name)

    def has(self, client_id: str) -> bool:
        """Return whether a webhook of this client was stored, by any process that uses this folder."""
        name = _hash(client_id)
        if name not in self._hashes:
            self._read()
        return name in self._hashes or not self._hashes

    @property
    def has_unsaved(self) -> bool:
        """Whether ids were added that the file does not have."""
        return bool(self._unsaved)

    def save(self) -> None:
        """Append the new ids to the file; it blocks. Raises `OSError`, and then it can be called again."""
        new, self._unsaved = self._unsaved, []
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            is_full = len(self._hashes) > MAX_CLIENTS
            if is_full:
                self._hashes = dict.fromkeys(list(self._hashes)[-MAX_CLIENTS // 2 :])
            written = self._path.with_suffix(".part") if is_full else self._path
            descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if is_full else os.O_APPEND), 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.writelines(f"{name}\n" for name in (self._hashes if is_full else new))
            if is_full:
                written.replace(self._path)
        except OSError:
            self._unsaved = [*new, *self._unsaved]
            raise

    def _read(self) -> None:
        """Add the ids that other processes have saved since the last reading."""
        with suppress(OSError):
            size = self._path.stat().st_size
            if size != self._size:
                lines = self._path.read_text(encoding="ascii", errors="replace").splitlines()
                self._hashes |= dict.fromkeys(line for line in lines if len(line) == HASH_LENGTH)
                self._size = size


def _hash(client_id: str) -> str:
    return sha256(client_id.encode()).hexdigest()[:HASH_LENGTH]


LOG = logging.getLogger("touchbase.spool")
FULL = "neither the store nor the spool can be used now"
UNKNOWN = "-unknown"
"""Ending of the folder of a cell's webhooks whose client is not known."""
UNKNOWN_SHARE = 10
"""Such webhooks may take one part in so many of the spool, all together: anyone can send them."""
SET_ASIDE_DAYS = 30
"""After so many days, webhooks and damaged files that were set aside are removed."""
REMOVE_EVERY = 3600.0
"""Seconds between two searches for them."""
Receives = Callable[[SpooledWebhook], Awaitable[None]]
"""Receives a webhook again. Raises `Overloaded` if its store still cannot be used; other refusals are recorded and final."""


class Spool(Worker):
    """The spool of one process: a folder for each cell, so that a cell that is down holds up no other.

    While a store is down, clients cannot be looked up. Those whose webhooks were stored before share most of the room; ids that are not
    known have little of it, in a folder of their own.
    """

    log, label, failure = LOG, "the spool", "spooled webhooks could not be stored, and stay; it is tried again"
    poll_seconds = 1.0

    def __init__(self, folder: Path, most_bytes: int, cipher: Cipher, metrics: Metrics) -> None:
        super().__init__()
        self._folder = folder
        self._most_bytes = most_bytes
        self._cipher = cipher
        self._metrics = metrics
        self._cells: dict[str, SpoolFiles] = {}
        self._waiting: list[tuple[str, str, bytes, asyncio.Future[None]]] = []
        """The folder, owner and record of each webhook to be written, and who waits for that."""
        self.clients = KnownClients(folder / "known-clients")
        self._flushing: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._counter = SpoolCounter(folder)
        self._seldom = Seldom()
        self._removed_at = -REMOVE_EVERY
        self.receive: Receives | None = None
        """How a webhook is received again; set before `run`."""

    async def add(self, cell: int, webhook: SpooledWebhook) -> None:
        """Spool a webhook; return when it is on disk. Raises `StoreUnavailable` if it cannot be: then it is not there."""
        done = asyncio.get_running_loop().create_future()
        has_client = self.clients.has(webhook.client_id)
        folder, owner = (str(cell), webhook.client_id) if has_client else (f"{cell}{UNKNOWN}", "")
        self._waiting.append((folder, owner, to_bytes(webhook, self._cipher), done))
        if self._flushing is None or self._flushing.done():
            # A task of its own, which a request that is cancelled does not end.
            self._flushing = asyncio.create_task(self._write_waiting(), name="spool")
        await done
        self._metrics.count(SPOOLED)

    async def _write_waiting(self) -> None:
        """Write all waiting records; records that come during the flush share the next one."""
        while self._waiting:
            batch, self._waiting = self._waiting, []
            for name in dict.fromkeys(name for name, *_ in batch):
                mine = [(owner, record, done) for of, owner, record, done in batch if of == name]
                try:
                    async with self._writing:
                        records = [(owner, record) for owner, record, _ in mine]
                        written = await on_thread("spool", self._files(name).append_shared, records)
                    why: object = f"{written.count(False)} webhooks have no room in the folder {name} of the spool"
                except Exception as error:
                    written, why = [False] * len(mine), error
                if not all(written) and self._seldom.is_due(f"{name} {type(why)}"):
                    LOG.error("webhooks cannot be spooled, their senders get 503: %s", why)
                for (_, _, done), is_written in zip(mine, written, strict=True):
                    if not done.done():
                        done.set_result(None) if is_written else done.set_exception(StoreUnavailable(FULL, retry_after=5))

    def _files(self, name: str) -> SpoolFiles:
        if name not in self._cells:
            of_unknown = self._most_bytes // UNKNOWN_SHARE
            most = self._most_bytes if name == FAILED else of_unknown if name.endswith(UNKNOWN) else self._most_bytes - of_unknown
            self._cells[name] = SpoolFiles(self._folder / name, most)
        return self._cells[name]

    async def _round(self) -> float:
        """Store waiting webhooks, the oldest first, also of processes before this one."""
        await self._save_clients()
        await self.drain()
        await self._remove_old()
        return self.poll_seconds

    async def _save_clients(self) -> None:
        """Write the ids of clients that have become known."""
        if self.clients.has_unsaved:
            try:
                await on_thread("spool", self.clients.save)
            except OSError as error:
                if self._seldom.is_due("known clients"):
                    LOG.error("the ids of known clients cannot be written beside the spool: %s", error)

    async def drain(self) -> int:
        """Store webhooks as far as their stores can be used; return their number."""
        if self.receive is None or not self._folder.is_dir():
            return 0
        count = 0
        for folder in sorted(path for path in self._folder.iterdir() if path.is_dir() and path.name != FAILED):
            files = self._files(folder.name)
            async with self._writing:
                taken = files.take()
            while taken is not None and (stored := await self._store(taken)) is not None:
                count += stored
                async with self._writing:
                    taken = files.take()
        return count

    async def _store(self, taken: TakenFile) -> int | None:
        """Store the webhooks of a file and remove it; None if that has to be tried again: repeated webhooks are recognised."""
        assert self.receive is not None
        count = 0
        try:
            for record in taken.records():
                if self._stopping.is_set():
                    return None
                try:
                    await self.receive(from_bytes(record, self._cipher))
                except Overloaded:
                    return None
                except Exception:
                    # It would fail again and hold up all others, so it is set aside for a person.
                    LOG.exception("a spooled webhook could not be received; it is in %s", self._folder / FAILED)
                    async with self._writing:
                        await on_thread("spool", self._files(FAILED).append, [record])
                count += 1
            if taken.is_damaged:
                place = taken.set_aside(self._folder / FAILED)
                LOG.error("a file of the spool ends within a webhook or is damaged: %d whole ones are stored; it is %s now", count, place)
            else:
                taken.remove()
        finally:
            taken.release()
        LOG.info("%d spooled webhooks are stored", count)
        return count

    async def _remove_old(self) -> None:
        """Remove webhooks that were set aside long ago: people who were erased since may be in them."""
        if time.monotonic() - self._removed_at < REMOVE_EVERY:
            return
        self._removed_at = time.monotonic()
        async with self._writing:
            removed = await on_thread("spool", self._files(FAILED).remove_before, time.time() - SET_ASIDE_DAYS * 86_400)
        for path in removed:
            LOG.error("%s was removed, as its webhooks were set aside %d days ago", path, SET_ASIDE_DAYS)

    async def counts(self) -> SpoolCounts:
        """Return the counts of the spool, also of the files of other processes."""
        return await on_thread("spool", self._counter.count)

    def close(self) -> None:
        """Save the ids of known clients, and release the files."""
        if self.clients.has_unsaved:
            with suppress(OSError):
                self.clients.save()
        for files in self._cells.values():
            files.close()
