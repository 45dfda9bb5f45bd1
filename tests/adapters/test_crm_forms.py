"""What single CRMs mean: the forms in which the same thing arrives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.history.events import CRM, Event, Translation

ADAPTERS = load_adapters()
AT = "2026-11-20T09:30:00Z"
SHORT, LONG = "003xx000003DGb2", "003xx000003DGb2AAG"


def told(body: object, tool: str | None = None, *, is_form: bool = False) -> Translation:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    headers = {"content-type": "application/x-www-form-urlencoded"} if is_form else {}
    return ADAPTERS.translate(WebhookRequest(CRM, headers, "", raw), tool)


def only(translation: Translation) -> Event:
    (event,) = translation.events
    return event


# Salesforce.


@pytest.mark.parametrize(
    ("given", "kept"),
    [(SHORT, LONG), (LONG, LONG), ("0013t00002bNvhM", "0013t00002bNvhMAAS"), ("001D000000IRFma", "001D000000IRFmaIAH"), ("1", "1")],
)
def test_salesforce_id__in_both_forms_is_the_same_object(given: str, kept: str) -> None:
    record = {"attributes": {"type": "Contact"}, "Id": given, "Email": "a@example.com"}
    change = {"ChangeEventHeader": {"entityName": "Contact", "changeType": "DELETE", "recordIds": [given]}}
    message = (
        '<e xmlns="http://soap.sforce.com/2005/09/outbound" xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><Notification>'
        f'<sObject i:type="s:Contact"><Id>{given}</Id></sObject></Notification></e>'
    )

    trigger = {"new": [], "old": [record]}

    assert [only(told(body)).object_id for body in (record, change, message, trigger)] == [kept] * 4


def test_salesforce_compound_field__gives_a_change_per_part() -> None:
    header = {"entityName": "Contact", "changeType": "UPDATE", "recordIds": [LONG], "changedFields": ["MailingAddress", "Title"]}
    body = {"ChangeEventHeader": header, "MailingAddress": {"City": "Berlin"}, "Title": "CEO", "Phone": "1"}

    event = only(told(body))

    assert {change.property: change.value for change in event.changed} == {"MailingAddress.City": "Berlin", "Title": "CEO"}
    assert event.custom == {"MailingAddress.City": "Berlin", "Title": "CEO"}


# Intercom, monday.com, Dynamics 365, folk.


@pytest.mark.parametrize("action", ["created", "deleted"])
def test_intercom_tag__is_a_change_and_not_a_custom_field(action: str) -> None:
    item = {"tag": {"name": "VIP"}, "contact": {"id": "1", "email": "a@example.com"}}

    event = only(told({"type": "notification_event", "topic": f"contact.tag.{action}", "data": {"item": item}}))

    assert [change.property for change in event.changed] == ["tag"]
    assert event.custom == {}


@pytest.mark.parametrize("columns", [{}, {"status": {"label": {"index": 1, "text": "Hot"}}, "text": {"value": "z"}}])
def test_monday_new_item__always_needs_enrichment(columns: dict[str, Any]) -> None:
    event = {"type": "create_pulse", "boardId": 1, "pulseId": 2, "pulseName": "Ann", "columnValues": columns}

    made, *_ = told({"event": event}).events

    assert (made.event, made.thin) == ("contact.created", True)


@pytest.mark.parametrize("message", ["Update", "SetState"])
def test_dynamics_status__takes_its_label_from_the_after_image(message: str) -> None:
    target = {"Attributes": [{"key": "statuscode", "value": {"Value": 2}}]}
    image = {**target, "FormattedValues": [{"key": "statuscode", "value": "Active"}]}
    body = {
        "MessageName": message, "PrimaryEntityName": "contact", "PrimaryEntityId": "g",
        "InputParameters": [{"key": "Target", "value": target}, {"key": "Status", "value": {"Value": 2}}],
        "PostEntityImages": [{"key": "after", "value": image}],
    }  # fmt: skip

    assert [event.status for event in told(body).events if event.event == "contact.status_changed"] == ["Active"]


@pytest.mark.parametrize(("name", "value"), [("email", "other@example.com"), ("firstName", "Eve"), ("name", "Eve"), ("emails", "e@b.co")])
@pytest.mark.parametrize("kind", ["set", "add"])
def test_folk_group_field__is_not_a_field_of_the_person(name: str, value: str, kind: str) -> None:
    changes = [{"path": ["customFieldValues", "grp", name], "type": kind, "value": value}]
    body = {"type": "person.updated", "source": "https://api.folk.app/v1", "createdAt": AT, "data": {"id": "per_1", "changes": changes}}

    event = only(told(body))

    assert (event.email, event.fields) == (None, {})
    assert event.custom == ({f"customFieldValues.{name}": value} if kind == "set" else {})


# Kommo, Twenty, Copper, any other.


def test_kommo_unknown_entity__is_ignored() -> None:
    translation = told("newentity[add][0][id]=1&account[subdomain]=s", is_form=True)

    assert (translation.tool, only(translation).event) == ("kommo", "ignored")


def test_kommo_detection__needs_more_than_an_account_subdomain() -> None:
    body = {"event": "contact.updated", "account": {"subdomain": "s"}, "data": {"id": 1, "email": "a@example.com"}}

    assert told(body).tool == "generic"


def test_twenty_secondary_values__are_used_when_the_primary_is_empty() -> None:
    person = {"id": "1", "emails": {"primaryEmail": "", "additionalEmails": ["z@example.com"]}}
    company = {"id": "2", "domainName": {"primaryLinkUrl": "", "secondaryLinks": [{"url": "https://example.com"}]}}

    assert only(told({"eventName": "person.created", "record": person, "workspaceId": "w"})).email == "z@example.com"
    assert only(told({"eventName": "company.created", "record": company, "workspaceId": "w"})).domain == "example.com"


def test_copper_contact_type__is_the_status() -> None:
    body = {"subscription_id": 1, "ids": [1], "type": "person", "event": "update", "updated_attributes": {"contact_type_id": [7, 8]}}

    assert only(told(body)).status == "8"


@pytest.mark.parametrize(
    "body",
    [
        {"module": "Contacts", "operation": "update", "ids": [], "channel_id": "1"},
        {"subscription_id": 1, "ids": [], "type": "person", "event": "update"},
        {"event": "party/updated", "payload": []},
    ],
)
def test_crm_webhook__without_records_is_ignored(body: dict[str, Any]) -> None:
    assert only(told(body)).event == "ignored"


def test_zoho_change__without_values_clears_nothing_and_needs_enrichment() -> None:
    names = ["First_Name", "Phone", "Lead_Status"]
    body = {
        "module": "Leads", "operation": "update", "ids": ["7"], "channel_id": "1", "affected_values": [], "affected_fields": [{"7": names}],
    }  # fmt: skip

    updated, status = told(body).events

    assert (updated.event, [change.property for change in updated.changed]) == ("contact.updated", ["First_Name", "Phone"])
    assert (status.event, status.status) == ("contact.status_changed", None)
    assert [(event.fields, event.custom, event.thin) for event in (updated, status)] == [({}, {}, True)] * 2


def test_id_next_to_an_object_type__is_the_object_id() -> None:
    body = {"action": "update", "object": "contact", "id": 5, "fields": {"email": "l@example.com"}}
    events_id = {"event": "contact.updated", "id": "evt_1", "data": {"email": "l@example.com"}}

    assert (only(told(body)).event, only(told(body)).object_id) == ("contact.updated", "5")
    assert only(told(events_id)).object_id is None


# Notion.


def test_notion_columns__count_by_their_type() -> None:
    columns = {
        "Who": {"type": "title", "title": [{"plain_text": "Nora "}, {"plain_text": "Quill"}]},
        "Work": {"type": "email", "email": "nora@example.com"},
        "Private": {"type": "email", "email": "n@example.net"},
        "Mobile": {"type": "phone_number", "phone_number": "+1 555 0100"},
        "Tags": {"type": "multi_select", "multi_select": [{"name": "lead"}, {"name": "warm"}]},
        "Tier": {"type": "formula", "formula": {"type": "string", "string": "A"}},
        "Tasks": {"type": "relation", "relation": [{"id": "t-1"}]},
        "Broken": "no column",
    }

    event = only(told({"source": {"type": "automation"}, "data": {"object": "page", "id": "p-1", "properties": columns}}))

    assert (event.event, event.email, event.object_id) == ("contact.updated", "nora@example.com", "p-1")
    assert event.fields == {"first_name": "Nora", "last_name": "Quill"}
    assert event.custom == {"Private": "n@example.net", "phone": "+1 555 0100", "Tags": "lead, warm", "Tier": "A"}


def test_notion_page_in_the_trash__is_deleted() -> None:
    page = {"object": "page", "id": "p-1", "in_trash": True, "properties": {"Mail": {"type": "email", "email": "nora@example.com"}}}

    assert only(told(page)).event == "contact.deleted"
