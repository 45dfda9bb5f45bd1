"""A body of a tool that nobody knows."""

from __future__ import annotations

from typing import Any

import pytest

from touchbase.adapters.email_campaign.generic.adapter import ADAPTER
from touchbase.adapters.interface import ParsedWebhook, WebhookRequest
from touchbase.common.timestamps import from_text
from touchbase.history.events import Event

NINE_THIRTY = from_text("2026-11-20T09:30:00Z")


def read(data: object, **headers: str) -> list[Event]:
    return ADAPTER.translate(ParsedWebhook(WebhookRequest("email_campaign", headers, "", b""), headers, data))


def one(data: Any, **headers: str) -> Event:
    (event,) = read(data, **headers)
    return event


@pytest.mark.parametrize(
    "named",
    [
        {"event_type": "email_opened"}, {"eventType": "email_opened"}, {"event": "email_opened"}, {"event": {"type": "email_opened"}},
        {"webhook_event": "email_opened"}, {"webhookInfo": {"type": "email_opened"}}, {"meta": {"eventName": "email.opened"}},
        {"RecordType": "Open"}, {"method": "email_opened"}, {"type": "email_opened"}, {"event-data": {"event": "opened"}},
        {"event_object": "campaign_email", "event_action": "opened"}, {"action": "opened"},
        {"event_type": "email_opened", "event": "email_clicked", "type": "email_sent"}, {"method": "POST", "type": "email_opened"},
        {"type": "email.opened", "data": {"type": "lead"}},
        {"event_name": "email_opened"}, {"eventName": "email_opened"}, {"event": {"name": "email_opened"}}, {"activity_type": "opened"},
        {"webhook_type": "email_opened"}, {"topic": "email/opened"}, {"trigger": "email_opened"}, {"Type": "Opened", "Data": {"To": "x"}},
    ],
)  # fmt: skip
def test_the_events_name_is_found_in_order(named: dict[str, Any]) -> None:
    assert one(named).event == "email_opened"


def test_the_name_may_be_in_a_header() -> None:
    assert one({"id": 1}, **{"x-their-event": "email_opened"}).event == "email_opened"


@pytest.mark.parametrize(
    ("body", "event"),
    [
        ({"is_reply": True}, "email_replied"),
        ({"is_reply": True, "automated_reply": True}, "email_auto_replied"),
        ({"recent_messages": [{"is_reply": False}, {"is_reply": True}]}, "email_replied"),
        ({"recent_messages": [{"is_reply": True}, {"is_reply": False}]}, "unknown"),
        ({"reply": {"text": "Hi"}}, "email_replied"),
        ({"reply_message": {"text": "Hi"}, "sent_message": {"text": "Hello"}}, "unknown"),
        ({"sequence_stage": {"type": "email"}}, "email_sent"),
        ({"step_type": "EMAIL"}, "email_sent"),
        ({"step_type": "linkedin"}, "unknown"),
        ({"id": 7}, "unknown"),
    ],
)
def test_without_a_name_the_body_shows_what_happened(body: dict[str, Any], event: str) -> None:
    assert one(body).event == event


@pytest.mark.parametrize(
    "body",
    [
        {"event": "email_sent", "email_replied_body": "old text", "latestOutcome": "Interested"},
        {"event": "email_sent", "reply": {"text": "STOP to opt out"}, "is_reply": True},
    ],
)
def test_only_the_name_decides_never_stray_text(body: dict[str, Any]) -> None:
    assert (one(body).event, one(body).status) == ("email_sent", None)


@pytest.mark.parametrize(
    ("body", "event", "kind"),
    [
        ({"event": "failed", "severity": "permanent"}, "email_bounced", "hard"),
        ({"event": "failed", "severity": "temporary"}, "email_deferred", None),
        ({"event": "failed"}, "email_send_failed", None),
        ({"event": "bounced", "bounce_type": "soft"}, "email_bounced", "soft"),
        ({"event": "bounced"}, "email_bounced", "unknown"),
        ({"event": "replied", "automated_reply": True}, "email_auto_replied", None),
        ({"event": "replied", "data": {"reply": {"automated_reply": True}}}, "email_auto_replied", None),
    ],
)
def test_flags_beside_the_name_refine_it(body: dict[str, Any], event: str, kind: str | None) -> None:
    assert (one(body).event, one(body).kind) == (event, kind)


