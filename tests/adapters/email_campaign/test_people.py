"""Whom a body of an unknown tool is about: people below a role's name, several in one call, and never the client's own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.history.events import EMAIL_CAMPAIGN, Event

ADAPTERS = load_adapters([EMAIL_CAMPAIGN])
AT = "2026-11-20T09:30:00Z"
NORA, OTTO, SAM = "nora@example.com", "otto@example.com", "sam@agency.example"
PROFILE = "https://www.linkedin.com/in/nora-quill"
OURS = {"account_id": "a1", "account_type": "LINKEDIN", "account_info": {"user_id": "own-1"}}


def events_of(body: object) -> list[Event]:
    return ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(body).encode())).events


@pytest.mark.parametrize(
    "body",
    [
        {"event": "reply", **OURS, "sender": {"attendee_provider_id": "p", "attendee_name": "Nora Quill", "attendee_profile_url": PROFILE}},
        {"event_type": "reply", "data": {"target": {"full_name": "Nora Quill", "profile_url": PROFILE}, "account_urn": "urn:own"}},
        {"event": "reply", **OURS, "user": {"full_name": "Nora Quill", "public_identifier": "nora-quill"}},
        {"event": "reply", **OURS, "user_full_name": "Nora Quill", "user_profile_url": PROFILE},
        {"event": "reply", **OURS, "attendees": [{"id": "own-1", "profile_url": "https://www.linkedin.com/in/sam"},
         {"id": "p", "name": "Nora Quill", "profile_url": PROFILE}]},
    ],
)  # fmt: skip
def test_person__is_below_any_of_the_roles(body: dict[str, Any]) -> None:
    (event,) = events_of({"timestamp": AT, **body})

    assert (event.event, event.linkedin_url, event.first_name, event.last_name) == ("linkedin_replied", PROFILE, "Nora", "Quill")


@pytest.mark.parametrize(
    "body",
    [
        {"client_payload": {"lead_email": NORA}},
        {"eventPayload": {}, "endUserData": [{"email": NORA}]},
        {"batches": [{"number": 1, "entries": [{"event_data": {"email": NORA}}]}]},
        {"payload": {"organizer": {"email": SAM}, "attendees": [{"email": SAM, "is_organizer": True}, {"email": NORA}]}},
        {"fields": {"core": {"email": {"label": "Email", "value": NORA}}, "social": []}},
        {"payload": {"subscriber": {"email": {"value": NORA}}}},
        {"host": {"email": SAM}, "booked_for": {"email": NORA}},
    ],
)  # fmt: skip
def test_person__is_found_in_lists_and_objects_under_any_name(body: dict[str, Any]) -> None:
    (event,) = events_of({"event": "email_opened", "timestamp": AT, **body})

    assert (event.event, event.email) == ("email_opened", NORA)


@given(
    role=st.sampled_from(["organizer", "host", "owner", "account", "assignee", "created_by", "sending_mailbox", "team", "agent"]),
    levels=st.lists(st.sampled_from(["data", "payload", "details", "booking", "result"]), max_size=3, unique=True),
    is_list=st.booleans(),
)
def test_person__is_never_below_any_of_the_clients_own(role: str, levels: list[str], is_list: bool) -> None:
    body: dict[str, Any] = {role: [{"email": SAM, "name": "Sam"}] if is_list else {"email": SAM, "name": "Sam"}}
    for level in levels:
        body = {level: body}

    assert {event.email for event in events_of({"event": "email_opened", "timestamp": AT, **body})} == {None}


@pytest.mark.parametrize(
    "people",
    [
        {"to": [NORA, OTTO]}, {"to": f"{NORA}, Otto <{OTTO}>"}, {"recipients": [{"email": NORA}, {"email": OTTO}]},
        {"items": [{"Email": NORA}, {"Email": OTTO}]}, {"rows": [{"email": NORA}, {"email": OTTO}]},
        {"mail": {"destination": [NORA, OTTO], "source": SAM}}, {"from": SAM, "mailbox": SAM, "to": [NORA, SAM, OTTO]},
    ],
)  # fmt: skip
def test_event__is_one_for_each_of_several_recipients(people: dict[str, Any]) -> None:
    events = events_of({"event": "email_sent", "timestamp": AT, **people})

    assert [(event.event, event.email) for event in events] == [("email_sent", NORA), ("email_sent", OTTO)]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30))
def test_event__is_one_for_each_of_any_bounced_recipients(numbers: list[int]) -> None:
    addresses = [f"person{number}@example.com" for number in numbers]
    report = {"notificationType": "Bounce", "bounce": {"bounceType": "Permanent", "timestamp": AT,
              "bouncedRecipients": [{"emailAddress": address} for address in addresses]}}  # fmt: skip

    assert [event.email for event in events_of(report)] == list(dict.fromkeys(addresses))


def test_open__of_one_of_several_recipients_is_nobodys() -> None:
    (event,) = events_of({"event": "email_opened", "timestamp": AT, "to": [NORA, OTTO]})

    assert (event.event, event.email) == ("other", None)


@pytest.mark.parametrize("body", [{"email": NORA, "to": [NORA, OTTO]}, {"lead": {"email": NORA}, "to": [OTTO, SAM]}])
def test_event__of_a_named_person_is_not_for_each_recipient(body: dict[str, Any]) -> None:
    (event,) = events_of({"event": "email_sent", "timestamp": AT, **body})

    assert event.email == NORA


def test_row_without_a_person__is_not_dropped() -> None:
    events = events_of({"event": "email_sent", "timestamp": AT, "items": [{"Email": NORA}, {"Email": ""}, "text", {"Email": OTTO}]})

    assert [(event.event, event.email) for event in events] == [
        ("email_sent", NORA), ("email_sent", None), ("unknown", None), ("email_sent", OTTO),
    ]  # fmt: skip


@pytest.mark.parametrize("writer", [{"id": "own-1"}, {"attendee_provider_id": "own-1"}, {"is_self": True, "id": "x"}])
def test_message__of_whom_the_account_belongs_to_is_no_reply(writer: dict[str, Any]) -> None:
    sender = {**writer, "profile_url": "https://www.linkedin.com/in/sam"}
    body = {"event": "message_received", **OURS, "timestamp": AT, "sender": sender, "attendees": [{"id": "p", "profile_url": PROFILE}]}

    (event,) = events_of(body)

    assert (event.event, event.linkedin_url) == ("linkedin_sent", PROFILE)


@pytest.mark.parametrize(
    ("name", "meaning"),
    [("accepted", "linkedin_invite_accepted"), ("reply", "linkedin_replied"), ("new_relation", "linkedin_invite_accepted"),
     ("connected", "linkedin_invite_accepted"), ("connect", "linkedin_invite_sent"), ("view", "linkedin_other")],
)  # fmt: skip
def test_short_name__means_linkedin_in_a_body_of_linkedin(name: str, meaning: str) -> None:
    (event,) = events_of({"event": name, "account_type": "LINKEDIN", "lead": {"email": NORA, "profile_url": PROFILE}, "timestamp": AT})

    assert event.event == meaning


def test_short_name__means_nothing_in_a_body_about_mail() -> None:
    (event,) = events_of({"event": "accepted", "email": NORA, "timestamp": AT})

    assert event.event == "unknown"


@pytest.mark.parametrize(
    ("change", "meaning"),
    [
        ({"content": '{"topics": {"topic_7": false}}'}, "email_preferences_changed"),
        ({"content": '{"channels": {"email": false}}'}, "email_unsubscribed"),
        ({"content": '{"channels": {"email": true}}'}, "email_resubscribed"),
        ({"new_status": "unsubscribed", "channel": "email"}, "email_unsubscribed"),
        ({"new_status": "manual", "channel": "email"}, "email_unsubscribed"),
        ({"new_status": "contactable", "channel": "email"}, "email_resubscribed"),
        ({"new_status": "bounced", "channel": "email"}, "email_bounced"),
        ({"new_status": "unsubscribed", "channel": "sms"}, "other"),
    ],
)
def test_change_of_preferences__is_an_opt_out_only_if_it_says_all_mail(change: dict[str, Any], meaning: str) -> None:
    (event,) = events_of({"event": "subscription_preferences_changed", "email": NORA, "timestamp": AT, **change})

    assert event.event == meaning
