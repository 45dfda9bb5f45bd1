"""What single campaign tools mean: the forms in which they differ from a plain table."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.kit.declarative import TableAdapter
from touchbase.adapters.registry import load_adapters
from touchbase.common.timestamps import from_text
from touchbase.history.events import EMAIL_CAMPAIGN, Event, Translation

ADAPTERS = load_adapters()
AT = "2026-11-20T09:30:00Z"


def told(body: object, tool: str | None = None, **headers: str) -> Translation:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, named, "", json.dumps(body).encode()), tool)


def only(translation: Translation) -> Event:
    (event,) = translation.events
    return event


@pytest.mark.parametrize(
    ("suppressed", "event"),
    [
        ({}, "other"), ({"SuppressSending": None}, "other"), ({"SuppressSending": "maybe"}, "other"),
        ({"SuppressSending": "true"}, "email_unsubscribed"), ({"SuppressSending": True}, "email_unsubscribed"),
        ({"SuppressSending": False}, "email_resubscribed"), ({"SuppressSending": "false"}, "email_resubscribed"),
    ],
)  # fmt: skip
def test_postmark_subscription_change__resubscribes_only_on_an_explicit_false(suppressed: dict[str, Any], event: str) -> None:
    body = {"RecordType": "SubscriptionChange", "MessageID": "m", "Recipient": "l@example.com", "ChangedAt": AT, **suppressed}

    assert only(told(body)).event == event


def test_generic_adapter__reads_list_items_around_a_null() -> None:
    body = {"event": "email_opened", "data": [{"email": "a@example.com"}, None, {"email": "b@example.com"}]}

    assert [(event.event, event.email) for event in told(body).events] == [
        ("email_opened", "a@example.com"), ("unknown", None), ("email_opened", "b@example.com"),
    ]  # fmt: skip


@pytest.mark.parametrize("prospect", [{"type": "prospect", "id": 77}, {"data": {"type": "prospect", "id": 77}}])
def test_outreach_prospect__is_found_with_and_without_a_data_wrapper(prospect: dict[str, Any]) -> None:
    body = {
        "meta": {"eventName": "mailing.replied"},
        "data": {"type": "mailing", "id": 5, "attributes": {"repliedAt": AT}, "relationships": {"prospect": prospect}},
    }

    assert (only(told(body)).event, only(told(body)).object_id) == ("email_replied", "77")


def test_outreach_header__is_enough_to_recognise_the_tool() -> None:
    translation = told({"data": {"type": "prospect", "id": 1}}, outreach_webhook_cleanup_token="t")

    assert (translation.tool, [event.event for event in translation.events]) == ("outreach", ["unknown"])


@pytest.mark.parametrize(
    ("name", "status"),
    [("Lead", "custom:Lead"), ("Out of Office", "out_of_office"), ("Wrong Person", "wrong_person"), ("Closed", "closed")],
)
def test_plusvibe_label__is_a_status(name: str, status: str) -> None:
    event = only(told({"webhook_event": name, "camp_id": "c", "lead_email": "l@example.com", "date": AT}))

    assert (event.event, event.status) == ("lead_status_changed", status)


def test_saleshandy_detection__needs_more_than_a_dotted_name_and_a_prospect() -> None:
    translation = told({"event": "email.sent", "prospect": {"email": "l@example.com"}, "created_at": AT})

    assert (translation.tool, only(translation).occurred_us) == ("generic", from_text(AT))


def test_heyreach_detection__needs_more_than_an_event_name_and_a_lead() -> None:
    translation = told({"event_type": "message_sent", "lead": {"email": "a@b.co"}, "timestamp": AT})

    assert (translation.tool, only(translation).email) == ("generic", "a@b.co")


def test_heyreach__gives_unknown_for_an_unknown_event_name() -> None:
    body = {"event_type": "profile_polished", "correlation_id": "c", "lead": {"profile_url": "https://www.linkedin.com/in/a"}}

    assert (told(body).tool, only(told(body)).event) == ("heyreach", "unknown")


def test_outboundry__reads_the_event_time_from_the_data_object() -> None:
    body = {"event": "email.opened", "data": {"lead": {"email": "a@b.co"}, "campaign": {"id": 1}, "opened_at": AT}}

    assert (told(body).tool, only(told(body)).occurred_us) == ("outboundry", from_text(AT))


def test_smartlead__reads_the_lead_from_the_older_to_field() -> None:
    body = {"event_type": "EMAIL_SENT", "stats_id": "x", "from": "me@example.net", "to": "lead@example.com", "time_sent": AT}

    assert (told(body).tool, only(told(body)).email) == ("smartlead", "lead@example.com")


def test_smartlead_category__may_be_an_object() -> None:
    body = {"event_type": "LEAD_CATEGORY_UPDATED", "sl_lead_email": "l@example.com", "category": {"name": "Interested"}}

    assert (only(told(body)).event, only(told(body)).status) == ("lead_status_changed", "interested")


@pytest.mark.parametrize("yes", [True, 1, "true", "1"])
def test_boolean_flag__may_be_a_number_or_a_text(yes: object) -> None:
    reply = {
        "event": {"type": "LEAD_REPLIED", "instance_url": "u"},
        "data": {"reply": {"automated_reply": yes}, "lead": {"email": "l@b.co"}},
    }
    bounce = {"event": "bounce", "mj_campaign_id": 7, "email": "l@b.co", "hard_bounce": yes}

    assert only(told(reply, "emailbison")).event == "email_auto_replied"
    assert only(told(bounce)).kind == "hard"


@pytest.mark.parametrize("no", [False, 0, "false"])
def test_boolean_flag__reads_false_values_as_false(no: object) -> None:
    assert only(told({"event": "bounce", "mj_campaign_id": 7, "email": "l@b.co", "hard_bounce": no})).kind == "soft"


@pytest.mark.parametrize(
    ("severity", "event", "kind"),
    [
        ({"severity": "permanent"}, "email_bounced", "hard"), ({"severity": "Temporary"}, "email_deferred", None),
        ({}, "email_bounced", "unknown"),
    ],
)  # fmt: skip
def test_mailgun_failure__is_a_hard_bounce_only_when_permanent(severity: dict[str, str], event: str, kind: str | None) -> None:
    body = {"signature": {}, "event-data": {"event": "failed", "recipient": "l@example.com", **severity}}

    assert (only(told(body)).event, only(told(body)).kind) == (event, kind)


@pytest.mark.parametrize(("name", "event"), [("account_error", "account_event"), ("supersearch_enrichment_completed", "other")])
def test_instantly__recognises_events_without_a_lead(name: str, event: str) -> None:
    translation = told({"event_type": name, "workspace": "w", "timestamp": AT})

    assert (translation.tool, only(translation).event) == ("instantly", event)


def test_replyify__reads_the_event_name_from_another_key() -> None:
    body = {"eventType": "email.received", "data": {"from_email": "l@example.com", "to_email": "us@example.net"}, "timestamp": AT}

    assert (told(body).tool, only(told(body)).event, only(told(body)).email) == ("replyify", "email_replied", "l@example.com")


@pytest.mark.parametrize(("answers", "names"), [("nora@example.com", ("Nora", "Quill")), ("tom@example.com", (None, None))])
def test_smartlead_reply__takes_the_name_only_when_the_lead_replied(answers: str, names: tuple[str | None, str | None]) -> None:
    body = {"event_type": "EMAIL_REPLY", "sl_lead_email": "nora@example.com", "to_email": answers, "to_name": "Nora Quill"}

    event = only(told(body))

    assert (event.email, event.first_name, event.last_name) == ("nora@example.com", *names)


def test_amplemarket_wrong_person__uses_the_third_party_name() -> None:
    former = {"third_party_email": "nora@example.com", "third_party_first_name": "Nora", "third_party_last_name": "Quill"}
    lead = {"email": "otto@example.com", "first_name": "Otto", "last_name": "Novak", "linkedin_url": "https://www.linkedin.com/in/otto-n"}
    message = {"from": "nora@example.com", "tag": ["not_the_right_person"], "date": AT}

    events = told({"email_message": message, "lead": lead, "sequence": {}, "additional_info": former}).events

    assert {(event.email, event.first_name, event.last_name, event.linkedin_url) for event in events} == {
        ("nora@example.com", "Nora", "Quill", None)
    }


@pytest.mark.parametrize(("first", "last"), [("FIRSTNAME", "LASTNAME"), ("VORNAME", "NACHNAME"), ("PRENOM", "NOM"), ("NOME", "SOBRENOME")])
def test_brevo_automation__reads_names_in_the_accounts_language(first: str, last: str) -> None:
    body = {"workflow_id": 9, "step_id": 2, "contact_id": 4, "email": "nora@example.com", "attributes": {first: "Nora", last: "Quill"}}

    assert (only(told(body)).first_name, only(told(body)).last_name) == ("Nora", "Quill")


@pytest.mark.parametrize(
    ("tool", "name", "meant"),
    [
        ("instantly", "replyReceived", "email_replied"), ("instantly", "LeadUnsubscribed", "email_unsubscribed"),
        ("instantly", "lead:interested", "lead_status_changed:interested"),
        ("instantly", "Call back", "lead_status_changed:custom:Call back"),
        ("heyreach", "leadAutoTaggedInterested", "lead_status_changed:interested"), ("heyreach", "campaignCompleted", "campaign_completed"),
        ("sendpilot", "messageReceived", "linkedin_replied"), ("sendpilot", "replyReceived", "linkedin_replied"),
        ("snov_io", "campaignLiReplyReceived", "linkedin_replied"), ("salesforge", "positiveReply", "lead_status_changed:interested"),
        ("outreach", "mailingReplied", "email_replied"), ("woodpecker", "prospectLiDmSent", "linkedin_sent"),
        ("smartlead", "UntrackedReplies", "other"), ("lemlist", "emailsReplied", "email_replied"),
        ("reply_io", "LinkedinReplyCategorized", "lead_status_changed"), ("reply_io", "ReplyCategorized", "lead_status_changed"),
    ],
)  # fmt: skip
def test_campaign_event_name__is_matched_whatever_its_word_separators(tool: str, name: str, meant: str) -> None:
    adapter: TableAdapter = import_module(f"touchbase.adapters.{EMAIL_CAMPAIGN}.{tool}").ADAPTER

    meaning = adapter.meaning(name, {"leadEmail": "l@example.com"})

    assert ":".join(filter(None, (meaning.event, meaning.status))) == meant
