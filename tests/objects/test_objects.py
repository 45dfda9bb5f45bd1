"""Bodies in object storage, on both engines: they read as from the database, and nothing is lost by a kill or an outage at any step."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ENCRYPTION_KEYS
from tests.objects.bucket_server import bucket_server
from tests.storage.test_contract_erasure import EMAIL, NOON, REF, House, full_life, read, sent

from touchbase.clients.models import Removal
from touchbase.clients.sql.clients import begin_deletion, ensure_client
from touchbase.clients.sql.removal import remove_client_rows
from touchbase.common.timestamps import DAY, SECOND
from touchbase.config import BadSettings, ObjectSettings, Settings
from touchbase.consistency.service import Verified, verify
from touchbase.deliveries.sql.body_retention import prune_bodies
from touchbase.deliveries.sql.objects import BEGUN_US, RETRY_US, count_objects
from touchbase.encryption.keys import encode_key, new_key
from touchbase.erasure.person_export import export_deliveries
from touchbase.errors import Overloaded
from touchbase.inbox.replay import DryRunner
from touchbase.inbox.sql.commands import replay_deliveries
from touchbase.objects import worker
from touchbase.objects.bodies import BodyLoader
from touchbase.objects.bucket import Bucket, ObjectStorageAway, signed_headers
from touchbase.objects.worker import BodyMover
from touchbase.retention.service import Retention
from touchbase.sql.store import Store
from touchbase.stores import copy_store, open_store


class Killed(BaseException):
    """The process ends here."""


@dataclass
class StoredHouse(House):
    """A house whose bodies go to a bucket."""

    server: Any = None
    bucket: Any = None
    sql: Any = None

    @property
    def mover(self) -> BodyMover:
        return BodyMover(self.store, self.bucket, self.clock)

    async def differences(self) -> list[str]:
        return [str(item) async for item in verify(self.store, self.client, Verified(), bodies=True)]

    async def in_database(self) -> int:
        return (await self.sql("SELECT count(*) FROM delivery_body"))[0][0]

    async def kill_at(self, command: str, work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Do this work until it is about to write this command."""
        write = self.store.write

        async def killing(call: Any) -> Any:
            if type(call).__name__ == command:
                raise Killed
            return await write(call)

        with monkeypatch.context() as patch:
            patch.setattr(self.store, "write", killing)
            with pytest.raises(Killed):
                await work


@pytest.fixture
async def house(store: Store, execute_sql: Any) -> AsyncIterator[StoredHouse]:
    async with bucket_server() as server:
        client = (await store.write(ensure_client("acme", NOON))).number
        house = StoredHouse(store, client, server=server, sql=execute_sql)
        house.bucket = Bucket(server.settings(), "tests", house.clock)
        store.load_bodies = BodyLoader(house.bucket)  # type: ignore[attr-defined]
        yield house
        await house.bucket.close()


async def test_moved_bodies__read_as_before_and_are_encrypted_in_the_bucket(house: StoredHouse) -> None:
    await full_life(house)
    ids = [row[0] for row in await house.sql("SELECT id FROM delivery WHERE state <> 'received' ORDER BY id")]
    before = [await house.state(number) for number in ids]

    moved = await house.mover.move_all()

    assert moved == len(ids) == len(house.server.objects)
    assert await house.in_database() == len(await house.sql("SELECT 1 FROM delivery WHERE state = 'received'"))
    assert [await house.state(number) for number in ids] == before
    assert await house.differences() == []
    content = b"".join(house.server.objects.values())
    assert b"canary" not in content.lower()
    assert await house.mover.move_all() == 0
    assert await house.sql("SELECT * FROM object_removal") == []


async def test_passes__take_a_twentieth_of_the_time(house: StoredHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "PAGE", 1)
    await house.tell(sent(EMAIL))
    mover = house.mover
    await mover._round()
    house.now += 60 * SECOND
    await mover._round()
    await house.tell(sent("bob@example.com"))

    house.now += 20 * 60 * SECOND - 1
    await mover._round()
    before = await house.in_database()
    house.now += 1
    await mover._round()
    await mover._round()

    assert (before, await house.in_database()) == (1, 0)


