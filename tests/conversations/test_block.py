"""Blocking a contact: the list and the status in one act, and taken back together."""

from __future__ import annotations

from typing import Any

import pytest
from tests.messages.conftest import JANE, Messages, mail, messages

from touchbase.common.timestamps import SECOND

__all__ = ["messages"]
CONTACT = "/public/v2/contacts/1"
HOUR = 3600 * SECOND


async def block(messages: Messages, body: dict[str, Any] | None = None, method: str = "POST", status: int = 200) -> dict[str, Any]:
    reply = await messages.call(method, f"{CONTACT}/block", *([] if method == "DELETE" else [body or {}]))
    assert reply.status == status, reply
    return dict(reply.json())


async def state(messages: Messages) -> tuple[str | None, bool, list[str]]:
    """The contact's status, whether it must not be contacted, and the addresses on the list."""
    contact = (await messages.call.get(f"{CONTACT}?structure=FLAT")).json()
    suppressed = (await messages.call.get(f"{CONTACT}/suppression")).json()["suppressed"]
    entries = (await messages.call.get("/public/v2/suppressions")).json()["data"]
    return contact.get("contact_status"), suppressed, [entry["value"] for entry in entries]


async def test_block__lists_the_contact_and_sets_the_status_and_is_taken_back(messages: Messages) -> None:
    await messages.receive(mail(second=1))

    blocked = await block(messages, {"reason": "requested", "note": "asked"})
    after = await state(messages)
    undone = await block(messages, method="DELETE")

    assert (blocked["contact_status"], blocked["status_changed"]) == ("do_not_contact", True)
    assert [entry["kind"] for entry in blocked["entries"]] == ["email"]
    assert after == ("do_not_contact", True, [JANE])
    assert (undone["contact_status"], undone["entries"]) == ("replied", [])
    assert await state(messages) == ("replied", False, [])
    refused = await block(messages, method="DELETE", status=409)
    assert "last hour" in refused["detail"]


async def test_bulk_block__of_several_is_one_change_and_taken_back_by_one_request(messages: Messages) -> None:
    await messages.receive(mail(second=1), mail(second=1, email="joe@example.com"))
    conversations = (await messages.call.get("/team/v1/conversations")).json()["data"]
    named = [{"client_id": "default", "contact_id": row["contact"]["id"], "version": row["version"]} for row in conversations]
    named.append({"client_id": "default", "contact_id": 99})
    await messages.receive(mail(second=2, email="joe@example.com"))

    blocked = await messages.call.post("/team/v1/conversations/block", {"conversations": named, "block": {"reason": "complained"}})

    assert blocked.status == 200, blocked.body
    rows = {row["contact_id"]: row for row in blocked.json()["data"]}
    assert {number: row["conversation"]["state"] for number, row in rows.items() if row["conversation"]} == {1: "done", 2: "open"}
    assert "no contact" in rows[99]["error"]
    entries = (await messages.call.get("/public/v2/suppressions")).json()["data"]
    assert {(entry["value"], entry["reason"]) for entry in entries} == {(JANE, "complained"), ("joe@example.com", "complained")}
    [changed] = (await messages.call.get("/team/v1/changes?kind=block")).json()["data"]
    assert changed["counts"] == {"records": 2}

    undone = await messages.call.post("/team/v1/conversations/block", {"conversations": named[:2], "block": None})

    assert [row["error"] for row in undone.json()["data"]] == [None, None]
    assert await state(messages) == ("replied", False, [])
    again = await messages.call.post("/team/v1/conversations/block", {"conversations": named[:1], "block": None})
    assert "last hour" in again.json()["data"][0]["error"]


async def test_contact_without_a_status__has_none_again_when_the_block_is_taken_back(messages: Messages) -> None:
    await messages.call.post("/public/v2/contacts", {"email": JANE})

    blocked = await block(messages)
    messages.call.clock.now += SECOND
    undone = await block(messages, method="DELETE")

    assert (blocked["contact_status"], blocked["status_changed"]) == ("do_not_contact", True)
    assert (undone["contact_status"], undone["status_changed"]) == (None, True)
    assert await state(messages) == (None, False, [])


