"""Moves bodies to object storage, brings back those that a replay needs, and removes objects that no delivery names any more."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from itertools import groupby
from typing import ClassVar

from touchbase.common.timestamps import DAY, SECOND, Clock, Micros, has_passed
from touchbase.deliveries.sql.objects import (
    begin_objects,
    bodies_to_move,
    claim_removals,
    end_removals,
    movable_page,
    name_objects,
    place_of,
    restore_body,
    wanted_bodies,
)
from touchbase.objects.bodies import AT_ONCE, new_object, upload
from touchbase.objects.bucket import Bucket, ObjectStorageAway
from touchbase.sql.outage import Outage
from touchbase.sql.store import Store
from touchbase.sql.worker import Worker

LOG = logging.getLogger("touchbase.objects")

PASS_INTERVAL: Micros = 600 * SECOND
"""Shortest interval between two passes over all deliveries."""
PASS_SHARE = 20
"""A pass takes at most one part in so many of the time: in a large store they are further apart."""
PAGE = 1_000
"""Deliveries examined in one statement, without their bodies."""
PAUSE_SECONDS = 0.05
MOVED_AT_ONCE = 50
MOVED_BYTES = 8 * 1024 * 1024
"""Bodies in memory at once, unless one alone is larger."""
REMOVED_AT_ONCE = 200
RESTORED_AT_ONCE = 20


class ObjectWorker(Worker):
    """A worker that needs the object storage; while that does not answer it says so once, and tries again."""

    waits: ClassVar[str]
    """What happens until then."""

    def __init__(self, outage: Outage | None = None) -> None:
        super().__init__(outage)
        self._is_away = False

    async def _round(self) -> float:
        try:
            seconds = await self._work()
        except ObjectStorageAway as error:
            # Not an outage of the store: webhooks are received and applied as before.
            if not self._is_away:
                self.log.error("object storage cannot be used: %s; %s, and both are tried again", error.why, self.waits)
            self._is_away = True
            return 10.0
        if self._is_away:
            self.log.info("object storage can be used again")
        self._is_away = False
        return seconds

    @abstractmethod
    async def _work(self) -> float:
        """Run all due work; return the seconds until the next round. Raises `ObjectStorageAway`."""


class BodyMover(ObjectWorker):
    """Works on one store; several processes may do so at once."""

    log, label, failure = LOG, "object storage", "a round of object storage failed and will be retried"
    waits = "bodies stay in the database, removals wait"
    poll_seconds = 1.0

    def __init__(self, store: Store, bucket: Bucket, clock: Clock, outage: Outage | None = None) -> None:
        super().__init__(outage)
        self._store = store
        self._bucket = bucket
        self._clock = clock
        self._after = (0, 0)
        """Where the pass goes on: behind this delivery (client, id)."""
        self._began_us: Micros = 0
        self._passed_us: Micros = 0
        """When the last pass ended."""
        self._interval = PASS_INTERVAL

    async def _work(self) -> float:
        await self.restore()
        await self.remove()
        if self._after != (0, 0) or has_passed(self._interval, self._passed_us, self._clock()):
            await self.move_page()
        return PAUSE_SECONDS if self._after != (0, 0) else self.poll_seconds

    async def restore(self) -> None:
        """Bring back the bodies of replayed deliveries, which are applied then."""
        while (bodies := await self._store.read(wanted_bodies(RESTORED_AT_ONCE))) and not self._stopping.is_set():
            restored = [await self._store.write(restore_body(body.client, body, self._clock())) for body in bodies]
            if not any(restored):
                return

    async def remove(self) -> None:
        """Remove the objects that are due, until the storage says that they are gone."""
        while (objects := await self._store.write(claim_removals(self._clock(), REMOVED_AT_ONCE))) and not self._stopping.is_set():
            results = await _all(self._bucket.delete(place) for _, place in objects)
            await self._store.write(end_removals([key for key, error in zip(objects, results, strict=True) if error is None]))
            for error in results:
                if error is not None:
                    raise error

    async def move_all(self) -> int:
        """Move every body that is due, in one pass; return how many were moved."""
        moved = await self.move_page()
        while self._after != (0, 0):
            moved += await self.move_page()
        return moved

    async def move_page(self) -> int:
        """Move the due bodies of the next page of deliveries; return how many were moved."""
        limits, now = self._bucket.settings, self._clock()
        before = now - limits.after_days * DAY if limits.after_days else 0
        if self._after == (0, 0):
            self._began_us = now
        page = await self._store.read(movable_page(self._after, limits.min_bytes, before, PAGE))
        moved = 0
        for client, of_client in groupby(page.due, key=lambda row: row[0]):
            ids: list[int] = []
            size = 0
            for _, number, bytes_of_body in of_client:
                if ids and (len(ids) == MOVED_AT_ONCE or size + bytes_of_body > MOVED_BYTES):
                    moved += await self._move(client, ids)
                    ids, size = [], 0
                ids.append(number)
                size += bytes_of_body
            moved += await self._move(client, ids)
        self._after = page.last or (0, 0)
        if page.last is None:
            self._passed_us, self._interval = now, max(PASS_INTERVAL, PASS_SHARE * (now - self._began_us))
        return moved

    async def _move(self, client: int, ids: list[int]) -> int:
        if self._stopping.is_set():
            return 0
        bodies = await self._store.read(bodies_to_move(client, ids))
        texts = [new_object(client) for _ in bodies]
        if not bodies:
            return 0
        key = await self._store.write(begin_objects(client, [place_of(text) for text in texts], self._clock()))
        results = await _all(upload(self._bucket, body, key, text) for body, text in zip(bodies, texts, strict=True))
        uploaded = [(body.id, text) for body, text, error in zip(bodies, texts, results, strict=True) if error is None]
        named = await self._store.write(name_objects(client, uploaded, self._clock())) if uploaded else []
        for error in results:
            if error is not None:
                raise error
        return len(named)


async def _all(steps: object) -> list[ObjectStorageAway | None]:
    """Run requests, `AT_ONCE` at a time; return the error of each, or None. Raises every other error."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def run(step: object) -> ObjectStorageAway | None:
        async with turns:
            try:
                await step  # type: ignore[misc]
            except ObjectStorageAway as error:
                return error
        return None

    return await asyncio.gather(*(run(step) for step in steps))  # type: ignore[attr-defined]
