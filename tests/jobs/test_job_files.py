"""Files of jobs: streamed, removed after their time and at an erasure, and never another client's."""

from __future__ import annotations

from tests.asgi_client import ApiClient
from tests.imports.jobs import bad_rows, finished, upload

from touchbase.common.timestamps import DAY, SECOND
from touchbase.maintenance import Maintenance

FILE = b"email,first_name\njane@example.com,Jane\nbad,Joe\n"


async def maintain(call: ApiClient) -> None:
    await Maintenance(call.parts.store, call.clock).round()


async def test_files__are_removed_after_their_days(call: ApiClient, execute_sql) -> None:
    job = await finished(call, await upload(call, FILE, start="true"))
    assert len(await bad_rows(call, job)) == 1

    call.clock.now += 7 * DAY - SECOND
    await maintain(call)
    assert len(await bad_rows(call, job)) == 1
    call.clock.now += 2 * SECOND
    await maintain(call)

    reply = await call.get(f"/public/v2/jobs/{job['id']}/bad-rows")
    assert (reply.status, reply.problem["code"]) == (409, "payload_deleted")
    assert (await call.get(f"/public/v2/jobs/{job['id']}")).json()["progress"]["created"] == 1
    assert await execute_sql("SELECT count(*) FROM job_file") == [(0,)]


async def test_an_erasure__removes_the_files_of_the_client_and_of_no_other(call: ApiClient, execute_sql) -> None:
    await upload(call, FILE)
    ended = await finished(call, await upload(call, FILE, start="true"))
    await call.in_pieces("POST", "/public/v2/contacts/imports", [FILE], x_client_id="other")
    (jane,) = (await call.get("/public/v2/contacts")).json()["data"]

    assert (await call("DELETE", f"/public/v2/contacts/{jane['id']}?erase=true")).status == 200
    await maintain(call)

    assert await execute_sql("SELECT DISTINCT client FROM job_file") == [(2,)]
    states = [(job["id"], job["state"]) for job in (await call.get("/public/v2/jobs")).json()["data"]]
    assert states == [(ended["id"], "succeeded"), (ended["id"] - 1, "failed")]


async def test_rows_of_an_erased_person__are_counted_and_not_imported(call: ApiClient) -> None:
    await finished(call, await upload(call, FILE, start="true"))
    (jane,) = (await call.get("/public/v2/contacts")).json()["data"]
    await call("DELETE", f"/public/v2/contacts/{jane['id']}?erase=true")

    job = await finished(call, await upload(call, FILE, start="true"))

    assert (job["progress"]["erased"], job["progress"]["created"], job["progress"]["invalid"]) == (1, 0, 1)
    assert (await call.get("/public/v2/contacts")).json()["data"] == []


async def test_an_upload_that_is_not_started__ends_with_its_file(call: ApiClient) -> None:
    job = await upload(call, FILE)
    call.clock.now += 8 * DAY

    await maintain(call)

    body = (await call.get(f"/public/v2/jobs/{job['id']}")).json()
    assert (body["state"], body["error"]) == ("failed", "it was not started, and its file has been removed")
    assert (await call.post(f"/public/v2/jobs/{job['id']}/start", {})).status == 409
