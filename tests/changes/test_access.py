"""Who sees and reverts changes: operators of a client, each its own; assignments; the audit log."""

from __future__ import annotations

from typing import Any

from tests.auth.test_people import Office, grants, office, quick_passwords
from tests.changes.test_reverts import CHANGES, drained
from tests.conversations.test_people import reply_to

__all__ = ["office", "quick_passwords"]
BATCH = {"commands": [{"op": "create", "body": {"email": f"p{number}@example.com"}} for number in range(3)]}


async def test_operators__see_and_revert_changes_of_their_clients_only(office: Office) -> None:
    for name in ("ours", "theirs"):
        await office("POST", "/public/v2/contacts/batch", BATCH, x_client_id=name)
        office.call.clock.move(1)
    mira = await office.join("mira@example.com", grants=grants(ours="operator"))
    leo = await office.join("leo@example.com", grants=grants(ours="viewer"))
    theirs, ours = (await office("GET", CHANGES)).json()["data"]
    assert [theirs["client_id"], ours["client_id"]] == ["theirs", "ours"]

    for browser in (mira, leo):
        assert [change["id"] for change in (await browser("GET", CHANGES)).json()["data"]] == [ours["id"]]
        assert (await browser("GET", f"{CHANGES}/theirs/{theirs['id']}")).status == 404
        assert (await browser("GET", f"{CHANGES}?client_id=theirs")).status == 404
    assert (await mira("POST", f"{CHANGES}/theirs/{theirs['id']}/revert")).status == 404
    assert (await mira("POST", f"{CHANGES}/ours/{theirs['id']}/revert")).status == 404
    assert (await leo("POST", f"{CHANGES}/ours/{ours['id']}/revert")).status == 403
    assert (await mira("POST", f"{CHANGES}/ours/{ours['id']}/revert")).status == 202
    await drained(office.call)

    mine = (await mira("GET", f"{CHANGES}?actor_id=me")).json()["data"]
    assert [(change["kind"], change["reverts"], change["actor"]["name"]) for change in mine] == [("revert", ours["id"], "Mir")]
    assert (await office("GET", "/public/v2/contacts", x_client_id="ours")).json()["data"] == []
    acts = (await office("GET", "/team/v1/audit-events?action=change.reverted")).json()["data"]
    assert [(act["client_id"], act["target"]["id"], act["actor"]["name"]) for act in acts] == [("ours", ours["id"], "Mir")]


async def test_assigned_conversations__go_back_but_for_one_that_a_colleague_took(office: Office) -> None:
    contacts = [await reply_to(office, "ours", f"p{number}") for number in range(4)]
    mira, leo = [await office.join(f"{name}@example.com", role="operator") for name in ("mira", "leo")]
    named = [{"client_id": "ours", "contact_id": contact} for contact in contacts]
    body = {"conversations": named, "change": {"assignee_id": mira.user["id"]}}
    assert (await mira("POST", "/team/v1/conversations/bulk", body)).status == 200
    await leo("PATCH", f"/team/v1/conversations/ours/{contacts[0]}", {"assignee_id": leo.user["id"]})
    [change] = (await mira("GET", f"{CHANGES}?actor_id=me")).json()["data"]
    assert (change["kind"], change["counts"]) == ("bulk", {"records": 4})

    job: Any = (await mira("POST", f"{CHANGES}/ours/{change['id']}/revert")).json()
    await drained(office.call)

    job = (await office("GET", f"/public/v2/jobs/{job['id']}", x_client_id="ours")).json()
    assert job["progress"]["listed"] == [{"record": "conversation", "id": contacts[0], "reason": "changed since: assignee_id"}]
    rows = (await office("GET", "/team/v1/conversations")).json()["data"]
    assert {row["contact"]["id"]: row["assignee_id"] for row in rows} == {
        contact: leo.user["id"] if contact == contacts[0] else None for contact in contacts
    }


async def test_names_and_entries_of_others__are_taken_back_by_administrators_only(office: Office) -> None:
    contacts = "/public/v2/contacts"
    mira, ada = [
        await office.join(f"{name}@example.com", grants=grants(ours=role)) for name, role in (("mira", "operator"), ("ada", "admin"))
    ]
    numbers = [
        (await office("POST", contacts, {"email": f"p{n}@example.com", "contact_status": "warm"}, x_client_id="ours")).json()["id"]
        for n in range(2)
    ]
    assert (await ada("PATCH", "/public/v2/statuses/contacts/warm", {"name": "Hot"})).status == 202
    await drained(office.call)
    for number, who in zip(numbers, (ada, mira), strict=True):
        assert (await who("POST", f"{contacts}/{number}/block", {})).status == 200
        office.call.clock.move(1)
    own, theirs, rename = (await mira("GET", CHANGES)).json()["data"]
    assert [change["kind"] for change in (own, theirs, rename)] == ["block", "block", "rename"]

    async def reverted(who: Any, change: Any) -> Any:
        job = (await who("POST", f"{CHANGES}/ours/{change['id']}/revert")).json()
        await drained(office.call)
        return (await office("GET", f"/public/v2/jobs/{job['id']}", x_client_id="ours")).json()["progress"]

    refused = await mira("POST", f"{CHANGES}/ours/{rename['id']}/revert?dry_run=true")
    assert (refused.status, "by an administrator of the client" in refused.problem["detail"]) == (403, True)
    assert (await reverted(mira, own))["unblocked"] == 1
    progress = await reverted(mira, theirs)
    assert (progress["unblocked"], progress["kept"], "only an administrator" in progress["listed"][0]["reason"]) == (0, 1, True)
    assert (await reverted(ada, theirs))["unblocked"] == 1
    assert (await reverted(ada, rename))["renamed"] == 1
