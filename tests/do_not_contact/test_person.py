"""An opt-out belongs to the person: all addresses that lead to a contact count, and its status."""

from __future__ import annotations

from typing import Any

import pytest
from tests.do_not_contact.conftest import CONTACTS, INSTALLATION, JANE, LIST, DoNotContact, event

OTHER = "jane.doe@else.example"
PROFILE = "linkedin.com/in/jane"


async def suppression(dnc: DoNotContact, number: int) -> tuple[bool, str | None]:
    found = (await dnc.call.get(f"{CONTACTS}/{number}/suppression")).json()
    return found["suppressed"], found["reason"]


async def everywhere(dnc: DoNotContact, number: int, email: str) -> set[object]:
    """Whether a contact is suppressed, as each way to ask says it."""
    match = (await dnc.call.post(f"{CONTACTS}/match", {"items": [{"email": email}]})).json()["data"][0]
    exported = await dnc.call.get(f"{CONTACTS}/export?format=csv&fields=email&suppressed=false")
    found = [(await dnc.call.get(f"{CONTACTS}?suppressed={text}")).json()["data"] for text in ("true", "false")]
    changed = await dnc.call.patch(f"{CONTACTS}/{number}", {"first_name": "Jane"})
    [check] = await dnc.check({"email": email})
    return {
        (await suppression(dnc, number))[0],
        match["suppressed"] is not None,
        email not in exported.body.decode(),
        number in [each["id"] for each in found[0]],
        number not in [each["id"] for each in found[1]],
        "touchbase-suppressed" in changed.headers,
        check["suppressed"],
    }


async def made(dnc: DoNotContact, **fields: Any) -> int:
    reply = await dnc.contact(**fields)
    assert reply.status == 201, reply
    return int(reply.json()["id"])


@pytest.mark.parametrize("path", [LIST, INSTALLATION])
async def test_new_address__keeps_the_opt_out_of_the_former_one(dnc: DoNotContact, path: str) -> None:
    number, free = await made(dnc, email=JANE), await made(dnc, email="free@example.com")
    await dnc.add({"value": JANE}, path=path)

    await dnc.call.patch(f"{CONTACTS}/{number}", {"email": OTHER})

    assert await everywhere(dnc, number, OTHER) == {True}
    assert await everywhere(dnc, free, "free@example.com") == {False}


async def test_former_linkedin_address__counts(dnc: DoNotContact) -> None:
    number = await made(dnc, email=JANE, linkedin_url=PROFILE)
    await dnc.add({"value": PROFILE})

    await dnc.call.patch(f"{CONTACTS}/{number}", {"linkedin_url": "linkedin.com/in/jane-doe"})

    assert await everywhere(dnc, number, JANE) == {True}


async def test_domain_of_a_former_address__does_not_count(dnc: DoNotContact) -> None:
    """A domain is listed because of a company, which the person has left."""
    number = await made(dnc, email="jane@rival.example")
    await dnc.add({"value": "rival.example", "reason": "competitor"})

    await dnc.call.patch(f"{CONTACTS}/{number}", {"email": OTHER})

    assert await everywhere(dnc, number, OTHER) == {False}


@pytest.mark.parametrize("survivor", [0, 1])
async def test_merge__keeps_the_opt_out_of_either(dnc: DoNotContact, survivor: int) -> None:
    numbers = [await made(dnc, email=JANE), await made(dnc, email=OTHER)]
    await dnc.add({"value": JANE})

    reply = await dnc.call.post(f"{CONTACTS}/{numbers[survivor]}/merge", {"with": [numbers[1 - survivor]]})

    assert reply.status == 200
    assert await everywhere(dnc, numbers[survivor], reply.json()["contact"]["email"]) == {True}


async def test_undo_of_a_merge__gives_each_their_own_back(dnc: DoNotContact) -> None:
    jane, john = await made(dnc, email=JANE), await made(dnc, email=OTHER)
    await dnc.add({"value": JANE})
    merge = (await dnc.call.post(f"{CONTACTS}/{john}/merge", {"with": [jane]})).json()["merge_id"]

    assert (await dnc.call.post(f"{CONTACTS}/{john}/merge/{merge}/undo")).status == 200

    assert await everywhere(dnc, jane, JANE) == {True}
    assert await everywhere(dnc, john, OTHER) == {False}


@pytest.mark.parametrize("word", ["do_not_contact", "Do Not Contact", "DNC", "unsubscribed", "Opted-Out"])
async def test_status_that_opts_out__counts(dnc: DoNotContact, word: str) -> None:
    number, other = await made(dnc, email=JANE, contact_status=word), await made(dnc, email=OTHER, contact_status="not interested")

    assert await everywhere(dnc, number, JANE) == {True}
    assert await everywhere(dnc, other, OTHER) == {False}


async def test_status_that_the_client_declares__counts(dnc: DoNotContact) -> None:
    statuses = {"statuses": ["new", "Robinson"], "opt_outs": ["Robinson"]}
    await dnc.call.settings(contact_statuses=statuses)
    number, other = await made(dnc, email=JANE, contact_status="Robinson"), await made(dnc, email=OTHER, contact_status="new")

    assert await everywhere(dnc, number, JANE) == {True}
    assert await everywhere(dnc, other, OTHER) == {False}
    listed = {each["name"]: each["opts_out"] for each in (await dnc.call.get("/public/v2/statuses/contacts")).json()["data"]}
    assert listed == {"new": False, "Robinson": True, "bounced": False, "contacted": False, "do_not_contact": True, "replied": False}


async def test_renamed_status__opts_out_under_its_new_name(dnc: DoNotContact) -> None:
    await dnc.receive(event("unsubscribed"))
    assert (await dnc.call.patch("/public/v2/statuses/contacts/do_not_contact", {"name": "Gesperrt"})).status == 202

    number = await made(dnc, email=OTHER, contact_status="Gesperrt")

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

    assert (reply.status, [each["pointer"] for each in reply.json()["errors"]]) == (422, [pointer])
