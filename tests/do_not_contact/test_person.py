"""An opt-out belongs to the person: all addresses that lead to a contact count, and its status."""

from __future__ import annotations

from typing import Any

import pytest
from tests.do_not_contact.conftest import CONTACTS, INSTALLATION, JANE, LIST, DoNotContact, event

from touchbase.consistency.service import Verified, verify
from touchbase.do_not_contact.sql.statements import DELETE_CAUSES, DELETE_ENTRY
from touchbase.sql.operation import command
from touchbase.sql.statement import Execute, Plan, Select

OTHER = "jane.doe@else.example"
PROFILE = "linkedin.com/in/jane"


async def suppression(dnc: DoNotContact, number: int) -> tuple[bool, str | None]:
    body = (await dnc.call.get(f"{CONTACTS}/{number}/suppression")).json()
    return body["suppressed"], body["reason"]


async def everywhere(dnc: DoNotContact, number: int, email: str) -> set[object]:
    """Whether a contact is suppressed, as each way to ask says it."""
    match = (await dnc.call.post(f"{CONTACTS}/match", {"items": [{"email": email}]})).json()["data"][0]
    exported = await dnc.call.get(f"{CONTACTS}/export?format=csv&fields=email&suppressed=false")
    contacts = [(await dnc.call.get(f"{CONTACTS}?suppressed={text}")).json()["data"] for text in ("true", "false")]
    changed = await dnc.call.patch(f"{CONTACTS}/{number}", {"first_name": "Jane"})
    [check] = await dnc.check({"email": email})
    return {
        (await suppression(dnc, number))[0],
        match["suppressed"] is not None,
        email not in exported.body.decode(),
        number in [item["id"] for item in contacts[0]],
        number not in [item["id"] for item in contacts[1]],
        "touchbase-suppressed" in changed.headers,
        check["suppressed"],
    }


async def create_contact(dnc: DoNotContact, **fields: Any) -> int:
    reply = await dnc.contact(**fields)
    assert reply.status == 201, reply
    return int(reply.json()["id"])


@pytest.mark.parametrize("path", [LIST, INSTALLATION])
async def test_new_address__keeps_the_opt_out_of_the_former_one(dnc: DoNotContact, path: str) -> None:
    number, free = await create_contact(dnc, email=JANE), await create_contact(dnc, email="free@example.com")
    await dnc.add({"value": JANE}, path=path)

    await dnc.call.patch(f"{CONTACTS}/{number}", {"email": OTHER})

    assert await everywhere(dnc, number, OTHER) == {True}
    assert await everywhere(dnc, free, "free@example.com") == {False}


async def test_former_linkedin_address__counts(dnc: DoNotContact) -> None:
    number = await create_contact(dnc, email=JANE, linkedin_url=PROFILE)
    await dnc.add({"value": PROFILE})

    await dnc.call.patch(f"{CONTACTS}/{number}", {"linkedin_url": "linkedin.com/in/jane-doe"})

    assert await everywhere(dnc, number, JANE) == {True}


async def test_domain_of_a_former_address__does_not_count(dnc: DoNotContact) -> None:
    """A domain is listed because of a company, which the person has left."""
    number = await create_contact(dnc, email="jane@rival.example")
    await dnc.add({"value": "rival.example", "reason": "competitor"})

    await dnc.call.patch(f"{CONTACTS}/{number}", {"email": OTHER})

    assert await everywhere(dnc, number, OTHER) == {False}


@pytest.mark.parametrize("survivor", [0, 1])
async def test_merge__keeps_the_opt_out_of_either(dnc: DoNotContact, survivor: int) -> None:
    numbers = [await create_contact(dnc, email=JANE), await create_contact(dnc, email=OTHER)]
    await dnc.add({"value": JANE})

    reply = await dnc.call.post(f"{CONTACTS}/{numbers[survivor]}/merge", {"with": [numbers[1 - survivor]]})

    assert reply.status == 200
    assert await everywhere(dnc, numbers[survivor], reply.json()["contact"]["email"]) == {True}


