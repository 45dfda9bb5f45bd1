"""Replies of every tool: two replies are two messages, whatever else of the conversation is equal; a repeated call is one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.conftest import Recorded, all_recorded
from tests.asgi_client import ApiClient, MakeClient

from touchbase.adapters.registry import load_adapters
from touchbase.clients.sql.clients import find_client
from touchbase.history.events import Event
from touchbase.inbox.worker import InboxWorker
from touchbase.messages.models import Message, direction_of, united
from touchbase.messages.sql.plans import list_messages
from touchbase.sql.store import Store

ADAPTERS = load_adapters()
OWN = {
    "aimfox": {"id", "data.event_id", "event.message_urn"},
    "amplemarket": {"id", "email_message.id"},
    "emailbison": {"data.reply.id", "data.reply.raw_message_id", "reply_id", "reply_raw_message_id", "data.campaign_event.id"},
    "heyreach": {"message.id"},
    "lemlist": {"_id"},
    "mailshake": {"externalRawMessageID", "externalID"},
    "reply_io": {"event.id", "payload.data.replyMessageId"},
    "replyify": {"data.message_id"},
    "sendpilot": {"eventId", "data.messageId"},
    "smartlead": {"reply_message.message_id"},
    "unipile": {"message_id"},
}
"""By tool, the keys that name one reply or one event about it. All other ids are those of the mail that was answered, of the
conversation, of the campaign or of the lead, and the next reply in the conversation has them too."""
_YEAR = re.compile(r"\b2026-(?=\d\d-)")


def replies_of(recorded: Recorded) -> list[Event]:
    """The replies of a fixture that have a message."""
    events = ADAPTERS.translate(recorded.request).events
    return [event for event in events if event.message is not None and direction_of(event) == "received"]


def next_reply(recorded: Recorded) -> bytes:
    """The body of another reply in the same conversation, a year earlier: with the ids of `OWN` and the texts changed."""
    texts = {text for item in replies_of(recorded) if item.message for text in (item.message.text, item.message.html) if text}
    if "text" in recorded.content["request"]:
        body = recorded.content["request"]["text"]
        for text in texts:
            body = body.replace(text, f"Another: {text}")
        return _YEAR.sub("2025-", body).encode()
    return json.dumps(_changed(recorded.content["request"]["body"], "", OWN.get(recorded.tool, set()), texts)).encode()


def _changed(value: Any, path: str, own: set[str], texts: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: _changed(item, f"{path}.{key}" if path else key, own, texts) for key, item in value.items()}
    if isinstance(value, list):
        return [_changed(item, path, own, texts) for item in value]
    if path in own:
        return f"2{value}"
    if isinstance(value, str):
        return f"Another: {value}" if value.strip() in texts else _YEAR.sub("2025-", value)
    if isinstance(value, int | float) and 1e9 < value < 2e9:
        return value - 365 * 86_400
    return value


async def receive(call: ApiClient, client_id: str, recorded: Recorded, body: bytes) -> None:
    request = recorded.content["request"]
    query = f"?{request['query']}" if request.get("query") else ""
    channel = {"email_campaign": "emailcampaign"}.get(recorded.channel, recorded.channel)
    reply = await call("POST", f"/public/{channel}-webhook/{client_id}{query}", raw=body, **request.get("headers", {}))
    assert reply.status == 200, reply


def received(messages: list[Message]) -> Iterator[Message]:
    return (item for item in messages if item.direction == "received")


ANSWERED = (
    "emailbison-LEAD_REPLIED", "emailbison-REPLY_RECEIVED_flat_campaign", "heyreach-message_reply_received_after_our_message",
    "instantly-reply_received_with_html", "mailshake-record_reply", "reachinbox-REPLY_RECEIVED", "salesforge-email_replied_to_a_mail",
    "smartlead-EMAIL_REPLY_older_shape_with_text", "snov_io-campaign_reply_from_email", "woodpecker-prospect_replied_with_html",
)  # fmt: skip
"""Fixtures whose ids are those of the conversation or of the answered mail."""


async def check(store: Store, call: ApiClient, subtests: pytest.Subtests, replies: list[Recorded]) -> None:
    for number, recorded in enumerate(replies):
        if recorded.id.endswith("unipile-mail_received"):  # a mailbox creates nobody
            await call.post("/public/v2/contacts", {"email": "lena@example.com"}, x_client_id=f"c{number}")
        for body in (recorded.body, recorded.body, next_reply(recorded)):
            await receive(call, f"c{number}", recorded, body)
    await InboxWorker(store, ADAPTERS.translate, call.clock).drain()
    for number, recorded in enumerate(replies):
        with subtests.test(recorded.id):
            client = await store.read(find_client(f"c{number}"))
            assert client is not None
            result = list(received(await store.read(list_messages(client.number, 50))))
            is_same = "body" in recorded.content["request"] and json.loads(next_reply(recorded)) == recorded.content["request"]["body"]
            assert len(result) == (1 if is_same else 2) * len(replies_of(recorded))


async def test_two_replies_in_one_conversation__are_two_messages(store: Store, make_client: MakeClient, subtests: pytest.Subtests) -> None:
    named = [recorded for recorded in all_recorded() if recorded.id.removeprefix("email_campaign-") in ANSWERED]
    assert len(named) == len(ANSWERED)

    await check(store, make_client(store, read=ADAPTERS.translate), subtests, named)


@pytest.mark.slow
async def test_two_replies_of_any_tool__are_two_messages(store: Store, make_client: MakeClient, subtests: pytest.Subtests) -> None:
    replies = [recorded for recorded in all_recorded() if any(item.email or item.linkedin_url for item in replies_of(recorded))]
    assert len(replies) > 60

    await check(store, make_client(store, read=ADAPTERS.translate), subtests, replies)


def test_next_reply_of_any_tool__has_another_id_or_none(subtests: pytest.Subtests) -> None:
    for recorded in all_recorded():
        with subtests.test(recorded.id):
            first = {item.message.message_id for item in replies_of(recorded) if item.message}
            again = ADAPTERS.translate(recorded.with_body(next_reply(recorded))).events

            assert not (first - {None}) & {item.message.message_id for item in again if item.message and direction_of(item) == "received"}


@given(direction=st.sampled_from(["sent", "received"]), copies=st.lists(st.integers(0, 5), min_size=1, max_size=6), data=st.data())
def test_any_order_of_copies__gives_the_same_message(direction: str, copies: list[int], data: st.DataObject) -> None:
    texts = {name: st.sampled_from([None, "a", "b"]) for name in ("mailbox", "subject", "text", "html", "campaign_id", "step")}
    messages = [
        Message(
            number, direction, "email", second, f"k{number}", number, 9, "api",
            **data.draw(st.fixed_dictionaries(texts)),
            custom=data.draw(st.dictionaries(st.sampled_from("xyz"), st.sampled_from("12"), max_size=2)),
        )
        for number, second in enumerate(copies)
    ]  # fmt: skip

    assert united(data.draw(st.permutations(messages))) == united(messages)


@given(
    tool=st.sampled_from(["instantly", "hubspot"]),
    number=st.text("a@<> \u00e4\U0001f600", min_size=1, max_size=9),
    times=st.sampled_from([1, 100]),
)
def test_any_id__is_a_key_that_an_index_holds(tool: str, number: str, times: int) -> None:
    number *= times
    message, other_message = (Message(1, "sent", "email", 1, "k", 1, 1, item, message_id=number) for item in (tool, "mailgun"))

    assert message.copy_key is not None
    assert len(message.copy_key.encode()) <= 1_000
    assert (message.copy_key == other_message.copy_key) == ("@" in number)