@pytest.mark.parametrize(
    "person",
    [
        *({key: "Nora <Nora@Example.com>"} for key in ("sl_lead_email", "lead_email", "leadEmail", "prospectEmail", "contact_email")),
        *({who: {"email": "nora@example.com"}} for who in ("lead", "leadProfile", "sequence_lead", "prospect", "contact",
        "contact_fields")),
        *({"recipient": {key: "nora@example.com"}} for key in ("email", "email_address", "emailAddress", "enriched_email")),
        *({key: "nora@example.com"} for key in ("recipient", "Recipient", "rcpt_to", "to_email", "toEmail", "email_to", "email", "Email")),
        {"to": ["nora@example.com", "otto@example.com"]},
        {"to": [{"email": "nora@example.com"}]}, {"to": [{"address": "nora@example.com"}]}, {"person": {"email": "nora@example.com"}},
        {"subscriber": {"email": "nora@example.com"}}, {"data": {"object": {"email": "nora@example.com"}}},
        *({key: "nora@example.com"} for key in ("prospect_email", "contactEmail", "recipient_email", "recipientEmail")),
        {"lead_email": "nora@example.com", "email": "otto@example.com"},
        {"lead": {"email": "nora@example.com"}, "to_email": "otto@example.com"},
        {"to_email": "nora@example.com", "email": "otto@example.com"},
        {"email": "nora@example.com", "from": "sam@example.net"},
        {"email": {"subject": "Hi"}, "to_email": "nora@example.com"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("event", ["email_sent", "email_replied"])
def test_the_lead_is_found_in_order(event: str, person: dict[str, Any]) -> None:
    if event == "email_replied" and isinstance(person.get("to"), list):
        person = {**person, "from": "nora@example.com", "to": ["sam@example.net"]}

    assert one({"event": event, **person}).email == "nora@example.com"


@pytest.mark.parametrize(
    "sender",
    [
        {"email_account": "sam@example.net"}, {"sender_email": "sam@example.net"}, {"sender_email": {"email": "sam@example.net"}},
        {"campaign_email": "sam@example.net"}, {"mailbox": {"email": "sam@example.net"}}, {"sender": {"email": "sam@example.net"}},
        {"user": {"email": "sam@example.net"}}, {"updated_by": "sam@example.net"}, {"owner": {"email": "sam@example.net"}},
    ],
)  # fmt: skip
def test_the_senders_address_is_never_the_leads(sender: dict[str, Any]) -> None:
    assert one({"event": "email_sent", **sender}).email is None
    assert one({"event": "email_sent", "to_email": "sam@example.net", **sender, "email": "nora@example.com"}).email == "nora@example.com"


def test_who_wrote_is_the_lead_on_a_reply_only() -> None:
    body = {"from": "nora@example.com", "to": "sam@example.net"}

    assert one({"event": "replied", **body}).email == "nora@example.com"
    assert one({"event": "opened", "from": "sam@example.net"}).email is None


@pytest.mark.parametrize("nobody", ["mailer-daemon@example.com", "postmaster@example.com", "no-reply@example.com"])
def test_nobody_is_never_the_lead(nobody: str) -> None:
    assert one({"event": "replied", "from": nobody}).email is None


@pytest.mark.parametrize(
    "timed",
    [
        {"event_timestamp": "2026-11-20T09:30:00Z", "timestamp": "2026-11-20T11:00:00Z"}, {"timestamp": 1_795_167_000},
        {"occurred_at": "1795167000000"},
        {"date": "2026-11-20 09:30:00"}, {"date": "2026-11-20 12:00:00", "ts": 1_795_167_000}, {"createdAt": "2026-11-20T10:30:00+0100"},
        {"time_opened": "2026-11-20T09:30:00+00:00"}, {"fired_at": "2026-11-20 09:30:00"}, {"ts_epoch": 1_795_167_000_000},
        {"DeliveredAt": "2026-11-20T04:30:00.0000000-05:00"}, {"timestamp": "soon", "ts": "1795167000.0"},
        {"timestamp": 1_795_167_000, "data": {"lead": {}}}, {"event_time": 1_795_167_000}, {"happened_at": "2026-11-20T09:30:00Z"},
        {"date": "Fri, 20 Nov 2026 09:30:00 +0000"}, {"message": {"timestamp": "2026-11-20T09:30:00Z"}},
    ],
)  # fmt: skip
def test_the_events_time_is_found_in_order(timed: dict[str, Any]) -> None:
    assert one({"event": "email_opened", **timed}).occurred_us == NINE_THIRTY


@pytest.mark.parametrize(
    "other",
    [
        "relatedSentAt",
        "last_contacted",
        "followup_after",
        "prospectCreatedAt",
        "importedAt",
        "first_opened_at",
        "sent_at_local",
        "created_at_est",
    ],
)
def test_other_times_are_not_the_events(other: str) -> None:
    assert one({"event": "email_opened", other: "2026-11-20T09:30:00Z"}).occurred_us is None
    assert (
        one({"event": "email_opened", "metadata": {"webhook_created_at": "2026-11-20T09:30:00Z"}, "msg": {"ts": 1_795_167_000}}).occurred_us
        is None
    )


@pytest.mark.parametrize(
    ("body", "campaign"),
    [
        ({"campaign_id": 7}, "7"), ({"campaignId": "cam_1", "campaignName": "Autumn"}, "Autumn"), ({"campaign": {"id": "u",
        "name": "Autumn"}}, "Autumn"),
        ({"sequence": {"id": 7}}, "7"), ({"camp_id": "7", "name": "Autumn"}, "Autumn"), ({"name": "Nora Quill"}, None),
        ({"mj_campaign_id": 7}, "7"),
    ],
)  # fmt: skip
def test_a_campaign_is_its_name_else_its_id(body: dict[str, Any], campaign: str | None) -> None:
    assert one({"event": "email_sent", **body}).campaign == campaign


@pytest.mark.parametrize(
    "body",
    [
        {"first_name": "Nora", "last_name": "Quill"}, {"firstName": "Nora", "lastName": "Quill"}, {"lead": {"first_name": "Nora",
        "last_name": "Quill"}},
        {"to_name": "Nora Quill"}, {"contact": {"name": "Nora Quill"}}, {"full_name": "Nora Quill"},
    ],
)  # fmt: skip
def test_names_are_found(body: dict[str, Any]) -> None:
    event = one({"event": "email_sent", **body})

    assert (event.first_name, event.last_name) == ("Nora", "Quill")


def test_items_of_a_list_are_events_of_their_own_and_a_broken_one_harms_none() -> None:
    events = read([{"event": "sent", "email": "nora@example.com"}, 7, {"event": "opened", "email": "otto@example.com"}])

    assert [(event.event, event.email) for event in events] == [
        ("email_sent", "nora@example.com"),
        ("unknown", None),
        ("email_opened", "otto@example.com"),
    ]


@pytest.mark.parametrize("key", ["data", "payload", "body", "event-data"])
def test_a_wrapper_is_gone_into_and_what_stands_around_it_is_a_fall_back(key: str) -> None:
    event = one(
        {"event": "email_opened", "timestamp": "2026-11-20T09:30:00Z", "email": "otto@example.com", key: {"email": "nora@example.com"}}
    )

    assert (event.event, event.email, event.occurred_us) == ("email_opened", "nora@example.com", NINE_THIRTY)


def test_a_wrappers_name_that_holds_text_is_no_wrapper() -> None:
    assert one({"event": "email_replied", "email": "nora@example.com", "body": "Hello"}).email == "nora@example.com"


@pytest.mark.parametrize("body", [{}, []])
def test_an_empty_body_says_nothing(body: object) -> None:
    assert read(body) == []


def test_a_status_that_changed_without_saying_to_what_is_not_used() -> None:
    assert one({"event": "status_changed", "email": "nora@example.com"}).event == "other"


@pytest.mark.parametrize(("said", "event"), [(True, "email_replied"), ("true", "email_replied"), ("false", "unknown")])
def test_a_nameless_reply_is_told_by_its_flag(said: object, event: str) -> None:
    assert one({"is_reply": said, "lead_email": "nora@example.com"}).event == event


@pytest.mark.parametrize(
    "new", ["new_category", "newCategory", "new_status", "newStatus", "new_stage", "newStage", "new_label", "newLabel"]
)
@pytest.mark.parametrize("old", ["lead_category", "category", "lead_status", "status", "label", "stage"])
def test_a_status_that_calls_itself_new_is_the_new_one(old: str, new: str) -> None:
    event = one({"event": "lead_status_changed", "email": "lead@example.com", old: "Neutral", new: "Not Interested"})

    assert event.status == "not_interested"


def test_a_status_may_stand_with_the_person() -> None:
    event = one({"event": "lead.status.updated", "lead": {"email": "nora@example.com", "status": "Meeting Booked"}})

    assert (event.event, event.status, event.email) == ("lead_status_changed", "meeting_booked", "nora@example.com")


@pytest.mark.parametrize(
    "body",
    [
        {"event": "message:sent", "recipients": [{"email": "nora@example.com"}], "from": {"email": "us@example.org"}},
        {"event": "message:sent", "recipients": ["nora@example.com"], "from": "us@example.org"},
        {"eventType": "Delivery", "mail": {"source": "us@example.org", "destination": ["nora@example.com"]}},
        {"event": "meeting.booked", "invitee": {"email": "nora@example.com"}, "owner": {"email": "us@example.org"}},
    ],
)
def test_the_person_is_found_among_those_it_went_to(body: dict[str, Any]) -> None:
    assert one(body).email == "nora@example.com"


@pytest.mark.parametrize(
    ("about", "event"),
    [
        ({"channel": "LINKEDIN", "email": "nora@example.com"}, "linkedin_replied"),
        ({"channelType": "linkedin_message", "email": "nora@example.com"}, "linkedin_replied"),
        ({"channel": "whatsapp", "email": "nora@example.com"}, "other"),
        ({"platform": "linkedin", "email": "nora@example.com"}, "linkedin_replied"),
        ({"messageType": "SMS", "email": "nora@example.com"}, "other"),
        ({"medium": "email", "email": "nora@example.com"}, "email_replied"),
        ({"channel": "email", "linkedin_url": "https://linkedin.com/in/nora"}, "email_replied"),
        ({"linkedin_url": "https://linkedin.com/in/nora"}, "linkedin_replied"),
        ({"linkedin_url": "https://linkedin.com/in/nora", "email": "nora@example.com"}, "email_replied"),
        ({}, "email_replied"),
    ],
)  # fmt: skip
def test_a_reply_is_its_channels(about: dict[str, Any], event: str) -> None:
    assert one({"event": "reply_received", **about}).event == event


def test_a_name_that_says_mail_is_a_mails_whatever_the_channel() -> None:
    assert one({"event": "email_sent", "channel": "linkedin", "email": "nora@example.com"}).event == "email_sent"


@pytest.mark.parametrize("name", ["first_name", "firstName", "First Name"])
def test_whoever_stands_around_a_list_is_none_of_its_people(name: str) -> None:
    events = read({"event": "email_sent", name: "Sam", "leadEmail": "sam@example.net", "data": [{"email": "nora@example.com"}]})

    assert [(event.email, event.first_name) for event in events] == [("nora@example.com", None)]