async def test_undo_of_a_merge__gives_each_their_own_back(dnc: DoNotContact) -> None:
    jane, john = await create_contact(dnc, email=JANE), await create_contact(dnc, email=OTHER)
    await dnc.add({"value": JANE})
    merge = (await dnc.call.post(f"{CONTACTS}/{john}/merge", {"with": [jane]})).json()["merge_id"]

    assert (await dnc.call.post(f"{CONTACTS}/{john}/merge/{merge}/undo")).status == 200

    assert await everywhere(dnc, jane, JANE) == {True}
    assert await everywhere(dnc, john, OTHER) == {False}


@pytest.mark.parametrize("word", ["do_not_contact", "Do Not Contact", "DNC", "unsubscribed", "Opted-Out"])
async def test_status_that_opts_out__counts(dnc: DoNotContact, word: str) -> None:
    number, second = (
        await create_contact(dnc, email=JANE, contact_status=word),
        await create_contact(dnc, email=OTHER, contact_status="not interested"),
    )

    assert await everywhere(dnc, number, JANE) == {True}
    assert await everywhere(dnc, second, OTHER) == {False}


async def test_status_that_the_client_declares__counts(dnc: DoNotContact) -> None:
    statuses = {"statuses": ["new", "Robinson"], "opt_outs": ["Robinson"]}
    await dnc.call.settings(contact_statuses=statuses)
    number, second = (
        await create_contact(dnc, email=JANE, contact_status="Robinson"),
        await create_contact(dnc, email=OTHER, contact_status="new"),
    )

    assert await everywhere(dnc, number, JANE) == {True}
    assert await everywhere(dnc, second, OTHER) == {False}
    listed = {contact["name"]: contact["opts_out"] for contact in (await dnc.call.get("/public/v2/statuses/contacts")).json()["data"]}
    assert listed == {"new": False, "Robinson": True, "bounced": False, "contacted": False, "do_not_contact": True, "replied": False}


async def test_renamed_status__opts_out_under_its_new_name(dnc: DoNotContact) -> None:
    await dnc.receive(event("unsubscribed"))
    assert (await dnc.call.patch("/public/v2/statuses/contacts/do_not_contact", {"name": "Gesperrt"})).status == 202

    number = await create_contact(dnc, email=OTHER, contact_status="Gesperrt")

    assert await everywhere(dnc, number, OTHER) == {True}


@pytest.mark.parametrize(
    ("kind", "body", "pointer"),
    [
        ("contact_statuses", {"statuses": ["new"], "opt_outs": ["gone"]}, "/settings/contact_statuses/opt_outs"),
        ("company_statuses", {"statuses": ["new"], "opt_outs": ["new"]}, "/settings/company_statuses/opt_outs"),
    ],
)
async def test_opt_outs_that_cannot_be__are_refused(dnc: DoNotContact, kind: str, body: dict[str, Any], pointer: str) -> None:
    reply = await dnc.call("PUT", "/admin/v1/clients/default", {"settings": {kind: body}})

    assert (reply.status, [error["pointer"] for error in reply.json()["errors"]]) == (422, [pointer])


async def test_status_that_opts_out__puts_the_contact_on_the_list(dnc: DoNotContact) -> None:
    created = await create_contact(dnc, email=JANE, contact_status="do_not_contact")
    changed = await create_contact(dnc, email=OTHER, contact_status="new")
    profile = await create_contact(dnc, linkedin_url=PROFILE, contact_status="new")

    for number in (changed, profile):
        await dnc.call.patch(f"{CONTACTS}/{number}", {"contact_status": "DNC"})

    assert await dnc.listed() == {JANE: "status", OTHER: "status", PROFILE: "status"}
    [jane] = await dnc.entries(f"?value={JANE}")
    assert (jane["source"], jane["note"], jane["tool"]) == ("api", "status 'do_not_contact'", None)
    assert (await suppression(dnc, created)) == (True, "status")


async def test_other_status__does_not_take_off(dnc: DoNotContact) -> None:
    number = await create_contact(dnc, email=JANE, contact_status="unsubscribed")

    await dnc.call.patch(f"{CONTACTS}/{number}", {"contact_status": "customer"})
    assert await everywhere(dnc, number, JANE) == {True}

    await dnc.remove(JANE)  # the explicit act
    assert await everywhere(dnc, number, JANE) == {False}


