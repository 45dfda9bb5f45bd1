"""Conversations: their states follow from messages and from what people decide, in any order."""

from __future__ import annotations

from typing import Any

import pytest
from tests.asgi_client import START
from tests.messages.conftest import JANE, Messages, mail, messages

from touchbase.common.timestamps import DAY, SECOND, to_text

__all__ = ["messages"]
PATH = "/team/v1/conversations"
HOUR = 3600 * SECOND
OUR_ID = "<m1@mail.example>"


async def listed(messages: Messages, query: str = "") -> list[dict[str, Any]]:
    reply = await messages.call.get(f"{PATH}{query}")
    assert reply.status == 200, reply
    return list(reply.json()["data"])


async def states(messages: Messages) -> dict[str, list[str]]:
    """The addresses of the conversations in each state."""
    return {
        state: [conversation["contact"]["email"] for conversation in await listed(messages, f"?state={state}")]
        for state in ("open", "snoozed", "automatic", "done")
    }


async def change(messages: Messages, body: dict[str, Any], contact: int = 1, version: str | None = None) -> Any:
    headers = {} if version is None else {"if_match": f'"{version}"'}
    return await messages.call("PATCH", f"{PATH}/default/{contact}", body, **headers)


async def test_reply__opens_a_conversation_until_somebody_handles_it(messages: Messages) -> None:
    await messages.receive(mail("sent", second=1), mail(second=2, content={"subject": "Re: Hi", "text": "Yes, tell me more"}))

    [conversation] = await listed(messages)
    done = await change(messages, {"state": "done"}, version=conversation["version"])

    assert (conversation["state"], conversation["newest"]["text"]) == ("open", "Yes, tell me more")
    assert conversation["open_since"] == conversation["newest"]["occurred_at"]
    assert (done.status, done.json()["state"], done.json()["open_since"]) == (200, "done", None)
    assert await states(messages) == {"open": [], "snoozed": [], "automatic": [], "done": [JANE]}


async def test_done__is_refused_if_another_reply_came_in(messages: Messages) -> None:
    await messages.receive(mail(second=1))
    [read] = await listed(messages)
    await messages.receive(mail(second=2))

    refused = await change(messages, {"state": "done"}, version=read["version"])

    assert (refused.status, refused.json()["code"]) == (412, "precondition_failed")
    assert (await states(messages))["open"] == [JANE]


async def test_late_reply__opens_a_conversation_again_and_a_repeat_does_not(messages: Messages) -> None:
    reply, earlier = mail(second=5), mail(second=1, content={"text": "first"})
    await messages.receive(reply)
    await change(messages, {"state": "done"})

    await messages.receive(reply)
    repeated = await states(messages)
    await messages.receive(earlier)

    assert repeated["done"] == [JANE]
    assert (await states(messages))["open"] == [JANE]


async def test_copy_of_a_handled_reply__is_handled(messages: Messages) -> None:
    await messages.receive(mail(second=5, message_id=OUR_ID))
    await change(messages, {"state": "done"})

    await messages.receive(mail(second=4, message_id=OUR_ID, tool="lemlist"))

    assert await states(messages) == {"open": [], "snoozed": [], "automatic": [], "done": [JANE]}


async def test_snooze__ends_with_its_time_or_with_a_reply_of_a_person(messages: Messages) -> None:
    await messages.receive(mail(second=1))
    until = to_text(messages.call.clock() + HOUR)

    snoozed = (await change(messages, {"snoozed_until": until})).json()
    await messages.receive(mail("auto_replied", second=2))
    after_machine = await states(messages)
    messages.call.clock.move(7_200)
    after_time = await states(messages)
    await change(messages, {"snoozed_until": to_text(messages.call.clock() + HOUR)})
    messages.call.clock.now += 1
    await messages.receive(mail(second=3))

    assert (snoozed["state"], snoozed["snoozed_until"]) == ("snoozed", until)
    assert (after_machine["snoozed"], after_time["open"]) == ([JANE], [JANE])
    assert (await states(messages))["open"] == [JANE]


async def test_automatic_reply__opens_nothing_until_a_person_moves_it(messages: Messages) -> None:
    await messages.receive(mail("auto_replied", second=1))
    await messages.receive(mail(second=1, email="joe@example.com", content={"text": "I am away", "category": "Out Of Office"}))
    before = await states(messages)

    await change(messages, {"kind": "human"})

    assert before == {"open": [], "snoozed": [], "automatic": ["joe@example.com", JANE], "done": []}
    assert (await states(messages))["open"] == [JANE]


async def test_reopening__opens_the_newest_reply(messages: Messages) -> None:
    await messages.receive(mail(second=1), mail(second=2, message_id=OUR_ID))
    await change(messages, {"state": "done"})

    await change(messages, {"state": "open"})

    [conversation] = await listed(messages)
    assert conversation["open_since"] == to_text(START - 98_000_000)


