"""Webhooks bring messages, in any order and however often they come."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.messages.conftest import JANE, PATH, Messages, mail

from touchbase.clients.models import ClientSettings
from touchbase.history.events import CONTACT, Event, MessageContent
from touchbase.projection import normalization as event_normalization
from touchbase.projection.apply import store_messages
from touchbase.sql.statement import Execute, Plan


async def test_reply__is_stored_with_its_text_and_campaign(messages: Messages) -> None:
    content = {
        "subject": "Re: Hello",
        "html": "<p>Yes,</p><script>no()</script><p>please</p>",
        "mailbox": "me@our.example",
        "thread_id": "t1",
    }

    await messages.receive(mail(content=content, campaign="Autumn", campaign_id="7", step="2", message_id="m1"))

    [first] = await messages.stored()
    assert (first.direction, first.channel, first.contact_email, first.tool) == ("received", "email", JANE, "instantly")
    assert (first.subject, first.text, first.html, first.mailbox) == ("Re: Hello", "Yes,\n\nplease", content["html"], "me@our.example")
    assert (first.campaign_id, first.campaign_name, first.step, first.message_id, first.thread_id) == ("7", "Autumn", "2", "m1", "t1")
    assert first.delivery_id == 1


async def test_reply_of_hostile_html__is_stored_and_counts(messages: Messages) -> None:
    html = "<a " * 20_000

    await messages.receive(mail(content={"html": html}))

    [first] = await messages.stored()
    assert (first.direction, first.text, first.html) == ("received", None, html.strip())
    contact = (await messages.call.get(f"/public/v2/contacts/{first.contact_id}")).json()
    assert contact["contact_status"] == "replied"


async def test_html_beyond_the_limit_of_a_webhook__is_stored_without_a_text(messages: Messages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_normalization, "MAX_HTML", 20)

    first, second = (mail(content={"html": f"<p>{word}</p>"}, message_id=word) for word in ("first", "second"))

    await messages.receive(first, second)

    assert sorted((first_item.html, first_item.text) for first_item in await messages.stored()) == [
        ("<p>first</p>", "first"),
        ("<p>second</p>", None),
    ]
    delivery = (await messages.call.get("/admin/v1/deliveries/1")).json()
    assert (delivery["state"], [problem["code"] for problem in delivery["problems"]]) == ("applied", ["html_unread"])


async def test_event_without_a_message__stores_none(messages: Messages) -> None:
    await messages.receive({**mail(), "message": None})

    assert await messages.stored() == []


async def test_timeline__has_the_id_of_each_message(messages: Messages) -> None:
    await messages.receive(mail("sent", content={"subject": "Hello"}, second=1), {**mail("opened", second=2), "message": None})
    await messages.receive(mail(content={"text": "Yes"}, message_id="<r1@mail.example>", second=3))
    await messages.receive(mail(content={"subject": "Re: Hello"}, message_id="<r1@mail.example>", second=4))
    reply, sent = await messages.stored()

    events = (await messages.call.get(f"/public/v2/contacts/{reply.contact_id}/timeline")).json()["data"]

    assert [(event["event"], event["message_id"]) for event in events if event["event"].startswith("email")] == [
        ("email_replied", reply.id), ("email_replied", reply.id), ("email_opened", None), ("email_sent", sent.id),
    ]  # fmt: skip
    assert (await messages.call("DELETE", f"{PATH}/{reply.id}")).status == 204
    events = (await messages.call.get(f"/public/v2/contacts/{reply.contact_id}/timeline")).json()["data"]
    assert [event["message_id"] for event in events if event["event"] == "email_replied"] == [None, None]


def steps(plan: Plan[None]) -> list[tuple[str, int]]:
    """The name and the number of rows of each statement that a plan executes, if every row is new."""
    created: list[tuple[str, int]] = []
    rows: list[Any] = []
    try:
        step = next(plan)
        while True:
            if isinstance(step, Execute):
                created.append((step.statement.name, len(step.rows)))
                rows = [] if step.statement.name == "near_copies" else [(row[1], 7) for row in step.rows]
            step = plan.send(rows)
    except StopIteration:
        return created


def test_batch__stores_all_of_its_messages_by_the_same_statements() -> None:
    resolvers = {CONTACT: SimpleNamespace(by_id={})}
    members = {"unparked": set[int](), "joined": dict[str, str](), "resolvers": resolvers, "now_us": 9, "cause": {"origin": "delivery"}}
    batch = cast("Any", SimpleNamespace(client=1, settings=ClientSettings(), **members))
    numbers = itertools.count(1)
    ids = cast("Any", SimpleNamespace(take=lambda _: next(numbers)))
    event = Event("email_sent", message=MessageContent(subject="Hello"))
    named = [
        (SimpleNamespace(event=event, key=f"k{n}", at=n, tool="a", kind=CONTACT), SimpleNamespace(id=n, received_us=n)) for n in range(9)
    ]

    assert steps(store_messages(batch, [], [], ids)) == []
    assert steps(store_messages(batch, cast("Any", named), [], ids)) == [("insert_message", 9), ("new_messages", 9), ("near_copies", 9)]


async def test_row_that_names_nobody__is_a_problem_of_the_delivery(messages: Messages) -> None:
    await messages.receive(mail(), {**mail(), "email": None})

    delivery = (await messages.call.get("/admin/v1/deliveries/1")).json()
    assert (delivery["state"], [problem["code"] for problem in delivery["problems"]]) == ("applied", ["rows_unidentified"])