async def test_status_from_before_it_opted_out__makes_an_entry_when_it_ends(dnc: DoNotContact) -> None:
    number = await create_contact(dnc, email=JANE, contact_status="Robinson")
    await dnc.call.settings(contact_statuses={"statuses": ["Robinson", "new"], "opt_outs": ["Robinson"]})
    assert await dnc.entries() == []

    await dnc.call.patch(f"{CONTACTS}/{number}", {"contact_status": "new"})

    assert await dnc.listed() == {JANE: "status"}


async def test_removed_entry__comes_back_with_the_next_opt_out_only(dnc: DoNotContact) -> None:
    number = await create_contact(dnc, email=JANE, contact_status="do_not_contact")
    dnc.call.clock.move(10)
    await dnc.remove(JANE)
    assert (await suppression(dnc, number)) == (True, "status")  # as long as it has the status
    dnc.call.clock.move(10)
    await dnc.call.patch(f"{CONTACTS}/{number}", {"contact_status": "new"})
    assert await everywhere(dnc, number, JANE) == {False}

    dnc.call.clock.move(10)
    await dnc.call.patch(f"{CONTACTS}/{number}", {"contact_status": "do_not_contact"})

    assert await dnc.listed() == {JANE: "status"}


async def test_status_of_a_crm__lists_and_another_one_does_not_take_off(dnc: DoNotContact) -> None:
    await dnc.receive({"event": "contact.status_changed", "email": JANE, "status": "Do Not Contact", "key": "a", "occurred_us": 1})
    await dnc.receive({"event": "contact.status_changed", "email": JANE, "status": "customer", "key": "b", "occurred_us": 2})

    [entry] = await dnc.entries()
    assert (entry["value"], entry["reason"], entry["source"], entry["tool"]) == (JANE, "status", "event", "instantly")
    assert (await suppression(dnc, 1)) == (True, "status")


async def test_status_of_a_crm_that_is_not_declared__lists_all_the_same(dnc: DoNotContact) -> None:
    await dnc.call.settings(contact_statuses={"statuses": ["new"]})

    await dnc.receive({"event": "contact.status_changed", "email": JANE, "status": "unsubscribed", "key": "a", "occurred_us": 1})

    assert await dnc.listed() == {JANE: "status"}


async def test_bulk_change__lists_and_does_not_take_off(dnc: DoNotContact) -> None:
    await create_contact(dnc, email=JANE, contact_status="new")
    for status in ("do_not_contact", "customer"):
        reply = await dnc.call("PATCH", f"{CONTACTS}?email={JANE}", {"contact_status": status}, prefer="max-affected=10")
        assert reply.status in (200, 202), reply

    assert await dnc.listed() == {JANE: "status"}


@pytest.mark.parametrize("survivor", [0, 1])
async def test_merge__keeps_the_opt_out_of_a_status_and_undo_gives_it_back(dnc: DoNotContact, survivor: int) -> None:
    """The first has no address: its opt-out is kept under the survivor's."""
    numbers = [
        await create_contact(dnc, external_id="a", contact_status="do_not_contact"),
        await create_contact(dnc, email=OTHER, contact_status="new"),
    ]
    stored, gone = numbers[survivor], numbers[1 - survivor]
    dnc.call.clock.move(10)

    reply = await dnc.call.post(f"{CONTACTS}/{stored}/merge", {"with": [gone], "survivorship": "newest"})
    assert reply.status == 200, reply
    await dnc.call.patch(f"{CONTACTS}/{stored}", {"contact_status": "customer"})
    assert await everywhere(dnc, stored, OTHER) == {True}
    undone = await dnc.call.post(f"{CONTACTS}/{stored}/merge/{reply.json()['merge_id']}/undo")

    assert undone.status == 200, undone
    assert (await suppression(dnc, numbers[1]))[0] is False
    assert await dnc.entries() == []