async def test_label__is_the_tool_s_until_a_person_chooses_another(messages: Messages) -> None:
    await messages.receive(mail(second=1, content={"text": "call me", "category": "Meeting Request"}))
    label = (await listed(messages))[0]["label"]

    chosen = (await change(messages, {"label": "later"})).json()["label"]
    filtered = [await listed(messages, f"?label={name}") for name in ("meeting", "later")]
    back = (await change(messages, {"label": None})).json()["label"]

    assert (label, chosen, back) == ("meeting", "later", "meeting")
    assert [len(page) for page in filtered] == [0, 1]


async def test_old_reply__is_born_handled(messages: Messages) -> None:
    await messages.receive({**mail(), "occurred_us": START - 15 * DAY})

    assert (await states(messages))["done"] == [JANE]


async def test_conversations_of_merged_contacts__are_one_until_the_merge_is_undone(messages: Messages) -> None:
    await messages.receive(mail(second=1), mail(second=2, email="joe@example.com"))
    await change(messages, {"state": "done"}, contact=1)

    merge = (await messages.call.post("/public/v2/contacts/1/merge", {"with": [2]})).json()
    merged = await states(messages)
    await messages.call.post(f"/public/v2/contacts/1/merge/{merge['merge_id']}/undo")

    assert merged == {"open": [JANE], "snoozed": [], "automatic": [], "done": []}
    assert await states(messages) == {"open": ["joe@example.com"], "snoozed": [], "automatic": [], "done": [JANE]}


async def test_conversation_of_a_deleted_contact__is_in_no_list_until_it_is_restored(messages: Messages) -> None:
    await messages.receive(mail(second=1))

    await messages.call("DELETE", "/public/v2/contacts/1")
    deleted, counted = await states(messages), (await messages.call.get("/team/v1/counters?by_client=true")).json()
    await messages.call("POST", "/public/v2/contacts/1/restore")

    assert deleted == {"open": [], "snoozed": [], "automatic": [], "done": []}
    assert (counted["open"], counted["clients"]) == (0, [])
    assert (await states(messages))["open"] == [JANE]


async def test_list__pages_in_both_orders(messages: Messages) -> None:
    for n in range(5):
        await messages.receive(mail(second=n, email=f"p{n}@example.com"))
    await messages.receive(mail(second=20, email="p0@example.com"))

    for sort, expected in (("newest", ["p0", "p4", "p3", "p2", "p1"]), ("waiting", ["p0", "p1", "p2", "p3", "p4"])):
        results: list[str] = []
        query = f"?sort={sort}&limit=2"
        while query:
            page = (await messages.call.get(f"{PATH}{query}")).json()
            results += [conversation["contact"]["email"].split("@")[0] for conversation in page["data"]]
            query = page["next_cursor"] and f"?sort={sort}&limit=2&cursor={page['next_cursor']}"
        assert results == expected


async def test_done__pages_newest_first(messages: Messages) -> None:
    for n in range(5):
        await messages.receive(mail(second=n, email=f"p{n}@example.com"))
    named = [{"client_id": "default", "contact_id": n} for n in range(1, 6)]
    bulk = await messages.call.post(f"{PATH}/bulk", {"conversations": named, "change": {"state": "done"}})

    first = (await messages.call.get(f"{PATH}?state=done&limit=3")).json()
    second = (await messages.call.get(f"{PATH}?state=done&limit=3&cursor={first['next_cursor']}")).json()

    assert [row["conversation"]["state"] for row in bulk.json()["data"]] == ["done"] * 5
    emails = [conversation["contact"]["email"] for conversation in first["data"] + second["data"]]
    assert emails == [f"p{n}@example.com" for n in (4, 3, 2, 1, 0)]


async def test_search_and_filters__find_conversations_in_every_state(messages: Messages) -> None:
    for second, (email, text) in enumerate(
        [("ann@example.com", "Ärger, 100% off"), ("bob@example.com", "Where is the data?"), ("cy@example.com", "No")]
    ):
        await messages.receive(mail(second=second, email=email, content={"subject": "Re: night shift", "text": text}))
    await messages.receive(mail(second=10, email="bob@example.com", content={"text": "Later, perhaps"}))
    await change(messages, {"state": "done"}, contact=2)
    await messages.call("PATCH", "/public/v2/contacts/3", {"contact_status": "interested"})

    async def names(query: str) -> str:
        return " ".join(conversation["contact"]["email"].split("@")[0] for conversation in await listed(messages, f"?{query}"))

    assert await names("state=any") == "bob cy ann"
    assert await names("state=any&q=SHIFT+night") == "bob cy ann"
    assert await names("state=any&q=data") == await names("state=done&q=data") == "bob"
    assert await names("state=any&q=%C3%A4rger+100%25") == await names("q=Ann@") == "ann"
    assert await names("state=any&q=1%25o") == await names("state=any&q=night+_") == await names("q=data") == ""
    assert await names("contact_status=interested") == "cy"
    assert (await names("waiting_hours=1"), await names("state=any&waiting_hours=1")) == ("", "")
    messages.call.clock.move(7_200)
    assert await names("state=any&waiting_hours=1") == "cy ann"

    page = (await messages.call.get(f"{PATH}?state=any&limit=2")).json()
    assert await names(f"state=any&limit=2&cursor={page['next_cursor']}") == "ann"


