"""Drafts and snippets: a text that is begun is in any browser of its writer, and what the team uses again has a name."""

from __future__ import annotations

from tests.answering.test_answers import Answers, answers, smartlead
from tests.auth.test_people import Browser, Office, PersonalKey, grants, office, quick_passwords
from tests.conversations.test_conversations import PATH
from tests.conversations.test_people import reply_to

__all__ = ["answers", "office", "quick_passwords"]
SNIPPETS = "/team/v1/snippets"


async def draft(browser: Browser | PersonalKey, contact: int, client_id: str = "ours") -> str | None:
    reply = await browser("GET", f"{PATH}/{client_id}/{contact}")
    assert reply.status == 200, reply.body
    result = reply.json()["draft"]
    return None if result is None else str(result["text"])


async def test_draft__is_the_writers_own_until_it_is_empty(office: Office) -> None:
    contact = await reply_to(office, "ours")
    mira, ben = [await office.join(f"{name}@example.com", role="operator") for name in ("mira", "ben")]

    stored = await mira("PUT", f"{PATH}/ours/{contact}/draft", {"text": "Thursday"})
    await mira("PUT", f"{PATH}/ours/{contact}/draft", {"text": "Thursday at ten"})

    assert (stored.status, await draft(mira, contact), await draft(ben, contact)) == (204, "Thursday at ten", None)
    assert await draft(await PersonalKey.of(mira, name="agent"), contact) == "Thursday at ten"
    await mira("PUT", f"{PATH}/ours/{contact}/draft", {"text": ""})
    assert await draft(mira, contact) is None


async def test_draft__is_for_people_who_may_write_for_the_client(office: Office) -> None:
    contacts = {client_id: await reply_to(office, client_id) for client_id in ("ours", "theirs")}
    mira = await office.join("mira@example.com", grants=grants(ours="operator"))
    eve = await office.join("eve@example.com", role="viewer")
    body = {"text": "Thursday"}

    assert (await mira("PUT", f"{PATH}/theirs/{contacts['theirs']}/draft", body)).status == 404
    assert (await mira("PUT", f"{PATH}/ours/999/draft", body)).status == 404
    assert (await eve("PUT", f"{PATH}/ours/{contacts['ours']}/draft", body)).status == 403
    assert (await office("PUT", f"{PATH}/ours/{contacts['ours']}/draft", body)).status == 403
    assert (await mira("PUT", f"{PATH}/ours/{contacts['ours']}/draft", {"text": "a\0"})).status == 422
    assert (await mira("PUT", f"{PATH}/ours/{contacts['ours']}/draft", {"text": "a" * 20_001})).status == 422


async def test_snippet__is_added_changed_and_removed(office: Office) -> None:
    mira = await office.join("mira@example.com", role="operator")

    added = await mira("POST", SNIPPETS, {"name": "price", "text": "Dear {{first_name}}"})
    same = await mira("POST", SNIPPETS, {"name": "Price", "text": "Other"})
    changed = await mira("PATCH", f"{SNIPPETS}/{added.json()['id']}", {"text": "Hello {{ first_name }}"})
    listed = (await mira("GET", SNIPPETS)).json()["data"]
    removed = await mira("DELETE", f"{SNIPPETS}/{added.json()['id']}")

    assert (added.status, same.status, changed.status, removed.status) == (201, 409, 200, 204)
    assert [(snippet["name"], snippet["text"]) for snippet in listed] == [("price", "Hello {{ first_name }}")]
    assert (await mira("GET", SNIPPETS)).json()["data"] == []
    assert (await mira("DELETE", f"{SNIPPETS}/{added.json()['id']}")).status == 404
    assert (await mira("PATCH", f"{SNIPPETS}/none", {"name": "x"})).status == 404


async def test_snippets__are_read_by_all_and_changed_by_who_writes_for_all_clients(office: Office) -> None:
    ben = await office.join("ben@example.com", grants=grants(ours="admin"))
    eve = await office.join("eve@example.com", role="viewer")
    body = {"name": "price", "text": "Hello"}

    assert ((await ben("POST", SNIPPETS, body)).status, (await eve("POST", SNIPPETS, body)).status) == (403, 403)
    assert ((await ben("GET", SNIPPETS)).status, (await eve("GET", SNIPPETS)).status) == (200, 200)


async def test_snippet__names_a_wrong_field_and_what_is_blank(office: Office) -> None:
    wrong = await office("POST", SNIPPETS, {"name": " ", "text": "Dear {{firstname}}"})

    assert wrong.status == 422
    assert [(error["pointer"], error["code"]) for error in wrong.json()["errors"]] == [("/name", "unusable_text"), ("/text", "unknown")]
    assert "'first_name'" in wrong.json()["errors"][1]["detail"]


async def test_answer__with_a_field_that_is_not_filled_in_is_refused(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())

    refused = await answers.answer(text="Dear {{first_name}}, yes")

    assert (refused.status, refused.json()["errors"][0]["code"]) == (422, "unfilled_field")
    assert (await answers.answer(text="Our template has {{placeholders}}")).status == 201
