"""What relays make of a call: wrapped in objects and lists, handed on as text, its levels written into its names."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.kit.parse import parse, unwrap
from touchbase.adapters.registry import load_adapters
from touchbase.common.timestamps import from_text
from touchbase.history.events import CRM, EMAIL_CAMPAIGN

ADAPTERS = load_adapters()
AT = "2026-11-20T09:30:00Z"
OPENED = {"event_type": "email_opened", "lead_email": "nora@example.com", "email_account": "sam@example.net", "timestamp": AT}
TEXT = json.dumps(OPENED)
CLICKED = {"signature": {"token": "t9"}, "event-data": {"event": "clicked", "recipient": "nora@example.com", "timestamp": 1_795_167_000}}
HTTP = {"method": "POST", "path": "/", "query": {}, "client_ip": "192.0.2.7", "url": "https://relay.example.net/", "headers": {"host": "r"}}


def unwrapped(body: object) -> object:
    return unwrap(parse(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(body).encode()))).data


def told(body: object, channel: str = EMAIL_CAMPAIGN) -> tuple[str | None, list[tuple[str, str | None]]]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    translation = ADAPTERS.translate(WebhookRequest(channel, {}, "", raw))
    return translation.tool, [(event.event, event.email) for event in translation.events]


def flattened(body: dict[str, Any], separator: str, above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in body.items():
        flat |= flattened(value, separator, f"{above}{key}{separator}") if isinstance(value, dict) else {above + key: value}
    return flat


@pytest.mark.parametrize(
    "wrapped",
    [
        [{"json": OPENED, "pairedItem": {"item": 0}}], [{"json": {**HTTP, "body": OPENED}}], {**HTTP, "body": TEXT},
        {**HTTP, "body": OPENED, "bodyRaw": TEXT, "inferred_body_type": "JSON"}, {"event": {**HTTP, "body": OPENED}},
        {"steps": {"trigger": {"event": {**HTTP, "body": OPENED}, "context": {"id": "c"}}}}, {"data": TEXT}, {"payload": TEXT},
        [{"data": OPENED}], {"value": TEXT}, {"value": OPENED}, {"events": [OPENED]}, {"items": [OPENED]}, {"results": [OPENED]},
        {"_json": [OPENED]},
        {"raw_body": TEXT, "querystring": {}, "headers": {"Http-Host": "r"}}, {"payload": OPENED, "source": "s", "received_at": AT},
        {"httpMethod": "POST", "resource": "/", "headers": {"Host": "r"}, "requestContext": {}, "body": TEXT, "isBase64Encoded": False},
        {"payload": {**HTTP, "body": {"data": OPENED, "contentType": "application/json"}, "rawBody": {"data": ""}}},
    ],
)  # fmt: skip
def test_relay_envelope__is_removed(wrapped: object) -> None:
    assert told(wrapped) == ("instantly", [("email_opened", "nora@example.com")])


@pytest.mark.parametrize("several", [2, 3])
def test_relay_list__gives_one_item_per_envelope(several: int) -> None:
    assert unwrapped([{"json": {"a": number}} for number in range(several)]) == [{"a": number} for number in range(several)]


@pytest.mark.parametrize(
    "body",
    [
        {"data": "{a mail's text"}, {"headers": {}, "body": "a mail's text"}, [{"json": {"a": 1}}, {"a": 2}], {"event": "x"},
        {"event": {"a": 1}, "id": 7}, {"items": [1], "total": 1}, {"value": None},
    ],
)  # fmt: skip
def test_unwrap__leaves_envelope_lookalikes_unchanged(body: object) -> None:
    assert unwrapped(body) == body


@pytest.mark.parametrize("separator", ["__", "."])
@pytest.mark.parametrize("write", [lambda body: json.dumps(body).encode(), lambda body: urlencode(body).encode()])
def test_flattened_webhook__gets_its_nested_levels_back(write: Any, separator: str) -> None:
    assert told(write(flattened(CLICKED, separator))) == ("mailgun", [("email_clicked", "nora@example.com")])


def test_flattened_webhook__is_recognised_inside_an_envelope() -> None:
    assert told(flattened({"headers": {"host": "r"}, "body": OPENED}, "__")) == ("instantly", [("email_opened", "nora@example.com")])


def test_flattened_webhook__of_an_unknown_tool_is_read_by_its_levels() -> None:
    body = flattened({"event": "email.opened", "data": {"lead": {"email": "nora@example.com"}, "opened_at": AT}}, ".")

    (event,) = ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(body).encode())).events

    assert (event.event, event.email, event.occurred_us) == ("email_opened", "nora@example.com", from_text(AT))


@pytest.mark.parametrize(
    "body",
    [
        {"Lead_Source__c": "web", "Lead_Size__c": 5}, {"event": "sent", "event.id": 5, "event.name": "x"}, {"a.b": 1, "c.d": 2},
        {"__v": 1, "__t": 2}, {"x..y": 1, "x..z": 2}, {"1.5": "a", "1.6": "b"}, {"nora@example.com": 1, "otto@example.com": 2},
    ],
)  # fmt: skip
def test_separator_in_a_name__makes_no_levels_by_itself(body: dict[str, Any]) -> None:
    assert unwrapped(body) == body


def test_numbered_levels__become_a_list() -> None:
    assert unwrapped({"data__to__0": "a", "data__to__1": "b"}) == {"to": ["a", "b"]}
    assert unwrapped({"ids__0": 7, "type": "x"}) == {"ids": [7], "type": "x"}


@pytest.mark.parametrize("named", [None, "sendpilot"])
def test_flattened_webhook__recognised_by_its_top_level_retains_nested_values(named: str | None) -> None:
    who = {"leadId": "l", "linkedinUrl": "https://www.linkedin.com/in/nora"}
    body = {"eventId": "e", "eventType": "message.received", "workspaceId": "w", "timestamp": AT, "data": who}

    translation = ADAPTERS.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", json.dumps(flattened(body, "__")).encode()), named)

    assert (translation.tool, translation.events[0].linkedin_url) == ("sendpilot", who["linkedinUrl"])


@pytest.mark.parametrize("named", [None, "monday"])
def test_tool_wrapper__survives_the_removal_of_a_relay_envelope(named: str | None) -> None:
    body = {"event": {"type": "create_pulse", "boardId": 1, "pulseId": 2, "pulseName": "Nora"}}
    raw = json.dumps([{"json": {**HTTP, "body": body}}]).encode()

    assert ADAPTERS.translate(WebhookRequest(CRM, {}, "", raw), named).tool == "monday"


def test_flattened_crm_webhook__is_recognised() -> None:
    meta = {"version": "2.0", "action": "create", "entity": "person", "entity_id": "7", "id": "m"}
    body = {"meta": meta, "data": {"id": 7, "name": "Nora"}}

    assert told(flattened(body, "__"), CRM)[0] == "pipedrive"


def test_flattened_webhooks__in_a_list_are_recognised() -> None:
    bundle = {"__IMTINDEX__": 1, **flattened(CLICKED, "__")}

    assert told([bundle, bundle]) == ("mailgun", [("email_clicked", "nora@example.com")] * 2)


def test_forms_in_a_list__below_wrappers_are_recognised() -> None:
    fields = {
        "type": "unsubscribe",
        "fired_at": "2026-11-20 09:30:00",
        "data[email]": "nora@example.com",
        "data[list_id]": "l",
        "data[id]": "m",
    }

    assert told([{"body": fields}, {"body": fields}]) == ("mailchimp", [("email_unsubscribed", "nora@example.com")] * 2)


def test_level_name__may_contain_spaces() -> None:
    body = {"contact__LinkedIn Profile": "x", "contact__Größe der Firma": "5", "event": "contact.updated"}

    assert unwrapped(body) == {"contact": {"LinkedIn Profile": "x", "Größe der Firma": "5"}, "event": "contact.updated"}


def test_text_fields__that_hold_json_objects_are_parsed() -> None:
    clicked = {name: json.dumps(value) for name, value in CLICKED.items()}
    created = {
        "meta": {"version": "2.0", "action": "create", "entity": "person", "entity_id": "7", "id": "m"},
        "data": {"id": 7, "name": "Nora"},
    }

    assert told(urlencode(clicked).encode()) == ("mailgun", [("email_clicked", "nora@example.com")])
    assert told({name: json.dumps(value) for name, value in created.items()}, CRM) == told(created, CRM)


def test_text_field__that_only_starts_like_json_stays_text() -> None:
    body = {"event": "x", "note": '{"half": 1', "other": "{name}, hello"}

    assert unwrapped(body) == body


def test_json_list_of_objects__is_not_a_form_whatever_the_content_type() -> None:
    body = {"events": [{"event_type": "record.updated", "id": {"object_id": "people", "record_id": "r"}, "actor": {}}]}
    headers = {"content-type": "application/x-www-form-urlencoded"}

    assert parse(WebhookRequest(CRM, headers, "", json.dumps(body).encode())).data == body
