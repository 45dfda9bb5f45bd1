"""Files of events in object storage, on both engines: nothing is lost, and erased people leave them."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest
from pyarrow import parquet
from tests.objects.bucket_server import bucket_server
from tests.objects.test_objects import StoredHouse
from tests.storage.test_contract_erasure import EMAIL, NOON, REF, create, sent

from touchbase.clients.models import Removal
from touchbase.clients.sql.clients import begin_deletion, ensure_client
from touchbase.clients.sql.removal import remove_client_rows
from touchbase.common.timestamps import DAY, SECOND
from touchbase.deliveries.sql.objects import BEGUN_US, count_objects
from touchbase.event_archive import worker
from touchbase.event_archive.plans import EventFile, archived_to, list_event_files, read_event_file
from touchbase.event_archive.worker import EventArchiver, after_month, month_of
from touchbase.event_log.models import EventType, LoggedEvent
from touchbase.event_log.sql.log import log_events
from touchbase.objects.bodies import BodyLoader
from touchbase.objects.bucket import Bucket, ObjectStorageAway
from touchbase.retention.service import Retention
from touchbase.sql.operation import command
from touchbase.sql.statement import Plan
from touchbase.sql.store import Store

MONTH = 31 * DAY
BOB = "bob@example.com"
RECORDED = ("sequence", "type", "at", "record_kind", "record_id", "changed", "cause", "data")
KINDS = {None: None, "contact": 1, "company": 2}


@command
def log(client: int, events: list[LoggedEvent]) -> Plan[None]:
    yield from log_events(events)


@dataclass
class ArchivedHouse(StoredHouse):
    """A house whose events go to files ten days after the end of a month."""

    @property
    def archiver(self) -> EventArchiver:
        return EventArchiver(self.store, self.bucket, self.clock)

    @property
    def retention(self) -> Retention:
        return Retention(self.store, self.eraser, self.clock, pause=0, keep_events_days=1, archives_events=True)

    async def files(self) -> list[EventFile]:
        return await self.store.read(list_event_files(self.client, -1, 1_000))

    async def content(self, file: EventFile) -> bytes:
        stored = await self.store.read(read_event_file(self.client, file.id))
        assert stored is not None
        assert stored.lost is None
        return stored.body

    async def archived(self) -> list[tuple[Any, ...]]:
        """The events of all files, as rows of the log."""
        events: list[tuple[Any, ...]] = []
        for file in await self.files():
            rows = parquet.read_table(io.BytesIO(await self.content(file))).to_pylist()
            assert len(rows) == file.events
            for row in rows:
                row |= {"record_kind": KINDS[row["record"]], "at": round(row["timestamp"].timestamp() * SECOND)}
                assert (row["client_id"], row["id"]) == ("acme", f"evt_{row['sequence']}")
                events.append(tuple(row[name] for name in RECORDED))
        return events

    async def logged(self) -> list[tuple[Any, ...]]:
        rows = await self.sql(f"SELECT {', '.join(RECORDED)} FROM logged_event ORDER BY sequence")
        return [tuple(row) for row in rows]


@pytest.fixture
async def house(store: Store, execute_sql: Any) -> AsyncIterator[ArchivedHouse]:
    async with bucket_server() as server:
        client = (await store.write(ensure_client("acme", NOON))).number
        house = ArchivedHouse(store, client, server=server, sql=execute_sql)
        house.bucket = Bucket(replace(server.settings(), events_after_days=10), "tests", house.clock)
        store.load_bodies = BodyLoader(house.bucket)  # type: ignore[attr-defined]
        yield house
        await house.bucket.close()


async def lived(house: ArchivedHouse) -> tuple[int, int]:
    """Two people whose events are from two months; both months are due then."""
    canary = await create(house, EMAIL, first_name="Canaria")
    bob = await create(house, BOB, first_name="Bob")
    house.now += MONTH
    await house.tell(sent(EMAIL), sent(BOB))
    house.now += 2 * MONTH
    return canary.id, bob.id


def test_months__begin_and_end_in_utc() -> None:
    def at(*date: int) -> int:
        return int(datetime(*date, tzinfo=UTC).timestamp()) * SECOND  # type: ignore[misc]

    assert month_of(at(2026, 12, 31, 23, 59, 59) + 999_999) == at(2026, 12, 1)
    assert after_month(at(2026, 12, 1)) == at(2027, 1, 1)
    assert after_month(at(2028, 2, 29)) == at(2028, 3, 1)


async def test_closed_months__become_a_file_each_with_the_events_of_the_log(house: ArchivedHouse) -> None:
    await lived(house)
    logged = await house.logged()

    assert await house.archiver.archive()

    files = await house.files()
    assert len(files) == len({month_of(row[2]) for row in logged}) == len(house.server.objects) == 2
    assert await house.archived() == logged
    for file in files:
        content = await house.content(file)
        assert (file.size, file.digest) == (len(content), sha256(content).hexdigest())
        times = [row[2] for row in logged if file.id <= row[0] <= file.last_sequence]
        assert (file.from_us, file.until_us) == (min(times), max(times))
    assert b"canary" not in b"".join(house.server.objects.values()).lower()
    assert await house.sql("SELECT * FROM object_removal") == []
    assert await house.archiver.archive()
    assert await house.files() == files


async def test_a_month__is_due_ten_days_after_its_end(house: ArchivedHouse) -> None:
    await create(house, EMAIL)
    house.now = after_month((await house.logged())[0][2]) + 10 * DAY - 1

    await house.archiver.archive()
    before = await house.files()
    house.now += 1
    await house.archiver.archive()

    assert (before, len(await house.files())) == ([], 1)


@pytest.mark.parametrize("limit", ["FILE_EVENTS", "FILE_BYTES"])
async def test_a_large_month__has_several_files(house: ArchivedHouse, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, limit, 1)
    monkeypatch.setattr(worker, "PAGE", 2)
    monkeypatch.setattr("touchbase.exports.parquet_file.GROUP_ROWS", 1)
    for number in range(5):
        await create(house, f"person{number}@example.com")
    house.now += 3 * MONTH

    assert await house.archiver.archive()

    assert [(file.id, file.last_sequence) for file in await house.files()] == [(1, 2), (3, 4), (5, 5)]
    assert await house.archived() == await house.logged()


async def test_retention__removes_no_event_that_is_in_no_file(house: ArchivedHouse) -> None:
    await lived(house)
    logged = await house.logged()
    house.server.refuses = {"PUT"}
    with pytest.raises(ObjectStorageAway):
        await house.archiver.archive()
    await house.retention.run_once()
    assert await house.logged() == logged

    house.server.refuses = set()
    await house.archiver.archive()
    await house.retention.run_once()

    assert await house.logged() == []
    assert await house.archived() == logged
    assert await house.store.read(archived_to(house.client)) == logged[-1][0]


@pytest.mark.parametrize("trimmed", [False, True])
async def test_an_erasure__takes_the_person_out_of_the_files_and_is_done_only_then(house: ArchivedHouse, trimmed: bool) -> None:
    canary, bob = await lived(house)
    await house.archiver.archive()
    if trimmed:
        await house.retention.run_once()
    former = dict(house.server.objects)
    others = [row for row in await house.archived() if row[4] != canary]

    erasure = await house.erase(canary)

    assert erasure.done_us is None
    assert (await house.store.read(count_objects())).erasures > 0
    await house.archiver.erase()
    await house.retention.run_once()
    assert await house.sql("SELECT done_us FROM erasure") == [(None,)]  # the former objects are in the bucket
    await house.mover.remove()
    await house.retention.run_once()
    assert await house.sql("SELECT count(*) FROM erasure WHERE done_us IS NOT NULL") == [(1,)]
    assert await house.archived() == others
    assert {row[4] for row in others} == {bob}
    assert former.keys().isdisjoint(house.server.objects)
    assert await house.sql("SELECT * FROM event_file_erasure") == await house.sql("SELECT * FROM object_removal") == []


async def test_an_erasure__reaches_records_that_an_archived_merge_joined(house: ArchivedHouse) -> None:
    canary, bob = await lived(house)
    changed = {"first_name": ("Canaria", "Bob")}
    merged = LoggedEvent(house.client, EventType.CONTACT_MERGED, house.now, 1, bob, changed, data={"merged": [canary]})
    await house.store.write(log(house.client, [merged]))
    house.now += 2 * MONTH
    await house.archiver.archive()
    await house.retention.run_once()
    assert await house.logged() == []

    await house.erase(canary)
    await house.archiver.erase()

    assert "canary" not in str(await house.archived()).lower()


async def test_an_erasure__strikes_the_person_from_the_texts_of_other_events(house: ArchivedHouse) -> None:
    failed = LoggedEvent(house.client, EventType.DELIVERY_FAILED, house.now, data={"id": 1, "error": f"{EMAIL} is no number"})
    await house.store.write(log(house.client, [failed]))
    house.now += 3 * MONTH
    await house.archiver.archive()

    await house.erase(refs=(REF,))
    await house.archiver.erase()

    [event] = await house.archived()
    assert event[7] == '{"id":1,"error":"[erased] is no number"}'


async def test_an_erasure_while_a_file_is_written__voids_the_file(house: ArchivedHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    canary, _ = await lived(house)
    put = house.bucket.put

    async def put_late(place: str, content: bytes) -> None:
        await put(place, content)
        monkeypatch.setattr(house.bucket, "put", put)
        await house.erase(canary)

    monkeypatch.setattr(house.bucket, "put", put_late)
    assert not await house.archiver.archive()
    assert await house.files() == []
    await house.mover.remove()
    assert house.server.objects == {}

    assert await house.archiver.archive()
    assert "canary" not in str(await house.archived()).lower()


@pytest.mark.parametrize("step", ["begin_event_file", "store_event_file"])
async def test_a_kill_while_a_file_is_written__loses_nothing_and_leaves_no_object(
    house: ArchivedHouse, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lived(house)
    logged = await house.logged()

    await house.kill_at(step, house.archiver.archive(), monkeypatch)

    await house.retention.run_once()
    assert await house.logged() == logged
    assert await house.files() == []
    house.now += BEGUN_US
    await house.mover.remove()
    assert house.server.objects == {}
    assert await house.archiver.archive()
    assert await house.archived() == logged


@pytest.mark.parametrize("step", ["begin_event_file", "store_event_file", "end_erasures_in_files"])
async def test_a_kill_while_somebody_is_erased_in_a_file__loses_no_other_event_and_leaves_no_object(
    house: ArchivedHouse, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary, _ = await lived(house)
    await house.archiver.archive()
    others = [row for row in await house.archived() if row[4] != canary]
    await house.erase(canary)

    await house.kill_at(step, house.archiver.erase(), monkeypatch)
    await house.archiver.erase()
    house.now += BEGUN_US
    await house.mover.remove()

    assert await house.archived() == others
    assert len(house.server.objects) == len(await house.files())
    assert await house.sql("SELECT * FROM object_removal") == []


async def test_a_file_that_two_processes_write__is_stored_once(house: ArchivedHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    await lived(house)
    logged, put = await house.logged(), house.bucket.put

    async def put_late(place: str, content: bytes) -> None:
        await put(place, content)
        monkeypatch.setattr(house.bucket, "put", put)
        await house.archiver.archive()

    monkeypatch.setattr(house.bucket, "put", put_late)
    assert not await house.archiver.archive()

    assert await house.archived() == logged
    await house.mover.remove()
    assert len(house.server.objects) == len(await house.files())


@pytest.mark.parametrize("harm", ["gone", "changed"])
async def test_a_file_that_the_storage_lost__is_noted_by_an_erasure(house: ArchivedHouse, harm: str) -> None:
    canary, _ = await lived(house)
    await house.archiver.archive()
    house.server.objects = {} if harm == "gone" else dict.fromkeys(house.server.objects, b"x" * 100)

    await house.erase(canary)
    await house.archiver.erase()
    await house.mover.remove()

    assert [file.object for file in await house.files()] == [None, None]
    assert house.server.objects == {}
    assert await house.sql("SELECT * FROM event_file_erasure") == []


async def test_a_deletion_of_a_client__removes_its_files(house: ArchivedHouse) -> None:
    canary, _ = await lived(house)
    await house.archiver.archive()
    await house.erase(canary)
    await house.store.write(begin_deletion(house.client, house.now))
    house.now += 3600 * SECOND
    removal = Removal(False)
    for _ in range(40):
        removal = await house.store.write(remove_client_rows(house.client, house.now, 100, removal.position))
        await house.mover.remove()

    assert removal.done
    assert house.server.objects == {}
