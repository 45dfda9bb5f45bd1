"""Whose call it is: no adapter takes another tool's body for its own, and no bad item hides a good one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.connections.models import Connection
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import CRM, EMAIL_CAMPAIGN, Translation

ADAPTERS = load_adapters()
AT = "2026-11-20T09:30:00Z"
CREATION = {"subscriptionType": "contact.creation", "objectId": 5, "portalId": 1, "eventId": 9}
BOUNCE = {"event": "bounce", "time": 1_790_000_000, "MessageID": 1, "email": "a@example.com", "hard_bounce": True, "mj_campaign_id": 7}


def told(body: object, channel: str = CRM, *connections: Connection, query: str = "", **headers: str) -> Translation:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ADAPTERS.translate(WebhookRequest(channel, named, query, json.dumps(body).encode(), None, connections))


def events(translation: Translation) -> list[tuple[str, str | None]]:
    return [(event.event, event.email or event.object_id) for event in translation.events]


# The wrong one of the two addresses.

REPLY = {"event_type": "reply_received", "timestamp": AT, "workspace": "w", "campaign_id": "c", "lead_email": "a@example.com"}


@pytest.mark.parametrize(
    ("body", "channel", "tool", "right"),
    [(REPLY, CRM, "instantly", EMAIL_CAMPAIGN), ([CREATION], EMAIL_CAMPAIGN, "hubspot", CRM)],
)
def test_tool_detection__names_the_right_address_for_a_webhook_at_the_wrong_one(body: object, channel: str, tool: str, right: str) -> None:
    with pytest.raises(UnrecognisedPayload, match=f"from {tool}, .* Configure the client's {right} address in {tool}"):
        told(body, channel)


def test_tool_detection__suggests_no_other_address_for_an_unknown_body() -> None:
    with pytest.raises(UnrecognisedPayload, match="No adapter understands this body"):
        told({"what": "is this"}, CRM)


def test_generic_adapter__reads_a_body_on_the_channel_where_it_arrived() -> None:
    translation = told({**REPLY, "event": "contact.updated", "contact": {"id": 1, "email": "l@example.com"}}, CRM)

    assert events(translation) == [("contact.updated", "l@example.com")]


# Other CRMs' commonest bodies.


@pytest.mark.parametrize("number", ["42", 42])
@pytest.mark.parametrize("name", ["contact.created", "lead.updated", "contact.deleted"])
def test_twenty_detection__rejects_an_unknown_crms_event_with_data(name: str, number: object) -> None:
    translation = told({"event": name, "data": {"id": number, "email": "l@example.com"}, "timestamp": AT})

    assert (translation.tool, [event.object_id for event in translation.events]) == ("generic", ["42"])
    assert translation.events[0].about is not None


@pytest.mark.parametrize(("name", "event"), [("person.created", "contact.created"), ("opportunity.updated", "ignored")])
def test_twenty_detection__accepts_its_objects_in_the_documented_form(name: str, event: str) -> None:
    translation = told({"event": name, "data": {"id": "u-1"}, "timestamp": AT})

    assert (translation.tool, [each.event for each in translation.events]) == ("twenty", [event])


@pytest.mark.parametrize(
    ("body", "event"),
    [
        ({"event": "CONTACT_UPDATED", "contact": {"id": 1, "email": "l@example.com"}}, "contact.updated"),
        ({"event": "CONTACT_CREATED", "contact": {"id": 1, "email": "l@example.com"}}, "contact.created"),
        ({"event": "ORGANIZATION_UPDATED", "organization": {"id": 1, "domain": "example.com"}}, "company.updated"),
    ],
)
def test_streak_detection__needs_more_than_a_name_in_capitals(body: dict[str, Any], event: str) -> None:
    assert (told(body).tool, told(body).events[0].event) == ("generic", event)


def test_streak_detection__yields_to_a_connected_generic_tool() -> None:
    body = {"event": "CONTACT_CREATE", "contact": {"key": "k1", "email": "l@example.com"}}

    assert told(body).tool == "streak"
    assert told(body, CRM, Connection(1, CRM, "generic", 0, 0)).tool == "generic"


# One bad item at the head of a list.


@pytest.mark.parametrize("junk", [{}, {"eventId": 1, "foo": 1}, None, 7])
def test_tool_detection__recognises_a_list_by_any_of_its_first_objects(junk: object) -> None:
    translation = told([junk, CREATION])

    assert translation.tool == "hubspot"
    assert ("contact.created", "5") in events(translation)


def test_tool_detection__recognises_a_record_list_despite_an_item_without_id() -> None:
    translation = told([{"x": 1}, {"id": "a1"}], query="event=Contact.delete")

    assert translation.tool == "espocrm"
    assert ("contact.deleted", "a1") in events(translation)


def test_tool_detection__recognises_a_nested_list_despite_bad_items() -> None:
    event = {"event_type": "record.created", "id": {"record_id": "r1", "object_id": "o"}}

    translation = told({"webhook_id": "w", "events": [None, event]}, query="object=people")

    assert translation.tool == "attio"
    assert ("contact.created", "r1") in events(translation)


@pytest.mark.parametrize("junk", [{}, {"x": 1}])
def test_tool_detection__retains_the_campaign_tool_of_a_list_with_bad_items(junk: object) -> None:
    translation = told([junk, BOUNCE], EMAIL_CAMPAIGN)

    assert translation.tool == "mailjet"
    assert [(event.event, event.kind) for event in translation.events][1] == ("email_bounced", "hard")


# Forms that a relay hands on as flat fields.


@pytest.mark.parametrize(
    ("channel", "body", "tool", "event"),
    [
        (
            EMAIL_CAMPAIGN,
            {"mandrill_events": '[{"event":"hard_bounce","_id":"i","ts":1795167000,"msg":{"email":"l@example.com"}}]'},
            "mandrill",
            ("email_bounced", "l@example.com"),
        ),
        (CRM, {"contacts[update][0][id]": "5", "account[subdomain]": "s"}, "kommo", ("contact.updated", "5")),
        (
            CRM,
            {"type": "update", "initiated_from": "admin", "contact[id]": "5", "contact[email]": "l@example.com"},
            "activecampaign",
            ("contact.updated", "l@example.com"),
        ),
        (
            EMAIL_CAMPAIGN,
            {"type": "unsubscribe", "fired_at": "2026-11-20 09:30:00", "data[email]": "l@example.com", "data[list_id]": "x"},
            "mailchimp",
            ("email_unsubscribed", "l@example.com"),
        ),
    ],
)
@pytest.mark.parametrize("is_wrapped", [True, False])
def test_tool_detection__recognises_a_form_passed_on_by_a_relay(
    channel: str, body: dict[str, str], tool: str, event: tuple[str, str], is_wrapped: bool
) -> None:
    form = "application/x-www-form-urlencoded"
    envelope = {"headers": {"content-type": form}, "query": {}, "params": {}, "body": body}

    translation = told(envelope, channel) if is_wrapped else told(body, channel, content_type=form)

    assert (translation.tool, events(translation)) == (tool, [event])
