"""A body of a tool that nobody knows."""

from __future__ import annotations

from typing import Any

import pytest

from touchbase.adapters.email_campaign.generic import ADAPTER
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
def test_generic_adapter__finds_the_event_name_by_field_precedence(named: dict[str, Any]) -> None:
    assert one(named).event == "email_opened"


def test_generic_adapter__reads_the_event_name_from_a_header() -> None:
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
def test_generic_adapter__infers_the_event_from_the_body_without_a_name(body: dict[str, Any], event: str) -> None:
    assert one(body).event == event


@pytest.mark.parametrize(
    "body",
    [
        {"event": "email_sent", "email_replied_body": "old text", "latestOutcome": "Interested"},
        {"event": "email_sent", "reply": {"text": "STOP to opt out"}, "is_reply": True},
    ],
)
def test_generic_adapter__ignores_reply_text_and_outcomes_when_a_name_is_given(body: dict[str, Any]) -> None:
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
        ({"event": "replied", "from_email": "MAILER-DAEMON@mx.example.com"}, "email_auto_replied", None),
        ({"event": "replied", "headers": {"Auto-Submitted": "auto-replied"}}, "email_auto_replied", None),
        ({"event": "replied", "ai_classification": "out_of_office"}, "email_auto_replied", None),
    ],
)
def test_generic_adapter__refines_the_event_by_severity_and_reply_flags(body: dict[str, Any], event: str, kind: str | None) -> None:
    assert (one(body).event, one(body).kind) == (event, kind)


@pytest.mark.parametrize(
    "person",
    [
        *({key: "Nora <Nora@Example.com>"} for key in ("sl_lead_email", "lead_email", "leadEmail", "prospectEmail", "contact_email")),
        *({who: {"email": "nora@example.com"}} for who in ("lead", "leadProfile", "sequence_lead", "prospect", "contact",
        "contact_fields")),
        *({"recipient": {key: "nora@example.com"}} for key in ("email", "email_address", "emailAddress", "enriched_email")),
        *({key: "nora@example.com"} for key in ("recipient", "Recipient", "rcpt_to", "to_email", "toEmail", "email_to", "email", "Email")),
        {"to": ["nora@example.com"]},
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
def test_generic_adapter__finds_the_lead_address_by_field_precedence(event: str, person: dict[str, Any]) -> None:
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
def test_generic_adapter__never_takes_the_sender_address_for_the_lead(sender: dict[str, Any]) -> None:
    assert one({"event": "email_sent", **sender}).email is None
    assert one({"event": "email_sent", "to_email": "sam@example.net", **sender, "email": "nora@example.com"}).email == "nora@example.com"


def test_generic_adapter__takes_the_from_address_as_lead_on_replies_only() -> None:
    body = {"from": "nora@example.com", "to": "sam@example.net"}

    assert one({"event": "replied", **body}).email == "nora@example.com"
    assert one({"event": "opened", "from": "sam@example.net"}).email is None


@pytest.mark.parametrize("nobody", ["mailer-daemon@example.com", "postmaster@example.com", "no-reply@example.com"])
def test_generic_adapter__takes_no_machine_address_for_the_lead(nobody: str) -> None:
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
        {"message": {"received_at": "2026-11-20T09:30:00Z"}}, {"payload": {"submittedAt": "2026-11-20T09:30:00Z"}},
        {"mail": {"timestamp": "2026-11-20T09:30:00Z"}}, {"lead": {"opened_at": "2026-11-20T09:30:00Z", "created_at": "2025-01-01"}},
        {"TimeStamp": "11/20/2026 9:30:00 AM"},
    ],
)  # fmt: skip
def test_generic_adapter__finds_the_event_time_by_field_precedence(timed: dict[str, Any]) -> None:
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
def test_generic_adapter__ignores_times_that_are_not_of_the_event(other: str) -> None:
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
def test_generic_adapter__takes_the_campaign_name_or_else_its_id(body: dict[str, Any], campaign: str | None) -> None:
    assert one({"event": "email_sent", **body}).campaign == campaign


@pytest.mark.parametrize(
    "body",
    [
        {"first_name": "Nora", "last_name": "Quill"}, {"firstName": "Nora", "lastName": "Quill"}, {"lead": {"first_name": "Nora",
        "last_name": "Quill"}},
        {"to_name": "Nora Quill"}, {"contact": {"name": "Nora Quill"}}, {"full_name": "Nora Quill"},
    ],
)  # fmt: skip
def test_generic_adapter__finds_first_and_last_names(body: dict[str, Any]) -> None:
    event = one({"event": "email_sent", **body})

    assert (event.first_name, event.last_name) == ("Nora", "Quill")


