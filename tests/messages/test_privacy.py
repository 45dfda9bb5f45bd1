"""Settings, retention, erasure, export and deletion reach messages."""

from __future__ import annotations

from tests.conftest import ExecuteSql
from tests.messages.conftest import JANE, PATH, Messages, mail, read

from touchbase.common.timestamps import DAY, SECOND
from touchbase.erasure.service import Eraser
from touchbase.retention.service import Retention


def retention(messages: Messages) -> Retention:
    parts = messages.call.parts
    return Retention(parts.store, Eraser(parts.store, read, messages.call.clock), messages.call.clock, pause=0)


async def test_store_message_bodies_false__stores_all_but_the_text(messages: Messages) -> None:
    await messages.call.settings(store_message_bodies=False)
    await messages.receive(mail(content={"subject": "s", "text": "t", "html": "<p>h</p>", "mailbox": "me@our.example"}, message_id="m1"))

    reply = await messages.call.post(PATH, {"direction": "sent", "contact_email": JANE, "subject": "s", "text": "t", "html": "<p>t</p>"})

    assert reply.status == 201
    shown = (await messages.call.get(PATH)).json()["data"]
    assert len(shown) == 2
    for entry in shown:
        assert (entry["subject"], entry["text"], entry["html"]) == (None, None, None)
    assert "me@our.example" in [item["mailbox"] for item in shown]


async def test_retention__removes_the_text_of_old_messages_only(messages: Messages) -> None:
    await messages.receive(mail(content={"text": "old", "subject": "old"}, message_id="m1"))
    messages.call.clock.move(91 * DAY // SECOND)
    await messages.receive(mail(content={"text": "new"}, second=91 * DAY // SECOND))

    await retention(messages).run_once()

    shown = (await messages.call.get(PATH)).json()["data"]
    assert [(item["text"], item["subject"], item["message_id"]) for item in shown] == [("new", None, None), (None, None, "m1")]
    # The webhook's body is gone too, so that a replay cannot bring the text back.
    assert (await messages.call.post("/admin/v1/deliveries/1/replay")).status != 202


async def test_erasure__removes_the_messages(messages: Messages) -> None:
    await messages.receive(mail(content={"text": "secret"}), mail(email="joe@example.com", content={"text": "joe"}))
    jane = next(item for item in await messages.stored() if item.contact_email == JANE)

    reply = await messages.call("DELETE", f"/public/v2/contacts/{jane.contact_id}?erase=true")

    assert reply.json()["removed"]["messages"] == 1
    assert [item.text for item in await messages.stored()] == ["joe"]
    assert (await messages.call.get(f"{PATH}/{jane.id}")).status == 404


async def test_late_webhook_about_an_erased_person__stores_no_message(messages: Messages) -> None:
    await messages.receive(mail())
    [first] = await messages.stored()
    await messages.call("DELETE", f"/public/v2/contacts/{first.contact_id}?erase=true")

    await messages.receive(mail(content={"text": "late"}, second=50))

    assert await messages.stored() == []


async def test_export__has_the_messages_also_of_a_deleted_contact(messages: Messages) -> None:
    await messages.receive(mail(content={"text": "first"}), mail("sent", content={"text": "second"}, second=2))
    number = (await messages.stored())[0].contact_id

    for _ in range(2):
        exported = (await messages.call.get(f"/public/v2/contacts/{number}/export")).json()
        assert [(message["text"], message["contact_email"]) for message in exported["messages"]] == [("first", JANE), ("second", JANE)]
        await messages.call("DELETE", f"/public/v2/contacts/{number}")


async def test_contact_removed_for_good__takes_its_messages(messages: Messages, execute_sql: ExecuteSql) -> None:
    await messages.receive(mail())
    [first] = await messages.stored()
    await messages.call("DELETE", f"/public/v2/contacts/{first.contact_id}")
    messages.call.clock.move(40 * DAY // SECOND)

    await retention(messages).run_once()

    assert (await messages.call.get("/public/v2/contacts/1/export")).status == 404
    assert await execute_sql("SELECT id FROM message WHERE client = ?", 1) == []


async def test_unknown_person_that_is_not_created__leaves_no_message(messages: Messages, execute_sql: ExecuteSql) -> None:
    await messages.call.settings(create_unknown=False)

    await messages.receive(mail())

    assert await execute_sql("SELECT id FROM message WHERE client = ?", 1) == []


async def test_log__tells_of_each_new_message_once(messages: Messages) -> None:
    await messages.receive(mail(content={"text": "Yes"}, message_id="m1"))
    await messages.receive(mail(content={"subject": "Re"}, message_id="m1", second=2))
    await messages.call.post("/admin/v1/deliveries/1/replay")
    await messages.work()

    page = (await messages.call.get("/public/v2/events?types=message.*")).json()

    [event] = page["data"]
    assert event["type"] == "message.received"
    assert (event["data"]["object"]["text"], event["data"]["object"]["subject"]) == ("Yes", "Re")
    assert (event["data"]["message_id"], event["data"]["direction"], event["data"]["record_id"]) == (
        event["data"]["object"]["id"],
        "received",
        1,
    )
