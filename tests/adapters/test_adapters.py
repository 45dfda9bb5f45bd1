"""Which adapter reads a call."""

from __future__ import annotations

import json

import pytest

from touchbase.adapters.interface import ParsedWebhook, WebhookRequest
from touchbase.adapters.registry import Adapters
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import CRM, EMAIL_CAMPAIGN, Event

OPENED = {
    "event_type": "email_opened",
    "lead_email": "nora@example.com",
    "email_account": "sam@example.net",
    "timestamp": "2026-11-20T09:30:00Z",
}


class Stub:
    """An adapter that is as sure as it is told, and counts how often it is asked."""

    channel = EMAIL_CAMPAIGN

    def __init__(self, tool: str, confidence: int, *detection_keys: str, max_confidence: int = 100) -> None:
        self.tool, self.confidence, self.detection_keys, self.max_confidence, self.asked = (
            tool,
            confidence,
            frozenset(detection_keys),
            max_confidence,
            0,
        )

    def recognise(self, call: ParsedWebhook) -> int:
        self.asked += 1
        return self.confidence

    def translate(self, call: ParsedWebhook) -> list[Event]:
        return [Event("other", source_event=self.tool)]


def request(body: object, channel: str = EMAIL_CAMPAIGN, **headers: str) -> WebhookRequest:
    return WebhookRequest(channel, headers, "", body if isinstance(body, bytes) else json.dumps(body).encode())


def test_adapter_choice__takes_the_highest_confidence() -> None:
    adapters = Adapters([Stub("guess", 10), Stub("certain", 90), Stub("likely", 60)])

    assert adapters.translate(request({"a": 1})).tool == "certain"


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_adapter_choice__of_equal_confidence_ignores_registration_order(order: tuple[str, str]) -> None:
    adapters = Adapters([Stub(name, 50) for name in order])

    assert adapters.translate(request({"x": 1})).tool == "a"


def test_adapter__is_consulted_only_about_webhooks_with_one_of_its_signs() -> None:
    by_key, by_header, always = Stub("key", 20, "their_key"), Stub("header", 20, "x-theirs"), Stub("always", 10)
    adapters = Adapters([by_key, by_header, always])

    adapters.translate(request({"their_key": 1}))
    adapters.translate(request({"other": 1}, **{"x-theirs": "1"}))
    adapters.translate(request({"other": 1}))

    assert (by_key.asked, by_header.asked, always.asked) == (1, 1, 3)


def test_adapter__is_not_consulted_when_its_maximum_confidence_is_too_low() -> None:
    certain, equal, earlier, less = (Stub(name, most, max_confidence=most) for name, most in (("m", 90), ("n", 90), ("a", 90), ("b", 80)))
    adapters = Adapters([less, equal, certain])
    with_an_earlier_name = Adapters([earlier, less, equal, certain])

    assert adapters.translate(request({"x": 1})).tool == "m"
    assert with_an_earlier_name.translate(request({"x": 1})).tool == "a"
    assert (certain.asked, equal.asked, less.asked) == (1, 0, 0)


def test_adapter_choice__depends_on_values_and_not_on_keys_alone(adapters: Adapters) -> None:
    theirs = {**OPENED, "event_type": "EMAIL_OPEN"}

    read = [adapters.translate(request(body)).tool for body in (OPENED, theirs, OPENED)]

    assert read == ["instantly", "smartlead", "instantly"]


def test_named_tool__overrides_the_confidence_of_others() -> None:
    adapters = Adapters([Stub("named", 1), Stub("certain", 90)])

    assert adapters.translate(request({"a": 1}), "named").tool == "named"


def test_named_tool__does_not_read_a_webhook_of_another_tool(adapters: Adapters) -> None:
    with pytest.raises(UnrecognisedPayload, match="postmark"):
        adapters.translate(request(OPENED), "postmark")


@pytest.mark.parametrize("tool", ["mailchimp", "lemlist", "brevo"])
def test_named_tool__makes_a_wrong_webhook_unrecognised_and_not_ignored(tool: str, adapters: Adapters) -> None:
    with pytest.raises(UnrecognisedPayload, match=tool):
        adapters.translate(request({"type": "person.created", "id": 7}), tool)


@pytest.mark.parametrize("tool", [None, "instantly", "mandrill"])
@pytest.mark.parametrize("body", [{}, []])
def test_empty_test_webhook__gives_no_events(body: object, tool: str | None, adapters: Adapters) -> None:
    assert adapters.translate(request(body), tool).events == []


@pytest.mark.parametrize("tool", [None, "hubspot", "espocrm", "zoho"])
@pytest.mark.parametrize("body", [{}, []])
def test_empty_crm_test_webhook__gives_no_events(body: object, tool: str | None, adapters: Adapters) -> None:
    assert adapters.translate(request(body, CRM), tool).events == []
    assert adapters.translate(request(body, CRM, **{"x-hubspot-signature": "s"}), tool).events == []


def test_named_tool__gives_unknown_for_an_unknown_event_name(adapters: Adapters) -> None:
    events = adapters.translate(request({**OPENED, "event_type": "email_teleported"}), "instantly").events

    assert [(event.event, event.source_event) for event in events] == [("unknown", "email_teleported")]


def test_nonexistent_tool__is_rejected_with_the_known_tools(adapters: Adapters) -> None:
    with pytest.raises(UnrecognisedPayload, match="instantly"):
        adapters.translate(request(OPENED), "instantli")


@pytest.mark.parametrize(
    ("body", "why"), [(b"", "no body"), (b"  ", "no body"), (b"hello", "neither JSON nor form"), (b"<html/>", "neither")]
)
def test_unreadable_body__is_unrecognised_with_a_reason(body: bytes, why: str, adapters: Adapters) -> None:
    with pytest.raises(UnrecognisedPayload, match=why):
        adapters.translate(request(body))


@pytest.mark.parametrize(
    "wrapped",
    [
        {"data": OPENED},
        {"payload": OPENED},
        {"body": OPENED},
        [{"headers": {}, "params": {}, "query": {}, "body": OPENED}],
        {"headers": {"host": "relay.example.net"}, "query": {}, "body": {"data": OPENED}},
        json.dumps(OPENED),
    ],
)
def test_relay_envelope__does_not_hide_the_tool(wrapped: object, adapters: Adapters) -> None:
    translation = adapters.translate(request(wrapped))

    assert translation.tool == "instantly"
    assert [event.event for event in translation.events] == ["email_opened"]


def test_relay_envelope__passes_on_the_event_header(adapters: Adapters) -> None:
    wrapped = {"headers": {"X-Salesloft-Event": "person_updated"}, "body": {"id": 5, "email_address": "nora@example.com"}}

    translation = adapters.translate(request(wrapped))

    assert (translation.tool, translation.events[0].object_id) == ("salesloft", "5")


def test_channels__have_separate_adapters(adapters: Adapters) -> None:
    assert "instantly" in adapters.tools(EMAIL_CAMPAIGN)
    assert "instantly" not in adapters.tools(CRM)
