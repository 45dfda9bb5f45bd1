"""A step of a job: its commands and its checkpoint are stored together, or not at all; any kind may use it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.asgi_client import ApiClient
from tests.conftest import ExecuteSql
from tests.imports.jobs import contacts

from touchbase.common.timestamps import DAY, SECOND
from touchbase.jobs import worker as worker_module
from touchbase.jobs.models import QUEUED, RUNNING, Checkpoint, Job
from touchbase.jobs.runner import JobRun, Postponed, execute_step
from touchbase.jobs.sql import claim_job, create_job, due_jobs, get_job, list_jobs
from touchbase.jobs.worker import JobWorker
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact, update_contact
from touchbase.records.writes import Creation, RecordUpdate


async def new_job(call: ApiClient, kind: str = "contacts.rename", **settings: Any) -> Job:
    await call.post("/public/v2/contacts", {"email": "first@example.com"})
    return await call.parts.store.write(create_job(Job(1, 0, kind, QUEUED, call.clock(), call.clock(), settings)))


async def test_a_checkpoint_that_fails__stores_nothing_of_its_step(call: ApiClient) -> None:
    store, at = call.parts.store, call.clock()
    job = await new_job(call)
    claimed = await store.write(claim_job(1, job.id, "token", at, at + 1_000))
    assert claimed is not None
    creation = create_contact(Creation(Contact(1, 0, at, at, "second@example.com", "second@example.com")))

    def broken(results: list[Any]) -> Checkpoint:
        raise RuntimeError("no checkpoint")

    with pytest.raises(Exception, match=r"no checkpoint|cannot use"):
        await store.write(execute_step(1, job.id, "token", at, at + 1_000, [creation], broken))

    assert [contact["email"] for contact in await contacts(call)] == ["first@example.com"]
    await store.write(execute_step(1, job.id, "token", at, at + 1_000, [creation], lambda results: Checkpoint({"done": 1}, {"rows": 1})))
    result = await store.read(get_job(1, job.id))
    assert result is not None
    assert (result.position, result.progress) == ({"done": 1}, {"rows": 1})
    assert len(await contacts(call)) == 2


class Rename:
    """Renames all contacts, one in a step: a kind as another capability would write it."""

    name = "contacts.rename"

    async def run(self, run: JobRun) -> None:
        """Continue behind the last contact."""
        for number in run.job.settings["ids"][run.job.position.get("done", 0) :]:
            update = update_contact(RecordUpdate(1, number, {"first_name": run.job.settings["to"]}, {}, run.clock(), f"api:rename{number}"))
            done = run.job.position.get("done", 0) + 1
            await run.step([update], lambda results, done=done: Checkpoint({"done": done}, {"rows": done}))  # type: ignore[misc]


async def test_another_kind__runs_with_the_same_worker(call: ApiClient) -> None:
    for number in range(3):
        await call.post("/public/v2/contacts", {"email": f"{number}@example.com"})
    job = await new_job(call, ids=[contact["id"] for contact in await contacts(call)], to="Renamed")
    call.clock.move(1)

    await JobWorker(call.parts.store, call.clock, [Rename()]).drain()

    body = (await call.get(f"/public/v2/jobs/{job.id}")).json()
    assert (body["state"], body["progress"]) == ("succeeded", {"rows": 3, "percent": 100})
    assert [contact["first_name"] for contact in await contacts(call)] == ["Renamed", "Renamed", "Renamed", ""]


async def test_a_kind_that_no_worker_knows__fails_with_the_reason(call: ApiClient) -> None:
    job = await new_job(call, "contacts.unknown")

    await JobWorker(call.parts.store, call.clock, [Rename()]).drain()

    body = (await call.get(f"/public/v2/jobs/{job.id}")).json()
    assert (body["state"], "no jobs of the kind 'contacts.unknown'" in body["error"]) == ("failed", True)


class Late:
    """A kind that comes back later."""

    name = "contacts.late"

    async def run(self, run: JobRun) -> None:
        """Come back a second later."""
        raise Postponed(run.clock() + SECOND)


async def test_job_that_kills_its_server__fails_after_ten_claims(call: ApiClient) -> None:
    job = await new_job(call, ids=[1], to="Renamed")
    for _ in range(10):
        call.clock.move(60)
        assert await call.parts.store.write(claim_job(1, job.id, "killed", call.clock(), call.clock() + SECOND)) is not None
    call.clock.move(60)

    await JobWorker(call.parts.store, call.clock, [Rename()]).drain()

    body = (await call.get(f"/public/v2/jobs/{job.id}")).json()
    assert (body["state"], body["error"][:39]) == ("failed", "10 attempts were started and none ended")
    assert [each["first_name"] for each in await contacts(call)] == [""]


async def test_job_that_waits__may_do_so_any_number_of_times(call: ApiClient) -> None:
    job = await new_job(call, "contacts.late")

    for _ in range(12):
        call.clock.move(60)
        await JobWorker(call.parts.store, call.clock, [Late()]).drain()

    stored = await call.parts.store.read(get_job(1, job.id))
    assert stored is not None
    assert (stored.state, stored.attempts) == (RUNNING, 0)


class Asking:
    """A kind that waits for a server that does not respond."""

    name = "contacts.ask"

    async def run(self, run: JobRun) -> None:
        """Wait until the worker stops."""
        await run.outside(asyncio.Event().wait())


class Noting:
    """A kind that notes its clients; `ended` is set after so many jobs."""

    name = "contacts.note"

    def __init__(self, jobs: int) -> None:
        self.meanwhile: Callable[[], Awaitable[object]] | None = None
        self.clients: list[int] = []
        self.ended = asyncio.Event()
        self._jobs = jobs

    async def run(self, run: JobRun) -> None:
        """Note the client."""
        self.clients.append(run.job.client)
        if self.meanwhile is not None:
            await self.meanwhile()
        if len(self.clients) == self._jobs:
            self.ended.set()


async def queue(call: ApiClient, kind: str, *clients: int) -> None:
    for client in clients:
        await call.parts.store.write(create_job(Job(client, 0, kind, QUEUED, call.clock(), call.clock(), {})))
        call.clock.move(1)


async def test_servers_that_do_not_respond__hold_up_no_other_job_and_no_stop(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two", "three", "four"):
        await call.settings(name)
    await queue(call, "contacts.ask", 1, 2, 3)
    await queue(call, "contacts.note", 4)
    monkeypatch.setattr(worker_module, "MAX_OUTSIDE", 2)  # a third one has to come back
    noting = Noting(1)
    worker = JobWorker(call.parts.store, call.clock, [Asking(), noting])
    running = asyncio.create_task(worker.run())

    async with asyncio.timeout(60):
        await noting.ended.wait()
        worker.stop()
        await running

    assert noting.clients == [4]
    states = [job.state for client in (1, 2, 3) for job in await call.parts.store.read(list_jobs(client, 9))]
    assert states == [RUNNING] * 3
    call.clock.move(10)
    assert {client for client, _ in await call.parts.store.read(due_jobs(call.clock(), 9))} == {1, 2, 3}


async def test_clients__take_turns_however_many_jobs_they_have(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two", "three"):
        await call.settings(name)
    await queue(call, "contacts.note", *[1] * 30, *[2] * 3, 3)
    monkeypatch.setattr(worker_module, "MAX_JOBS", 1)
    noting = Noting(7)
    worker = JobWorker(call.parts.store, call.clock, [noting])
    noting.meanwhile = worker._round  # a search while there is no room
    running = asyncio.create_task(worker.run())

    async with asyncio.timeout(60):
        await noting.ended.wait()
        worker.stop()
        await running

    assert noting.clients == [1, 2, 3, 1, 2, 1, 2]


async def test_job_that_cannot_be_claimed__pauses_in_its_place(
    call: ApiClient, execute_sql: ExecuteSql, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("one", "two"):
        await call.settings(name)
    await queue(call, "contacts.note", 1, *[2] * 20)
    await execute_sql("UPDATE job SET progress = '[]' WHERE client = 1")  # cannot be read
    monkeypatch.setattr(worker_module, "RETRY", DAY)
    noting = Noting(20)
    worker = JobWorker(call.parts.store, call.clock, [noting])
    running = asyncio.create_task(worker.run())

    async with asyncio.timeout(60):
        await noting.ended.wait()
        worker.stop()
        await running

    assert noting.clients == [2] * 20
    assert len([record for record in caplog.records if "could not be taken" in record.message]) == 1
