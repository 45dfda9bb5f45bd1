"""Conversations of people with roles: each sees those of the clients that the role is for, by every way in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from tests.auth.test_people import Browser, Office, grants, office, quick_passwords
from tests.conversations.test_conversations import PATH

from touchbase.clients.models import DELETION_DELAY, Client
from touchbase.clients.service import Clients
from touchbase.clients.sql.clients import begin_deletion, find_client, find_client_by_number
from touchbase.maintenance import Maintenance

__all__ = ["office", "quick_passwords"]


async def reply_to(office: Office, client_id: str, name: str = "ann") -> int:
    """A contact of a client with one reply."""
    headers = {"x_client_id": client_id}
    contact: Any = (await office("POST", "/public/v2/contacts", {"email": f"{name}@{client_id}.example"}, **headers)).json()
    message = {"direction": "received", "contact_id": contact["id"], "text": "Yes"}
    assert (await office("POST", "/public/v2/messages", message, **headers)).status == 201
    return int(contact["id"])


async def seen(browser: Browser, query: str = "") -> set[str]:
    reply = await browser("GET", f"{PATH}{query}")
    assert reply.status == 200, reply.body
    return {conversation["client_id"] for conversation in reply.json()["data"]}


async def test_operator_of_two_clients__works_through_theirs_and_sees_no_other(office: Office) -> None:
    contacts = {client_id: await reply_to(office, client_id) for client_id in ("ours", "yours", "theirs")}
    mira = await office.join("mira@example.com", grants=grants(ours="operator", yours="viewer"))

    assert await seen(mira) == {"ours", "yours"}
    assert await seen(mira, "?client_id=ours") == {"ours"}
    assert (await mira("GET", f"{PATH}?client_id=theirs")).status == 404
    assert (await mira("GET", f"{PATH}/theirs/{contacts['theirs']}")).status == 404
    assert (await mira("GET", "/team/v1/counters")).json()["open"] == 2


async def test_viewer__reads_and_changes_nothing(office: Office) -> None:
    contacts = {client_id: await reply_to(office, client_id) for client_id in ("ours", "yours", "theirs")}
    mira = await office.join("mira@example.com", grants=grants(ours="operator", yours="viewer"))

    statuses = [(await mira("PATCH", f"{PATH}/{client_id}/{contact}", {"state": "done"})).status for client_id, contact in contacts.items()]
    named = [{"client_id": client_id, "contact_id": contact} for client_id, contact in contacts.items()]
    bulk = (await mira("POST", f"{PATH}/bulk", {"conversations": named, "change": {"label": "later"}})).json()["data"]

    blocked = (await mira("POST", f"{PATH}/block", {"conversations": named, "block": {}})).json()["data"]

    assert statuses == [200, 403, 404]
    assert [row["error"] is None for row in bulk] == [True, False, False]
    assert [row["error"] is None for row in blocked] == [True, False, False]
    assert (await office("GET", f"{PATH}?client_id=yours")).json()["data"][0]["label"] is None


async def test_viewer_of_all_clients__sees_new_ones_too(office: Office) -> None:
    mira = await office.join("mira@example.com", role="viewer")
    for client_id in ("ours", "theirs"):
        await reply_to(office, client_id)

    assert await seen(mira) == {"ours", "theirs"}


async def test_conversation__is_assigned_to_people_who_may_see_the_client(office: Office) -> None:
    contacts = {client_id: await reply_to(office, client_id) for client_id in ("ours", "yours")}
    mira = await office.join("mira@example.com", grants=grants(ours="operator", yours="operator"))
    joe = await office.join("joe@example.com", grants=grants(ours="viewer"))
    user_id = joe.user["id"]

    mine = await mira("PATCH", f"{PATH}/ours/{contacts['ours']}", {"assignee_id": "me"})
    counted = (await mira("GET", "/team/v1/counters")).json()
    his = await mira("PATCH", f"{PATH}/ours/{contacts['ours']}", {"assignee_id": user_id})
    refused = await mira("PATCH", f"{PATH}/yours/{contacts['yours']}", {"assignee_id": user_id})
    named = [{"client_id": client_id, "contact_id": contact} for client_id, contact in contacts.items()]
    bulk = (await mira("POST", f"{PATH}/bulk", {"conversations": named, "change": {"assignee_id": user_id}})).json()["data"]

    assert (mine.json()["assignee_id"], counted["mine"], counted["unassigned"]) == (mira.user["id"], 1, 1)
    assert his.json()["assignee_id"] == user_id
    assert (refused.status, refused.problem["errors"][0]["pointer"]) == (422, "/assignee_id")
    assert ["may not see" in (row["error"] or "") for row in bulk] == [False, True]
    assert await seen(joe, "?assignee=me") == {"ours"}
    assert (await seen(mira, "?assignee=me"), await seen(mira, "?assignee=nobody")) == (set(), {"yours"})
    assert await seen(mira, f"?assignee={user_id}") == {"ours"}
    events = (await office("GET", "/public/v2/events?types=conversation.assigned", x_client_id="ours")).json()["data"]
    assert [event["data"]["assignee_id"] for event in events] == [mira.user["id"], user_id]


async def test_assignee__whom_the_caller_may_not_know_of_is_as_one_who_does_not_exist(office: Office) -> None:
    contact = await reply_to(office, "ours")
    await reply_to(office, "theirs")
    mira = await office.join("mira@example.com", grants=grants(ours="admin"))
    leo = await office.join("leo@example.com", grants=grants(theirs="viewer"))

    async def answers(user_id: str) -> list[str]:
        bulk = {"conversations": [{"client_id": "ours", "contact_id": contact}], "change": {"assignee_id": user_id}}
        task = {"text": "a", "due_at": "2026-11-20T09:30:00Z", "assignee_id": user_id}
        calls = (
            ("PATCH", f"{PATH}/ours/{contact}", {"assignee_id": user_id}), ("POST", f"{PATH}/bulk", bulk),
            ("POST", f"/team/v1/tasks/ours/contacts/{contact}", task),
        )  # fmt: skip
        replies = [await mira(*each) for each in calls]
        return [f"{reply.status} {reply.problem['errors']}".replace(user_id, "ID") for reply in replies]

    assert await answers(leo.user["id"]) == await answers("u00000000000")


async def test_assignee__is_a_user_and_not_a_key(office: Office) -> None:
    contact = await reply_to(office, "ours")

    replies = [await office("PATCH", f"{PATH}/ours/{contact}", {"assignee_id": name}) for name in ("me", "nobody-known")]
    listed = await office("GET", f"{PATH}?assignee=me")

    assert [(reply.status, reply.problem["errors"][0]["pointer"]) for reply in replies] == [(422, "/assignee_id")] * 2
    assert (listed.status, listed.problem["errors"][0]["pointer"]) == (422, "?assignee")


async def test_done_conversations__are_listed_by_their_assignee(office: Office) -> None:
    contact = await reply_to(office, "ours")
    mira = await office.join("mira@example.com", grants=grants(ours="operator"))

    await mira("PATCH", f"{PATH}/ours/{contact}", {"state": "done", "assignee_id": "me"})

    assert (await seen(mira, "?state=done&assignee=me"), await seen(mira, "?state=done&assignee=nobody")) == ({"ours"}, set())


async def test_person__names_a_client_by_its_handle_too(office: Office) -> None:
    contact = await reply_to(office, "ours")
    mira = await office.join("mira@example.com", grants=grants(ours="operator", yours="viewer"))
    handles = {client["client_id"]: client["handle"] for client in (await mira("GET", "/console/session")).json()["clients"]}
    path = f"{PATH}/{handles['ours']}/{contact}"

    for keys in ([{}, {}], [{"idempotency_key": "1"}, {"idempotency_key": "2"}]):
        assert (await mira("GET", path)).status == 200
        assert (await mira("PATCH", path, {"label": "later"})).status == 200
        assert (await mira("POST", f"{path}/read", **keys[0])).status == 204
        refused = await mira("POST", f"{path}/answers", {"message_id": 1, "text": "Yes"}, **keys[1])
        assert (refused.status, refused.problem["errors"][0]["pointer"]) == (422, "/message_id")
    assert (await mira("POST", "/public/v2/contacts", {"email": "new@example.com"}, x_client_id=handles["ours"])).status == 201


async def test_person_of_several_clients__may_send_an_idempotency_key_of_their_own(office: Office) -> None:
    contact = await reply_to(office, "ours")
    people = [await office.join(f"{name}@example.com", grants=grants(ours="operator", yours="viewer")) for name in ("mira", "ben")]
    body = {"conversations": [{"client_id": "ours", "contact_id": contact}], "change": {"label": "later"}}

    replies = [await person("POST", f"{PATH}/bulk", body, idempotency_key="key") for person in (people[0], people[0], people[1])]

    assert [reply.status for reply in replies] == [200, 200, 422]
    assert replies[0].body == replies[1].body
    assert "this Idempotency-Key was used for another request" in replies[2].problem["detail"]


async def test_done_conversations_of_many_clients__are_paged_newest_first_without_suspended_ones(office: Office) -> None:
    names = [f"client-{number}" for number in range(6)]
    for client_id in names:
        await office.client(client_id)
    order: list[tuple[str, int]] = []
    for client_id in [*names, *reversed(names), *names]:
        office.call.clock.move(60)
        address = f"{len(order)}@{client_id}.example"
        contact = (await office("POST", "/public/v2/contacts", {"email": address}, x_client_id=client_id)).json()["id"]
        message = {"direction": "received", "contact_id": contact, "text": "Yes"}
        assert (await office("POST", "/public/v2/messages", message, x_client_id=client_id)).status == 201
        assert (await office("PATCH", f"{PATH}/{client_id}/{contact}", {"state": "done"})).status == 200
        order.append((client_id, contact))
    await office("POST", "/admin/v1/clients/client-3/suspend")
    newest = [place for place in reversed(order) if place[0] != "client-3"]
    mira = await office.join("mira@example.com", grants=grants(**dict.fromkeys(names, "viewer")))

    for caller in (office, mira):
        listed: list[tuple[str, int]] = []
        cursor: str | None = ""
        while cursor is not None:
            page = (await caller("GET", f"{PATH}?state=done&limit=4{f'&cursor={cursor}' if cursor else ''}")).json()
            listed += [(row["client_id"], row["contact"]["id"]) for row in page["data"]]
            cursor = page["next_cursor"]
        assert listed == newest
        assert {row["client_id"] for row in (await caller("GET", f"{PATH}?state=open")).json()["data"]} == set()


async def test_page_over_all_clients__reads_no_client_that_is_not_on_it(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    for client_id in ("ours", "yours"):
        await reply_to(office, client_id)
    mira = await office.join("mira@example.com", grants=grants(ours="admin", yours="viewer"))

    async def refused(self: Clients, *_: object, **__: object) -> list[Client]:
        raise AssertionError("all clients are read")

    monkeypatch.setattr(Clients, "page", refused)

    of_all = ("/admin/v1/contacts", "/admin/v1/companies", "/admin/v1/deliveries", "/admin/v1/databases")
    of_team = (PATH, f"{PATH}?state=done", "/team/v1/counters", "/team/v1/attention", "/team/v1/users", "/team/v1/audit-events")
    for path in of_team + of_all:
        assert (await office("GET", path)).status == 200, path
    for path in (PATH, "/team/v1/me", "/console/session", "/team/v1/attention", "/team/v1/users"):
        assert (await mira("GET", path)).status == 200, path


async def test_client_deleted_between_two_reads__ends_no_list_of_conversations(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    for client_id in ("yours", "ours"):  # the newest reply is of the one that goes
        await reply_to(office, client_id)
        office.call.clock.move(1)
    parts, of = office.call.parts, Clients.of
    ours = await parts.store.read(find_client("ours"))
    assert ours is not None

    async def of_after_deletion(self: Clients, numbers: Iterable[int | None]) -> dict[int, Client]:
        if await parts.store.read(find_client_by_number(ours.number)) is not None:
            await parts.store.write(begin_deletion(ours.number, parts.clock()))
            await Maintenance(parts.store, lambda: parts.clock() + DELETION_DELAY).round()
            self.forget("ours")
        return await of(self, numbers)

    monkeypatch.setattr(Clients, "of", of_after_deletion)
    page = (await office("GET", f"{PATH}?limit=1")).json()

    assert (page["data"], page["next_cursor"] is None) == ([], False)
    following = (await office("GET", f"{PATH}?limit=1&cursor={page['next_cursor']}")).json()
    assert [conversation["client_id"] for conversation in following["data"]] == ["yours"]
