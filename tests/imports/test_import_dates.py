"""Dates of a file: they become events of the contact's history, which are folded like those of webhooks, in any order."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from tests.asgi_client import ApiClient
from tests.imports.jobs import contacts, imported

from touchbase.consistency.service import Verified, verify

FILE = b"""email,first_campaign_email_sent,last_campaign_email_sent,last_reply_received
jane@example.com,2026-05-01T10:00:00Z,2026-06-01T10:00:00Z,2026-06-02T08:00:00Z
"""
DERIVED = (
    "contact_status", "previous_status", "status_changed_at",
    "first_campaign_email_sent", "last_campaign_email_sent", "last_reply_received",
)  # fmt: skip


def derived(contact: dict[str, Any]) -> dict[str, Any]:
    """The values that come from the history."""
    return {name: contact.get(name) for name in DERIVED}


async def test_dates__are_events_of_the_timeline_with_the_source_import(call: ApiClient) -> None:
    assert await imported(call, FILE) == {"created": 1}

    (jane,) = await contacts(call)
    timeline = (await call.get(f"/public/v2/contacts/{jane['id']}/timeline")).json()["data"]
    assert derived(jane) == {
        "contact_status": "replied", "previous_status": "contacted", "status_changed_at": "2026-06-02T08:00:00Z",
        "first_campaign_email_sent": "2026-05-01T10:00:00Z", "last_campaign_email_sent": "2026-06-01T10:00:00Z",
        "last_reply_received": "2026-06-02T08:00:00Z",
    }  # fmt: skip
    assert [(item["event"], item["occurred_at"], item["tool"]) for item in timeline] == [
        ("contact.created", "2026-11-20T09:30:00Z", "api"),
        ("email_replied", "2026-06-02T08:00:00Z", "import"),
        ("email_sent", "2026-06-01T10:00:00Z", "import"),
        ("email_sent", "2026-05-01T10:00:00Z", "import"),
    ]


async def test_dates_twice__change_nothing(call: ApiClient) -> None:
    await imported(call, FILE)
    before = await contacts(call)
    call.clock.move(3600)

    assert await imported(call, FILE) == {"unchanged": 1}
    assert await contacts(call) == before


async def test_dates_of_a_known_contact__are_folded_in_their_order(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"email": "jane@example.com", "contact_status": "customer"})
    call.clock.move(3600)

    assert await imported(call, FILE) == {"updated": 1}

    (jane,) = await contacts(call)
    assert (jane["contact_status"], jane["previous_status"]) == ("customer", "replied")
    assert jane["first_campaign_email_sent"] == "2026-05-01T10:00:00Z"


async def test_dates_in_any_order_of_files__give_equal_contacts(call: ApiClient) -> None:
    """Each person gets the same three facts, in another order of imports."""
    facts = {
        "last_campaign_email_sent": "2026-05-01T10:00:00Z",
        "last_reply_received": "2026-05-05T10:00:00Z",
        "first_campaign_email_sent": "2026-04-01T10:00:00Z",
    }
    for number, order in enumerate(permutations(facts)):
        for name in order:
            assert await imported(call, f"email,{name}\np{number}@example.com,{facts[name]}\n".encode()) in ({"created": 1}, {"updated": 1})

    results = [derived(contact) for contact in await contacts(call)]
    assert len(results) == 6
    assert all(item == results[0] for item in results), results


async def test_a_status_that_the_client_has_not__is_left_out_and_the_dates_count(call: ApiClient) -> None:
    await call.settings(contact_statuses={"statuses": ["new", "Replied"]})
    await call.post("/public/v2/contacts", {"email": "jane@example.com", "contact_status": "new"})

    await imported(call, FILE.replace(b",2026-06-02T08:00:00Z", b","))
    (jane,) = await contacts(call)
    await imported(call, FILE)
    (replied,) = await contacts(call)

    assert (jane["contact_status"], jane["last_campaign_email_sent"]) == ("new", "2026-06-01T10:00:00Z")
    assert (replied["contact_status"], replied["previous_status"]) == ("new", "Replied")


async def test_imported_contacts__agree_with_their_histories(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"email": "jane@example.com", "contact_status": "customer"})
    await imported(call, FILE + b"joe@example.com,,2026-05-01,\n")
    await imported(call, FILE.replace(b"2026-05-01", b"2026-03-01") + b"joe@example.com,2026-04-01,,2026-07-01\n")

    read = Verified()
    assert [difference async for difference in verify(call.parts.store, 1, read)] == []
    assert (read.contacts, read.events) == (2, 9)