async def test_undo__moves_an_opt_out_of_a_crm_object_to_its_contact(dnc: DoNotContact) -> None:
    mark = {"event": "contact.status_changed", "status": "DNC", "object_type": "person", "object_id": "7", "occurred_us": 5, "key": "mark"}
    await dnc.receive(
        {"event": "contact.created", "email": JANE, "object_type": "person", "object_id": "7", "occurred_us": 1, "key": "made"},
        channel="crm",
    )
    john = await create_contact(dnc, email=OTHER)
    merge = (await dnc.call.post(f"{CONTACTS}/{john}/merge", {"with": [1], "survivorship": "keep"})).json()
    await dnc.receive(mark, channel="crm")
    assert (await suppression(dnc, john)) == (True, "status")

    await dnc.call.post(f"{CONTACTS}/{john}/merge/{merge['merge_id']}/undo")

    assert await dnc.listed() == {JANE: "status"}
    assert [(await suppression(dnc, number))[0] for number in (1, john)] == [True, False]


async def test_contact_that_is_deleted_and_made_again__is_listed_by_all_its_addresses(dnc: DoNotContact) -> None:
    number = await create_contact(dnc, email=JANE, linkedin_url=PROFILE)
    await dnc.receive(event("unsubscribed"))
    await dnc.call.patch(f"{CONTACTS}/{number}", {"email": OTHER})

    assert (await dnc.call("DELETE", f"{CONTACTS}/{number}")).status == 200

    assert await dnc.listed() == {JANE: "unsubscribed", OTHER: "unsubscribed", PROFILE: "unsubscribed"}
    again = await create_contact(dnc, email=OTHER)
    assert await everywhere(dnc, again, OTHER) == {True}
    await dnc.call("DELETE", f"{CONTACTS}/{again}")
    assert (await dnc.call.post(f"/public/v2/contacts/{number}/restore")).status == 200
    assert (await suppression(dnc, number)) == (True, "unsubscribed")


async def test_restored_contact__has_the_entries_that_it_had(dnc: DoNotContact) -> None:
    number = await create_contact(dnc, email=JANE)
    await dnc.add({"value": JANE})
    await dnc.call.patch(f"{CONTACTS}/{number}", {"email": OTHER})
    before = await dnc.listed()

    await dnc.call("DELETE", f"{CONTACTS}/{number}")
    assert len(await dnc.listed()) == 2
    assert (await dnc.call.post(f"{CONTACTS}/{number}/restore")).status == 200

    assert await dnc.listed() == before == {JANE: "requested"}


async def test_opt_in__lifts_what_its_tool_set_on_any_address_of_the_person(dnc: DoNotContact) -> None:
    await dnc.receive(event("unsubscribed"))
    await dnc.call.patch(f"{CONTACTS}/1", {"email": OTHER})
    dnc.call.clock.move(200)
    assert (await suppression(dnc, 1))[0] is True

    await dnc.receive(event("resubscribed", OTHER, second=200))

    assert (await suppression(dnc, 1)) == (False, None)
    assert await dnc.entries() == []


async def test_opt_in__does_not_lift_what_a_person_set(dnc: DoNotContact) -> None:
    number = await create_contact(dnc, email=JANE, contact_status="do_not_contact")

    await dnc.receive(event("resubscribed", second=20_000))

    assert (await suppression(dnc, number)) == (True, "status")


async def differences(dnc: DoNotContact) -> list[str]:
    return [str(item) async for item in verify(dnc.call.parts.store, 1, Verified())]


async def test_verify__finds_a_contact_that_opted_out_and_has_no_entry(dnc: DoNotContact) -> None:
    await create_contact(dnc, email=OTHER, contact_status="do_not_contact")
    await dnc.receive(event("unsubscribed"))
    assert await differences(dnc) == []
    for entry in await dnc.entries():
        await dnc.call("DELETE", f"{LIST}/{entry['id']}")
    assert await differences(dnc) == []  # removed, which somebody may

    await dnc.call.parts.store.write(plant(1))

    result = "do-not-contact list is without an entry, and must be with one, because the status opts out"
    assert sorted(await differences(dnc)) == [f"contact {number}: {result}" for number in (1, 2)]


@command
def plant(client: int) -> Plan[None]:
    """Delete every entry of a client, as no request can."""
    rows = yield Select("SELECT client, kind, value FROM suppression WHERE client = ?", (client,))
    yield Execute(DELETE_CAUSES, rows)
    yield Execute(DELETE_ENTRY, rows)
