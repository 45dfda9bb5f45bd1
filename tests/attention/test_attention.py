"""What needs a person: each item comes with its cause, names what to do, and is gone with the cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.answering.test_answers import Answers, answers, smartlead
from tests.imports.jobs import finished, upload
from tests.messages.conftest import Messages, mail, messages

from touchbase.adapters.interface import WebhookRequest
from touchbase.attention.plans import CRITICAL, WARNING, Item, Snooze, list_items, mark_snoozed, working_time
from touchbase.auth.users import ACTIVE, INVITATION, OPERATOR, User, invite_user, list_users, new_link, new_user_id
from touchbase.common.timestamps import DAY, from_text, to_text
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.connections.sql.connections import add_connection
from touchbase.conversations.plans import (
    OPEN,
    ConversationChange,
    change_conversation,
    count_conversations,
    count_day,
    list_conversations,
    list_done_conversations,
)
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import Translation
from touchbase.inbox.queries import RefusedWebhook
from touchbase.inbox.refused import NO_CLIENT, NOT_VERIFIED, UNKNOWN_CLIENT
from touchbase.inbox.sql.refused import store_refusals
from touchbase.inbox.worker import InboxWorker
from touchbase.sql.operation import Query

__all__ = ["answers", "messages"]
PATH = "/team/v1/attention"


def unread(request: WebhookRequest) -> Translation:
    raise UnrecognisedPayload("no adapter knows this")


async def items(messages: Messages, query: str = "") -> list[dict[str, Any]]:
    reply = await messages.call.get(f"{PATH}{query}")
    assert reply.status == 200, reply
    return list(reply.json()["data"])


async def refuse(messages: Messages, client: int, cause: str, client_id: str = "", tool: str | None = "pipedrive") -> None:
    now = messages.call.clock()
    webhook = RefusedWebhook(client, now, "crm", cause, tool, 10, {}, client_id, 3)
    await messages.call.parts.store.write(store_refusals(client, [webhook]))


async def test_counters__have_what_needs_a_person_if_asked_without_what_is_snoozed(messages: Messages) -> None:
    for tool in ("pipedrive", "hubspot"):
        await refuse(messages, NO_CLIENT, UNKNOWN_CLIENT, tool, tool)
    counters = "/team/v1/counters"
    until = to_text(messages.call.clock() + DAY)

    first, *_ = await items(messages)
    before = (await messages.call.get(f"{counters}?attention=true")).json()["attention"]
    assert (await messages.call.patch(f"{PATH}/{first['id']}", {"snoozed_until": until})).status == 200

    assert (before, (await messages.call.get(f"{counters}?attention=true")).json()["attention"]) == (2, 1)
    assert "attention" not in (await messages.call.get(counters)).json()


async def test_sound_store__needs_nobody(messages: Messages) -> None:
    await messages.receive(mail("sent", second=1))

    assert await items(messages) == []


async def test_refused_webhooks__are_an_item_until_the_connection_is_changed(messages: Messages) -> None:
    await messages.receive(mail("sent", second=1))
    await refuse(messages, 1, NOT_VERIFIED)
    await refuse(messages, 1, NOT_VERIFIED)

    [item] = await items(messages)
    messages.call.clock.move(60)
    at = messages.call.clock()
    await messages.call.parts.store.write(add_connection(Connection(1, "crm", "pipedrive", at, at, ["secret"], ConnectionSettings())))

    assert (item["kind"], item["severity"], item["count"], item["client_id"]) == ("refused_webhooks", "critical", 6, "default")
    assert item["title"] == "6 webhooks of pipedrive refused: the signature is missing or wrong"
    assert "secret" in item["next"]
    assert await items(messages) == []
    messages.call.clock.move(1)
    await refuse(messages, 1, NOT_VERIFIED)
    assert len(await items(messages)) == 1


async def test_misspelt_client__is_shown_with_the_name_meant(messages: Messages) -> None:
    await messages.call.settings("kestrel-freight")
    await refuse(messages, NO_CLIENT, UNKNOWN_CLIENT, "kestrel-frieght", None)

    [item] = await items(messages)

    assert (item["kind"], item["client_id"]) == ("unknown_client", None)
    assert item["title"] == '3 webhooks for "kestrel-frieght", which no client has; "kestrel-freight"?'
    assert await items(messages, "?client_id=kestrel-freight") == []


async def test_refused_webhooks_of_last_week__need_nobody(messages: Messages) -> None:
    await messages.receive(mail("sent", second=1))
    await refuse(messages, 1, NOT_VERIFIED)
    messages.call.clock.move(8 * 86_400)

    assert await items(messages) == []


async def test_unrecognised_webhooks__are_one_item_for_each_tool(messages: Messages) -> None:
    for number in range(3):
        await messages.call("POST", "/public/crm-webhook/default", raw=b'{"what": %d}' % number)
    await InboxWorker(messages.call.parts.store, unread, messages.call.clock).drain()

    results = [item for item in await items(messages) if item["kind"] in ("not_recognised", "not_applied")]

    assert [item["count"] for item in results] == [3]


async def test_promising_reply__is_an_item_after_a_working_day(messages: Messages) -> None:
    await messages.receive(mail(second=1, content={"text": "Yes", "category": "Interested"}))
    messages.call.clock.move(23 * 3600)
    early = await items(messages)
    messages.call.clock.move(4 * 86_400)

    [item] = await items(messages)
    await messages.call("PATCH", "/team/v1/conversations/default/1", {"state": "done"})

    assert early == []
    assert (item["kind"], item["count"], item["target_id"]) == ("waiting_reply", 1, 1)
    assert await items(messages) == []


async def test_items__are_filtered_and_paged(messages: Messages) -> None:
    await messages.receive(mail("sent", second=1))
    for tool in ("pipedrive", "hubspot", "attio"):
        await refuse(messages, 1, NOT_VERIFIED, tool=tool)

    first = (await messages.call.get(f"{PATH}?limit=2")).json()
    second = (await messages.call.get(f"{PATH}?limit=2&cursor={first['next_cursor']}")).json()

    assert len({item["tool"] for item in [*first["data"], *second["data"]]}) == 3
    assert second["next_cursor"] is None
    assert await items(messages, "?kind=silent_connection") == []
    assert (await messages.call.get(f"{PATH}?kind=strange")).status == 422


@pytest.mark.parametrize(
    ("since", "until", "days"),
    [
        ("2026-11-26T10:00:00Z", "2026-11-27T10:00:00Z", 1.0),  # Thursday, Friday
        ("2026-11-27T10:00:00Z", "2026-11-29T20:00:00Z", 14 / 24),  # Friday, Sunday
        ("2026-11-28T10:00:00Z", "2026-11-30T06:00:00Z", 0.25),  # Saturday, Monday
    ],
)
def test_working_time__leaves_out_the_weekend(since: str, until: str, days: float) -> None:
    assert working_time(from_text(since), from_text(until)) == int(days * DAY)


async def test_endpoint_that_is_off__is_an_item_until_it_is_removed(messages: Messages) -> None:
    await messages.receive(mail("sent", second=1))
    added = await messages.call.post("/public/v2/webhook-endpoints", {"url": "https://hooks.example/x", "description": "To the CRM"})
    number = added.json()["id"]
    sound = await items(messages)
    await messages.call("PATCH", f"/public/v2/webhook-endpoints/{number}", {"disabled": True})

    [item] = await items(messages)
    await messages.call("DELETE", f"/public/v2/webhook-endpoints/{number}")

    assert sound == []
    assert (item["kind"], item["severity"], item["target_id"]) == ("endpoint", "warning", number)
    assert item["title"] == 'the endpoint "To the CRM" is disabled'
    assert await items(messages) == []


async def test_import_that_left_out_rows__is_an_item_by_the_name_of_its_file_until_the_rows_are_gone(messages: Messages) -> None:
    await messages.receive(mail("sent", second=1))
    rows = b"email\nann@new.example\nno address\n"
    tried = await finished(messages.call, await upload(messages.call, rows, start="true", dry_run="true", file_name="tried.csv"))
    for data, name in ((rows, "people.csv"), (b"email\nbob@new.example\n", "sound.csv")):
        job = await finished(messages.call, await upload(messages.call, data, start="true", file_name=name))
        assert (tried["state"], job["state"]) == ("succeeded", "succeeded")

    found = [(item["kind"], item["title"], item["count"], item["target_id"]) for item in await items(messages)]
    messages.call.clock.now += 7 * DAY

    assert found == [("bad_rows", '"people.csv" left out 1 row', 1, job["id"] - 1)]
    assert await items(messages) == []


async def test_more_clients_than_an_engine_takes_parameters__are_read_as_one_is(messages: Messages) -> None:
    await messages.receive(mail(second=1, content={"text": "Yes"}))
    await refuse(messages, 1, NOT_VERIFIED)
    await messages.receive(mail(email="done@example.com", second=2, content={"text": "No"}))
    store, now = messages.call.parts.store, messages.call.clock()
    [done] = [item for item in await store.read(list_conversations([1], OPEN, now, 10)) if item.contact[0] == "done@example.com"]
    await store.write(change_conversation(1, done.contact_id, ConversationChange(state="done"), now))
    ann = User(new_user_id(), "ann@example.com", "Ann", None, ACTIVE, now, grants={1: OPERATOR})
    await store.write(invite_user(ann, new_link(ann.id, INVITATION, now)[1]))
    queries: list[Callable[[Sequence[int]], Query[Any]]] = [
        lambda clients: list_items(clients, now),
        lambda clients: list_conversations(clients, OPEN, now, 10),
        lambda clients: count_conversations(clients, now),
        lambda clients: count_day(clients, now, 0, now, now),
        lambda clients: list_users(10, sharing=clients),
        lambda clients: list_done_conversations(clients, 10),
    ]

    for query in queries:
        first_query = await store.read(query([1]))
        assert first_query
        assert await store.read(query([*range(1, 40_001)])) == first_query
        assert await store.read(query([*range(2, 40_002)])) != first_query


async def test_answer_that_was_not_sent__is_an_item_until_it_is_removed_or_repeated(answers: Answers) -> None:
    async def open_items() -> list[tuple[int, int]]:
        reply = await answers.house.call.get(f"{PATH}?kind=unsent_answer")
        return [(item["count"], item["target_id"]) for item in reply.json()["data"]]

    await answers.connect("smartlead")
    await answers.receive(smartlead())
    answers.responses += [(401, {"message": "no"}), (401, {"message": "no"})]
    before = await open_items()

    first = await answers.queue()
    await answers.pass_time()
    assert (before, await answers.states(), await open_items()) == ([], ["failed"], [(1, 1)])

    second = await answers.queue()
    assert await open_items() == []
    await answers.pass_time()
    assert await open_items() == [(1, 1)]

    await answers.take_back(second)
    await answers.take_back(first)
    assert await open_items() == []


async def snooze(messages: Messages, item: dict[str, Any], days: float = 1) -> None:
    until = to_text(messages.call.clock() + int(days * DAY))
    reply = await messages.call("PATCH", f"{PATH}/{item['id']}", {"snoozed_until": until})
    assert (reply.status, reply.json()["snoozed_until"]) == (200, until), reply


async def test_snoozed_item__comes_back_at_its_time_or_woken(messages: Messages) -> None:
    await messages.receive(mail("sent", second=1))
    await refuse(messages, 1, NOT_VERIFIED)
    await refuse(messages, 1, NOT_VERIFIED, tool="attio")
    await refuse(messages, NO_CLIENT, UNKNOWN_CLIENT, "nobody", None)
    before = await items(messages)
    unknown, refused = (next(item for item in before if item["tool"] == tool) for tool in (None, "pipedrive"))

    await snooze(messages, unknown)
    await snooze(messages, refused)
    await refuse(messages, 1, NOT_VERIFIED)  # the same goes on

    page = (await messages.call.get(f"{PATH}?state=snoozed")).json()
    assert [item["tool"] for item in await items(messages)] == ["attio"]
    assert (page["snoozed"], {item["id"] for item in page["data"]}) == (2, {unknown["id"], refused["id"]})
    assert (await messages.call.get(f"{PATH}?kind=unknown_client")).json() == {"data": [], "next_cursor": None, "snoozed": 1}
    assert (await messages.call("PATCH", f"{PATH}/{refused['id']}", {"snoozed_until": None})).json()["snoozed_until"] is None
    assert {item["tool"] for item in await items(messages)} == {"attio", "pipedrive"}
    messages.call.clock.move(86_401)
    assert {item["id"] for item in await items(messages)} == {item["id"] for item in before}
    acts = (await messages.call.get("/team/v1/audit-events?action=attention.*")).json()["data"]
    assert {(act["action"], act["client_id"], act["target"]["id"]) for act in acts} == {
        ("attention.woken", "default", refused["id"]),
        ("attention.snoozed", "default", refused["id"]),
        ("attention.snoozed", None, unknown["id"]),
    }


async def test_snoozed_item__comes_back_when_it_begins_anew(messages: Messages) -> None:
    await messages.receive(mail("sent", second=1))
    await refuse(messages, 1, NOT_VERIFIED)
    await snooze(messages, (await items(messages))[0], 6)
    messages.call.clock.move(60)
    at = messages.call.clock()
    await messages.call.parts.store.write(add_connection(Connection(1, "crm", "pipedrive", at, at, ["secret"], ConnectionSettings())))
    gone = (await messages.call.get(PATH)).json()
    messages.call.clock.move(60)
    await refuse(messages, 1, NOT_VERIFIED)

    assert (gone["data"], gone["snoozed"]) == ([], 0)
    assert [item["kind"] for item in await items(messages)] == ["refused_webhooks"]


def test_snooze__ends_when_the_item_gets_critical() -> None:
    item = Item("stored_bytes", 1, 1, None, None, WARNING)
    snooze = Snooze(1, item.key, WARNING, None, 9)

    mark_snoozed([item], [snooze])

    assert item.snoozed_until_us == 9
    assert not snooze.covers(replace(item, severity=CRITICAL))
    assert snooze._replace(severity=CRITICAL).covers(item)


async def test_snoozed_key_that_ends__is_left_out(messages: Messages) -> None:
    ends = to_text(messages.call.clock() + 3 * DAY)
    for name in ("n8n", "zapier"):
        assert (
            await messages.call("POST", "/admin/v1/keys", {"name": name, "expires_time": ends, "scopes": ["records:read"]})
        ).status == 201
    first = next(item for item in await items(messages) if "n8n" in item["title"])

    await snooze(messages, first)

    assert [item["title"] for item in await items(messages)] == [f"the key zapier ends {ends}"]
    assert [item["id"] for item in await items(messages, "?state=snoozed")] == [first["id"]]


async def test_snooze__is_refused_with_what_to_send(messages: Messages) -> None:
    await messages.receive(mail("sent", second=1))
    await refuse(messages, 1, NOT_VERIFIED)
    [item] = await items(messages)

    past = await messages.call("PATCH", f"{PATH}/{item['id']}", {"snoozed_until": "2020-01-01T00:00:00Z"})
    strange = await messages.call("PATCH", f"{PATH}/nothing", {"snoozed_until": None})

    assert (past.status, past.json()["errors"][0]["pointer"]) == (422, "/snoozed_until")
    assert "send null" in past.json()["errors"][0]["detail"]
    assert (strange.status, "GET /team/v1/attention" in strange.json()["detail"]) == (404, True)


SET = {"statuses": ["contacted", "Interested"], "transitions": {}}


async def problem_items(messages: Messages) -> list[tuple[Any, ...]]:
    of_problems = ("status_refused", "fields_left_out")
    listed = [item for item in await items(messages) if item["kind"] in of_problems]
    return sorted((item["kind"], item["tool"], item["status"], item["records"], item["count"]) for item in listed)


async def test_refused_status__is_an_item_for_each_tool_and_status_until_the_set_has_it(messages: Messages) -> None:
    await messages.call.settings("default", contact_statuses=SET, company_statuses=SET)
    await messages.receive(mail("replied", second=1))
    await messages.receive(mail("replied", "max@example.com", second=2))
    await messages.receive(mail("replied", "sue@example.com", second=3, tool="smartlead"))
    await messages.receive(
        {"event": "company.status_changed", "domain": "acme.example", "status": "replied", "tool": "attio"}, channel="crm"
    )
    assert await problem_items(messages) == [
        ("status_refused", "attio", "replied", "companies", 1),
        ("status_refused", "instantly", "replied", "contacts", 2),
        ("status_refused", "smartlead", "replied", "contacts", 1),
    ]
    [item] = [item for item in await items(messages) if item["tool"] == "instantly"]
    assert item["title"] == """2 webhooks of instantly: the client's set refuses the status "replied\""""
    assert (item["severity"], item["target_id"]) == ("warning", 2)

    await messages.call.settings("default", contact_statuses={**SET, "statuses": [*SET["statuses"], "replied"]}, company_statuses=SET)

    assert await problem_items(messages) == [("status_refused", "attio", "replied", "companies", 1)]


