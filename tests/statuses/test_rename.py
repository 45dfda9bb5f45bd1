"""Renaming a status: events and requests set the new name, records and their histories follow, the rules stay."""

from __future__ import annotations

from typing import Any

import pytest
from tests.house import NOON, House
from tests.statuses.jobs import (
    ANN,
    BEN,
    COMPANIES,
    EVE,
    at,
    bounce,
    change,
    finish,
    job_of,
    label,
    merged,
    rename,
    renamed,
    reply,
    resubscribe,
    sent,
    statuses,
    unsubscribe,
)

from touchbase.common.timestamps import SECOND, to_text

HOUR = 3600


def seconds(number: int) -> str:
    """A time as responses write it."""
    return to_text(NOON + number * SECOND)


async def status_of(house: House, number: int) -> tuple[Any, Any]:
    """The status and the one before it."""
    response = await house.get(number)
    return response["contact_status"], response["previous_status"]


async def values(house: House, number: int) -> list[tuple[str, str, str | None]]:
    """The values of the status over time, oldest first: value, since, until."""
    answer = await house.request("GET", f"/public/v2/contacts/{number}/history?field=contact_status")
    return [(item["value"], item["since"], item["until"]) for item in reversed(answer.json()["data"])]


async def test_rename__the_next_reply_sets_the_new_name_and_old_records_read_it(house: House) -> None:
    ann, ben = await house.contact(email=ANN), await house.contact(email=BEN)
    at(house, 100)
    await house.hook("camp", sent(ANN, 10), sent(BEN, 11), reply(ANN, 20))
    at(house, HOUR)

    job = await rename(house, "replied", "Interested")
    await house.hook("camp", reply(BEN, HOUR + 1))
    during = await status_of(house, ben), await status_of(house, ann)
    clean_during = await house.differences()
    await finish(house)
    await house.hook("camp", label(ANN, "Won", 2 * HOUR), unsubscribe(BEN, 2 * HOUR))

    assert job["state"] == "queued"
    assert during == (("Interested", "contacted"), ("replied", "contacted"))
    assert clean_during == []
    done = await job_of(house, job["id"])
    assert (done["kind"], done["state"]) == ("contacts.rename_status", "succeeded")
    assert done["progress"] == {"records": 2, "scanned": 2, "changed": 1, "percent": 100}
    assert await status_of(house, ann) == ("Won", "Interested")
    assert await status_of(house, ben) == ("do_not_contact", "Interested")
    assert await house.differences() == []


async def test_rename__histories_show_when(house: House) -> None:
    ann = await house.contact(email=ANN)
    at(house, 100)
    await house.hook("camp", sent(ANN, 10), reply(ANN, 20))
    at(house, HOUR)
    await renamed(house, "replied", "Interested")

    timeline = (await house.request("GET", f"/public/v2/contacts/{ann}/timeline")).json()["data"]
    before = (await house.request("GET", f"/public/v2/contacts/{ann}?as_of={seconds(HOUR - 1)}")).json()
    after = (await house.request("GET", f"/public/v2/contacts/{ann}?as_of={seconds(HOUR)}")).json()
    explained = (await house.request("GET", f"/public/v2/contacts/{ann}/explain?field=contact_status")).json()["data"][0]

    assert await values(house, ann) == [
        ("contacted", seconds(10), seconds(20)),
        ("replied", seconds(20), seconds(HOUR)),
        ("Interested", seconds(HOUR), None),
    ]
    assert timeline[0]["event"] == "contact.status_renamed"
    assert timeline[0]["changed"] == [{"field": "contact_status", "value": "Interested", "previous": "replied"}]
    assert (before["contact_status"], after["contact_status"]) == ("replied", "Interested")
    assert after["status_changed_at"] == seconds(20)
    assert explained["value"] == "Interested"
    assert explained["set_by"]["event"] == "email_replied"
    assert explained["others"][0]["event"]["event"] == "contact.status_renamed"
    assert await house.differences() == []


async def test_rename__the_rules_follow_the_meaning(house: House) -> None:
    ann, ben = await house.contact(email=ANN, contact_status="do_not_contact"), await house.contact(email=BEN, contact_status="new")
    at(house, HOUR)
    await renamed(house, "do_not_contact", "Blocked")
    await renamed(house, "new", "Customer")
    eve = await house.contact(email=EVE, contact_status="Customer")
    at(house, 2 * HOUR)

    await house.hook("camp", bounce(ANN, 2 * HOUR), sent(BEN, 2 * HOUR), sent(EVE, 2 * HOUR))

    assert await status_of(house, ann) == ("Blocked", None)
    assert await status_of(house, ben) == ("contacted", "Customer")
    assert await status_of(house, eve) == ("contacted", "Customer")
    assert await house.differences() == []


