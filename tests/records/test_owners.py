"""Owners: the users who look after contacts and companies."""

from __future__ import annotations

from typing import Any

import pytest
from tests.auth.test_people import Office, PersonalKey, grants, office, quick_passwords
from tests.conversations.test_conversations import PATH
from tests.imports.jobs import worker
from tests.notes.test_notes import COMPANIES, CONTACTS, sure

__all__ = ["office", "quick_passwords"]
OURS = {"x_client_id": "ours"}


async def contact_of(office: Office, name: str, **values: Any) -> Any:
    return await sure(await office("POST", CONTACTS, {"email": f"{name}@x.example", **values}, **OURS), 201)


@pytest.mark.parametrize("kind", [CONTACTS, COMPANIES])
async def test_owner__is_named_by_id_or_email_and_unset(office: Office, kind: str) -> None:
    mira = await office.join("mira@example.com", role="operator")
    body = {"email": "ann@x.example"} if kind == CONTACTS else {"domain": "x.example"}

    record = await sure(await office("POST", kind, {**body, "owner_id": "Mira@Example.com"}, **OURS), 201)
    assert record["owner_id"] == mira.user["id"]
    path = f"{kind}/{record['id']}"
    assert "owner_id" not in await sure(await office("PATCH", path, {"owner_id": None}, **OURS))
    assert (await sure(await office("PATCH", path, {"owner_id": mira.user["id"]}, **OURS)))["owner_id"] == mira.user["id"]

    upserted = await sure(await office("PUT", kind, {**body, "owner_id": ""}, **OURS))
    assert (upserted["id"], "owner_id" in upserted) == (record["id"], False)
    logged = (await sure(await office("GET", "/public/v2/events?limit=200", **OURS)))["data"]
    changes = [event["data"]["changed"]["owner_id"] for event in logged if "owner_id" in event["data"].get("changed", {})]
    assert changes == [
        [None, mira.user["id"]], [mira.user["id"], None], [None, mira.user["id"]], [mira.user["id"], None],
    ]  # fmt: skip


async def test_owner__must_be_a_user_who_may_see_the_client(office: Office) -> None:
    far = await office.join("far@example.com", grants=grants(theirs="operator"))
    contact = await contact_of(office, "ann")

    for owner in ("nobody", "nobody@example.com", "far@example.com", far.user["id"]):
        for method, path, body in (
            ("POST", CONTACTS, {"email": "ben@x.example", "owner_id": owner}),
            ("PATCH", f"{CONTACTS}/{contact['id']}", {"owner_id": owner}),
            ("PUT", CONTACTS, {"email": "ann@x.example", "owner_id": owner}),
            ("PATCH", f"{CONTACTS}?email=ann@x.example", {"owner_id": owner}),
        ):  # fmt: skip
            reply = await office(method, path, body, **OURS)
            assert (reply.status, reply.json()["errors"][0]["pointer"]) == (422, "/owner_id"), (method, path)
    commands = [{"op": "create", "body": {"email": f"{n}@x.example", "owner_id": owner}} for n, owner in enumerate(("nobody", ""))]
    results = (await sure(await office("POST", f"{CONTACTS}/batch", {"commands": commands}, **OURS)))["results"]
    assert [result["status"] for result in results] == [422, 201]
    assert results[0]["problem"]["errors"][0]["pointer"] == "/body/owner_id"


async def test_owner__stays_when_suspended(office: Office) -> None:
    mira = await office.join("mira@example.com", role="operator")
    contact = await contact_of(office, "ann", owner_id=mira.user["id"])
    await sure(await office("PATCH", f"/team/v1/users/{mira.user['id']}", {"state": "suspended"}))

    assert (await sure(await office("GET", f"{CONTACTS}/{contact['id']}", **OURS)))["owner_id"] == mira.user["id"]
    kept = await sure(await office("PATCH", f"{CONTACTS}/{contact['id']}", {"owner_id": mira.user["id"], "first_name": "Ann"}, **OURS))
    assert kept["owner_id"] == mira.user["id"]


async def test_owner_is_me__filters_lists_searches_changes_and_exports(office: Office) -> None:
    mira = await office.join("mira@example.com", role="operator")
    agent = await PersonalKey.of(mira, name="agent")
    for name, owner in (("ann", "mira@example.com"), ("ben", "")):
        await contact_of(office, name, owner_id=owner)

    for caller in (mira, agent):
        listed = (await sure(await caller("GET", f"{CONTACTS}?owner_id=me", **OURS)))["data"]
        assert [contact["email"] for contact in listed] == ["ann@x.example"]
    found = await sure(await mira("POST", f"{CONTACTS}/search", {"where": {"any": [{"owner_id": "me"}]}}, **OURS))
    assert [contact["email"] for contact in found["data"]] == ["ann@x.example"]
    others = (await sure(await mira("GET", f"{CONTACTS}?owner_id[is_set]=false", **OURS)))["data"]
    assert [contact["email"] for contact in others] == ["ben@x.example"]
    changed = await sure(await mira("PATCH", f"{CONTACTS}?owner_id=me", {"origin": "mine"}, **OURS))
    assert changed["changed"] == 1
    exported = await mira("GET", f"{CONTACTS}/export?format=csv&owner_id=me&fields=email,owner_id", **OURS)
    assert exported.body.decode().splitlines()[1:] == [f"1,ann@x.example,{mira.user['id']}"]

    refused = await office("GET", f"{CONTACTS}?owner_id=me", **OURS)
    assert (refused.status, refused.json()["errors"][0]["pointer"]) == (422, "?owner_id")
    body = {"where": {"owner_id": "me"}}
    assert (await office("POST", f"{CONTACTS}/search", body, **OURS)).json()["errors"][0]["pointer"] == "/where/owner_id"


