"""Contacts and companies that must not be contacted: writes work and say so, and each can be looked up."""

from __future__ import annotations

from typing import Any

import pytest
from tests.do_not_contact.conftest import INSTALLATION, JANE, DoNotContact

HEADER = "touchbase-suppressed"
CONTACTS = "/public/v2/contacts"
COMPANIES = "/public/v2/companies"


@pytest.mark.parametrize(
    ("entry", "fields"),
    [
        (JANE, {"email": "Jane@Example.com"}),
        ("example.com", {"email": JANE}),
        ("example.com", {"email": "jane@mail.example.com"}),
        ("linkedin.com/in/jane", {"linkedin_url": "https://www.linkedin.com/in/Jane/"}),
    ],
)
async def test_creating_a_listed_contact__works_and_says_so(dnc: DoNotContact, entry: str, fields: dict[str, Any]) -> None:
    await dnc.add({"value": entry, "reason": "legal"})

    reply = await dnc.contact(**fields)
    contact = await dnc.contact(email="free@else.example")

    assert reply.status == contact.status == 201
    assert reply.headers[HEADER] == "legal"
    assert HEADER not in contact.headers
    assert "suppressed" not in reply.json()


async def test_contact__is_listed_by_the_domain_of_its_company(dnc: DoNotContact) -> None:
    company = (await dnc.call.post(COMPANIES, {"domain": "rival.example"})).json()["id"]
    await dnc.add({"value": "rival.example", "reason": "competitor"}, path=INSTALLATION)

    reply = await dnc.contact(email="jane@free.example", company_id=company)

    assert reply.headers[HEADER] == "competitor"
    number = reply.json()["id"]
    body = (await dnc.call.get(f"{CONTACTS}/{number}/suppression")).json()
    assert {name: body[name] for name in ("suppressed", "reason", "list", "kind", "value")} == {
        "suppressed": True, "reason": "competitor", "list": "installation", "kind": "domain", "value": "rival.example",
    }  # fmt: skip


async def test_changing_a_listed_contact__works_and_says_so(dnc: DoNotContact) -> None:
    number = (await dnc.contact(email=JANE)).json()["id"]
    await dnc.add({"value": JANE})

    changed = await dnc.call.patch(f"{CONTACTS}/{number}", {"first_name": "Jane"})
    moved = await dnc.call.patch(f"{CONTACTS}/{number}", {"email": "new@else.example"})

    assert (changed.status, changed.headers[HEADER]) == (200, "requested")
    assert (moved.status, moved.headers[HEADER]) == (200, "requested")  # the opt-out is the person's


@pytest.mark.parametrize("on_duplicate", ["return", "update"])
async def test_finding_a_listed_contact__says_so(dnc: DoNotContact, on_duplicate: str) -> None:
    await dnc.contact(email=JANE)
    await dnc.add({"value": JANE})

    reply = await dnc.call.post(f"{CONTACTS}?on_duplicate={on_duplicate}", {"email": JANE})

    assert (reply.status, reply.headers[HEADER]) == (200, "requested")


async def test_listed_company__is_created_and_changed_and_says_so(dnc: DoNotContact) -> None:
    await dnc.add({"value": "rival.example", "reason": "competitor"})

    company = await dnc.call.post(COMPANIES, {"domain": "www.rival.example"})
    changed = await dnc.call.patch(f"{COMPANIES}/{company.json()['id']}", {"name": "Rival"})
    suppression = await dnc.call.get(f"{COMPANIES}/{company.json()['id']}/suppression")

    assert (company.status, company.headers[HEADER]) == (201, "competitor")
    assert (changed.status, changed.headers[HEADER]) == (200, "competitor")
    assert (suppression.json()["suppressed"], suppression.json()["list"]) == (True, "client")


async def test_upsert_of_a_listed_record__works_and_says_so(dnc: DoNotContact) -> None:
    await dnc.add({"value": "rival.example", "reason": "competitor"})

    contacts = [await dnc.call("PUT", f"{CONTACTS}?match=email", {"email": "jane@rival.example", "first_name": name}) for name in "AB"]
    companies = [await dnc.call("PUT", f"{COMPANIES}?match=domain", {"domain": "rival.example", "name": name}) for name in "AB"]

    assert [(contact.status, contact.headers[HEADER]) for contact in contacts] == [(201, "competitor"), (200, "competitor")]
    assert [(company.status, company.headers[HEADER]) for company in companies] == [(201, "competitor"), (200, "competitor")]


async def test_entry_that_is_over_or_removed_or_anothers__is_not_shown(dnc: DoNotContact) -> None:
    await dnc.add({"value": JANE, "until": "2026-11-20T09:31:00Z"}, {"value": "joe@example.com"})
    await dnc.add({"value": "ann@example.com"}, x_client_id="other")
    await dnc.remove("joe@example.com")
    dnc.call.clock.move(60)

    replies = [await dnc.contact(email=email) for email in (JANE, "joe@example.com", "ann@example.com")]

    assert [HEADER in reply.headers for reply in replies] == [False, False, False]
    suppression = await dnc.call.get(f"{CONTACTS}/{replies[0].json()['id']}/suppression")
    assert suppression.json()["suppressed"] is False


async def test_record_that_is_not_there__has_no_suppression(dnc: DoNotContact) -> None:
    assert (await dnc.call.get(f"{CONTACTS}/5/suppression")).status == 404
    assert (await dnc.call.get(f"{COMPANIES}/x/suppression")).status == 404
