"""Meetings of booking tools that have no adapter: the words of the body say so, at either address."""

from __future__ import annotations

import json
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import Event

ADAPTERS = load_adapters()
ANN = {"email": "ann@acme.example", "name": "Ann Lee"}
START = "2026-12-01T10:00:00Z"
NESTED = {"event": "booking.created", "booking": {"start_time": START, "host": {"email": "sam@agency.example"}, "attendee": ANN}}
FLAT = {"event": "appointment_booked", "email": "ann@acme.example", "start_time": START, "organizer_email": "sam@agency.example"}
CANCELED = {"type": "appointment.cancelled", "data": {"start": START, "organizer": {"email": "sam@agency.example"}, "invitee": ANN}}


def events_of(channel: str, body: Any, **settings: Any) -> list[Event]:
    connections = [Connection(1, channel, "generic", 0, 0, settings=ConnectionSettings(**settings))] if settings else []
    request = WebhookRequest(channel, {"content-type": "application/json"}, "", json.dumps(body).encode(), connections=connections)
    return list(ADAPTERS.translate(request).events)


@pytest.mark.parametrize("channel", ["crm", "email_campaign"])
@pytest.mark.parametrize(("body", "event"), [(NESTED, "meeting_booked"), (FLAT, "meeting_booked"), (CANCELED, "meeting_canceled")])
def test_booking_that_nobody_named__is_a_meeting_of_its_person_at_both_addresses(channel: str, body: Any, event: str) -> None:
    [meeting] = events_of(channel, body)

    assert (meeting.event, meeting.email) == (event, "ann@acme.example")
    assert [(change.property, change.value) for change in meeting.changed] == [("meeting_start", START)]


@pytest.mark.parametrize(
    "body",
    [
        {"event": "contact.updated", "contact": {**ANN, "next_meeting": START}},
        {"event": "contact.created", "email": "ann@acme.example", "lifecycle": "demo booked"},
    ],
)
def test_contact_of_a_crm__that_has_a_meeting_stays_a_contact(body: Any) -> None:
    assert {event.event.partition(".")[0] for event in events_of("crm", body)} == {"contact"}


def test_activity_of_a_crm__without_a_start_is_no_meeting() -> None:
    try:
        events = events_of("crm", {"event": "meeting.created", "meeting": {"title": "Call", "contact": ANN}})
    except UnrecognisedPayload:
        return
    assert not any(event.event.startswith("meeting_") for event in events)


def test_mapping_of_the_client__says_what_a_booking_means() -> None:
    fields = {"email": "email", "event": "event"}
    assert [event.event for event in events_of("crm", FLAT, fields=fields)] != ["meeting_booked"]
