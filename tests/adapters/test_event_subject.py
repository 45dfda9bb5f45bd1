"""Whoever is named in a call beside its lead is nobody's contact: mailboxes, colleagues, machines, and other events' people."""

from __future__ import annotations

import json

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import Adapters
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import CRM, EMAIL_CAMPAIGN, Event

OURS = "una@example.net"
NORA = "nora@example.com"


def events(adapters: Adapters, body: object, channel: str = EMAIL_CAMPAIGN) -> list[Event]:
    return adapters.translate(WebhookRequest(channel, {}, "", json.dumps(body).encode())).events


@pytest.mark.parametrize(
    "body",
    [
        {"event_type": "account_error", "workspace": "w1", "email_account": OURS, "email": OURS},
        {"_id": "act_1", "type": "connectionIssue", "teamId": "tea_1", "email": OURS},
        {"webhook_event": "SYSTEM_ALERT", "workspace_id": "w1", "webhook_id": "h1", "email": OURS},
        {"event_type": "EMAIL_ACCOUNT_DISCONNECTED", "secret_key": "s", "from_email": OURS, "to_email": OURS},
        {"type": "sender_identity.verified", "created_at": "2026-11-20T09:30:00Z", "data": {"id": "1", "email": OURS}, "webhook_id": "h1"},
        {"event_object": "email_account", "event_action": "disconnected", "email": OURS},
        {"event": "mailbox.disconnected", "email": OURS},
        {"event": "warmup.disabled", "data": {"email": OURS}},
    ],
)
def test_account_event__is_about_no_person(adapters: Adapters, body: object) -> None:
    (told,) = events(adapters, body)

    assert (told.event, told.email) == ("account_event", None)


def test_account_event__of_an_unknown_tool_takes_the_named_lead(adapters: Adapters) -> None:
    (told,) = events(adapters, {"event": "account.limit_reached", "email": OURS, "lead": {"email": NORA}})

    assert (told.event, told.email) == ("account_event", NORA)


def test_bounce_notice__is_not_about_the_receiving_mailbox(adapters: Adapters) -> None:
    notice = {"event": "email_bounced", "from": "Mail Delivery <mailer-daemon@example.org>", "to": OURS}

    (alone,) = events(adapters, notice)
    (named,) = events(adapters, notice | {"email": NORA})

    assert (alone.email, named.email) == (None, NORA)


def test_bounce__of_a_no_reply_sender_is_about_the_recipient(adapters: Adapters) -> None:
    (told,) = events(adapters, {"event": "email_bounced", "from": "noreply@example.net", "to": NORA})

    assert told.email == NORA


@pytest.mark.parametrize("event", ["email_sent", "email_opened", "email_clicked"])
def test_sender_address__is_not_the_lead_of_an_email_event(adapters: Adapters, event: str) -> None:
    (told,) = events(adapters, {"event": event, "email": OURS, "from_email": OURS})

    assert told.email is None


def test_email_to_oneself__has_its_recipient_as_lead(adapters: Adapters) -> None:
    (told,) = events(adapters, {"event": "email_sent", "from": OURS, "to": OURS})

    assert told.email == OURS


@pytest.mark.parametrize("writer", ["no.reply@example.org", "noreply-17@example.org", "MailerDaemon@example.org", "bounces+9@example.org"])
def test_machine_address__is_no_lead_in_any_spelling(adapters: Adapters, writer: str) -> None:
    (told,) = events(adapters, {"event": "email_replied", "from": writer})

    assert told.email is None


def test_amplemarket_reply__from_a_machine_gives_no_lead(adapters: Adapters) -> None:
    body = {"is_reply": True, "from": "mailer-daemon@example.org", "to": [OURS], "sequence": {"id": "s1"}, "dynamic_fields": {}}

    (told,) = events(adapters, body)

    assert told.email is None


def test_event_list__uses_the_person_of_each_item(adapters: Adapters) -> None:
    body = {
        "lead": {"email": NORA},
        "first_name": "Nora",
        "linkedin_url": "https://www.linkedin.com/in/nora-quill",
        "events": [{"event": "email_opened", "email": "otto@example.com"}, {"event": "email_replied", "to": OURS}],
    }

    otto, nora = events(adapters, body)

    assert (otto.email, otto.first_name, otto.linkedin_url) == ("otto@example.com", None, None)
    assert (nora.email, nora.first_name) == (NORA, "Nora")


def test_event_list__falls_back_to_the_outer_lead(adapters: Adapters) -> None:
    body = {"lead": {"email": NORA}, "events": [{"event": "email_opened"}, {"event": "email_clicked"}]}

    assert [told.email for told in events(adapters, body)] == [NORA, NORA]


@pytest.mark.parametrize("word", ["user", "mailbox", "team_member", "owner", "agent", "location", "app", "deal", "task", "ticket"])
def test_user_or_deal_record__is_no_contact(adapters: Adapters, word: str) -> None:
    record = {"id": "9", "email": OURS, "name": "Una Ours"}

    for body in ({"event": f"{word}.created", "data": record}, {"event": "created", "object": word, "data": record}):
        if word in ("user", "mailbox"):
            with pytest.raises(UnrecognisedPayload):
                events(adapters, body, CRM)
        else:
            assert [event.event for event in events(adapters, body, CRM)] == ["ignored"]


def test_contact_owner_change__is_about_the_contact(adapters: Adapters) -> None:
    body = {"event": "contact.owner_changed", "data": {"id": "1", "email": NORA, "owner": {"id": "9", "email": OURS}}}

    (told,) = events(adapters, body, CRM)

    assert (told.event, told.email, told.object_id) == ("contact.updated", NORA, "1")


def test_contact_list_object__gives_contacts(adapters: Adapters) -> None:
    (told,) = events(adapters, {"object": "list", "data": [{"id": "1", "email": NORA}]}, CRM)

    assert (told.event, told.email) == ("contact.updated", NORA)


def test_intercom_contact__is_not_its_nested_user(adapters: Adapters) -> None:
    item = {"type": "contact", "id": "c1", "email": NORA, "user": {"id": "u1", "email": OURS}}
    body = {"type": "notification_event", "topic": "contact.created", "data": {"item": item}}

    (told,) = events(adapters, body, CRM)

    assert (told.email, told.object_id) == (NORA, "c1")


def test_workspace_object__does_not_hide_the_lead(adapters: Adapters) -> None:
    body = {"event_type": "email_opened", "workspace": {"id": "w1"}, "campaign_id": "c1", "lead": {"email": NORA}}

    (told,) = events(adapters, body)

    assert (told.event, told.email) == ("email_opened", NORA)


def test_snov_io_reply__from_a_machine_gives_no_lead(adapters: Adapters) -> None:
    body = {"event_object": "campaign_reply", "event_action": "received", "from_email": "mailer-daemon@example.org"}

    (told,) = events(adapters, body)

    assert (told.event, told.email) == ("email_auto_replied", None)


def test_owner_linkedin__is_not_the_contacts(adapters: Adapters) -> None:
    body = {
        "email": NORA,
        "owner_linkedin_url": "https://www.linkedin.com/in/una-ours",
        "x_linkedin": "https://www.linkedin.com/in/nora-quill",
    }

    (both,) = events(adapters, body, CRM)
    (owners,) = events(adapters, {name: value for name, value in body.items() if name != "x_linkedin"}, CRM)

    assert (both.linkedin_url, owners.linkedin_url) == ("https://www.linkedin.com/in/nora-quill", None)
