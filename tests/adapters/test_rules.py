"""Bodies of tools that nobody named: the person below a role, lists and fields, LinkedIn, other languages, what says nothing."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.history.events import CRM, EMAIL_CAMPAIGN

ADAPTERS = load_adapters()
ANN, HOST, PROFILE = "ann@p.example", "sam@us.example", "https://www.linkedin.com/in/ann-p"
START = "2026-12-01T10:00:00Z"
CAMPAIGN: dict[str, tuple[Any, str, str | None]] = {
    "participant with a part": (
        {"event": "meeting.booked", "participants": [{"email": HOST, "role": "host"}, {"email": ANN, "role": "guest"}], "start": START},
        "meeting_booked", ANN,
    ),
    "provider": (
        {"event": "appointment_booked", "provider": {"email": HOST}, "client": {"email": ANN}, "starts_at": START}, "meeting_booked", ANN,
    ),
    "canceled by": (
        {"event": "booking_canceled", "canceledBy": {"email": HOST}, "guest": {"email": ANN}, "startTime": START}, "meeting_canceled", ANN,
    ),
    "booker": ({"event": "demo_booked", "payload": {"booker": {"email": ANN}, "time": {"start": START}}}, "meeting_booked", ANN),
    "no show": ({"event": "attendee.no_show", "data": {"attendee": {"email": ANN}, "start": START}}, "meeting_no_show", ANN),
    "mail": ({"eventType": "EmailReplied", "contactInfo": {"mail": ANN}, "senderInfo": {"mail": HOST}}, "email_replied", ANN),
    "event as a member's name": ({"lead.replied": [{"email": ANN, "text": "Yes"}]}, "email_replied", ANN),
    "own message": (
        {"event": "message", "account": {"id": "7"}, "sender": {"id": "7"}, "recipient": {"id": "9", "profile_url": PROFILE}},
        "linkedin_sent", PROFILE,
    ),
    "their message": (
        {"event": "message", "account": {"id": "7"}, "sender": {"id": "9", "profile_url": PROFILE}}, "linkedin_replied", PROFILE,
    ),
    "form": ({"field_data": [{"name": "email", "values": [ANN]}]}, "contact_saved", ANN),
    "campaign": ({"event": "campaign.created", "campaign": {"name": "Spring"}}, "other", None),
    "German": (
        {"ereignis": "termin_gebucht", "termin": {"beginn": START, "kunde": {"email": ANN, "vorname": "Ann"}}}, "meeting_booked", ANN,
    ),
    "German sentence": ({"event": "Antwort erhalten", "email": ANN}, "email_replied", ANN),
    "Spanish": ({"evento": "correo_abierto", "correo": ANN}, "email_opened", ANN),
    "Dutch": ({"event": "afgemeld", "email": ANN}, "email_unsubscribed", ANN),
    "object of events by name": ({"events": {"email_replied": {"email": ANN, "at": START}}}, "email_replied", ANN),
    "object of events by id": ({"events": {"17": {"type": "email_opened", "email": ANN}}}, "email_opened", ANN),
    "submission with a list": ({"submission": {"data": [{"label": "Your email", "value": ANN}]}}, "contact_saved", ANN),
    "verb beside a booking": (
        {"action": "created", "booking": {"id": "b", "start": START}, "form": [{"id": "EMAIL", "value": ANN}]}, "meeting_booked", ANN,
    ),
    "verb of an event with an invitee": (
        {"event": "event.cancelled", "data": {"invitee": {"email": ANN}, "host": {"email": HOST}, "start": START}}, "meeting_canceled", ANN,
    ),
    "notification of a booking": (
        {"booking_id": "5", "notification_type": "create", "client_email": ANN, "start_date_time": START}, "meeting_booked", ANN,
    ),
    "person with an email_id": (
        {"event": "appointment.created", "appointment": {"start_time": START, "staff": {"email_id": HOST}, "customer": {"email_id": ANN}}},
        "meeting_booked", ANN,
    ),
    "profile": ({"profile_url": PROFILE, "member_id": 5, "first_name": "Ann", "headline": "CEO"}, "contact_saved", PROFILE),
    "profile with a message": ({"profile_url": PROFILE, "headline": "CEO", "last_message": "Hello"}, "unknown", PROFILE),
    "Portuguese": ({"evento": "Email clicado", "contato": {"email": ANN}}, "email_clicked", ANN),
}  # fmt: skip
CONTACTS: dict[str, tuple[Any, str, str | None]] = {
    "German": ({"ereignis": "kontakt.erstellt", "kontakt": {"email": ANN, "vorname": "Ann"}}, "contact.created", "Ann"),
    "French": ({"evenement": "contact.modifie", "contact": {"courriel": ANN, "prenom": "Ann"}}, "contact.updated", "Ann"),
    "French with accents": ({"événement": "contact modifié", "contact": {"courriel": ANN, "prénom": "Ann"}}, "contact.updated", "Ann"),
    "labels": (
        {"fields": [{"label": "Adresse e-mail", "value": ANN}, {"label": "Prénom", "value": "Ann"}]}, "contact.updated", "Ann",
    ),
    "form of an advertisement": (
        {"lead_id": "L1", "user_column_data": [
            {"column_id": "EMAIL", "column_name": "User Email", "string_value": ANN},
            {"column_id": "FIRST_NAME", "column_name": "First Name", "string_value": "Ann"},
        ]}, "contact.updated", "Ann",
    ),
    "form of a network": (
        {"id": "1", "form_id": "2", "field_data": [{"name": "email", "values": [ANN]}, {"name": "first_name", "values": ["Ann"]}]},
        "contact.updated", "Ann",
    ),
    "submission with an object": (
        {"form": {"id": "f"}, "submission": {"id": "s", "data": {"Email": ANN, "First name": "Ann"}}}, "contact.updated", "Ann",
    ),
    "submission of questions": (
        {"submission": [{"question": "What is your email?", "answer": ANN}, {"question": "Your first name", "answer": "Ann"}]},
        "contact.updated", "Ann",
    ),
    "list of answers under data": (
        {"form_id": "f", "data": [{"title": "Email", "key": "a", "value": ANN}, {"title": "First name", "key": "b", "value": "Ann"}]},
        "contact.updated", "Ann",
    ),
    "numbered fields": (
        {"fields": {"0": {"name": "First name", "value": "Ann", "id": 0}, "1": {"name": "Email", "value": ANN, "id": 1}}},
        "contact.updated", "Ann",
    ),
    "lists of one value": (
        {"answers": [{"name": "email", "values": [ANN]}, {"name": "firstname", "values": ["Ann"]}]}, "contact.updated", "Ann",
    ),
}  # fmt: skip


def _translate(channel: str, body: bytes) -> Any:
    return ADAPTERS.translate(WebhookRequest(channel, {"content-type": "application/json"}, "", body))


@pytest.mark.parametrize("name", CAMPAIGN)
def test_body_of_an_unknown_campaign_tool__has_one_event_about_its_person(name: str) -> None:
    body, event, person = CAMPAIGN[name]

    (read,) = _translate(EMAIL_CAMPAIGN, json.dumps(body).encode()).events

    assert (read.event, read.email or read.linkedin_url) == (event, person)


@pytest.mark.parametrize("name", CONTACTS)
def test_body_of_an_unknown_crm__has_the_contact_in_any_language(name: str) -> None:
    body, event, first_name = CONTACTS[name]

    (read,) = _translate(CRM, json.dumps(body).encode()).events

    assert (read.event, read.email, read.fields.get("first_name")) == (event, ANN, first_name)


def test_form_with_dots_in_names__is_still_an_object() -> None:
    form = urlencode({"event": "contact.updated", "contact.email": ANN, "contact.first_name": "Ann"}).encode()

    (read,) = ADAPTERS.translate(WebhookRequest(CRM, {"content-type": "application/x-www-form-urlencoded"}, "", form)).events

    assert (read.event, read.email) == ("contact.updated", ANN)


def test_object_of_lists_by_event__has_the_events_of_all() -> None:
    events = _translate(EMAIL_CAMPAIGN, json.dumps({"replied": [{"email": ANN}], "bounced": [{"email": "bob@p.example"}]}).encode()).events

    assert [(read.event, read.email) for read in events] == [("email_replied", ANN), ("email_bounced", "bob@p.example")]


@pytest.mark.parametrize("channel", [EMAIL_CAMPAIGN, CRM])
def test_xml_of_an_unknown_tool__is_read_as_json_is(channel: str) -> None:
    body = b"<hook><event>contact.updated</event><contact id='7'><email>ann@p.example</email><first_name>Ann</first_name></contact></hook>"

    (read,) = _translate(channel, body).events

    assert (read.event, read.email) == ("contact.updated" if channel == CRM else "contact_saved", ANN)
    assert "Ann" in (read.first_name, read.fields.get("first_name"))


@pytest.mark.parametrize("body", [{"ping": True}, {"test": 1}])
def test_ping__has_no_event(body: object) -> None:
    assert _translate(EMAIL_CAMPAIGN, json.dumps(body).encode()).events == []
