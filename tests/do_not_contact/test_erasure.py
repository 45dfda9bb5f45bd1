"""An erased person stays on the list as a keyed hash: the list still says no, and shows no address."""

from __future__ import annotations

from typing import Any

import pytest
from tests.do_not_contact.conftest import JANE, LIST, DoNotContact, event
from tests.storage.database_search import find_in_database

from touchbase.common.timestamps import SECOND

LINKEDIN = "https://www.linkedin.com/in/canary-jane"


async def erase(dnc: DoNotContact, **fields: Any) -> None:
    number = (await dnc.contact(**{"email": JANE, **fields})).json()["id"]
    reply = await dnc.call("DELETE", f"/public/v2/contacts/{number}?erase=true")
    assert reply.status == 200


async def test_entries_of_an_erased_person__stay_in_force_without_the_address(dnc: DoNotContact, engine_url: str) -> None:
    await dnc.add({"value": JANE, "reason": "legal", "note": "a note on canary-jane"}, {"value": LINKEDIN}, {"value": "joe@example.com"})
    before = await dnc.entries()

    await erase(dnc, linkedin_url=LINKEDIN)

    after = await dnc.entries()
    assert sorted(item["id"] for item in after) == [item["id"] for item in before]
    assert {item["value"]: item["reason"] for item in after if item["value"]} == {"joe@example.com": "requested"}
    assert [(item["note"], item["value"]) for item in after if item["reason"] == "legal"] == [("", None)]
    reasons = await dnc.reasons({"email": JANE}, {"linkedin_url": LINKEDIN}, {"email": "joe@example.com"})
    assert reasons == ["legal", "requested", "requested"]
    assert [entry["reason"] for entry in await dnc.entries(f"?value={JANE}")] == ["legal"]
    await dnc.call.parts.store.vacuum()
    assert await find_in_database(engine_url, JANE) == []
    assert await find_in_database(engine_url, "canary-jane") == []
    assert (await dnc.call.get(f"{LIST}?format=csv")).body.count(b"\n") == 2


@pytest.mark.parametrize("first", ["event", "erasure"])
async def test_unsubscription__counts_before_and_after_the_erasure(dnc: DoNotContact, engine_url: str, first: str) -> None:
    if first == "erasure":
        await erase(dnc)
    await dnc.receive(event("unsubscribed", key="canary-key"))
    if first == "event":
        number = (await dnc.call.get(f"/public/v2/contacts?email={JANE}")).json()["data"][0]["id"]
        assert (await dnc.call("DELETE", f"/public/v2/contacts/{number}?erase=true")).status == 200

    assert [(entry["value"], entry["reason"]) for entry in await dnc.entries()] == [(None, "unsubscribed")]
    assert await dnc.reasons({"email": JANE}) == ["unsubscribed"]
    await dnc.call.parts.store.vacuum()
    assert await find_in_database(engine_url, JANE) == []


async def test_erased_person__can_be_put_on_the_list_and_removed_without_being_stored(dnc: DoNotContact, engine_url: str) -> None:
    await erase(dnc)

    created = await dnc.add({"value": JANE, "note": "about jane@example.com"})
    again = await dnc.add({"value": JANE, "note": "about jane@example.com"})

    assert created["data"][0]["entry"]["value"] is None
    assert again["unchanged"] == 1
    assert await dnc.reasons({"email": JANE}) == ["requested"]
    await dnc.call.parts.store.vacuum()
    assert await find_in_database(engine_url, JANE) == []
    assert (await dnc.call("DELETE", f"{LIST}/{created['data'][0]['entry']['id']}")).status == 204
    assert await dnc.reasons({"email": JANE}) == [None]


async def test_removal_before_an_erasure__holds_after_it(dnc: DoNotContact) -> None:
    await dnc.receive(event("unsubscribed", key="evt-1"))
    await dnc.remove(JANE)
    dnc.call.clock.move(60)
    await erase(dnc, email="other@example.com")
    await dnc.receive(event("unsubscribed", second=60), event("unsubscribed", key="evt-1"))
    assert await dnc.entries() == []
    number = (await dnc.call.get(f"/public/v2/contacts?email={JANE}")).json()["data"][0]["id"]

    assert (await dnc.call("DELETE", f"/public/v2/contacts/{number}?erase=true")).status == 200
    await dnc.receive(event("unsubscribed", second=70), event("unsubscribed", key="evt-1"))

    assert await dnc.entries() == []


async def test_person_who_is_restored__is_still_on_the_list(dnc: DoNotContact) -> None:
    await dnc.add({"value": JANE})
    await erase(dnc)

    reply = await dnc.call.post("/public/v2/contacts?restore_erased=true", {"email": JANE})

    assert (reply.status, reply.headers["touchbase-suppressed"]) == (201, "requested")
    await dnc.receive(event("bounced", kind="hard", occurred_us=dnc.call.clock.now + SECOND))
    assert [entry["value"] for entry in await dnc.entries()] == [None]


async def test_export_of_a_person__has_the_entries_of_its_addresses(dnc: DoNotContact) -> None:
    await dnc.add({"value": JANE, "reason": "legal", "note": "letter"}, {"value": LINKEDIN}, {"value": "joe@example.com"})
    number = (await dnc.contact(email=JANE, linkedin_url=LINKEDIN)).json()["id"]

    export = (await dnc.call.get(f"/public/v2/contacts/{number}/export")).json()

    assert [(suppression["value"], suppression["note"]) for suppression in export["suppressions"]] == [
        (JANE, "letter"),
        ("linkedin.com/in/canary-jane", ""),
    ]