async def test_replay__waits_for_its_body_while_the_storage_is_away_and_is_applied_then(house: StoredHouse) -> None:
    number = await house.tell(sent(EMAIL))
    await house.mover.move_all()
    house.server.refuses = {"GET"}

    await house.store.write(replay_deliveries(house.client, [number], house.now))
    with pytest.raises(ObjectStorageAway, match="503: SlowDown"):
        await house.mover.restore()
    other = await house.tell(sent("bob@example.com"))

    assert (await house.state(other))[0] == "applied"
    assert await house.sql("SELECT state, attempts FROM delivery ORDER BY id LIMIT 1") == [("received", 0)]
    house.server.refuses = set()
    await house.mover.restore()
    await house.work()
    assert (await house.state(number))[0] == "applied"
    assert await house.sql("SELECT object FROM delivery WHERE object IS NOT NULL") == []
    assert len(house.server.objects) == 1
    house.now += BEGUN_US
    await house.mover.remove()
    assert house.server.objects == {}


async def test_a_read__while_the_storage_is_away_is_an_error_and_never_an_empty_body(house: StoredHouse) -> None:
    number = await house.tell(sent(EMAIL))
    await house.mover.move_all()

    house.server.refuses = {"GET"}
    with pytest.raises(Overloaded, match="object storage, which this needs, cannot be used now"):
        await house.state(number)
    with pytest.raises(Overloaded):
        await house.eraser.would_erase(house.client, None, [])
    with pytest.raises(Overloaded):
        await DryRunner(house.store, read, house.clock).dry_run(house.client, [number])  # type: ignore[arg-type]
    house.store.load_bodies = BodyLoader(None)  # type: ignore[attr-defined]
    with pytest.raises(Overloaded, match="set TOUCHBASE_OBJECTS_URL"):
        await house.state(number)


@pytest.mark.parametrize("harm", ["gone", "changed"])
async def test_a_lost_object__is_reported_fails_its_replay_and_is_cleared_by_an_erasure(house: StoredHouse, harm: str) -> None:
    number = await house.tell(sent("bob@example.com"))
    await house.mover.move_all()
    house.server.objects = {} if harm == "gone" else dict.fromkeys(house.server.objects, b"x" * 100)

    reported = str(await house.differences())
    assert ("is not in object storage any more" if harm == "gone" else "in object storage was changed") in reported
    ((contact,),) = await house.sql("SELECT id FROM contact")
    exported, _ = await export_deliveries(house.store, read, house.client, contact, 10, 0)  # type: ignore[arg-type]
    assert [(each.delivery.body, bool(each.delivery.lost), each.shared) for each in exported] == [(b"", True, False)]
    await house.store.write(replay_deliveries(house.client, [number], house.now))
    await house.mover.restore()
    assert (await house.sql("SELECT state, error IS NULL FROM delivery"))[0][0] == "failed"
    erasure = await house.erase(refs=(REF,))
    assert erasure.searched_us is not None
    assert await house.sql("SELECT body_removed, object FROM delivery") == [("unsearchable", None)]


async def test_an_erasure__is_done_only_when_the_storage_has_removed_the_object(house: StoredHouse) -> None:
    await house.tell(sent(EMAIL))
    await house.mover.move_all()
    house.server.refuses = {"DELETE"}

    erasure = await house.erase(refs=(REF,))
    with pytest.raises(ObjectStorageAway):
        await house.mover.remove()
    await Retention(house.store, house.eraser, house.clock, pause=0).run_once()

    assert erasure.done_us is None
    assert "object storage" in erasure.waits_for
    assert await house.sql("SELECT done_us FROM erasure") == [(None,)]
    assert (await house.store.read(count_objects())).removals == 1
    house.server.refuses = set()
    house.now += RETRY_US
    await house.mover.remove()
    await Retention(house.store, house.eraser, house.clock, pause=0).run_once()
    assert house.server.objects == {}
    assert await house.sql("SELECT count(*) FROM erasure WHERE done_us IS NOT NULL") == [(1,)]


async def test_retention__removes_the_object_and_forgets_its_salt(house: StoredHouse) -> None:
    await house.tell(sent(EMAIL))
    await house.mover.move_all()

    assert await house.store.write(prune_bodies(house.client, house.now + 1, 10, house.now)) == 1

    assert await house.sql("SELECT object FROM delivery") == [(None,)]
    await house.mover.remove()
    assert house.server.objects == {}
    assert await house.sql("SELECT * FROM object_removal") == []
    assert await house.differences() == []