async def test_bulk__says_what_became_of_each(messages: Messages) -> None:
    await messages.receive(mail(second=1), mail(second=2, email="joe@example.com"))
    named = [
        {"client_id": "default", "contact_id": 1},
        {"client_id": "default", "contact_id": 2, "version": "0-0-0"},
        {"client_id": "default", "contact_id": 99},
        {"client_id": "nobody", "contact_id": 1},
    ]

    reply = await messages.call.post(f"{PATH}/bulk", {"conversations": named, "change": {"state": "done"}})

    errors = [row["error"] for row in reply.json()["data"]]
    assert errors[0] is None
    assert [word in error for word, error in zip(("changed since", "contact", "client"), errors[1:], strict=True)] == [True] * 3


async def test_bulk_status__keeps_one_that_somebody_set_meanwhile_and_one_that_may_not_follow(messages: Messages) -> None:
    await messages.receive(*(mail(second=1, email=f"{name}@example.com") for name in ("ann", "bea", "cid")))
    await messages.call.patch("/public/v2/contacts/2", {"contact_status": "customer"})
    named = [{"client_id": "default", "contact_id": number, "contact_status": "replied"} for number in (1, 2, 3)]

    reply = await messages.call.post(f"{PATH}/bulk", {"conversations": named, "change": {"state": "done", "contact_status": "later"}})

    assert reply.status == 200, reply.body
    rows = reply.json()["data"]
    assert [row["error"] for row in rows] == [None, "the contact has another status by now", None]
    conversations = sorted(await listed(messages, "?state=any"), key=lambda row: row["contact"]["id"])
    assert [(row["contact"]["contact_status"], row["state"]) for row in conversations] == [
        ("later", "done"), ("customer", "open"), ("later", "done"),
    ]  # fmt: skip
    [changed] = (await messages.call.get("/team/v1/changes?kind=bulk")).json()["data"]
    assert changed["counts"] == {"records": 2}

    await messages.call.settings(contact_statuses={"statuses": ["later", "won"], "transitions": {"later": []}})
    named = [{"client_id": "default", "contact_id": 1}]
    refused = [
        (await messages.call.post(f"{PATH}/bulk", {"conversations": named, "change": {"state": "open", "contact_status": status}})).json()
        for status in ("won", "unheard")
    ]
    assert all(rows["data"][0]["error"] for rows in refused), refused
    assert (await listed(messages, "?state=done"))[0]["contact"]["contact_status"] == "later"


async def test_counters__count_each_state(messages: Messages) -> None:
    await messages.receive(mail(second=1), mail(second=2), mail("auto_replied", second=3, email="joe@example.com"))
    await messages.receive(mail(second=1, email="ann@example.com"))
    ann = (await listed(messages, "?sort=newest"))[1]["contact"]["id"]
    await change(messages, {"snoozed_until": to_text(messages.call.clock() + HOUR)}, contact=ann)

    assert (await messages.call.get("/team/v1/counters")).json() == {
        "open": 1,
        "snoozed": 1,
        "automatic": 1,
        "unassigned": 1,
        "mine": 0,
        "unread": 0,
        "tasks_due": 0,
    }
    of_each = (await messages.call.get("/team/v1/counters?by_client=true")).json()
    assert (of_each["open"], of_each["clients"]) == (1, [{"client_id": "default", "open": 1}])


async def test_one_conversation__shows_its_messages(messages: Messages) -> None:
    await messages.receive(mail("sent", second=1, content={"text": "Hello"}), mail(second=2))

    reply = await messages.call.get(f"{PATH}/default/1")

    assert [message["direction"] for message in reply.json()["messages"]] == ["received", "sent"]
    assert reply.headers["etag"] == f'"{reply.json()["version"]}"'


@pytest.mark.parametrize(
    ("body", "pointer"),
    [({}, ""), ({"label": "hot"}, "/label"), ({"snoozed_until": "2001-01-01T00:00:00Z"}, "/snoozed_until")],
)
async def test_change__names_what_is_wrong(messages: Messages, body: dict[str, Any], pointer: str) -> None:
    await messages.receive(mail())

    reply = await change(messages, body)

    assert (reply.status, reply.json()["errors"][0]["pointer"]) == (422, pointer)


async def test_snooze__needs_an_open_conversation(messages: Messages) -> None:
    await messages.receive(mail())
    await change(messages, {"state": "done"})

    reply = await change(messages, {"snoozed_until": to_text(messages.call.clock() + HOUR)})

    assert (reply.status, reply.json()["errors"][0]["pointer"]) == (422, "/snoozed_until")


async def test_change__is_logged(messages: Messages) -> None:
    await messages.receive(mail())
    await change(messages, {"state": "done"})
    await change(messages, {"state": "open"})

    events = (await messages.call.get("/public/v2/events?types=conversation.done,conversation.reopened")).json()["data"]

    assert [event["type"] for event in events] == ["conversation.done", "conversation.reopened"]
