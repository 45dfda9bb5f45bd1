"""The files of archived events over HTTP, on both engines."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from pyarrow import parquet
from tests.asgi_client import ApiClient
from tests.objects.bucket_server import BucketServer, bucket_server

from touchbase.common.timestamps import DAY
from touchbase.config import BadSettings, Settings
from touchbase.encryption.keys import encode_key, new_key
from touchbase.event_archive import worker
from touchbase.event_archive.worker import EventArchiver
from touchbase.objects.bodies import BodyLoader
from touchbase.objects.bucket import Bucket

FILES = "/public/v2/events/files"


@pytest.fixture
async def server(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[BucketServer]:
    """A bucket with three files, of an event each."""
    monkeypatch.setattr(worker, "FILE_EVENTS", 1)
    monkeypatch.setattr(worker, "PAGE", 1)
    for number in range(3):
        await call("POST", "/public/v2/contacts", {"email": f"person{number}@example.com"})
    async with bucket_server() as server:
        store: Any = call.parts.store
        bucket = Bucket(replace(server.settings(), events_after_days=1), "tests", call.clock)
        store.load_bodies = BodyLoader(bucket)
        await EventArchiver(store, bucket, lambda: call.clock() + 60 * DAY).archive()
        yield server
        await bucket.close()


async def test_files__are_listed_page_by_page_and_given_out_decrypted(call: ApiClient, server: BucketServer) -> None:
    first = (await call.get(f"{FILES}?limit=2")).json()
    second = (await call.get(f"{FILES}?limit=2&cursor={first['next_cursor']}")).json()
    files = first["data"] + second["data"]

    assert [(file["id"], file["first_event"], file["last_event"], file["events"], file["state"]) for file in files] == [
        (number, f"evt_{number}", f"evt_{number}", 1, "stored") for number in (1, 2, 3)
    ]
    assert second["next_cursor"] is None
    for file in files:
        reply = await call.get(f"{FILES}/{file['id']}")
        assert reply.status == 200
        assert reply.headers["content-type"] == "application/vnd.apache.parquet"
        assert reply.headers["content-disposition"].endswith(f'-{file["id"]}.parquet"')
        assert (len(reply.body), sha256(reply.body).hexdigest()) == (file["size"], file["sha256"])
        [row] = parquet.read_table(io.BytesIO(reply.body)).to_pylist()
        assert (row["id"], row["type"], row["record"]) == (file["first_event"], "contact.created", "contact")


async def test_files_of_another_client__are_not_found(call: ApiClient, server: BucketServer) -> None:
    await call("POST", "/public/v2/contacts", {"email": "ann@example.com"}, **{"x-client-id": "other"})

    listed = await call.get(FILES, **{"x-client-id": "other"})
    reply = await call.get(f"{FILES}/1", **{"x-client-id": "other"})

    assert listed.json()["data"] == []
    assert (reply.status, reply.json()["detail"]) == (404, "there is no file of events with id 1")


@pytest.mark.parametrize("number", ["0", "x", "99"])
async def test_a_file_that_does_not_exist__is_a_404(call: ApiClient, number: str) -> None:
    assert (await call.get(f"{FILES}/{number}")).status == 404


async def test_a_file__is_a_503_while_the_storage_is_away_and_a_409_once_it_lost_it(call: ApiClient, server: BucketServer) -> None:
    server.refuses = {"GET"}
    away = await call.get(f"{FILES}/1")
    server.refuses, server.objects = set(), {}
    lost = await call.get(f"{FILES}/1")

    assert (away.status, "retry-after" in away.headers) == (503, True)
    assert (lost.status, lost.json()["code"]) == (409, "payload_deleted")
    assert "is not in object storage any more" in lost.json()["detail"]


def test_settings__archive_events_only_with_a_bucket() -> None:
    key = {"TOUCHBASE_ENCRYPTION_KEY": encode_key(new_key()), "TOUCHBASE_OBJECTS_EVENTS_AFTER_DAYS": "7"}
    bucket = {"TOUCHBASE_OBJECTS_URL": "s3://touchbase/of", "TOUCHBASE_OBJECTS_ACCESS_KEY": "a", "TOUCHBASE_OBJECTS_SECRET_KEY": "s"}

    settings = Settings.read({**key, **bucket}).objects

    assert settings is not None
    assert settings.events_after_days == 7
    with pytest.raises(BadSettings, match="needs a bucket: set TOUCHBASE_OBJECTS_URL"):
        Settings.read(key)
