"""The job of a rename: it survives a kill, it can be cancelled and finished later, and a request from before the rename is caught."""

from __future__ import annotations

from typing import Any

import pytest
from tests.house import House
from tests.statuses.jobs import ANN, at, finish, job_of, rename, statuses, worker

from touchbase.clients.sql.clients import find_client
from touchbase.common.timestamps import SECOND
from touchbase.jobs.models import JobLost
from touchbase.jobs.runner import LEASE, JobRun
from touchbase.records.operations import update_contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.update import RecordChange, update_of
from touchbase.statuses import job as status_job
from touchbase.statuses.job import RenameKind

PEOPLE = 7


class Killed(BaseException):
    """The process of the worker ends."""


class KilledAfterAStep(RenameKind):
    """A rename whose worker is killed after its first step."""

    async def run(self, run: JobRun) -> None:
        step = run.step

        async def stepped(*value: Any) -> list[Any]:
            await step(*value)
            raise JobLost("another worker has it") if self.lost else Killed

        run.step = stepped  # type: ignore[method-assign]
        await super().run(run)

    lost = False


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a step have two records."""
    monkeypatch.setattr(status_job, "PAGE", 2)


async def people(house: House) -> None:
    """Contacts that have replied."""
    for number in range(PEOPLE):
        await house.contact(email=f"p{number}@example.com", contact_status="replied")


async def words(house: House) -> dict[str, int]:
    """How many contacts have each status."""
    result: dict[str, int] = {}
    for item in await house.listed():
        result[item["contact_status"]] = result.get(item["contact_status"], 0) + 1
    return result


async def test_job__another_worker_continues_after_a_kill(house: House) -> None:
    await people(house)
    job = await rename(house, "replied", "Interested")

    with pytest.raises(Killed):
        await worker(house, [KilledAfterAStep("contacts.rename_status")]).drain()
    killed, clean, left = await job_of(house, job["id"]), await house.differences(), await words(house)
    idle = await worker(house).drain()
    house.call.clock.now += LEASE + SECOND
    await finish(house)

    assert (killed["state"], killed["progress"]["changed"]) == ("running", 2)
    assert left == {"replied": PEOPLE - 2, "Interested": 2}
    assert (clean, idle) == ([], 0)
    done = await job_of(house, job["id"])
    assert (done["state"], done["progress"]["changed"], done["progress"]["scanned"]) == ("succeeded", PEOPLE, PEOPLE)
    assert await words(house) == {"Interested": PEOPLE}
    assert await house.differences() == []


async def test_job__a_cancelled_one_is_finished_by_the_same_request(house: House) -> None:
    await people(house)
    job = await rename(house, "replied", "Interested")
    with pytest.raises(Killed):
        await worker(house, [KilledAfterAStep("contacts.rename_status")]).drain()

    await house.request("POST", f"/public/v2/jobs/{job['id']}/cancel")
    at(house, 100)
    await finish(house)
    left, listed = await house.differences(), (await statuses(house))["Interested"]
    again = await rename(house, "replied", "Interested")
    await finish(house)

    assert len(left) == PEOPLE - 2
    assert (listed["records"], listed["renaming"]) == (PEOPLE, PEOPLE - 2)
    assert again["id"] != job["id"]
    assert await words(house) == {"Interested": PEOPLE}
    assert await house.differences() == []


async def test_job__catches_a_request_from_before_the_rename(house: House) -> None:
    """A process may know a client's settings from a second ago, and a request may wait for its body."""
    ann = await house.contact(email=ANN, contact_status="replied")
    store = house.call.parts.store
    client = await store.read(find_client(house.client_id))
    assert client is not None
    at(house, 1)
    job = await rename(house, "replied", "Interested")
    await worker(house).drain()
    waiting = await job_of(house, job["id"])

    at(house, 2)
    change = RecordChange({"contact_status": "replied"})
    await store.write(update_contact(update_of(CONTACT_TYPE, client, ann, change, house.call.clock())))
    late = (await house.get(ann))["contact_status"]
    await finish(house)

    assert (waiting["state"], late) == ("running", "replied")
    response = await house.get(ann)
    assert (response["contact_status"], response["previous_status"], response["status_changed_at"]) == ("Interested", None, None)
    assert (await job_of(house, job["id"]))["state"] == "succeeded"
    assert await house.differences() == []


async def test_job__renews_the_etag_of_a_changed_record(house: House) -> None:
    ann = await house.contact(email=ANN, contact_status="replied")
    before = (await house.request("GET", f"/public/v2/contacts/{ann}")).headers["etag"]
    await rename(house, "replied", "Interested")
    await finish(house)

    after = await house.request("GET", f"/public/v2/contacts/{ann}", if_none_match=before)

    assert after.status == 200