async def test_refused_status__is_no_item_once_a_label_names_it_or_after_a_week(messages: Messages) -> None:
    await messages.call.settings("default", contact_statuses=SET)
    await messages.receive(mail("replied", second=1))
    await messages.receive(mail("replied", "sue@example.com", second=3, tool="smartlead"))
    at = messages.call.clock()
    labels = ConnectionSettings(status_labels={"Replied": "Interested"})
    await messages.call.parts.store.write(add_connection(Connection(1, "email_campaign", "smartlead", at, at, [], labels)))
    assert [item[1] for item in await problem_items(messages)] == ["instantly"]

    messages.call.clock.move(8 * 86_400)

    assert await problem_items(messages) == []


async def test_left_out_fields__are_an_item_until_the_connection_is_changed(messages: Messages) -> None:
    await messages.call.settings("default", contact_statuses=SET)
    many = {f"field {number:03}": "x" for number in range(600)}
    await messages.receive(mail("sent", second=1, custom=many))
    await messages.receive(mail("replied", second=2, custom={**many, "more": "x"}))
    assert await problem_items(messages) == [
        ("fields_left_out", "instantly", None, None, 2),
        ("status_refused", "instantly", "replied", "contacts", 1),
    ]

    messages.call.clock.move(60)
    at = messages.call.clock()
    await messages.call.parts.store.write(add_connection(Connection(1, "email_campaign", "instantly", at, at, [], ConnectionSettings())))

    assert [item[0] for item in await problem_items(messages)] == ["status_refused"]


async def test_text_of_a_problem__is_not_taken_for_a_code(messages: Messages) -> None:
    await messages.receive(mail("sent", second=1))
    reply = await messages.call.post("/public/v2/custom-fields/contacts", {"name": 'fields_left_out":', "type": "number"})
    assert reply.status == 201, reply
    await messages.receive(mail("sent", second=2, custom={'fields_left_out":': "x"}))

    [delivery] = (await messages.call.get("/admin/v1/deliveries?problems=true")).json()["data"]

    assert delivery["problems"][0]["code"] == "value_type"
    assert await problem_items(messages) == []
