"""The job of a change: stopped, killed, cancelled, run twice, with writers that still use the old name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.custom_fields.fields import contact, done, path, uses, work
from tests.house import House

from touchbase.common.timestamps import SECOND
from touchbase.custom_fields import job as field_job
from touchbase.custom_fields.job import FieldChangeKind
from touchbase.errors import Overloaded
from touchbase.history.events import CONTACT
from touchbase.jobs.models import QUEUED, Job
from touchbase.jobs.runner import LEASE, JobRun
from touchbase.jobs.sql import claim_job, create_job
from touchbase.jobs.worker import JobWorker
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.writes import Creation

RECORDS = 7


class Killed(BaseException):
    """The process ended."""


async def kill(run: JobRun) -> None:
    raise Killed


async def fail(run: JobRun) -> None:
    raise RuntimeError("a bug")


async def overload(run: JobRun) -> None:
    raise Overloaded("the database is away")


class Interrupted(FieldChangeKind):
    """A change whose worker ends after each step, in its own way."""

    def __init__(self, end: Callable[[JobRun], Awaitable[None]]) -> None:
        super().__init__(CONTACT)
        self._end = end

    async def run(self, run: JobRun) -> None:
        step = run.step

        async def stepped(*value: Any) -> list[Any]:
            results = await step(*value)
            await self._end(run)
            return results

        run.step = stepped  # type: ignore[method-assign]
        await super().run(run)


def worker(house: House, kind: FieldChangeKind) -> JobWorker:
    """A worker of this kind only."""
    return JobWorker(house.call.parts.store, house.call.clock, [kind])


async def started(house: House, monkeypatch: pytest.MonkeyPatch) -> int:
    """Start a renaming of a field that seven contacts have, two in a page; return the job's id."""
    monkeypatch.setattr(field_job, "PAGE", 2)
    for number in range(RECORDS):
        await contact(house, f"p{number}@a.example", Industry=str(number))
    reply = await house.request("PATCH", path("Industry"), {"name": "Sector"})
    assert reply.status == 202, reply.body
    number: int = reply.json()["id"]
    return number


async def get_job(house: House, job: int) -> Any:
    """The job."""
    return (await house.request("GET", f"/public/v2/jobs/{job}")).json()


@pytest.mark.parametrize("end", [kill, fail, overload])
async def test_a_worker_that_ends_after_each_checkpoint__changes_every_record_once(
    house: House, end: Callable[[JobRun], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await started(house, monkeypatch)
    runs = 0
    while (observed := await get_job(house, job))["state"] in ("queued", "running"):
        runs += 1
        try:
            await worker(house, Interrupted(end)).drain()
        except Killed:
            assert await worker(house, FieldChangeKind(CONTACT)).drain() == 0, "its lease has not ended"
            house.call.clock.now += LEASE
        house.call.clock.now += 10 * SECOND

    assert (observed["state"], observed["progress"]) == ("succeeded", {"records": RECORDS, "total": RECORDS, "percent": 100})
    assert runs == 7, "four pages, the end of the pass, the wait, and the pass that finds nothing"
    assert await uses(house) == {"Sector": RECORDS}
    assert [await house.timeline(item["id"]) for item in await house.listed()] == [["contact.created", "contact.updated"]] * RECORDS
    assert await house.differences() == []


async def test_a_worker_that_lost_its_lease__changes_nothing_more(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    job = await started(house, monkeypatch)

    async def taken_over(run: JobRun) -> None:
        house.call.clock.now += 2 * LEASE
        await work(house)

    await worker(house, Interrupted(taken_over)).drain()

    assert (await get_job(house, job))["progress"]["records"] == RECORDS
    assert await uses(house) == {"Sector": RECORDS}
    assert await house.differences() == []


async def test_cancel__leaves_the_rest_until_the_same_renaming_is_started_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    job = await started(house, monkeypatch)

    async def cancel(run: JobRun) -> None:
        await house.request("POST", f"/public/v2/jobs/{job}/cancel")

    await worker(house, Interrupted(cancel)).drain()
    assert (await get_job(house, job))["state"] == "cancelled"
    assert await uses(house) == {"Industry": RECORDS - 2, "Sector": 2}

    await done(house, await house.request("PATCH", path("Industry"), {"name": "Sector"}))

    assert await uses(house) == {"Sector": RECORDS}
    assert await house.differences() == []


async def test_a_write_with_settings_from_before__gets_the_new_name_too(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    job = await started(house, monkeypatch)
    settle = FieldChangeKind._settle

    async def settled(kind: FieldChangeKind, run: JobRun) -> None:
        at = house.call.clock()
        late = Contact(house.number, 0, at, at, email="late@a.example", email_key="late@a.example")
        await house.call.parts.store.write(create_contact(Creation(late, [("Industry", "late")])))
        await settle(kind, run)

    monkeypatch.setattr(FieldChangeKind, "_settle", settled)
    await work(house)

    assert (await get_job(house, job))["progress"]["records"] == RECORDS + 1
    assert await uses(house) == {"Sector": RECORDS + 1}


async def test_renamings__that_follow_each_other_at_once_or_come_twice_end_at_the_last_name(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await started(house, monkeypatch)
    for old, new in (("Industry", "Sector"), ("Sector", "Branch"), ("Sector", "Branch")):
        assert (await house.request("PATCH", path(old), {"name": new})).status == 202

    await asyncio.gather(*(work(house) for _ in range(3)))

    assert await uses(house) == {"Branch": RECORDS}
    assert await house.differences() == []


async def test_an_import_at_work_elsewhere__is_waited_for(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    job = await started(house, monkeypatch)
    clock, observed = house.call.clock, []
    at = clock()
    other_job = await house.call.parts.store.write(create_job(Job(house.number, 0, "contacts.import", QUEUED, at, at)))
    assert await house.call.parts.store.write(claim_job(house.number, other_job.id, "elsewhere", at, at + 60 * SECOND)) is not None
    sleep = asyncio.sleep

    async def slept(seconds: float) -> None:
        if seconds == 0.0:
            observed.append((await get_job(house, job))["state"])
            clock.move(25)
        await sleep(0)

    monkeypatch.setattr(field_job.asyncio, "sleep", slept)
    await worker(house, FieldChangeKind(CONTACT)).drain()

    assert observed == ["running"] * 3
    assert (await get_job(house, job))["state"] == "succeeded"