async def test_rename__every_word_that_touchbase_sets_and_a_resubscription(house: House) -> None:
    ann = await house.contact(email=ANN)
    at(house, 100)
    await house.hook("camp", sent(ANN, 10))
    for word, name in (("contacted", "Mailed"), ("replied", "Interested"), ("bounced", "Undeliverable"), ("do_not_contact", "Blocked")):
        await renamed(house, word, name)
    at(house, HOUR)

    observed = []
    for fact in (reply(ANN, 200), bounce(ANN, 210), unsubscribe(ANN, 220), resubscribe(ANN, 230)):
        await house.hook("camp", fact)
        observed.append((await status_of(house, ann))[0])
    await house.hook("camp", sent(BEN, 240))

    assert observed == ["Interested", "Undeliverable", "Blocked", "Undeliverable"]
    assert (await house.listed(query="contact_status=Mailed"))[0]["email"] == BEN
    assert {name: status["stands_for"] for name, status in (await statuses(house)).items() if status["stands_for"]} == {
        "Blocked": ["do_not_contact"], "Interested": ["replied"], "Mailed": ["contacted"], "Undeliverable": ["bounced"],
    }  # fmt: skip
    await house.replay()
    assert (await status_of(house, ann))[0] == "Undeliverable"
    assert await house.differences() == []


async def test_rename__a_late_event_from_before_it_counts_at_its_own_time(house: House) -> None:
    ann = await house.contact(email=ANN)
    at(house, HOUR)
    await renamed(house, "replied", "Interested")
    await house.hook("camp", sent(ANN, HOUR - 10))
    at(house, 2 * HOUR)
    await house.hook("camp", reply(ANN, HOUR - 5))

    assert await status_of(house, ann) == ("Interested", "contacted")
    assert await values(house, ann) == [
        ("contacted", seconds(HOUR - 10), seconds(HOUR - 5)),
        ("replied", seconds(HOUR - 5), seconds(HOUR)),
        ("Interested", seconds(HOUR), None),
    ]
    assert await house.differences() == []


async def test_rename__chains_and_goes_back(house: House) -> None:
    ann = await house.contact(email=ANN, contact_status="Hot")
    for hour, (before, after) in enumerate((("Hot", "Warm"), ("Warm", "Cold"), ("Cold", "Hot")), 1):
        at(house, hour * HOUR)
        await renamed(house, before, after)
        assert await status_of(house, ann) == (after, None)
        assert await house.differences() == []

    ben = await house.contact(email=BEN, contact_status="Warm")

    assert await status_of(house, ben) == ("Hot", None)
    assert [value for value, *_ in await values(house, ann)] == ["Hot", "Warm", "Cold", "Hot"]
    assert (await statuses(house))["Hot"]["records"] == 2
    assert [former_name["name"] for former_name in (await statuses(house))["Hot"]["former_names"]] == ["Warm", "Cold"]


async def test_rename__a_request_that_says_the_former_name_gets_the_present_one(house: House) -> None:
    ann = await house.contact(email=ANN, contact_status="contacted")
    await renamed(house, "replied", "Interested")

    patched = await house.request("PATCH", f"/public/v2/contacts/{ann}", {"contact_status": "replied"})
    again = await house.request("PATCH", f"/public/v2/contacts/{ann}", {"contact_status": "Interested"})

    assert patched.json()["contact_status"] == "Interested"
    assert again.json()["status_changed_at"] == patched.json()["status_changed_at"]
    assert await house.differences() == []


async def test_rename__companies_have_names_of_their_own(house: House) -> None:
    company = await house.company("example.com", company_status="Lead")
    ann = await house.contact(email=ANN, contact_status="Lead")
    at(house, HOUR)

    await renamed(house, "Lead", "Prospect", many=COMPANIES)

    assert (await house.get(company, "companies"))["company_status"] == "Prospect"
    assert await status_of(house, ann) == ("Lead", None)
    assert await house.timeline(company, "companies") == ["company.created", "company.status_renamed"]
    assert await house.differences() == []


