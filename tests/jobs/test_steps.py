"""A step of a job: its commands and its checkpoint are stored together, or not at all; any kind may use it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.asgi_client import ApiClient
from tests.imports.jobs import contacts

from touchbase.jobs.models import QUEUED, Checkpoint, Job
from touchbase.jobs.runner import JobRun, execute_step
from touchbase.jobs.sql import claim_job, create_job, get_job
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

    assert [each["email"] for each in await contacts(call)] == ["first@example.com"]
    await store.write(execute_step(1, job.id, "token", at, at + 1_000, [creation], lambda results: Checkpoint({"done": 1}, {"rows": 1})))
    found = await store.read(get_job(1, job.id))
    assert found is not None
    assert (found.position, found.progress) == ({"done": 1}, {"rows": 1})
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
    job = await new_job(call, ids=[each["id"] for each in await contacts(call)], to="Renamed")
    call.clock.move(1)

    await JobWorker(call.parts.store, call.clock, [Rename()]).drain()

    found = (await call.get(f"/public/v2/jobs/{job.id}")).json()
    assert (found["state"], found["progress"]) == ("succeeded", {"rows": 3, "percent": 100})
    assert [each["first_name"] for each in await contacts(call)] == ["Renamed", "Renamed", "Renamed", ""]


async def test_a_kind_that_no_worker_knows__fails_with_the_reason(call: ApiClient) -> None:
    job = await new_job(call, "contacts.unknown")

    await JobWorker(call.parts.store, call.clock, [Rename()]).drain()

    found = (await call.get(f"/public/v2/jobs/{job.id}")).json()
    assert (found["state"], "no jobs of the kind 'contacts.unknown'" in found["error"]) == ("failed", True)