async def test_batch_and_bulk__set_owners(office: Office) -> None:
    mira = await office.join("mira@example.com", role="operator")
    ann, ben = [await contact_of(office, name) for name in ("ann", "ben")]
    commands = [
        {"op": "update", "id": ann["id"], "body": {"owner_id": "mira@example.com"}},
        {"op": "upsert", "body": {"email": "cat@x.example", "owner_id": mira.user["id"]}},
    ]

    await sure(await office("POST", f"{CONTACTS}/batch", {"commands": commands}, **OURS))
    await sure(await office("PATCH", f"{CONTACTS}?email=ben@x.example", {"owner_id": "mira@example.com"}, **OURS))

    owned = (await sure(await office("GET", f"{CONTACTS}?owner_id={mira.user['id']}", **OURS)))["data"]
    assert [contact["email"] for contact in owned] == ["ann@x.example", "ben@x.example", "cat@x.example"]
    assert ben["id"] in [contact["id"] for contact in owned]


async def test_first_reply__is_assigned_to_the_owner_and_stays_with_whoever_has_it(office: Office) -> None:
    mira, ben = [await office.join(f"{name}@example.com", role="operator") for name in ("mira", "ben")]
    contact = await contact_of(office, "ann", owner_id=mira.user["id"])
    message = {"direction": "received", "contact_id": contact["id"], "text": "Yes"}

    await sure(await office("POST", "/public/v2/messages", message, **OURS), 201)
    path = f"{PATH}/ours/{contact['id']}"
    assert (await sure(await office("GET", path)))["assignee_id"] == mira.user["id"]
    logged = (await sure(await office("GET", "/public/v2/events?types=conversation.*", **OURS)))["data"]
    assert [(event["type"], event["data"]["assignee_id"]) for event in logged] == [("conversation.assigned", mira.user["id"])]

    await sure(await office("PATCH", path, {"assignee_id": ben.user["id"], "state": "done"}))
    office.call.clock.move(60)
    await sure(await office("POST", "/public/v2/messages", {**message, "text": "And more"}, **OURS), 201)

    assert (await sure(await office("GET", path)))["assignee_id"] == ben.user["id"]


async def test_merge__takes_the_owner_that_the_survivor_lacks(office: Office) -> None:
    mira = await office.join("mira@example.com", role="operator")
    ann = await contact_of(office, "ann")
    ben = await contact_of(office, "ben", owner_id="mira@example.com")

    merge = await sure(await office("POST", f"{CONTACTS}/{ann['id']}/merge", {"with": [ben["id"]]}, **OURS))
    assert (await sure(await office("GET", f"{CONTACTS}/{ann['id']}", **OURS)))["owner_id"] == mira.user["id"]
    await sure(await office("POST", f"{CONTACTS}/{ann['id']}/merge/{merge['merge_id']}/undo", **OURS))

    assert "owner_id" not in await sure(await office("GET", f"{CONTACTS}/{ann['id']}", **OURS))
    assert (await sure(await office("GET", f"{CONTACTS}/{ben['id']}", **OURS)))["owner_id"] == mira.user["id"]


async def test_import__names_owners_by_email_or_id_and_lists_the_unknown(office: Office) -> None:
    mira = await office.join("mira@example.com", role="operator")
    file = f"email,owner_id\nann@x.example,Mira@example.com\nben@x.example,{mira.user['id']}\ncat@x.example,nobody@example.com\n"

    reply = await office.call("POST", f"{CONTACTS}/imports?start=true", raw=file.encode(), **office.key, **OURS)
    job = await sure(reply, 201)
    await worker(office.call).drain()

    listed = (await sure(await office("GET", CONTACTS, **OURS)))["data"]
    assert [(contact["email"], contact.get("owner_id")) for contact in listed] == [
        ("ann@x.example", mira.user["id"]), ("ben@x.example", mira.user["id"]), ("cat@x.example", None),
    ]  # fmt: skip
    report = (await office("GET", f"/public/v2/jobs/{job['id']}/report", **OURS)).body.decode()
    assert "there is no user 'nobody@example.com' who may see the client" in report
