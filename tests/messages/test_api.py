"""The routes of messages: list, get, create, delete, mark as interested."""

from __future__ import annotations

from typing import Any

import pytest
from tests.messages.conftest import JANE, PATH, Messages, mail


async def listed(messages: Messages, query: str = "") -> list[dict[str, Any]]:
    reply = await messages.call.get(f"{PATH}{query}")
    assert reply.status == 200, reply
    return list(reply.json()["data"])


async def test_list__pages_newest_first(messages: Messages) -> None:
    await messages.receive(*(mail(second=n, content={"text": f"number {n}"}) for n in (1, 3, 2)))

    first = (await messages.call.get(f"{PATH}?limit=2")).json()
    second = (await messages.call.get(f"{PATH}?limit=2&cursor={first['next_cursor']}")).json()

    assert [item["text"] for item in first["data"]] == ["number 3", "number 2"]
    assert [item["text"] for item in second["data"]] == ["number 1"]
    assert second["next_cursor"] is None


@pytest.mark.parametrize(
    ("query", "result"),
    [
        ("contact_email=JANE@example.com", {"a", "b"}), ("contact_id=1", {"a", "b"}), ("direction=sent", {"b"}),
        ("channel=linkedin", {"c"}), ("campaign_id=7", {"b"}), ("tool=instantly", {"a", "b", "c"}), ("tool=lemlist", set()),
        ("mailbox=me@our.example", {"a"}), ("since=2000-01-01T00:00:00Z", {"a", "b", "c"}), ("until=2000-01-01T00:00:00Z", set()),
        ("interested=true", set()),
    ],
)  # fmt: skip
async def test_list__has_filters(messages: Messages, query: str, result: set[str]) -> None:
    await messages.receive(mail(content={"text": "a", "mailbox": "me@our.example"}))
    await messages.receive(mail("sent", content={"text": "b"}, campaign_id="7"))
    await messages.receive({**mail(email="joe@example.com", content={"text": "c"}), "event": "linkedin_replied"})

    assert {item["text"] for item in await listed(messages, f"?{query}")} == result


async def test_create__makes_a_message_that_the_timeline_has(messages: Messages) -> None:
    contact = (await messages.call.post("/public/v2/contacts", {"email": JANE, "contact_status": "new"})).json()

    reply = await messages.call.post(
        PATH, {"direction": "received", "contact_email": JANE, "html": "<p>Hi &amp; bye</p>", "message_id": "m1"}
    )

    body = reply.json()
    assert (reply.status, body["text"], body["contact_id"], body["source"], body["tool"]) == (201, "Hi & bye", contact["id"], "api", "api")
    assert (await messages.call.get(f"{PATH}/{body['id']}")).json() == body
    events = (await messages.call.get(f"/public/v2/contacts/{contact['id']}/timeline")).json()["data"]
    assert "message.received" in [event["event"] for event in events]
    assert (await messages.call.get(f"/public/v2/contacts/{contact['id']}")).json()["contact_status"] == "new"


@pytest.mark.parametrize("html", ["<p>Yes,</p><p>please</p>", "<p>Yes,</p><p>please</p>" + "<a " * 60_000], ids=["short", "long"])
async def test_create__makes_the_text_of_html(messages: Messages, html: str) -> None:
    await messages.call.post("/public/v2/contacts", {"email": JANE})

    created = (await messages.call.post(PATH, {"direction": "received", "contact_email": JANE, "html": html})).json()

    assert (created["text"], created["html"]) == ("Yes,\n\nplease", html.strip())


async def test_create__names_what_is_wrong(messages: Messages) -> None:
    for body, pointer in (
        ({"direction": "received"}, "/contact_id"),
        ({"direction": "received", "contact_id": 1, "contact_email": JANE}, "/contact_id"),
        ({"direction": "received", "contact_email": "nobody"}, "/contact_email"),
        ({"direction": "sent", "contact_id": 1, "occurred_at": "2999-01-01T00:00:00Z"}, "/occurred_at"),
    ):
        reply = await messages.call.post(PATH, body)
        assert (reply.status, reply.json()["errors"][0]["pointer"]) == (422, pointer)
    for body in ({"direction": "sent", "contact_id": 99}, {"direction": "sent", "contact_email": JANE}):
        assert (await messages.call.post(PATH, body)).status == 404


async def test_message_with_a_known_message_id__fills_what_is_blank(messages: Messages) -> None:
    await messages.receive(mail(content={"subject": "Re: Hello"}, message_id="<m1@mail.example>"))
    [before] = await listed(messages)

    reply = await messages.call.post(
        PATH, {"direction": "received", "contact_email": JANE, "subject": "Other", "text": "Yes", "message_id": "<m1@mail.example>"}
    )

    [after] = await listed(messages)
    assert reply.json()["id"] == after["id"] == before["id"]
    assert (after["subject"], after["text"]) == ("Re: Hello", "Yes")


async def test_delete__removes_it_also_for_a_replay(messages: Messages) -> None:
    await messages.receive(mail(message_id="m1"))
    [first] = await listed(messages)

    assert (await messages.call("DELETE", f"{PATH}/{first['id']}")).status == 204

    assert (await messages.call.post("/admin/v1/deliveries/1/replay")).status == 202
    await messages.work()
    assert await listed(messages) == []
    assert (await messages.call.get(f"{PATH}/{first['id']}")).status == 404
    assert (await messages.call("DELETE", f"{PATH}/{first['id']}")).status == 404


async def test_set_interested__marks_the_message(messages: Messages) -> None:
    await messages.receive(mail())
    [first] = await listed(messages)

    reply = await messages.call.post(f"{PATH}/{first['id']}/set-interested", {})

    assert reply.json()["interested"] is True
    assert [item["id"] for item in await listed(messages, "?interested=true")] == [first["id"]]
    assert (await messages.call.post(f"{PATH}/99/set-interested", {})).status == 404
