"""What clients have made in their CRMs: fields with LinkedIn addresses, own fields, bodies that a relay has reshaped."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.registry import load_adapters
from touchbase.common.timestamps import from_text
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.history.events import CRM, Event

ADAPTERS = load_adapters()
LINK = "https://www.linkedin.com/in/noor-example"


def told(body: object, *connections: Connection) -> list[Event]:
    return list(ADAPTERS.translate(WebhookRequest(CRM, {}, "", json.dumps(body).encode(), connections=connections)).events)


# LinkedIn addresses.


@pytest.mark.parametrize("name", ["x_studio_linkedin", "LinkedIn URL", "new_linkedinprofile", "linked_in", "Linked-In"])
def test_linkedin_field__is_found_by_any_name_that_contains_linkedin(name: str) -> None:
    assert with_linkedin({name: LINK, "phone": "1"}) == {LINKEDIN: LINK, "phone": "1"}


@pytest.mark.parametrize(
    "record", [{"linkedin": "yes"}, {"linkedin": None}, {"linkedin": "https://linkedin.com/company/x"}, {"page": LINK}]
)
def test_linkedin_field__without_a_personal_profile_stays_unchanged(record: dict[str, object]) -> None:
    assert with_linkedin(record) == record


def test_linkedin_field__of_the_record_precedes_other_sources() -> None:
    found = with_linkedin({"linkedin": "no address"}, {"linkedin": LINK})

    assert found == {"linkedin": "no address", LINKEDIN: LINK}
    assert with_linkedin({"linkedin": LINK}, {"linkedin": "https://linkedin.com/in/other"}) == {LINKEDIN: LINK}


OWN_FIELDS: dict[str, dict[str, Any]] = {
    "odoo": {"_model": "res.partner", "_id": 1, "x_studio_linkedin": LINK, "x_tier": "A"},
    "insightly": {
        "entity": {
            "CONTACT_ID": 1,
            "DATE_UPDATED_UTC": "2026-10-08 22:53:20",
            "CUSTOMFIELDS": [{"FIELD_NAME": "LINKEDIN__c", "FIELD_VALUE": LINK}, {"FIELD_NAME": "x_tier", "FIELD_VALUE": "A"}],
        }
    },
    "activecampaign": {
        "type": "update",
        "initiated_by": "admin",
        "contact": {"id": "1", "email": "a@example.com", "fields": {"linkedin_url": LINK, "x_tier": "||A||", "9": "nameless"}},
    },
    "kommo": {
        "contacts": {"add": [{"id": 1, "custom_fields": [{"name": "LinkedIn", "values": [LINK]}, {"name": "x_tier", "values": ["A"]}]}]}
    },
}


@pytest.mark.parametrize("tool", OWN_FIELDS)
def test_client_field__is_a_custom_field_unless_it_is_the_linkedin_address(tool: str) -> None:
    (event,) = told(OWN_FIELDS[tool])

    assert (event.linkedin_url, event.fields["linkedin_url"], event.custom) == (LINK, LINK, {"x_tier": "A"})


def test_changed_linkedin_field__retains_its_name_in_the_history() -> None:
    body = [{"id": "e1", "firstName": "Noor", "cLinkedInPage": LINK}]
    request = WebhookRequest(CRM, {"signature": "aG9vazE6YWI="}, "event=Contact.update", json.dumps(body).encode())

    (event,) = ADAPTERS.translate(request).events

    assert event.linkedin_url == LINK
    assert [change.property for change in event.changed] == ["firstName", "cLinkedInPage"]


# Own fields.


def test_activecampaign_detection__rejects_another_crms_contact_in_a_form_field() -> None:
    field = urlencode({"payload": json.dumps({"event": "contact.updated", "contact": {"id": 1, "email": "a@example.com"}})})

    translation = ADAPTERS.translate(WebhookRequest(CRM, {}, "", field.encode()))

    assert (translation.tool, [event.email for event in translation.events]) == ("generic", ["a@example.com"])


def test_activecampaign_detection__rejects_another_crms_contact_with_tags() -> None:
    body = {"contact": {"id": 1, "email": "a@example.com", "tags": ["hot"]}}

    assert ADAPTERS.translate(WebhookRequest(CRM, {}, "", json.dumps(body).encode())).tool == "generic"


def test_activecampaign_account__gives_custom_fields_by_name() -> None:
    fields = {
        "0": {"id": "1", "key": "City", "value": "Bonn"},
        "1": {"key": "Markets", "value": ["North", "South"]},
        "2": {"key": "Fax", "value": ""},
    }
    body = {"type": "account_add", "initiated_by": "admin", "account": {"id": "1", "name": "Orbit", "fields": fields}}

    (event,) = told(body)

    assert event.custom == {"City": "Bonn", "Markets": "North, South"}


def test_intercom_unsubscribe__retains_the_contacts_other_attributes() -> None:
    contact = {"type": "contact", "id": "n", "email": "n@example.com", "custom_attributes": {"plan": "pro"}}
    body = {
        "type": "notification_event",
        "topic": "contact.unsubscribed",
        "data": {"item": {"type": "contact_unsubscribe", "contact": contact}},
    }

    event, opt_out = told(body)

    assert opt_out.event == "email_unsubscribed"
    assert event.custom == {"unsubscribed_from_emails": "true", "plan": "pro"}


def test_gohighlevel_custom_data__gives_the_id_email_and_name() -> None:
    mapped = {"contactId": "g1", "email": "mapped@example.com", "first_name": "Noor"}

    (event,) = told({"workflow": {"id": "w"}, "customData": mapped, "email": "posted@example.com"})

    assert (event.object_id, event.email, event.fields) == ("g1", "posted@example.com", {"first_name": "Noor"})


# Wrapped by a relay.


OUTREACH = {"data": {"type": "account", "id": 1}, "meta": {"eventName": "account.destroyed"}}
DYNAMICS = {"MessageName": "Delete", "PrimaryEntityName": "account", "PrimaryEntityId": "1"}
PASSED_ON: list[tuple[str, str, dict[str, Any]]] = [
    ("outreach", "outreach-webhook-signature", OUTREACH),
    ("dynamics365", "x-ms-dynamics-entity-name", DYNAMICS),
    ("gohighlevel", "x-ghl-signature", {"type": "ContactDelete", "locationId": "l", "id": "1"}),
]


@pytest.mark.parametrize(("tool", "header", "body"), PASSED_ON, ids=[tool for tool, _, _ in PASSED_ON])
def test_passed_on_header__does_not_hide_the_wrapped_webhook(tool: str, header: str, body: dict[str, Any]) -> None:
    request = WebhookRequest(CRM, {header: "account"}, "", json.dumps({"body": body}).encode())

    translation = ADAPTERS.translate(request)

    assert (translation.tool, [event.object_id for event in translation.events]) == (tool, ["1"])


# Times.


@pytest.mark.parametrize(
    ("name", "at"),
    [("ContactCreate", "2026-10-01T10:00:00Z"), ("ContactUpdate", "2026-10-08T10:00:00Z"), ("ContactDelete", None)],
)
def test_gohighlevel_contact__takes_its_creation_or_update_time_as_event_time(name: str, at: str | None) -> None:
    body = {"type": name, "locationId": "l", "id": "g", "dateAdded": "2026-10-01T10:00:00.000Z", "dateUpdated": "2026-10-08T10:00:00.000Z"}

    (event,) = told(body)

    assert event.occurred_us == (None if at is None else from_text(at))


def test_dynamics_context__without_a_time_uses_the_row_time() -> None:
    target = {"Attributes": [{"key": "modifiedon", "value": "/Date(1791500000000)/"}, {"key": "firstname", "value": "Ada"}]}
    body = {
        "MessageName": "Update",
        "PrimaryEntityName": "contact",
        "PrimaryEntityId": "d",
        "InputParameters": [{"key": "Target", "value": target}],
    }

    (event,) = told(body)

    assert event.occurred_us == 1_791_500_000_000_000


# Restored and reshaped.


def test_dynamics_restore__gives_contact_updated() -> None:
    target = {"LogicalName": "contact", "Id": "d1", "Attributes": []}
    body = {"MessageName": "Restore", "PrimaryEntityName": "contact", "InputParameters": [{"key": "Target", "value": target}]}

    (event,) = told(body)

    assert (event.event, event.object_id) == ("contact.updated", "d1")


@pytest.mark.parametrize("body", [{"event": "contact.restored", "id": "7"}, {"event": "lead restored", "data": {"id": "7"}}])
def test_restored_contact__of_an_unknown_crm_gives_contact_updated(body: dict[str, object]) -> None:
    (event,) = told(body)

    assert event.event == "contact.updated"


def test_fields_setting__matches_flattened_and_nested_keys() -> None:
    fields = {"id": "data.person.key", "email": "data.person.mail"}
    ours = Connection(1, CRM, "generic", 0, 0, settings=ConnectionSettings(fields=fields))

    (flat,) = told({"data.person.key": 7, "data.person.mail": "a@example.com"}, ours)
    (deep,) = told({"data": {"person": {"key": 7, "mail": "a@example.com"}}}, ours)

    assert (flat.object_id, flat.email) == (deep.object_id, deep.email) == ("7", "a@example.com")


def test_generic_adapter__ignores_a_list_of_numbers_below_contacts() -> None:
    assert told({"email": "a@example.com", "contacts": [1, 2]})[0].email == "a@example.com"


def test_espocrms_marks_of_addresses_and_numbers__are_no_custom_fields() -> None:
    marks = dict.fromkeys(("emailAddressIsOptedOut", "emailAddressIsInvalid", "phoneNumberIsOptedOut", "targetListIsOptedOut"), True)
    body = [{"id": "c7", "modifiedAt": "2026-10-08 12:30:00", "cTier": "gold", **marks}]

    found = ADAPTERS.translate(WebhookRequest(CRM, {}, "event=Contact.update", json.dumps(body).encode())).events
    account = ADAPTERS.translate(WebhookRequest(CRM, {}, "event=Account.update", json.dumps(body).encode())).events

    assert [(event.event, event.kind) for event in found] == [
        ("contact.updated", None), ("email_unsubscribed", None), ("email_bounced", "hard"),
    ]  # fmt: skip
    assert (found[0].custom, [change.property for change in found[0].changed]) == ({"cTier": "gold"}, ["cTier"])
    assert [event.event for event in account] == ["company.updated"]
