"""The message of an event: which text, which mailbox, how much of it, and of which events."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.kit.messages import USUAL_RECEIVED, USUAL_SENT, MessagePaths, MessageReader, is_message
from touchbase.adapters.registry import Adapters
from touchbase.common.field_limits import MESSAGE_TEXT
from touchbase.history.dedupe_keys import event_key
from touchbase.history.events import Event, MessageContent

USUAL = MessageReader(USUAL_SENT, USUAL_RECEIVED)
LEAD, MAILBOX = "nora@example.com", "sam@example.net"
REPLY = Event("email_replied", email=LEAD)
KEYS = sorted(
    {
        path.split(".")[0]
        for each in (USUAL_SENT, USUAL_RECEIVED)
        for path in " ".join(written for written in asdict(each).values() if written).split()
    }
)
ENDS = [LEAD, MAILBOX, f"Nora <{LEAD}>", "tom@example.com", "Sam", None, 7, [LEAD], {"email": LEAD}, {"address": MAILBOX}]


def read(event: Event, body: dict[str, Any]) -> MessageContent | None:
    return USUAL.read(event, body)


def test_message__is_that_of_its_direction() -> None:
    body = {"sent_message": {"text": "Do you need a roof?"}, "reply_message": {"text": "No"}}

    sent, received = read(Event("email_sent", email=LEAD), body), read(REPLY, body)

    assert (sent, received) == (MessageContent(text="Do you need a roof?"), MessageContent(text="No"))


def test_message__has_html_under_a_text_key_as_html(subtests: pytest.Subtests) -> None:
    for body, text, html in (
        ({"reply_body": "<p>Yes</p>"}, None, "<p>Yes</p>"),
        ({"reply_body": "Yes<br>Nora"}, None, "Yes<br>Nora"),
        ({"reply_body": "<p>Yes</p>", "text": "Yes"}, "Yes", "<p>Yes</p>"),
        ({"reply_text": "Write to <p@example.com>, a < b"}, "Write to <p@example.com>, a < b", None),
        ({"reply_html": "Yes"}, None, "Yes"),
    ):
        with subtests.test(str(body)):
            assert read(REPLY, body) == MessageContent(text=text, html=html)


def test_message__takes_a_preview_only_for_want_of_a_text(subtests: pytest.Subtests) -> None:
    for body, expected in (
        ({"preview_text": "Please"}, MessageContent(text="Please")),
        ({"preview_text": "Please", "reply_text": "Please call"}, MessageContent(text="Please call")),
        ({"preview_text": "Please", "reply_body": "<p>Please call</p>"}, MessageContent(html="<p>Please call</p>")),
    ):
        with subtests.test(str(body)):
            assert read(REPLY, body) == expected


def test_message__names_the_mailbox_by_the_end_that_is_not_the_lead(subtests: pytest.Subtests) -> None:
    for body, expected in (
        ({"from": LEAD, "to": MAILBOX}, MAILBOX),
        ({"from_email": MAILBOX, "to_email": LEAD}, MAILBOX),
        ({"from": "tom@example.com", "to": MAILBOX}, None),
        ({"from": LEAD, "to": LEAD}, None),
        ({"email_account": MAILBOX, "to": "old@example.net", "from": LEAD}, MAILBOX),
        ({"sender_email": LEAD, "from": LEAD, "to": f"Sam <{MAILBOX}>"}, MAILBOX),
    ):
        with subtests.test(str(body)):
            content = read(REPLY, body)

            assert (content and content.mailbox) == expected


def test_message__is_cut_at_a_character_without_what_databases_reject() -> None:
    wide = "ä" * (MESSAGE_TEXT + 10)

    content = read(REPLY, {"reply_text": "\0" + wide, "reply_html": "<p>\ud800x\0</p>", "subject": " Re:\0 Roofs\udfff "})

    assert content == MessageContent(subject="Re: Roofs", text=wide[:MESSAGE_TEXT], html="<p>x</p>")


def test_message__is_none_without_any_member() -> None:
    assert read(REPLY, {"reply_text": " ", "subject": None, "html": {"a": 1}, "to": 7}) is None


@settings(max_examples=examples(200), deadline=None)
@given(
    event=st.sampled_from(["email_sent", "email_replied", "email_auto_replied", "linkedin_sent", "linkedin_replied"]),
    body=st.dictionaries(st.sampled_from(KEYS), st.sampled_from(ENDS) | st.text(st.characters(codec=None), max_size=9)),
    ends=st.dictionaries(st.sampled_from(["from", "to", "from_email", "to_email"]), st.sampled_from(ENDS)),
)
def test_any_body__gives_a_storable_message_whose_mailbox_is_not_the_lead(event: str, body: dict[str, Any], ends: dict[str, Any]) -> None:
    content = read(Event(event, email=LEAD), body | ends)

    members = [] if content is None else [value for value in asdict(content).values() if value is not None]
    assert content is None or (members and content.mailbox != LEAD)
    for value in members:
        assert value == value.strip() == value.encode().decode()
        assert "\0" not in value


def test_message__is_only_on_messages(subtests: pytest.Subtests, all_fixtures: Any, adapters: Adapters) -> None:
    for recorded in all_fixtures:
        with subtests.test(recorded.id):
            for event in adapters.translate(recorded.request).events:
                assert event.message is None or is_message(event)
                assert event.message != MessageContent()


def test_message__changes_no_event_key(subtests: pytest.Subtests, all_fixtures: Any, adapters: Adapters) -> None:
    for recorded in all_fixtures:
        with subtests.test(recorded.id):
            for event in adapters.translate(recorded.request).events:
                assert event_key("t", event, "1") == event_key("t", replace(event, message=MessageContent("another")), "1")


def test_opened_mail__has_no_message_though_the_body_has_one(adapters: Adapters) -> None:
    body = b'{"event_type": "email_opened", "lead_email": "nora@example.com", "email_account": "s@example.net", "email_text": "Hi"}'

    (event,) = adapters.translate(WebhookRequest("email_campaign", {}, "", body), "instantly").events

    assert (event.event, event.message) == ("email_opened", None)


def test_known_paths__come_before_the_usual_ones() -> None:
    known = MessagePaths(text="answer").before(USUAL_RECEIVED)

    content = MessageReader(MessagePaths(), known).read(REPLY, {"reply_text": "usual", "answer": "known", "subject": "Re:"})

    assert content == MessageContent(subject="Re:", text="known")
