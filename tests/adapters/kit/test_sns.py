"""Messages of Amazon SNS about its subscription: what a person has to do, or nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import Adapters
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import EMAIL_CAMPAIGN

TOPIC = "arn:aws:sns:eu-west-1:123456789012:mail"
URL = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:eu-west-1:123456789012:mail&Token=2336412f37"


def confirmation(**changes: Any) -> dict[str, Any]:
    return {
        "Type": "SubscriptionConfirmation", "MessageId": "1", "Token": "2336412f37", "TopicArn": TOPIC, "SubscribeURL": URL,
        "Message": "You have chosen to subscribe to the topic", "Timestamp": "2026-11-20T09:00:00.000Z", "SignatureVersion": "1",
    } | changes  # fmt: skip


def events(adapters: Adapters, body: object, tool: str | None = None) -> list[str]:
    request = WebhookRequest(EMAIL_CAMPAIGN, {"content-type": "text/plain"}, "", json.dumps(body).encode())
    return [event.event for event in adapters.translate(request, tool).events]


@pytest.mark.parametrize("tool", [None, "generic", "sendgrid"])
@pytest.mark.parametrize(("kind", "words"), [("SubscriptionConfirmation", "until"), ("UnsubscribeConfirmation", "has ended")])
def test_confirmation__names_the_topic_and_the_address_to_open(adapters: Adapters, kind: str, words: str, tool: str | None) -> None:
    with pytest.raises(UnrecognisedPayload) as refused:
        events(adapters, confirmation(Type=kind), tool)

    assert words in refused.value.detail
    assert TOPIC in refused.value.detail
    assert refused.value.detail.endswith(f"open {URL}")


@pytest.mark.parametrize(
    "url",
    [
        "https://sns.example/?Action=ConfirmSubscription", "http://sns.eu-west-1.amazonaws.com/?a", "https://sns.eu.amazonaws.com.evil.example/",
        "https://evil.example/sns.eu-west-1.amazonaws.com/", "https://sns.eu-west-1.amazonaws.com@evil.example/", "https://s3.amazonaws.com/x",
        "https://sns.eu-west-1.amazonaws.com/?a b", "https://sns.eu-west-1.amazonaws.com/\x1b[2J", "", None,
    ],
)  # fmt: skip
def test_confirmation__with_an_address_elsewhere_asks_nobody_to_open_it(adapters: Adapters, url: str | None) -> None:
    assert events(adapters, confirmation(SubscribeURL=url)) == []


def test_validation_of_a_topic__is_no_event(adapters: Adapters) -> None:
    message = {"Type": "Notification", "TopicArn": TOPIC, "Message": "Successfully validated SNS topic for Amazon SES event publishing."}

    assert events(adapters, message) == []


def test_notification__is_read_as_what_is_in_it(adapters: Adapters) -> None:
    reply = {"event": "email_replied", "email": "ann@example.com"}

    assert events(adapters, {"Type": "Notification", "TopicArn": TOPIC, "Message": json.dumps(reply)}) == ["email_replied"]
