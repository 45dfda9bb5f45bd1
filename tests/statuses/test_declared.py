"""The declared set: the client's setting and the resource of statuses are one truth."""

from __future__ import annotations

from typing import Any

from tests.house import House
from tests.statuses.jobs import ANN, BEN, change, job_of, renamed, reply, sent, statuses

WORDS = ["new", "contacted", "replied", "bounced", "do_not_contact", "Won"]


async def declared(house: House) -> Any:
    """The declared set as the client's settings show it."""
    answer = await house.call("GET", f"/admin/v1/clients/{house.client_id}")
    return answer.json()["settings"]["contact_statuses"]


async def test_rename__changes_the_setting_and_its_transitions(house: House) -> None:
    await house.call.settings(contact_statuses={"statuses": WORDS, "transitions": {"replied": ["Won"], "contacted": ["replied"]}})
    ann = await house.contact(email=ANN, contact_status="contacted")

    await renamed(house, "replied", "Interested")
    moved = await house.request("PATCH", f"/public/v2/contacts/{ann}", {"contact_status": "Interested"})
    refused = await house.request("PATCH", f"/public/v2/contacts/{ann}", {"contact_status": "new"})

    assert await declared(house) == {
        "statuses": ["new", "contacted", "Interested", "bounced", "do_not_contact", "Won"],
        "transitions": {"Interested": ["Won"], "contacted": ["Interested"]},
        "opt_outs": [],
    }
    assert (moved.status, refused.status) == (200, 422)


async def test_settings__that_say_a_former_name_mean_the_present_one(house: House) -> None:
    await house.call.settings(contact_statuses={"statuses": WORDS})
    await renamed(house, "replied", "Interested")

    await house.call.settings(contact_statuses={"statuses": WORDS}, create_unknown=True)
    await house.hook("camp", sent(ANN, 1), reply(ANN, 2))

    assert (await declared(house))["statuses"][2] == "Interested"
    assert (await house.listed())[0]["contact_status"] == "Interested"
    assert await house.differences() == []


async def test_define__adds_to_the_set_and_delete_takes_out(house: House) -> None:
    await house.call.settings(contact_statuses={"statuses": ["new", "Won"]})
    await house.contact(email=ANN, contact_status="Won")

    new_change = await change(house, "POST", "", {"name": "Lost"}, status=201)
    twice = await change(house, "POST", "", {"name": "lost"}, status=409)
    in_use = await change(house, "DELETE", "/Won", status=409)
    await change(house, "DELETE", "/new", status=204)

    assert (new_change["name"], new_change["declared"], new_change["records"]) == ("Lost", True, 0)
    assert "events do not distinguish it" in twice["detail"]
    assert "merge it into another one first" in in_use["detail"]
    assert await declared(house) == {"statuses": ["Won", "Lost"], "transitions": {}, "opt_outs": []}
    assert (await house.request("POST", "/public/v2/contacts", {"email": BEN, "contact_status": "Lost"})).status == 201


async def test_define__starts_a_set_only_when_asked(house: House) -> None:
    await house.contact(email=ANN, contact_status="Lead")

    await change(house, "POST", "", {"name": "Won"}, status=409)
    await change(house, "POST", "", {"name": "Won", "start_set": True}, status=201)

    assert (await declared(house))["statuses"] == ["Lead", "bounced", "contacted", "do_not_contact", "replied", "Won"]


async def test_list__has_declared_used_and_own_words(house: House) -> None:
    await house.call.settings(contact_statuses={"statuses": ["new", "Replied", "contacted"], "transitions": {"new": ["contacted"]}})
    await house.hook("camp", sent(ANN, 1), reply(ANN, 2), sent(BEN, 1))

    result = await statuses(house)
    page = (await house.request("GET", "/public/v2/statuses/contacts?limit=2")).json()
    body = (await house.request("GET", f"/public/v2/statuses/contacts?cursor={page['next_cursor']}")).json()
    used = await statuses(house, query="in_use=true&name=REP")

    assert [(name, status["declared"], status["records"], status["stands_for"]) for name, status in result.items()] == [
        ("new", True, 0, []), ("Replied", True, 1, ["replied"]), ("contacted", True, 1, ["contacted"]),
        ("bounced", False, 0, []), ("do_not_contact", False, 0, []),
    ]  # fmt: skip
    assert result["new"]["role"] == "not_contacted_yet"
    assert result["new"]["next"] == ["contacted"]
    assert [contact["name"] for contact in (*page["data"], *body["data"])] == list(result)
    assert list(used) == ["Replied"]


async def test_rename__of_a_word_in_the_spelling_of_the_set(house: House) -> None:
    await house.call.settings(contact_statuses={"statuses": ["Contacted", "Replied"]})
    await house.hook("camp", sent(ANN, 1), reply(ANN, 2))

    job = await renamed(house, "Replied", "N/A")
    await house.hook("camp", sent(BEN, 3), reply(BEN, 4))

    assert [item["contact_status"] for item in await house.listed()] == ["N/A", "N/A"]
    assert (await job_of(house, job["id"]))["settings"] == {"from": "Replied", "to": "N/A"}
    assert (await renamed(house, "N/A", "Reply"))["state"] == "succeeded"
    assert await house.differences() == []
