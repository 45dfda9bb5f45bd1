"""Bodies of senders that we have no adapter for: nobody takes them for a tool's of ours, and what they say is found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from touchbase.adapters import load_adapters
from touchbase.domain.delivery import EMAIL_CAMPAIGN, WebhookRequest
from touchbase.domain.times import from_text

ADAPTERS = load_adapters()
AT = "2026-11-20T09:30:00Z"
SECONDS = 1_795_167_000
NORA, SAM = "nora@example.com", "sam@example.net"


@pytest.mark.parametrize(
    ("body", "event"),
    [
        ({"event": "delivered", "time": AT, "rcpt": NORA, "email_id": "1", "sender": SAM, "message-id": "m"}, "email_delivered"),
        ({"event": "open", "email": NORA, "timestamp": SECONDS, "campaign_id": "c", "book_id": "1"}, "email_opened"),
        ({"type": "message.delivered", "timestamp": AT, "data": {"event": "on_it", "from": SAM, "recipient": NORA}}, "email_delivered"),
        ({"type": "email.delivered", "createdAt": AT, "data": {"to": [NORA], "from": SAM, "status": "DELIVERED"}}, "email_delivered"),
        ({"event": "email.delivered", "payload": {"created_at": AT, "from": SAM, "to": NORA, "message_id": "m"}}, "email_delivered"),
        ({"eventName": "email.opened", "eventTime": SECONDS, "contactIdentity": {"email": NORA}}, "email_opened"),
        ({"object_type": "email", "metric": "opened", "timestamp": SECONDS, "data": {"recipient": NORA}}, "email_opened"),
        ({"emailAddress": NORA, "eventType": "open", "campaignId": "1", "timestamp": AT}, "email_opened"),
        ({"event": "email_opened", "prospect": {"Email": NORA}, "time": AT}, "email_opened"),
        ({"events": [{"type": "x.unsubscribed", "data": {"subscriber": {"email": NORA}}, "timestamp": SECONDS}]}, "email_unsubscribed"),
        ({"event": "reply.received", "workspace_id": "w", "timestamp": AT, "data": {"lead": {"email": NORA}}}, "email_replied"),
        ({"event": "email.bounced", "id": "x", "timestamp": AT, "data": {"prospectEmail": NORA, "bounceType": "hard"}}, "email_bounced"),
    ],
)  # fmt: skip
def test_what_a_stranger_says_is_found_and_is_nobodys(body: dict[str, Any], event: str) -> None:
    translation = ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(body).encode()))

    (found,) = translation.events
    assert (translation.tool, found.event, found.email, found.occurred_us) == ("generic", event, NORA, from_text(AT))


@pytest.mark.parametrize(
    "body",
    [
        {"type": "webhook.test", "message": "Hello"}, {"type": "contact.created", "created_at": AT, "data": {"id": 1, "email": NORA}},
        {"items": [{"id": 1}], "total": 1}, {"key": "k", "event": "opened", "email": NORA, "ts": SECONDS},
        {"object": "reply", "recipient": NORA, "campaign": "c"}, {"workspace_id": "w", "event": "lead.moved", "data": {"contact_id": 1}},
        {"type": "blocklist", "action": "add", "email": NORA},
    ],
)  # fmt: skip
def test_half_of_a_tools_signs_are_nobodys(body: dict[str, Any]) -> None:
    assert ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(body).encode())).tool == "generic"
