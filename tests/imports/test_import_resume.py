"""An import that is stopped, killed, cancelled or taken over does every row once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.asgi_client import ApiClient
from tests.imports.jobs import bad_rows, counts, imported, upload, worker

from touchbase.common.timestamps import SECOND
from touchbase.errors import Overloaded
from touchbase.imports import job as import_job
from touchbase.imports.job import ImportKind
from touchbase.jobs.runner import LEASE, JobRun

ROWS, BAD = 5_000, 300


def file_of(rows: int, bad: int) -> tuple[bytes, set[str]]:
    """A file with this many rows, of which some are bad and every 50th repeats the one before; and the numbers of the bad rows."""
    lines, wrong = ["email,first_name,Segment,last_reply_received,company.domain"], set()
    every = rows // bad
    for number in range(rows):
        email = f"person{number - (number % 50 == 49)}@example.com"
        if number % every == 0 and len(wrong) < bad:
            email = f"person{number} at example.com"
            wrong.add(str(number + 2))
        lines.append(f"{email},First {number},{number % 7},2026-05-{number % 28 + 1:02}T10:00:00Z,company{number % 40}.example")
    return "\n".join(lines).encode(), wrong


async def number_of_contacts(call: ApiClient) -> int:
    """How many contacts there are, by the pages of the list."""
    total, cursor = 0, ""
    while cursor is not None:
        page = (await call.get(f"/public/v2/contacts?limit=200&cursor={cursor}")).json()
        total, cursor = total + len(page["data"]), page["next_cursor"]
    return total


@pytest.mark.parametrize("rows", [ROWS, pytest.param(20_000, marks=pytest.mark.weekly)])
async def test_a_large_file__counts_exactly_and_twice_changes_nothing(call: ApiClient, rows: int) -> None:
    data, wrong = file_of(rows, BAD)
    job = await upload(call, data, start="true")

    assert await worker(call).drain() == 1
    done = (await call.get(f"/public/v2/jobs/{job['id']}")).json()
    again = await imported(call, data)

    duplicates = counts(done)["duplicate_in_file"]
    created = rows - BAD - duplicates
    assert counts(done) == {"created": created, "duplicate_in_file": duplicates, "invalid": BAD}
    assert duplicates > rows // 60
    listed = await bad_rows(call, job)
    assert {row["row"] for row in listed} == wrong
    assert len(listed) == BAD
    assert all(row["reason"].startswith("email: ") for row in listed)
    assert again == {"unchanged": created, "duplicate_in_file": duplicates, "invalid": BAD}
    assert await number_of_contacts(call) == created


@dataclass
class Interrupted:
    """An import whose worker ends after each step, or during it, in its own way."""

    kind: ImportKind
    end: Callable[[JobRun], Awaitable[None]]
    name: str = "contacts.import"

    async def run(self, run: JobRun) -> None:
        """Run until the first checkpoint."""
        step = run.step

        async def stepped(*value: Any) -> list[Any]:
            results = await step(*value)
            await self.end(run)
            return results

        run.step = stepped  # type: ignore[method-assign]
        await self.kind.run(run)


class Killed(BaseException):
    """The process ended."""


async def kill(run: JobRun) -> None:
    raise Killed


async def fail(run: JobRun) -> None:
    raise RuntimeError("a bug")


async def overload(run: JobRun) -> None:
    raise Overloaded("the database is away")


@pytest.mark.parametrize("end", [kill, fail, overload])
async def test_a_worker_that_ends_after_each_checkpoint__does_every_row_once(
    call: ApiClient, end: Callable[[JobRun], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_job, "BATCH", 300)
    data, wrong = file_of(1_000, 20)
    job = await upload(call, data, start="true")
    interrupted = Interrupted(ImportKind("contact", "contacts.import"), end)

    runs = 0
    while (body := (await call.get(f"/public/v2/jobs/{job['id']}")).json())["state"] in ("queued", "running"):
        runs += 1
        try:
            await worker(call, [interrupted]).drain()
        except Killed:
            assert await worker(call).drain() == 0, "its lease has not ended"
            call.clock.now += LEASE
        call.clock.now += 10 * SECOND

    assert runs == 5, "one for each checkpoint, and one that finds the end"
    assert body["state"] == "succeeded"
    assert counts(body) == {"created": 960, "duplicate_in_file": 20, "invalid": 20}
    assert {row["row"] for row in await bad_rows(call, job)} == wrong
    assert await number_of_contacts(call) == 960


async def test_a_worker_that_lost_its_lease__writes_nothing_more(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_job, "BATCH", 100)
    data, _ = file_of(1_000, 20)
    job = await upload(call, data, start="true")

    async def taken_over(run: JobRun) -> None:
        call.clock.now += 2 * LEASE
        await worker(call).drain()

    await worker(call, [Interrupted(ImportKind("contact", "contacts.import"), taken_over)]).drain()

    body = (await call.get(f"/public/v2/jobs/{job['id']}")).json()
    assert (body["state"], counts(body)) == ("succeeded", {"created": 960, "duplicate_in_file": 20, "invalid": 20})
    assert await number_of_contacts(call) == 960


async def test_cancel__stops_before_the_next_step_and_keeps_what_is_written(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_job, "BATCH", 100)
    data, _ = file_of(1_000, 20)
    job = await upload(call, data, start="true")

    async def cancel(run: JobRun) -> None:
        await call.post(f"/public/v2/jobs/{job['id']}/cancel")

    await worker(call, [Interrupted(ImportKind("contact", "contacts.import"), cancel)]).drain()

    body = (await call.get(f"/public/v2/jobs/{job['id']}")).json()
    assert (body["state"], body["progress"]["rows"]) == ("cancelled", 100)
    assert await number_of_contacts(call) == body["progress"]["created"]
    assert (await call.post(f"/public/v2/jobs/{job['id']}/cancel")).json() == body


async def test_several_workers__share_the_jobs_and_do_each_once(call: ApiClient) -> None:
    data, _ = file_of(400, 8)
    jobs = [await upload(call, data.replace(b"@example.com", b"@%d.example" % number), start="true") for number in range(4)]

    taken = await asyncio.gather(*(worker(call).drain() for _ in range(3)))

    results = [(await call.get(f"/public/v2/jobs/{job['id']}")).json() for job in jobs]
    assert sum(taken) == 4
    assert [(item["state"], counts(item)["created"]) for item in results] == [("succeeded", 384)] * 4


async def test_a_step_of_another_worker__is_refused_as_a_whole(call: ApiClient) -> None:
    from touchbase.jobs.models import JobLost
    from touchbase.jobs.runner import execute_step

    job = await upload(call, b"email\njane@example.com\n", start="true")
    step = execute_step(1, job["id"], "not the token", call.clock(), call.clock(), [], lambda results: pytest.fail("no checkpoint"))

    with pytest.raises(JobLost):
        await call.parts.store.write(step)
