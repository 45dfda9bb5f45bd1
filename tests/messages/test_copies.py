"""Messages with the same id are one, in any order; messages follow their contact."""

from __future__ import annotations

import itertools
from dataclasses import asdict
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import MakeClient
from tests.conftest import ExecuteSql
from tests.examples import examples
from tests.messages.conftest import JANE, PATH, Messages, mail, read

from touchbase.adapters.interface import WebhookRequest
from touchbase.clients.sql.clients import find_client
from touchbase.history.events import Translation
from touchbase.inbox.worker import InboxWorker
from touchbase.messages.sql.plans import list_messages
from touchbase.sql.store import Store

HYPOTHESIS = settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
CLIENTS = itertools.count(1)
TEXTS = st.sampled_from([None, "a", "b"])
IDS = st.sampled_from([None, "m1", "<a@mail.example>", "a@mail.example"])
COPIES = st.lists(
    st.builds(
        lambda second, message_id, tool, subject, text, mailbox, key: mail(
            second=second, message_id=message_id, tool=tool, content={"subject": subject, "text": text, "mailbox": mailbox}, key=key
        ),
        st.integers(1, 3), IDS, st.sampled_from(["instantly", "lemlist"]), TEXTS, TEXTS, TEXTS,
        st.sampled_from(["k1", "k2", "k3", "k4", "k5"]),
    ),
    min_size=1, max_size=5, unique_by=lambda build: (build["tool"], build["key"]),
)  # fmt: skip
HOOK = "/public/emailcampaign-webhook/default"
OF_RECEIPT = ("id", "place", "delivery_id", "received_us", "contact_id")


def _same(copy: dict[str, Any]) -> object:
    """What the copies of one message have in common: a mail's Message-ID, or a tool and its id."""
    number = copy["message_id"]
    return number and (number.strip("<>") if "@" in number else (copy["tool"], number))


def unreadable(request: WebhookRequest) -> Translation:
    """A tool whose webhooks cannot be read yet."""
    raise ValueError("not yet")


@given(copies=COPIES, data=st.data())
@HYPOTHESIS
async def test_any_order_of_copies__gives_the_same_messages(
    store: Store, make_client: MakeClient, copies: list[dict[str, Any]], data: Any
) -> None:
    call = make_client(store, read=read)
    observed = []
    for order in (copies, data.draw(st.permutations(copies))):
        client_id = f"client-{next(CLIENTS)}"
        for entry in order:
            path = f"/public/emailcampaign-webhook/{client_id}"
            assert (await call("POST", path, raw=msgspec.json.encode([entry]))).status == 200
            if data.draw(st.booleans()):
                await Messages(call).work()
        await Messages(call).work()
        client = await store.read(find_client(client_id))
        assert client is not None
        results = [asdict(message) for message in await store.read(list_messages(client.number, 50))]
        observed.append(sorted(({name: item[name] for name in item if name not in OF_RECEIPT} for item in results), key=str))

    assert observed[0] == observed[1]
    assert len(observed[0]) == len({_same(copy) or index for index, copy in enumerate(copies)})


async def test_merge_and_its_undoing__move_the_messages(messages: Messages) -> None:
    await messages.receive(mail(content={"text": "jane"}), mail(email="joe@example.com", content={"text": "joe"}, second=2))
    await messages.call.post(PATH, {"direction": "sent", "contact_email": "joe@example.com", "text": "to joe"})
    [jane, joe] = sorted({item.contact_id for item in await messages.stored()})

    merged = await messages.call.post(f"/public/v2/contacts/{jane}/merge", {"with": [joe]})

    assert merged.status == 200, merged
    assert {(item.text, item.contact_id) for item in await messages.stored()} == {("jane", jane), ("joe", jane), ("to joe", jane)}
    undone = await messages.call.post(f"/public/v2/contacts/{jane}/merge/{merged.json()['merge_id']}/undo")
    assert undone.status == 200, undone
    assert {(item.text, item.contact_id) for item in await messages.stored()} == {("jane", jane), ("joe", joe), ("to joe", joe)}


async def test_message_of_a_crm_without_an_address__appears_with_its_contact(messages: Messages) -> None:
    await messages.receive(mail(email=None, object_type="contact", object_id="7", content={"text": "hello"}))
    assert await messages.stored() == []
    assert (await messages.call.get("/public/v2/events?types=message.*")).json()["data"] == []

    for _ in range(2):
        await messages.receive({"event": "contact.updated", "email": JANE, "object_type": "contact", "object_id": "7"}, channel="crm")
        messages.call.clock.move(1)

    [first] = await messages.stored()
    assert (first.text, first.contact_email) == ("hello", JANE)
    [event] = (await messages.call.get("/public/v2/events?types=message.*")).json()["data"]
    assert (event["type"], event["data"]["object"]["id"], event["data"]["record_id"]) == ("message.received", first.id, first.contact_id)


async def test_deleted_contact__hides_its_messages_until_it_is_restored(messages: Messages) -> None:
    await messages.receive(mail())
    [first] = await messages.stored()

    assert (await messages.call("DELETE", f"/public/v2/contacts/{first.contact_id}")).status == 200
    assert await messages.stored() == []
    assert (await messages.call.get(f"{PATH}/{first.id}")).status == 404

    assert (await messages.call.post(f"/public/v2/contacts/{first.contact_id}/restore")).status == 200
    assert await messages.stored() == [first]


