"""Retention: continue interrupted erasures, prune old bodies, drop unrecognised ones, empty the bin, and trim the log of events.

It works in small pages with a pause after each, in parallel with the inbox worker. Several processes may run it at once:
each finds only what the others have left.
"""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass

from touchbase.clients.models import SUSPENDED, Client
from touchbase.clients.sql.clients import client_numbers, find_client_by_number, list_clients
from touchbase.common.timestamps import DAY, SECOND, Clock, Micros, has_passed
from touchbase.conversations.answers import prune_answers
from touchbase.deliveries.sql.body_retention import count_prunable, drop_unrecognised, prune_bodies, size_unrecognised
from touchbase.erasure.models import Erasure
from touchbase.erasure.service import Eraser
from touchbase.erasure.sql.persons import open_erasures
from touchbase.errors import NotFound
from touchbase.event_archive.plans import archived_to
from touchbase.event_log.sql.queries import trim_log
from touchbase.inbox.sql.refused_bodies import drop_refused, size_refused
from touchbase.merging.sql.undo import forget_merges
from touchbase.messages.sql.plans import prune_messages
from touchbase.outgoing.sql.dispatch import lowest_needed
from touchbase.projection.bin import gone_before
from touchbase.projection.bin_rows import asked_erasures
from touchbase.projection.delete import remove_deleted
from touchbase.retention.sql import OldestData, clients_above_limits, list_oldest
from touchbase.sql.outage import Outage
from touchbase.sql.store import Store, Vacuumed
from touchbase.sql.worker import Worker

LOG = logging.getLogger("touchbase.retention")

PRUNE_INTERVAL: Micros = 3600 * SECOND
MEASURE_INTERVAL: Micros = 60 * SECOND
"""Interval between checks of unrecognised bodies; in between, the rate limit in bytes bounds their growth."""
LARGE_INTERVAL: Micros = 600 * SECOND
"""Interval between checks whether a file that was too large to be rewritten has been."""
PAGE = 200
CLIENT_PAGE = 1_000
"""Clients of which one read finds the oldest data: some 10 ms."""
BIN_PAGE = 20
"""Deleted records removed at once: each may have a long history."""
PAUSE_SECONDS = 0.05
"""Pause after each page, so that other writes get through."""


def prune_cutoff(client: Client, now: Micros) -> Micros | None:
    """Return the time before which applied bodies are due; None for a client that stores them for ever."""
    days = client.settings.keep_bodies_days
    return None if days is None else now - days * DAY


async def count_due(store: Store, client: Client, now: Micros) -> int:
    """Return how many bodies of a client are due for pruning."""
    before = prune_cutoff(client, now)
    return 0 if before is None else await store.read(count_prunable(client.number, before))


async def prune(store: Store, client: Client, now: Micros, page: int = PAGE) -> int:
    """Remove one page of a client's due bodies; return how many."""
    before = prune_cutoff(client, now)
    return 0 if before is None else await store.write(prune_bodies(client.number, before, page, now))


def _needs_search(client: Client) -> bool:
    return client.state == SUSPENDED and client.has_erased


@dataclass(frozen=True, slots=True)
class UnrecognisedLimits:
    """Limits of unrecognised, unsigned bodies for each client: their age and total size; 0 means no limit.

    Bodies of refused webhooks have an age of their own and count for the total size; they go first.
    """

    days: int = 0
    max_bytes: int = 0
    refused_days: int = 0


NO_LIMITS = UnrecognisedLimits()


