"""E-mails in the form of the RevyOps API: the same messages as in our own list."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient

from touchbase.sql.store import Store

JANE = "jane@example.com"
EMAILS, MESSAGES = "/public/emails", "/public/v2/messages"


@pytest.fixture
async def call(store: Store, make_client: MakeClient) -> ApiClient:
    """A client with one contact, on each engine."""
    call = make_client(store)
    assert (await call.post("/public/v2/contacts", {"email": JANE, "contact_status": "new"})).status == 201
    return call


async def create_contact(call: ApiClient, **more: Any) -> Any:
    reply = await call.post(EMAILS, {"contact_email": JANE, "email_type": "reply", "subject": "Re: Hello", **more})
    assert reply.status == 201, reply
    return reply.json()


async def test_email__is_a_message_with_an_event(call: ApiClient) -> None:
    email = await create_contact(call, body_html="<p>Yes &amp; no</p>", agent_email="sam@our.example", origin="smartlead")

    message = (await call.get(f"{MESSAGES}/{email['id']}")).json()
    assert (message["direction"], message["mailbox"], message["tool"]) == ("received", "sam@our.example", "smartlead")
    assert message["text"] == email["body_text"] == "Yes & no"
    timeline = (await call.get(f"/public/v2/contacts/{email['contact_id']}/timeline")).json()["data"]
    assert "message.received" in [item["event"] for item in timeline]
    assert (await call.get(f"/public/v2/contacts/{email['contact_id']}")).json()["contact_status"] == "new"


async def test_linkedin_message__is_not_an_email(call: ApiClient) -> None:
    sent = {"direction": "received", "contact_email": JANE, "channel": "linkedin", "subject": "Re: Hello", "text": "Hi"}
    number = (await call.post(MESSAGES, sent)).json()["id"]
    field = {"field_name": "Tone", "field_value": "warm"}

    replies = [
        await call.get(f"{EMAILS}/{number}"),
        await call("DELETE", f"{EMAILS}/{number}"),
        await call.post(f"{EMAILS}/{number}/custom-fields", field),
        await call.post(f"{EMAILS}/set-interested", {"email": JANE, "subject": "Re: Hello"}),
    ]

    assert [reply.status for reply in replies] == [404] * 4
    assert (await call.get(EMAILS)).json() == []
    assert (await call.get(f"{MESSAGES}/{number}")).status == 200


async def test_set_interested__marks_the_newest_email_with_the_subject(call: ApiClient) -> None:
    times = ("2026-07-03T00:00:00Z", "2026-07-05T00:00:00Z", "2026-07-01T00:00:00Z")
    _, newest, _ = [await create_contact(call, email_timestamp=at) for at in times]
    await create_contact(call, email_timestamp="2026-07-09T00:00:00Z", subject="Re: Other")
    call.clock.move(10)

    reply = await call.post(f"{EMAILS}/set-interested", {"email": "JANE@example.com", "subject": " Re: Hello ", "disposition": "no"})

    body = (await call.get(EMAILS)).json()
    assert [email["id"] for email in body if email["interested"]] == [newest["id"]]
    assert reply.json() == next(email for email in body if email["interested"])
    assert reply.json()["updated_time"] > newest["updated_time"]


async def test_updated_time__is_that_of_the_last_request_that_changed_it(call: ApiClient) -> None:
    email = await create_contact(call)
    times = [email["updated_time"]]
    call.clock.move(10)

    field = (await call.post(f"{EMAILS}/{email['id']}/custom-fields", {"field_name": "Tone", "field_value": "warm"})).json()

    times.append((await call.get(f"{EMAILS}/{email['id']}")).json()["updated_time"])
    call.clock.move(10)
    await call("DELETE", f"{EMAILS}/{email['id']}/custom-fields/{field['id']}")
    times.append((await call.get(f"{EMAILS}/{email['id']}")).json()["updated_time"])
    assert times == sorted(set(times))
    assert field["updated_time"] == times[1]


async def test_custom_fields__of_many_requests_at_once_are_all_stored(call: ApiClient) -> None:
    email = await create_contact(call)
    fields = [{"field_name": f"Field {index % 5}", "field_value": str(index)} for index in range(10)]

    replies = await asyncio.gather(*(call.post(f"{EMAILS}/{email['id']}/custom-fields", field) for field in fields))

    assert sorted(reply.status for reply in replies) == [201] * 5 + [409] * 5
    stored = (await call.get(f"{EMAILS}/{email['id']}")).json()["custom_fields"]
    assert stored == sorted((reply.json() for reply in replies if reply.status == 201), key=lambda field: field["field_name"])


async def test_custom_field__of_a_message_with_copies_is_removed_from_all(call: ApiClient) -> None:
    sent = {"direction": "received", "contact_email": JANE, "message_id": "<m1@mail.example>"}
    for day, fields in ((2, {"Tone": "warm", "Size": "L"}), (1, {"Tone": "cold"})):
        reply = await call.post(MESSAGES, {**sent, "occurred_at": f"2026-07-0{day}T00:00:00Z", "custom_fields": fields})
    [email] = (await call.get(EMAILS)).json()
    ids = {custom_field["field_name"]: custom_field["id"] for custom_field in email["custom_fields"]}
    assert reply.json()["custom_fields"] == {"Tone": "cold", "Size": "L"}

    again = await call.post(f"{EMAILS}/{email['id']}/custom-fields", {"field_name": "Size", "field_value": "M"})
    gone = await call("DELETE", f"{EMAILS}/{email['id']}/custom-fields/{ids['Tone']}")
    new = await call.post(f"{EMAILS}/{email['id']}/custom-fields", {"field_name": "Tone", "field_value": "new"})

    assert (again.status, gone.json()["field_value"], new.status) == (409, "cold", 201)
    assert (await call.get(f"{MESSAGES}/{email['id']}")).json()["custom_fields"] == {"Size": "L", "Tone": "new"}


async def test_custom_field__beyond_the_limit_is_refused(call: ApiClient) -> None:
    email = await create_contact(call, custom_fields=[{"field_name": f"F{index}", "field_value": "x"} for index in range(100)])

    reply = await call.post(f"{EMAILS}/{email['id']}/custom-fields", {"field_name": "One more", "field_value": "x"})

    assert (reply.status, reply.json()["errors"][0]["pointer"]) == (422, "/field_name")


async def test_email__names_its_contact_by_both_only_if_they_agree(call: ApiClient) -> None:
    other_contact_id = (await call.post("/public/v2/contacts", {"email": "joe@example.com"})).json()["id"]

    email = await create_contact(call, contact_id=1)
    reply = await call.post(EMAILS, {"contact_email": JANE, "contact_id": other_contact_id, "email_type": "sent"})

    assert email["contact_email"] == JANE
    assert (reply.status, reply.json()["errors"][0]["pointer"]) == (422, "/contact_email")


async def test_email_post__runs_once_with_an_idempotency_key(call: ApiClient) -> None:
    body = {"contact_email": JANE, "email_type": "sent", "subject": "Hello"}

    first, again = [await call.post(EMAILS, body, idempotency_key="k1") for _ in range(2)]

    assert (first.status, again.status, again.json()) == (201, 201, first.json())
    assert len((await call.get(EMAILS)).json()) == 1


async def test_emails__follow_the_setting_and_the_bin_of_messages(call: ApiClient) -> None:
    number = (await create_contact(call, body_text="Yes"))["contact_id"]
    await call.settings("default", store_message_bodies=False)
    bare = await create_contact(call, body_text="No", body_html="<p>No</p>")

    await call("DELETE", f"/public/contacts/{number}")

    assert (bare["subject"], bare["body_text"], bare["body_html"]) == (None, None, None)
    assert (await call.get(EMAILS)).json() == []
    assert (await call.get(f"{EMAILS}/{bare['id']}")).status == 404