@pytest.mark.parametrize("waits", [False, True])
async def test_earlier_receipt_that_is_applied_later__gives_its_time_and_text(
    messages: Messages, execute_sql: ExecuteSql, waits: bool
) -> None:
    which = {"email": None, "object_type": "contact", "object_id": "7"} if waits else {}
    first, second = (mail(content={"text": text}, second=n, key="k1", **which) for n, text in ((1, "first"), (2, "second")))
    assert (await messages.call("POST", HOOK, raw=msgspec.json.encode([first]))).status == 200
    await InboxWorker(messages.call.parts.store, unreadable, messages.call.clock).drain()
    messages.call.clock.move(1)
    await messages.receive(second)

    await messages.call.post("/admin/v1/deliveries/1/replay")
    await messages.work()

    if waits:
        await messages.receive({"event": "contact.updated", "email": JANE, "object_type": "contact", "object_id": "7"}, channel="crm")
    assert [(item.text, item.delivery_id) for item in await messages.stored()] == [("first", 1)]
    assert len(await execute_sql("SELECT id FROM message WHERE client = ?", 1)) == 1


async def test_deleted_message__is_not_brought_back_by_another_copy(messages: Messages) -> None:
    await messages.receive(mail(content={"text": "first"}, message_id="<m1@mail.example>", second=5))
    [first] = await messages.stored()
    assert (await messages.call("DELETE", f"{PATH}/{first.id}")).status == 204

    await messages.receive(mail(content={"text": "again"}, message_id="m1@mail.example", second=2, tool="lemlist"))

    assert await messages.stored() == []
    assert (await messages.call.get(f"{PATH}?limit=1")).json() == {"data": [], "next_cursor": None}


async def test_deleted_message__is_refused_in_requests_without_a_trace(messages: Messages) -> None:
    await messages.receive(mail(content={"text": "first"}, message_id="<m1@mail.example>"))
    [first] = await messages.stored()
    assert (await messages.call("DELETE", f"{PATH}/{first.id}")).status == 204
    timeline = (await messages.call.get(f"/public/v2/contacts/{first.contact_id}/timeline")).json()["data"]

    body = {"direction": first.direction, "contact_id": first.contact_id, "text": "again", "message_id": "m1@mail.example"}
    reply = await messages.call.post(PATH, body)

    assert (reply.status, "was deleted" in reply.json()["detail"]) == (404, True)
    assert (await messages.call.get(f"/public/v2/contacts/{first.contact_id}/timeline")).json()["data"] == timeline


async def test_merge_of_people_with_copies_of_one_mail__shows_one_message_until_it_is_undone(messages: Messages) -> None:
    for email, text in ((JANE, None), ("joe@example.com", "Yes")):
        await messages.receive(mail(email=email, content={"subject": "Re: Hello", "text": text}, message_id="<r1@mail.example>"))
    [jane, joe] = sorted({item.contact_id for item in await messages.stored()})

    merged = await messages.call.post(f"/public/v2/contacts/{jane}/merge", {"with": [joe]})

    [first] = await messages.stored()
    assert (first.subject, first.text, first.contact_id) == ("Re: Hello", "Yes", jane)
    undone = await messages.call.post(f"/public/v2/contacts/{jane}/merge/{merged.json()['merge_id']}/undo")
    assert undone.status == 200, undone
    assert {(item.text, item.contact_id) for item in await messages.stored()} == {(None, jane), ("Yes", joe)}


PASSED_ON = [
    ("crm", {**mail(second=1), "event": "contact.updated", "email": "info@x.test", "object_type": "partner", "object_id": "1"}),
    ("crm", {**mail(second=3), "event": "contact.updated", "email": "ann@x.test", "object_type": "partner", "object_id": "1"}),
    ("crm", {**mail(second=4), "event": "contact.updated", "email": "info@x.test", "object_type": "partner", "object_id": "2"}),
    ("emailcampaign", mail("sent", "info@x.test", 2, {"text": "to Ann"}, message_id="<s2@mail.example>")),
    ("emailcampaign", mail("replied", "info@x.test", 5, {"text": "from Bob"}, message_id="<r5@mail.example>")),
]
"""An address of a CRM's object passes on to another object: the mails before are those of the first one's person."""


@given(order=st.permutations(range(len(PASSED_ON))), at_once=st.booleans())
@settings(HYPOTHESIS, max_examples=examples(8))
async def test_address_that_passes_on_in_any_order__leaves_each_message_with_its_person(
    store: Store, make_client: MakeClient, order: list[int], at_once: bool
) -> None:
    call, client_id = make_client(store, read=read), f"client-{next(CLIENTS)}"
    for place in order:
        channel, event = PASSED_ON[place]
        event = event if channel == "emailcampaign" else {**event, "message": None}
        assert (await call("POST", f"/public/{channel}-webhook/{client_id}", raw=msgspec.json.encode([event]))).status == 200
        if not at_once:
            await Messages(call).work()
    await Messages(call).work()

    client = await store.read(find_client(client_id))
    assert client is not None
    messages = await store.read(list_messages(client.number, 50))
    assert {(message.text, message.contact_email) for message in messages} == {("to Ann", "ann@x.test"), ("from Bob", "info@x.test")}