class Retention(Worker):
    """Removes expired data until it is stopped."""

    log, label, failure = LOG, "retention", "retention failed; it is tried again"
    poll_seconds = 5.0
    """Interval between searches for interrupted erasures."""

    def __init__(
        self,
        store: Store,
        eraser: Eraser,
        clock: Clock,
        *,
        pause: float = PAUSE_SECONDS,
        unrecognised: UnrecognisedLimits = NO_LIMITS,
        keep_events_days: int = 0,
        archives_events: bool = False,
        outage: Outage | None = None,
    ) -> None:
        super().__init__(outage)
        self._store = store
        self._eraser = eraser
        self._clock = clock
        self._pause_seconds = pause
        self._unrecognised = unrecognised
        self._keep_events_days = keep_events_days
        self._archives_events = archives_events
        """Whether events stay until they are in a file of object storage."""
        self._measured_us: Micros = 0
        self._pruned_us: Micros = 0
        self._unfinished = set[int]()
        """Clients whose pruning failed or was interrupted."""
        self._vacuumed = False  # a process that was killed, or a command without a server, may have left remains
        self._clients = frozenset[int]()
        """All clients at the last run."""
        self._cleaned_us: Micros = 0
        """When the files were last cleaned, or should have been, for erasures that are not done."""
        self._clean_interval: Micros = 0

    async def _round(self) -> float:
        await self.run_once()
        return self.poll_seconds

    async def run_once(self) -> None:
        """Run all due work. A client whose work fails is retried in the next run, and does not delay the others."""
        clients = frozenset(await self._store.read(client_numbers()))
        self._vacuumed = self._vacuumed and self._clients <= clients  # a client that was moved or deleted remains in the log
        self._clients = clients
        await self._erase_requested()
        await self._continue_erasures()
        has_limits = self._unrecognised != NO_LIMITS
        if has_limits and has_passed(MEASURE_INTERVAL, self._measured_us, self._clock()):
            self._measured_us = self._clock()
            unrecognised_before, refused_before = self._unrecognised_before()
            above = clients_above_limits(unrecognised_before, refused_before, self._unrecognised.max_bytes)
            for number in await self._store.read(above):
                await self._is_done(self._drop_unrecognised(number))
        is_due = has_passed(PRUNE_INTERVAL, self._pruned_us, self._clock())
        if is_due or self._unfinished:
            present = await self._store.read(list_clients())
            due = self._unfinished | (await self._find_due(present) if is_due else set())
            self._unfinished = {
                client.number for client in present if client.number in due and not await self._is_done(self._maintain(client))
            }
        if is_due:
            self._pruned_us = self._clock()
            # Late webhooks about erased persons were dropped since then, and remain in the write-ahead log.
            self._vacuumed = self._vacuumed and not any(client.has_erased for client in present)
        if not self._vacuumed and not self._stopping.is_set():
            self._vacuumed = await self._store.vacuum() is not Vacuumed.BLOCKED

    async def _find_due(self, clients: Sequence[Client]) -> set[int]:
        """Return the numbers of the clients that have something to remove. Most have not: none of them costs a statement of its own."""
        oldest: dict[int, OldestData] = {}
        page: list[OldestData] | None = None
        while page is None or len(page) == CLIENT_PAGE:
            page = await self._store.read(list_oldest(max(oldest, default=0), CLIENT_PAGE))
            oldest.update((data.client, data) for data in page)
        return {
            client.number
            for client in clients
            if _needs_search(client) or (client.number in oldest and self._is_due(client, oldest[client.number]))
        }

    def _is_due(self, client: Client, oldest: OldestData) -> bool:
        now = self._clock()
        logged_before = now - self._keep_events_days * DAY if self._keep_events_days else None
        return oldest.is_due(prune_cutoff(client, now), gone_before(now, client.settings.keep_deleted_days), logged_before)

    def _unrecognised_before(self) -> tuple[Micros, Micros]:
        """Return the times before which unrecognised and refused bodies are too old; 0: none is."""
        now, limits = self._clock(), self._unrecognised
        return now - limits.days * DAY if limits.days else 0, now - limits.refused_days * DAY if limits.refused_days else 0

    async def _drop_unrecognised(self, client: int) -> None:
        """Drop a client's unrecognised, unsigned bodies that exceed the limits of age or total size."""
        now, limits = self._clock(), self._unrecognised
        before, _ = self._unrecognised_before()
        excess = await self._store.read(size_unrecognised(client)) - limits.max_bytes if limits.max_bytes else 0
        await self._drop_refused(client, excess)
        count, size = PAGE, 0
        while count == PAGE and not self._stopping.is_set():
            dropped = await self._store.write(drop_unrecognised(client, before, max(0, excess - size), PAGE, now))
            count, size = dropped.count, size + dropped.size
            self._vacuumed = self._vacuumed and not count
            await self._pause(self._pause_seconds)

    async def _drop_refused(self, client: int, unrecognised_excess: int) -> None:
        """Drop a client's refused bodies that are too old, or for which the unrecognised ones leave no room."""
        limits = self._unrecognised
        _, before = self._unrecognised_before()
        excess = await self._store.read(size_refused(client)) + unrecognised_excess if limits.max_bytes else 0
        count, size = PAGE, 0
        while count == PAGE and not self._stopping.is_set():
            dropped = await self._store.write(drop_refused(client, before, max(0, excess - size), limit=PAGE))
            count, size = dropped.count, size + dropped.size
            self._vacuumed = self._vacuumed and not count
            await self._pause(self._pause_seconds)

    async def _erase_requested(self) -> None:
        """Erase the people that CRMs asked to erase, where the client's settings do not leave it to a person."""
        contacts: dict[int, list[int]] = {}
        for number, contact, _ in await self._store.read(asked_erasures()):
            contacts.setdefault(number, []).append(contact)
        for number, ids in contacts.items():
            client = await self._store.read(find_client_by_number(number))
            for contact in ids if client is not None and client.settings.erase_on_crm_request else ():
                if not self._stopping.is_set():
                    await self._is_done(self._erase(number, contact))

    async def _erase(self, client: int, contact: int) -> None:
        await self._eraser.erase(client, contact)

    async def _continue_erasures(self) -> None:
        """Continue the searches, then clean the store's files, and repeat that until it succeeds: only then the erasures are done."""
        unsearched: dict[int, list[Erasure]] = {}
        for erasure in await self._store.read(open_erasures()):
            if erasure.searched_us is None:
                unsearched.setdefault(erasure.client, []).append(erasure)
        for erasures in unsearched.values():
            await self._is_done(self._search(erasures))
        searched = [erasure for erasure in await self._store.read(open_erasures()) if erasure.searched_us is not None]
        is_new = any(erasure.searched_us > self._cleaned_us for erasure in searched if erasure.searched_us is not None)
        if searched and not self._stopping.is_set() and (is_new or has_passed(self._clean_interval, self._cleaned_us, self._clock())):
            self._cleaned_us = self._clock()
            cleaned = await self._eraser.clean(searched)
            self._clean_interval = LARGE_INTERVAL if cleaned is Vacuumed.TOO_LARGE else 0

    async def _search(self, erasures: Sequence[Erasure]) -> None:
        """Search for the people of a client's erasures; erasures that this search does not cover follow in the next run."""
        erasure = self._eraser.next_search(erasures)
        while erasure.searched_us is None and not erasure.waits_for and not self._stopping.is_set():
            try:
                erasure = await self._eraser.step(erasure)
            except NotFound:
                return  # its client was moved, and the other database goes on with it; or the client is gone
            await self._pause(self._pause_seconds)

    async def _is_done(self, work: Coroutine[None, None, None]) -> bool:
        """Do a client's work; log a failure and return False, so that the work of other clients continues."""
        with self._attempt("retention of a client", "retention of a client failed; it is tried again") as attempt:
            await work
        return attempt.succeeded

    async def _maintain(self, client: Client) -> None:
        await self._prune(client)
        await self._prune_messages(client)
        await self._empty_bin(client)
        await self._trim_log(client)
        if _needs_search(client):
            await self._search_again(client)

    async def _search_again(self, client: Client) -> None:
        """Search deliveries of a suspended client for erased persons: nothing applies them, so nothing else searches them."""
        while not self._stopping.is_set() and not await self._eraser.search_pending(client.number):
            await self._pause(self._pause_seconds)

    async def _prune(self, client: Client) -> None:
        removed = PAGE
        while removed == PAGE and not self._stopping.is_set():
            removed = await prune(self._store, client, self._clock())
            self._vacuumed = self._vacuumed and not removed
            await self._pause(self._pause_seconds)

    async def _prune_messages(self, client: Client) -> None:
        """Remove subjects and texts of messages, and answers, as old as the bodies of deliveries that are removed."""
        removed, before = PAGE, prune_cutoff(client, self._clock())
        while before is not None and removed == PAGE and not self._stopping.is_set():
            removed = await self._store.write(prune_messages(client.number, before, PAGE))
            removed = max(removed, await self._store.write(prune_answers(client.number, before, PAGE)))
            self._vacuumed = self._vacuumed and not removed
            await self._pause(self._pause_seconds)

    async def _empty_bin(self, client: Client) -> None:
        removed = BIN_PAGE
        while removed == BIN_PAGE and not self._stopping.is_set():
            now = self._clock()
            before = gone_before(now, client.settings.keep_deleted_days)
            removed = await self._store.write(remove_deleted(client.number, before, BIN_PAGE, now))
            removed = max(removed, await self._store.write(forget_merges(client.number, before, BIN_PAGE)))
            self._vacuumed = self._vacuumed and not removed
            await self._pause(self._pause_seconds)

    async def _trim_log(self, client: Client) -> None:
        """Remove events that are older than the installation stores them; 0 days: none."""
        more = self._keep_events_days > 0
        while more and not self._stopping.is_set():
            before = self._clock() - self._keep_events_days * DAY
            needed = await self._store.read(lowest_needed(client.number))
            if self._archives_events:
                archived = await self._store.read(archived_to(client.number))
                needed = archived + 1 if needed is None else min(needed, archived + 1)
            more = await self._store.write(trim_log(client.number, before, keep_from=needed))
            await self._pause(self._pause_seconds)
