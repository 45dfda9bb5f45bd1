"""Writes the events of closed months into files, and erases in them what the log has erased.

A file is written from the log before retention removes its events there, and stored once it was read again. An erasure voids a file that is
being written, so no file has what the log has not any more; those that are stored are written anew.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

import msgspec

from touchbase.common.threads import on_thread
from touchbase.common.timestamps import DAY, SECOND, Clock, Micros, has_passed
from touchbase.deliveries.sql.objects import AwayBody, place_of
from touchbase.erasure.sql.persons import find_erased
from touchbase.event_archive.content import encode_events, identities_in, merges_of, new_writer, without_records
from touchbase.event_archive.plans import (
    EventFile,
    begin_event_file,
    clients_to_archive,
    end_erasures_in_files,
    erasures_in_files,
    events_from,
    list_event_files,
    lose_event_file,
    read_event_file,
    store_event_file,
)
from touchbase.event_log.sql.files import TEXTS, folder_of
from touchbase.history.identity_links import Ref
from touchbase.objects.bodies import new_object, upload
from touchbase.objects.bucket import Bucket
from touchbase.objects.worker import ObjectWorker
from touchbase.sql.outage import Outage
from touchbase.sql.store import Store

LOG = logging.getLogger("touchbase.event_archive")

PASS_INTERVAL: Micros = 3600 * SECOND
"""Interval between two searches for closed months."""
CLIENTS = 500
"""Clients that one search returns."""
PAGE = 1_000
PAGE_BYTES = 4 * 1024 * 1024
"""Bytes of texts of a page of the log."""
FILE_EVENTS = 200_000
"""Events of a file: a month with more has several."""
FILE_BYTES = 16 * 1024 * 1024
"""Bytes from which on a file ends. It is uploaded, read and given out as a whole."""
ERASED_AT_ONCE = 1_000
FILES = 100


def month_of(at: Micros) -> Micros:
    """Return the beginning of a time's month (UTC)."""
    day = datetime.fromtimestamp(at // SECOND, UTC)
    return int(datetime(day.year, day.month, 1, tzinfo=UTC).timestamp()) * SECOND


def after_month(at: Micros) -> Micros:
    """Return the end of a time's month (UTC)."""
    return month_of(month_of(at) + 32 * DAY)


class EventArchiver(ObjectWorker):
    """Works on one store; several processes may do so at once."""

    log, label, failure = LOG, "the archive of events", "a round of the archive of events failed and will be retried"
    waits = "events stay in the database, erasures in files wait"
    poll_seconds = 5.0

    def __init__(self, store: Store, bucket: Bucket, clock: Clock, outage: Outage | None = None) -> None:
        super().__init__(outage)
        self._store = store
        self._bucket = bucket
        self._clock = clock
        self._passed_us: Micros = 0

    async def _work(self) -> float:
        await self.erase()
        if self._bucket.settings.events_after_days and has_passed(PASS_INTERVAL, self._passed_us, self._clock()):
            now, is_whole = self._clock(), await self.archive()
            self._passed_us = now if is_whole else 0
        return self.poll_seconds

    async def archive(self) -> bool:
        """Write the files of all months that are due; return False if one has to be written again."""
        before, number, is_whole = month_of(self._clock() - self._bucket.settings.events_after_days * DAY), 0, True
        while clients := await self._store.read(clients_to_archive(before, number, CLIENTS)):
            for number, client_id, sequence, at in clients:
                following: tuple[int, Micros] | None = (sequence, at)
                while following is not None and following[1] < before and not self._stopping.is_set():
                    is_stored, following = await self._archive_month(number, client_id, following[0], after_month(following[1]))
                    if not is_stored:  # something was erased, or another process has stored it
                        is_whole = False
                        break
        return is_whole

    async def _archive_month(self, client: int, client_id: str, first: int, until: Micros) -> tuple[bool, tuple[int, Micros] | None]:
        """Write a file of events before a time; return whether it was stored, and the sequence and time of the event behind it."""
        text = new_object(folder_of(client).rstrip("/"))
        key = await self._store.write(begin_event_file(client, place_of(text), self._clock()))
        writer, content, merges, times = await on_thread("exports", new_writer), bytearray(), [], [until, 0]
        last, count, following = first - 1, 0, None
        while following is None and (rows := await self._store.read(events_from(client, last + 1, PAGE, PAGE_BYTES))):
            end = next((index for index, row in enumerate(rows) if row[2] >= until), len(rows))
            end = 0 if count >= FILE_EVENTS or len(content) >= FILE_BYTES else end
            if end < len(rows):
                following = rows[end][0], rows[end][2]
            if rows := rows[:end]:
                batch = await on_thread("exports", encode_events, rows, client_id)
                content += await on_thread("exports", writer.add, batch, is_last=False)
                merges += merges_of(rows)
                times = [min(times[0], *(row[2] for row in rows)), max(times[1], *(row[2] for row in rows))]
                last, count = rows[-1][0], count + len(rows)
        content += await on_thread("exports", writer.add, b"", is_last=True)
        merged, digest = msgspec.json.encode(merges).decode(), sha256(content).hexdigest()
        file = EventFile(client, first, last, times[0], times[1], count, len(content), digest, merged, text, self._clock())
        return await self._store_file(file, bytes(content), key, None, 0), following

    async def _store_file(self, file: EventFile, content: bytes, key: bytes, former: str | None, since: Micros) -> bool:
        await upload(self._bucket, AwayBody(file.client, file.id, file.object, body=content), key, file.object or "")
        return await self._store.write(store_event_file(file.client, replace(file, archived_us=self._clock()), former, since))

    async def erase(self) -> None:
        """Write the files anew in which a person or record is that was erased."""
        while (erasures := await self._store.read(erasures_in_files(ERASED_AT_ONCE))) and not self._stopping.is_set():
            client, since = erasures[0][0], min(erasure[3] for erasure in erasures)
            records = {(kind, number) for _, kind, number, _ in erasures}
            after, page = -1, [*range(FILES)]
            while len(page) == FILES:
                files = await self._store.read(list_event_files(client, after, FILES))
                for file in files:
                    if not await self._erase_in(file, records, since):
                        return  # it changed meanwhile: the next round goes on
                    after = file.id
                page = [file.id for file in files]
            await self._store.write(end_erasures_in_files(client, erasures))

    async def _erase_in(self, file: EventFile, records: set[tuple[int, int]], since: Micros) -> bool:
        """Write a file without these records; return False if it changed meanwhile, or the process stops."""
        if self._stopping.is_set():
            return False
        if file.object is None:
            return True
        stored = await self._store.read(read_event_file(file.client, file.id))
        if stored is None or stored.object != file.object:
            return False
        if stored.lost is not None:
            LOG.error("file %d of a client's events was lost, so nobody can be erased in it: %s", file.id, stored.lost)
            await self._store.write(lose_event_file(file.client, file.id, file.object, since, self._clock()))
            return True
        texts, erased = any(kind == TEXTS for kind, _ in records), set[Ref]()
        if texts and (refs := await on_thread("exports", identities_in, stored.body)):
            erased = await self._store.read(find_erased(file.client, sorted(refs)))
        result = await on_thread("exports", without_records, stored.body, records, erased, texts=texts)
        if result is None:
            return True
        content, count = result
        text = new_object(folder_of(file.client).rstrip("/"))
        key = await self._store.write(begin_event_file(file.client, place_of(text), self._clock()))
        anew = replace(file, object=text, events=count, size=len(content), digest=sha256(content).hexdigest())
        return await self._store_file(anew, content, key, file.object, since)
