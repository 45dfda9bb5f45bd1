"""Bodies of senders that we have no adapter for: nobody takes them for a tool's of ours, and what they say is found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from touchbase.adapters.email_campaign.generic import spelling
from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.common.timestamps import from_text
from touchbase.history.events import EMAIL_CAMPAIGN

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
        ({"object_type": "email", "metric": "opened", "timestamp": SECONDS, "data": {"recipient": NORA}}, "email_opened"),
        ({"emailAddress": NORA, "eventType": "open", "campaignId": "1", "timestamp": AT}, "email_opened"),
        ({"event": "email_opened", "prospect": {"Email": NORA}, "time": AT}, "email_opened"),
        ({"event": "reply.received", "workspace_id": "w", "timestamp": AT, "data": {"lead": {"email": NORA}}}, "email_replied"),
        ({"Event": "Replied", "From": NORA, "To": SAM, "Date": AT}, "email_replied"),
        ({"EventType": "Reply", "EmailAddress": NORA, "EventDate": AT, "CampaignName": "A"}, "email_replied"),
        ({"event": "replied", "lead": NORA, "sender": SAM, "timestamp": AT}, "email_replied"),
        ({"event": "reply.received", "from_email": NORA, "from_name": "Nora", "to_email": SAM, "received_at": AT}, "email_replied"),
        ({"event": "reply_received", "to_email": NORA, "to_name": "Nora", "from_email": SAM, "timestamp": AT}, "email_replied"),
        ({"event": "reply_received", "Work Email": NORA, "timestamp": AT}, "email_replied"),
        ({"id": "rec1", "createdTime": "2025-01-01T00:00:00Z", "fields": {"Email": NORA, "Event": "Reply", "Date": AT}}, "email_replied"),
        ({"to": NORA, "from": SAM, "account": SAM, "status": "AbuseReport", "msgid": "m", "timestamp": AT}, "email_spam_complaint"),
        ({"to": NORA, "from": SAM, "status": "Unsubscribed", "messageid": "m", "timestamp": AT}, "email_unsubscribed"),
        ({"Type": "Complaint", "Address": NORA, "DateTime": AT, "MessageId": "m"}, "email_spam_complaint"),
        ({"Type": "Tracking", "TrackingType": "Unsubscribe", "Address": NORA, "DateTime": AT}, "email_unsubscribed"),
        ({"event": "MessageBounced", "timestamp": SECONDS, "payload": {"original_message": {"to": NORA, "from": SAM}}}, "email_bounced"),
        ({"event_name": ["hardbounce"], "event_message": [{"email_info": {"to": [{"email_address": {"address": NORA}}]},
          "event_data": [{"details": [{"time": AT}]}]}]}, "email_bounced"),
        ({"type": "replied", "Email": NORA, "repliedOn": AT, "createdAt": "2026-01-01T00:00:00Z"}, "email_replied"),
        ({"event": "email_sent", "timestamp": AT, "leads": [{"email": NORA}]}, "email_sent"),
        ({"event": "reply", "email": NORA, "date": "Fri Nov 20 2026 10:30:00 GMT+0100 (Central European Standard Time)"}, "email_replied"),
        ({"event": "bounced", "from": "postmaster@example.org", "to": SAM, "original_recipient": NORA, "timestamp": AT}, "email_bounced"),
        ({"event": "bounced", "bounced_email": NORA, "email": SAM, "timestamp": AT}, "email_bounced"),
        ({"action": "unsubscribe", "data": [{"action_time": SECONDS, "contact_email": NORA}]}, "email_unsubscribed"),
        ({"type": "email_mailbox_not_found", "created_at": AT, "email_from": SAM, "email_to": NORA}, "email_bounced"),
        ({"event_type": "message.bounced", "bounce": {"recipients": [{"address": NORA}], "timestamp": AT}}, "email_bounced"),
        ({"event_type": "message.complained", "complaint": {"recipients": [NORA], "timestamp": AT}}, "email_spam_complaint"),
        ({"account": "a", "event": "messageSent", "date": AT, "data": {"envelope": {"from": SAM, "to": [NORA]}}}, "email_sent"),
        ({"account": "a", "event": "listUnsubscribe", "date": AT, "data": {"recipient": NORA, "listId": "l"}}, "email_unsubscribed"),
        ({"email": NORA, "customData": {"event-type": "reply", "timestamp": AT}}, "email_replied"),
        ({"type": "notification", "data": {"event": "email_replied", "email": NORA, "timestamp": AT}}, "email_replied"),
        ({"event": "email.bounced", "id": "x", "timestamp": AT, "data": {"prospectEmail": NORA, "bounceType": "hard"}}, "email_bounced"),
    ],
)  # fmt: skip
def test_unknown_tool__is_read_by_the_generic_adapter(body: dict[str, Any], event: str) -> None:
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
def test_tool_detection__needs_all_signs_of_a_tool(body: dict[str, Any]) -> None:
    assert ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(body).encode())).tool == "generic"


MAIL = {"timestamp": "2026-11-20T09:00:00Z", "source": SAM, "destination": ["otto@example.com", NORA], "messageId": "m"}


@pytest.mark.parametrize(
    ("report", "event", "kind"),
    [
        ({"notificationType": "Bounce", "bounce": {"bounceType": "Permanent", "bouncedRecipients": [{"emailAddress": NORA}],
          "timestamp": AT}}, "email_bounced", "hard"),
        ({"eventType": "Bounce", "bounce": {"bounceType": "Transient", "bouncedRecipients": [{"emailAddress": NORA}],
          "timestamp": AT}}, "email_bounced", "soft"),
        ({"notificationType": "Complaint", "complaint": {"complainedRecipients": [{"emailAddress": NORA}], "timestamp": AT}},
         "email_spam_complaint", None),
        ({"notificationType": "Delivery", "delivery": {"recipients": [NORA], "timestamp": AT}}, "email_delivered", None),
    ],
)  # fmt: skip
def test_mail_report__names_its_own_recipient_among_several(report: dict[str, Any], event: str, kind: str | None) -> None:
    topic = {"Type": "Notification", "TopicArn": "arn", "Message": json.dumps({**report, "mail": MAIL}), "Timestamp": AT}

    (found,) = ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(topic).encode())).events

    assert (found.event, found.kind, found.email, found.occurred_us) == (event, kind, NORA, from_text(AT))


@pytest.mark.parametrize("name", ["subscriber.unsubscribed", "subscriber.bounced"])
def test_subscriber_event__does_not_take_the_creation_time_as_event_time(name: str) -> None:
    then = "2025-01-01T00:00:00Z"
    body = {"event": name, "email": NORA, "created_at": then, "updated_at": AT, "subscribed_at": then, "unsubscribed_at": AT}

    (found,) = ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(body).encode())).events

    assert (found.email, found.occurred_us) == (NORA, from_text(AT))


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"bounce": "hard"}, "hard"),
        ({"bounce": "soft"}, "soft"),
        ({"response_code": 550}, "hard"),
        ({"bounceCode": "550"}, "hard"),
        ({"response": {"message": "550 5.1.1 no such user"}}, "hard"),
    ],
)
def test_bounce__reads_its_kind_from_alternative_fields(said: dict[str, Any], kind: str) -> None:
    body = {"event": "bounce", "rcpt": NORA, "time": AT, **said}

    (found,) = ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(body).encode())).events

    assert (found.event, found.kind) == ("email_bounced", kind)


@pytest.mark.parametrize("object_type", ["sms", "push", "in_app", "slack", "webhook"])
@pytest.mark.parametrize("metric", ["sent", "bounced", "unsubscribed"])
def test_non_email_message__gives_other(object_type: str, metric: str) -> None:
    body = {"metric": metric, "object_type": object_type, "timestamp": SECONDS, "data": {"identifiers": {"email": NORA}}}

    (found,) = ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(body).encode())).events

    assert found.event == "other"


@pytest.mark.parametrize(
    ("behind", "named", "event"),
    [
        ("event=unsubscribed", {}, "email_unsubscribed"),
        ("event=connection_accepted", {"hook": {"event": "linked_in_messenger.campaign_new_contact"}}, "linkedin_invite_accepted"),
        ("event=prod", {"event": "replied"}, "email_replied"),
    ],
)
def test_event_name__is_read_from_the_query_string(behind: str, named: dict[str, Any], event: str) -> None:
    body = {"subscriber": {"id": 1, "email_address": NORA}, **named}

    (found,) = ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, behind, json.dumps(body).encode())).events

    assert (found.event, found.email) == (event, NORA)


@pytest.mark.parametrize(
    "body",
    [
        {"Name": "Nora", "Email": NORA, "Message": "please reply", "form_name": "Contact"},
        {"Email": NORA, "Status": "Replied", "LinkedIn Profile": "https://www.linkedin.com/in/nora-quill"},
        {"message_id": "m", "email": NORA, "status": "replied"},
    ],
)
def test_form_and_table_row_of_no_tool__give_no_event_about_a_contact(body: dict[str, Any]) -> None:
    found = ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(body).encode())).events

    assert [event.about for event in found] == [None]


@pytest.mark.parametrize("ours", [{"direction": "outbound"}, {"direction": "OUTGOING"}, {"is_sender": True}, {"fromMe": "true"}])
def test_outgoing_message__gives_manual_email_sent(ours: dict[str, Any]) -> None:
    body = {"event": "message_received", "contact": {"email": NORA}, "timestamp": AT, **ours}

    (found,) = ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(body).encode())).events

    assert found.event == "manual_email_sent"


def test_account_type__sets_the_channel_of_a_reply() -> None:
    body = {"event": "message_received", "account_type": "LINKEDIN", "contact": {"email": NORA}, "is_sender": False}

    (found,) = ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(body).encode())).events

    assert found.event == "linkedin_replied"


def test_contact_list__gives_one_event_per_contact() -> None:
    body = {"event": "unsubscribed", "campaign": "Autumn", "contacts": [{"email": NORA}, {"email": "otto@example.com"}, 7]}

    found = ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(body).encode())).events

    assert [(event.event, event.email) for event in found] == [
        ("email_unsubscribed", NORA), ("email_unsubscribed", "otto@example.com"), ("unknown", None),
    ]  # fmt: skip
    assert found[0].campaign == "Autumn"


def test_spelling_cache__does_not_hold_long_names() -> None:
    long = "Lead Email " * 10_000
    kept = spelling._cached_spellings.cache_info().currsize

    assert spelling.spellings(long)[0] == long.strip().lower().replace(" ", "_")
    assert spelling._cached_spellings.cache_info().currsize == kept
    assert spelling.spellings("Lead Email") == ("lead_email", "lead_email")