async def test_merge__two_values_become_one(house: House) -> None:
    ann, ben = await house.contact(email=ANN, contact_status="Hot"), await house.contact(email=BEN, contact_status="Warm")
    at(house, HOUR)

    job = await merged(house, "Hot", "Warm")
    await house.request("PATCH", f"/public/v2/contacts/{ann}", {"contact_status": "Warm"})

    assert (job["kind"], job["state"], job["progress"]["changed"]) == ("contacts.merge_statuses", "succeeded", 1)
    assert await status_of(house, ann) == await status_of(house, ben) == ("Warm", None)
    assert (await statuses(house))["Warm"]["records"] == 2
    assert await house.differences() == []


async def test_merge__changes_no_record_that_has_neither_of_the_two(house: House) -> None:
    """Merged words may mean different things to the rules: what happened before stays as it was, what comes then is as for the target."""
    ann, ben = await house.contact(email=ANN, contact_status="new"), await house.contact(email=BEN, contact_status="customer")
    at(house, 100)
    await house.hook("camp", sent(ANN, 10), reply(ANN, 20), sent(BEN, 30))
    at(house, HOUR)
    await house.contact(email=EVE, contact_status="new")

    await merged(house, "new", "customer")
    cy = await house.contact(email="cy@example.com", contact_status="new")
    at(house, 2 * HOUR)
    await house.hook("camp", sent("cy@example.com", 2 * HOUR))

    assert await status_of(house, ann) == ("replied", "contacted")
    assert await status_of(house, ben) == ("customer", None)
    assert await status_of(house, cy) == ("customer", None)
    assert await house.differences() == []


async def test_merge__do_not_contact_protects_under_the_other_name(house: House) -> None:
    ann = await house.contact(email=ANN, contact_status="do_not_contact")
    ben = await house.contact(email=BEN, contact_status="Lost lead")
    at(house, HOUR)
    await merged(house, "do_not_contact", "Lost lead")

    await house.hook("camp", bounce(ANN, HOUR + 1), bounce(BEN, HOUR + 1), unsubscribe(EVE, HOUR + 2))

    assert await status_of(house, ann) == await status_of(house, ben) == ("Lost lead", None)
    assert (await house.listed(query="contact_status=Lost%20lead"))[-1]["email"] == EVE
    assert (await statuses(house))["Lost lead"]["role"] == "do_not_contact"
    assert await house.differences() == []


async def test_preview__changes_nothing(house: House) -> None:
    await house.hook("camp", sent(ANN, 1), reply(ANN, 2), sent(BEN, 3))

    preview = await change(house, "PATCH", "/replied?dry_run=true", {"name": "Interested"}, status=200)
    merge = await change(house, "POST", "/contacted/merge?dry_run=true", {"into": "replied"}, status=200)

    assert preview == {
        "name": "replied", "new_name": "Interested", "merge": False, "records": 1, "stands_for": ["replied"], "declared": True,
        "notes": ["from now on Touchbase sets 'Interested' in place of 'replied'"],
    }  # fmt: skip
    assert (merge["records"], merge["merge"]) == (1, True)
    assert (await house.request("GET", "/public/v2/jobs")).json()["data"] == []
    assert "Interested" not in await statuses(house)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("PATCH", "/Hot", {"name": "Warm"}, 409, "merge 'Hot' into it"),
        ("PATCH", "/Hot", {"name": "Hot"}, 422, "is the status itself"),
        ("PATCH", "/Hot", {"name": " x"}, 422, "white space"),
        ("PATCH", "/Nope", {"name": "Yes"}, 404, "no record has it"),
        ("PATCH", "/Old", {"name": "Yes"}, 404, "is called 'New name' now"),
        ("PATCH", "/Hot", {"name": "Old"}, 409, "former name of 'New name'"),
        ("POST", "/Hot/merge", {"into": "Nope"}, 422, "there is no status"),
        ("POST", "/Hot/merge", {"into": "Hot"}, 422, "is the status itself"),
        ("DELETE", "/Hot", None, 409, "not in the declared set"),
        ("POST", "", {"name": "Old"}, 409, "start_set"),
    ],
)
async def test_refused__says_what_to_send(house: House, method: str, path: str, body: object, status: int, says: str) -> None:
    for email, word in ((ANN, "Hot"), (BEN, "Warm"), (EVE, "Old")):
        await house.contact(email=email, contact_status=word)
    await renamed(house, "Old", "New name")

    answer = await house.request(method, f"/public/v2/statuses/contacts{path}", body)

    assert answer.status == status, answer.body
    assert says in answer.body.decode()