async def test_a_deletion_of_a_client__ends_once_its_objects_are_removed(house: StoredHouse) -> None:
    await house.tell(sent(EMAIL))
    await house.mover.move_all()
    await house.store.write(begin_deletion(house.client, house.now))
    house.now += 3600 * SECOND

    async def remove() -> Removal:
        removal = Removal(False)
        for _ in range(20):
            removal = await house.store.write(remove_client_rows(house.client, house.now, 100, removal.position))
        return removal

    removal = await remove()
    assert not removal.done
    assert removal.wait_us > 0
    await house.mover.remove()
    assert house.server.objects == {}
    assert (await remove()).done


@pytest.mark.parametrize("step", ["begin_objects", "name_objects"])
async def test_a_kill_while_a_body_is_moved__loses_nothing_and_leaves_no_object(
    house: StoredHouse, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = await house.tell(sent(EMAIL))
    before = await house.state(number)

    await house.kill_at(step, house.mover.move_all(), monkeypatch)

    assert len(house.server.objects) == (step == "name_objects")
    assert await house.state(number) == before
    house.now += BEGUN_US
    await house.mover.remove()
    assert house.server.objects == {}
    assert await house.mover.move_all() == 1
    assert await house.state(number) == before


@pytest.mark.parametrize("step", ["restore_body", "end_removals"])
async def test_a_kill_while_a_body_is_restored_or_removed__loses_nothing(
    house: StoredHouse, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = await house.tell(sent(EMAIL))
    await house.mover.move_all()
    await house.store.write(replay_deliveries(house.client, [number], house.now))

    if step == "restore_body":
        await house.kill_at(step, house.mover.restore(), monkeypatch)
    await house.mover.restore()
    await house.work()
    house.now += BEGUN_US
    if step == "end_removals":
        await house.kill_at(step, house.mover.remove(), monkeypatch)
    house.now += RETRY_US
    await house.mover.remove()

    assert (await house.state(number))[0] == "applied"
    assert await house.in_database() == 1
    assert house.server.objects == {}
    assert await house.sql("SELECT * FROM object_removal") == []


async def test_a_body_that_is_replayed_while_it_is_uploaded__stays_in_the_database(
    house: StoredHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = await house.tell(sent(EMAIL))
    put = house.bucket.put

    async def put_late(place: str, content: bytes) -> None:
        await put(place, content)
        await house.store.write(replay_deliveries(house.client, [number], house.now))

    monkeypatch.setattr(house.bucket, "put", put_late)
    assert await house.mover.move_all() == 0

    await house.work()
    assert (await house.state(number))[0] == "applied"
    await house.mover.remove()
    assert house.server.objects == {}


async def test_an_upload_that_came_late__cannot_be_named_once_its_object_is_being_removed(
    house: StoredHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = await house.tell(sent(EMAIL))
    before, put = await house.state(number), house.bucket.put

    async def put_late(place: str, content: bytes) -> None:
        await put(place, content)
        house.now += BEGUN_US
        house.server.refuses = {"DELETE"}
        with pytest.raises(ObjectStorageAway):
            await house.mover.remove()

    monkeypatch.setattr(house.bucket, "put", put_late)
    assert await house.mover.move_all() == 0
    assert await house.state(number) == before
    house.server.refuses = set()
    house.now += RETRY_US
    await house.mover.remove()
    assert house.server.objects == {}


@pytest.mark.parametrize("broken", ["refuses", "loses"])
async def test_a_storage_that_is_away__leaves_bodies_in_the_database_until_it_is_back(house: StoredHouse, broken: str) -> None:
    number = await house.tell(sent(EMAIL))
    before = await house.state(number)
    setattr(house.server, broken, {"PUT"})
    with pytest.raises(ObjectStorageAway):
        await house.mover.move_all()

    assert await house.state(number) == before
    setattr(house.server, broken, set())
    house.now += BEGUN_US
    await house.mover.remove()
    assert house.server.objects == {}
    assert await house.mover.move_all() == 1


async def test_limits__move_large_bodies_at_once_and_small_ones_after_their_days(house: StoredHouse) -> None:
    await house.tell(sent(EMAIL))
    large = await house.tell(sent("bob@example.com", first_name="x" * 2_000))
    bucket = Bucket(house.server.settings(min_bytes=1_000, after_days=30), "tests", house.clock)

    assert await BodyMover(house.store, bucket, house.clock).move_all() == 1
    assert await house.sql("SELECT id FROM delivery WHERE object IS NOT NULL") == [(large,)]
    house.now += 30 * DAY + 1
    assert await BodyMover(house.store, bucket, house.clock).move_all() == 1
    await bucket.close()


KEY = {"TOUCHBASE_ENCRYPTION_KEY": encode_key(new_key())}
BUCKET = {"TOUCHBASE_OBJECTS_URL": "s3://touchbase/bodies/", "TOUCHBASE_OBJECTS_ACCESS_KEY": "a", "TOUCHBASE_OBJECTS_SECRET_KEY": "s"}


async def test_objects_that_are_too_long__are_read_one_at_a_time_and_count_as_changed(
    house: StoredHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touchbase.objects.bucket.MOST_BYTES", 2_000_000)
    monkeypatch.setattr("touchbase.objects.bucket.COMMON_BYTES", 1_000)
    house.server.objects.update({f"/bodies/of/{number}": b"x" * 1_500_000 for number in range(4)}, **{"/bodies/of/9": b"x" * 3_000_000})
    long: list[int] = []
    most = 0

    async def send(method: str, url: str, headers: Any, body: bytes, limit: int, send: Any = house.bucket._pool.send) -> Any:
        nonlocal most
        long.extend([1] * (limit > 1_000))
        most = max(most, len(long))
        try:
            return await send(method, url, headers, body, limit)
        finally:
            del long[: limit > 1_000]

    monkeypatch.setattr(house.bucket._pool, "send", send)

    contents = await asyncio.gather(*(house.bucket.get(f"{number}") for number in (0, 1, 2, 3, 9)))

    assert [len(content) for content in contents] == [1_500_000] * 4 + [0]
    assert most == 1


@pytest.mark.parametrize("code", ["\x1b[2J", "a b", "&a;", "x" * 81])
async def test_an_error_of_the_storage__is_quoted_only_if_it_is_a_code(house: StoredHouse, code: str) -> None:
    house.server.refuses.add("GET")
    house.server.code = code

    with pytest.raises(ObjectStorageAway) as refused:
        await house.bucket.get("1")

    assert refused.value.why == "it answered 503: without a code"


def test_settings__name_the_bucket() -> None:
    settings = Settings.read({**KEY, **BUCKET, "TOUCHBASE_OBJECTS_REGION": "eu-central-1"}).objects

    assert settings is not None
    assert settings.url == "https://s3.eu-central-1.amazonaws.com/touchbase/bodies"
    assert Settings.read({}).objects is None


@pytest.mark.parametrize(
    ("environ", "error"),
    [
        (BUCKET, "TOUCHBASE_OBJECTS_URL needs TOUCHBASE_ENCRYPTION_KEY"),
        ({**KEY, **BUCKET, "TOUCHBASE_OBJECTS_SECRET_KEY": ""}, "set TOUCHBASE_OBJECTS_SECRET_KEY too"),
        ({**KEY, **BUCKET, "TOUCHBASE_OBJECTS_URL": "https://minio.example.com"}, "must be the address of a bucket"),
        ({**KEY, **BUCKET, "TOUCHBASE_OBJECTS_REGION": "eu central"}, "must be the name of a region"),
        ({"TOUCHBASE_S3_URL": "s3://x"}, "TOUCHBASE_OBJECTS_URL"),
    ],
)
def test_settings__refuse_a_bucket_that_cannot_work(environ: dict[str, str], error: str) -> None:
    with pytest.raises(BadSettings, match=error):
        Settings.read(environ)


def test_signature__is_that_of_the_examples_in_amazons_documentation() -> None:
    settings = ObjectSettings(
        url="", access_key="AKIAIOSFODNN7EXAMPLE", secret_key="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region="us-east-1"
    )
    at = datetime(2013, 5, 24, tzinfo=UTC)

    signed = signed_headers("GET", "/test.txt", "examplebucket.s3.amazonaws.com", {"range": "bytes=0-9"}, b"", settings, at)

    assert signed["authorization"].endswith("Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")


async def test_a_copy_of_the_store__reads_the_same_objects_with_its_own_key(
    house: StoredHouse, engine_url: str, empty_postgres_url: str, tmp_path: Path
) -> None:
    number = await house.tell(sent(EMAIL))
    before = await house.state(number)
    await house.mover.move_all()
    target = empty_postgres_url if engine_url.startswith("sqlite") else f"sqlite:///{tmp_path}/copy.db"
    await house.store.close()

    await copy_store(engine_url, target, ENCRYPTION_KEYS, lambda *_: None)

    store = await open_store(target, encryption_keys=ENCRYPTION_KEYS, load_bodies=BodyLoader(house.bucket))
    house.store = store
    assert await house.state(number) == before
    assert await house.differences() == []
    await store.close()
