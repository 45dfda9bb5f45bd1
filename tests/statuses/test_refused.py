"""A status that the declared set does not have is a problem of its delivery, and is applied once the set has it."""

from __future__ import annotations

from typing import Any

from tests.house import House
from tests.statuses.jobs import ANN, BEN, COMPANIES, at, change, finish, job_of, label, merged, renamed, reply, sent, statuses

WORDS = {"statuses": ["new", "contacted", "Won"]}


async def problems(house: House) -> list[str]:
    """The details of all problems, as the inbox lists them."""
    deliveries = await house.call("GET", "/admin/v1/deliveries?problems=true")
    return [problem["detail"] for delivery in deliveries.json()["data"] for problem in delivery["problems"]]


async def jobs(house: House) -> list[Any]:
    """All jobs, newest first."""
    return (await house.request("GET", "/public/v2/jobs")).json()["data"]


async def test_refused__is_a_problem_until_the_status_is_defined(house: House) -> None:
    await house.call.settings(contact_statuses=WORDS)
    at(house, 100)
    await house.hook("camp", sent(ANN, 1), label(ANN, "Hot lead", 2), sent(BEN, 3), label(BEN, "Hot lead", 4), label(BEN, "Won", 5))
    await house.hook("camp", label(ANN, "Cold", 3))
    before, listed = await problems(house), await statuses(house)
    versions = [item["updated_time"] for item in await house.listed()]

    await change(house, "POST", "", {"name": "hot_lead"}, status=201)
    await finish(house)

    assert [text.partition("'")[2].partition("'")[0] for text in before] == ["Cold", "Hot lead"]
    assert (listed["Hot lead"]["declared"], listed["Hot lead"]["refused"], listed["Cold"]["refused"]) == (False, 1, 1)
    [job] = await jobs(house)
    assert (job["kind"], job["state"]) == ("contacts.recheck_statuses", "succeeded")
    assert (job["progress"]["events"], job["progress"]["changed"]) == (2, 2)
    ann, ben = await house.listed()
    assert (ann["contact_status"], ann["previous_status"]) == ("hot_lead", "contacted")
    assert (ben["contact_status"], ben["previous_status"]) == ("Won", "hot_lead")
    assert ann["updated_time"] != versions[0]
    assert [text.partition("'")[2].partition("'")[0] for text in await problems(house)] == ["Cold"]
    assert await house.differences() == []
    await house.replay()
    assert [item["contact_status"] for item in await house.listed()] == ["hot_lead", "Won"]
    assert len(await problems(house)) == 1


async def test_refused__is_applied_when_the_setting_allows_it(house: House) -> None:
    await house.call.settings(contact_statuses={"statuses": ["new", "contacted"]})
    await house.hook("camp", sent(ANN, 1), reply(ANN, 2))
    first = (await house.listed())[0]["contact_status"]

    await house.call.settings(contact_statuses=WORDS)
    none = await jobs(house)
    await house.call.settings()
    await finish(house)

    assert (first, none) == ("contacted", [])
    assert (await house.listed())[0]["contact_status"] == "replied"
    assert await problems(house) == []
    assert await house.differences() == []


async def test_refused__is_applied_when_it_is_merged_into_a_declared_one(house: House) -> None:
    await house.call.settings(contact_statuses=WORDS)
    at(house, 100)
    await house.hook("camp", sent(ANN, 1), label(ANN, "Closed", 2))

    await merged(house, "Closed", "Won")
    await house.hook("camp", label(BEN, "closed", 3))

    assert [item["contact_status"] for item in await house.listed()] == ["Won", "Won"]
    assert await problems(house) == []
    assert await house.differences() == []


async def test_refused__is_applied_when_a_rename_makes_it_a_name(house: House) -> None:
    await house.call.settings(contact_statuses=WORDS)
    at(house, 100)
    await house.hook("camp", sent(ANN, 1), label(ANN, "Customer", 2))

    await renamed(house, "Won", "Customer")

    assert (await house.listed())[0]["contact_status"] == "Customer"
    assert await house.differences() == []


async def test_refused__of_a_company_and_of_a_waiting_event(house: House) -> None:
    await house.call.settings(company_statuses={"statuses": ["lead"]})
    said = {"event": "company.status_changed", "object_type": "company", "object_id": "7", "status": "partner", "at": 5, "key": "a"}
    await house.hook("hubspot", {**said, "domain": "example.com"})
    await house.hook("hubspot", {**said, "object_id": "8", "key": "b"})

    await change(house, "POST", "", {"name": "Partner"}, status=201, many=COMPANIES)
    await finish(house)
    await house.hook("hubspot", {**said, "event": "company.updated", "object_id": "8", "key": "c", "domain": "example.org"})

    assert [item["company_status"] for item in await house.listed("companies")] == ["Partner", "Partner"]
    assert (await job_of(house, 1))["progress"]["events"] == 2
    assert await problems(house) == []
    assert await house.differences() == []