@pytest.mark.parametrize("keys", [{"linkedin_url": "https://www.linkedin.com/in/jane"}, {"external_id": "x-1"}], ids=["profile", "id"])
@pytest.mark.parametrize("gets_address", [True, False])
async def test_contact_without_an_email_address__is_blocked_and_unblocked(
    messages: Messages, keys: dict[str, str], gets_address: bool
) -> None:
    await messages.call.post("/public/v2/contacts", {**keys, "contact_status": "new"})

    await block(messages)
    if gets_address:
        messages.call.clock.now += SECOND
        await messages.call.patch(CONTACT, {"email": JANE})
        assert await state(messages) == ("do_not_contact", True, [keys.get("linkedin_url", JANE).removeprefix("https://www.")])
    undone = await block(messages, method="DELETE")

    assert (undone["contact_status"], undone["status_changed"]) == ("new", True)
    assert await state(messages) == ("new", False, [])
    assert "last hour" in (await block(messages, method="DELETE", status=409))["detail"]


async def test_block__whose_entry_an_administrator_removed_is_not_taken_back(messages: Messages) -> None:
    await messages.receive(mail(second=1))
    [entry] = (await block(messages))["entries"]
    await messages.call("DELETE", f"/public/v2/suppressions/{entry['id']}")

    await block(messages, method="DELETE", status=409)

    assert (await state(messages))[0] == "do_not_contact"


async def test_block__at_a_time_before_the_last_write__is_taken_back_as_a_whole(messages: Messages) -> None:
    await messages.receive(mail(second=1))
    await messages.call("PATCH", CONTACT, {"contact_status": "interested"})
    messages.call.clock.now -= 5 * SECOND

    blocked = await block(messages)
    undone = await block(messages, method="DELETE")

    assert (blocked["contact_status"], blocked["status_changed"]) == ("do_not_contact", True)
    assert (undone["contact_status"], undone["status_changed"]) == ("interested", True)
    assert await state(messages) == ("interested", False, [])


async def test_dry_run__says_what_a_block_and_its_undo_would_do(messages: Messages) -> None:
    await messages.receive(mail(second=1))

    tried = (await messages.call.post(f"{CONTACT}/block?dry_run=true", {})).json()
    unchanged = await state(messages)
    await block(messages)
    undone = (await messages.call("DELETE", f"{CONTACT}/block?dry_run=true")).json()

    assert tried == {"contact_status": "do_not_contact", "status_changed": True, "entries": [{"id": None, "kind": "email"}]}
    assert unchanged == ("replied", False, [])
    assert undone["contact_status"] == "replied"
    assert await state(messages) == ("do_not_contact", True, [JANE])
    await messages.call("DELETE", f"{CONTACT}/block")
    assert (await messages.call("DELETE", f"{CONTACT}/block?dry_run=true")).status == 409


async def test_block__of_the_company_lists_its_domain_too(messages: Messages) -> None:
    await messages.receive(mail(second=1))

    await block(messages, {"company": True})

    assert await state(messages) == ("do_not_contact", True, [JANE, "example.com"])
    await block(messages, method="DELETE")
    assert await state(messages) == ("replied", False, [])


async def test_block__leaves_what_another_reason_lists(messages: Messages) -> None:
    await messages.receive(mail(second=1))
    await messages.call.post("/public/v2/suppressions", {"value": JANE, "reason": "legal"})

    await block(messages)
    await block(messages, method="DELETE")

    assert await state(messages) == ("replied", True, [JANE])
    [entry] = (await messages.call.get("/public/v2/suppressions")).json()["data"]
    assert entry["reason"] == "legal"


async def test_status_that_changed_since__stays_when_the_block_is_taken_back(messages: Messages) -> None:
    await messages.receive(mail(second=1))
    await block(messages)
    messages.call.clock.now += SECOND
    await messages.call("PATCH", CONTACT, {"contact_status": "unsubscribed"})

    await block(messages, method="DELETE")

    assert await state(messages) == ("unsubscribed", True, [JANE])


async def test_declared_statuses__name_the_status_of_blocked_contacts(messages: Messages) -> None:
    await messages.receive(mail(second=1))
    statuses = {"statuses": ["replied", "Cold", "Stop"], "opt_outs": ["Stop"], "transitions": {"replied": ["Cold"]}}
    await messages.call.settings(contact_statuses=statuses)

    assert (await block(messages))["contact_status"] == "Stop"


async def test_block__is_not_taken_back_after_an_hour(messages: Messages) -> None:
    await messages.receive(mail(second=1))
    await block(messages)
    messages.call.clock.now += HOUR + SECOND

    await block(messages, method="DELETE", status=409)

    assert (await state(messages))[1] is True


@pytest.mark.parametrize(("body", "named"), [({"company": "yes"}, "company"), ({"reason": "because"}, "reason"), ({"notes": ""}, "notes")])
async def test_wrong_member__is_named(messages: Messages, body: dict[str, Any], named: str) -> None:
    await messages.receive(mail(second=1))

    assert named in str(await block(messages, body, status=422))