def test_generic_adapter__gives_one_event_per_list_item_despite_a_bad_item() -> None:
    events = read([{"event": "sent", "email": "nora@example.com"}, 7, {"event": "opened", "email": "otto@example.com"}])

    assert [(event.event, event.email) for event in events] == [
        ("email_sent", "nora@example.com"),
        ("unknown", None),
        ("email_opened", "otto@example.com"),
    ]


@pytest.mark.parametrize("key", ["data", "payload", "body", "event-data"])
def test_generic_adapter__prefers_wrapped_values_over_outer_ones(key: str) -> None:
    event = one(
        {"event": "email_opened", "timestamp": "2026-11-20T09:30:00Z", "email": "otto@example.com", key: {"email": "nora@example.com"}}
    )

    assert (event.event, event.email, event.occurred_us) == ("email_opened", "nora@example.com", NINE_THIRTY)


def test_generic_adapter__does_not_unwrap_a_wrapper_key_that_holds_text() -> None:
    assert one({"event": "email_replied", "email": "nora@example.com", "body": "Hello"}).email == "nora@example.com"


@pytest.mark.parametrize("body", [{}, []])
def test_generic_adapter__gives_no_events_for_an_empty_body(body: object) -> None:
    assert read(body) == []


def test_status_change__without_a_new_status_gives_other() -> None:
    assert one({"event": "status_changed", "email": "nora@example.com"}).event == "other"


@pytest.mark.parametrize(("said", "event"), [(True, "email_replied"), ("true", "email_replied"), ("false", "unknown")])
def test_generic_adapter__recognises_a_nameless_reply_by_its_flag(said: object, event: str) -> None:
    assert one({"is_reply": said, "lead_email": "nora@example.com"}).event == event


@pytest.mark.parametrize(
    "new", ["new_category", "newCategory", "new_status", "newStatus", "new_stage", "newStage", "new_label", "newLabel"]
)
@pytest.mark.parametrize("old", ["lead_category", "category", "lead_status", "status", "label", "stage"])
def test_status_change__prefers_the_field_named_new(old: str, new: str) -> None:
    event = one({"event": "lead_status_changed", "email": "lead@example.com", old: "Neutral", new: "Not Interested"})

    assert event.status == "not_interested"


def test_status_change__reads_the_status_from_the_lead_object() -> None:
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
def test_generic_adapter__finds_the_person_among_the_recipients(body: dict[str, Any]) -> None:
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
def test_reply__takes_its_event_from_the_channel(about: dict[str, Any], event: str) -> None:
    assert one({"event": "reply_received", **about}).event == event


def test_email_event_name__overrides_the_channel() -> None:
    assert one({"event": "email_sent", "channel": "linkedin", "email": "nora@example.com"}).event == "email_sent"


@pytest.mark.parametrize("name", ["first_name", "firstName", "First Name"])
def test_generic_adapter__does_not_apply_outer_person_fields_to_list_items(name: str) -> None:
    events = read({"event": "email_sent", name: "Sam", "leadEmail": "sam@example.net", "data": [{"email": "nora@example.com"}]})

    assert [(event.email, event.first_name) for event in events] == [("nora@example.com", None)]


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("booking.created", "meeting_booked"), ("appointment_canceled", "meeting_canceled"), ("Meeting Rescheduled", "meeting_rescheduled"),
        ("booking no-show", "meeting_no_show"), ("meeting.booked", "meeting_booked"),
    ],
)  # fmt: skip
def test_unknown_booking_tool__tells_of_meetings_with_their_start(name: str, event: str) -> None:
    booking = {"attendee": {"email": "nora@example.com"}, "host": {"email": "us@example.org"}, "start_time": "2026-11-24T14:00:00+01:00"}

    read_event = one({"event": name, "data": booking})

    assert (read_event.event, read_event.email, read_event.status) == (event, "nora@example.com", None)
    assert [(change.property, change.value) for change in read_event.changed] == [("meeting_start", "2026-11-24T13:00:00Z")]


def test_label_of_a_campaign_tool__that_says_meeting_is_a_status() -> None:
    event = one({"event": "meeting booked", "lead_email": "nora@example.com"})

    assert (event.event, event.status) == ("lead_status_changed", "meeting_booked")
