"""Two clicks, steps or campaigns in one second are two facts: the adapters read the step, the campaign's id and the clicked link."""

from __future__ import annotations

import json
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.history.events import EMAIL_CAMPAIGN, Event

ADAPTERS = load_adapters()
MAIL = "nora@example.com"
AT = "2026-11-20T09:30:00Z"
INSTANTLY = {
    "event_type": "email_sent", "workspace": "w", "campaign_name": "Autumn", "lead_email": MAIL, "email_account": "sam@example.net",
    "timestamp": AT,
}  # fmt: skip
SMARTLEAD = {"event_type": "EMAIL_SENT", "campaign_name": "Autumn", "to_email": MAIL, "event_timestamp": AT, "stats_id": "s"}


def event(tool: str, body: object) -> Event:
    [found] = ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(body).encode()), tool).events
    return found


@pytest.mark.parametrize(
    ("tool", "body"),
    [
        ("instantly", INSTANTLY | {"step": 2, "campaign_id": "c1"}),
        ("smartlead", SMARTLEAD | {"sequence_number": 2, "campaign_id": "c1"}),
        ("lemlist", {"_id": "act_1", "type": "emailsSent", "leadEmail": MAIL, "createdAt": AT, "campaignId": "c1", "sequenceStep": 2}),
        ("generic", {"event": "email_sent", "email": MAIL, "timestamp": AT, "campaign_id": "c1", "step_number": 2}),
    ],
)
def test_event__names_its_step_and_campaign(tool: str, body: dict[str, Any]) -> None:
    found = event(tool, body)

    assert (found.event, found.step, found.campaign_id) == ("email_sent", "2", "c1")


@pytest.mark.parametrize(
    ("tool", "body", "where"),
    [
        ("sendgrid", {"email": MAIL, "timestamp": 1795167000, "event": "click", "sg_message_id": "m"}, "url"),
        ("postmark", {"RecordType": "Click", "Recipient": MAIL, "ReceivedAt": AT, "MessageID": "m"}, "OriginalLink"),
        ("mailjet", {"event": "click", "email": MAIL, "time": 1795167000, "MessageID": 1, "mj_campaign_id": 7}, "url"),
        ("smartlead", SMARTLEAD | {"event_type": "EMAIL_LINK_CLICKED"}, "link_clicked"),
        ("generic", {"event": "email_clicked", "email": MAIL, "timestamp": AT}, "link"),
    ],
)
def test_click__names_the_link(tool: str, body: dict[str, Any], where: str) -> None:
    found = event(tool, body | {where: "https://example.com/offer"})

    assert (found.event, found.link) == ("email_clicked", "https://example.com/offer")


def test_link__is_read_of_clicks_alone() -> None:
    assert event("generic", {"event": "email_sent", "email": MAIL, "timestamp": AT, "url": "https://example.com/inbox"}).link is None
