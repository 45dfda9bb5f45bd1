"""What a CRM's call says of a person or a company is read, and what it does not say is not: values in the forms of each tool."""

from __future__ import annotations

import json
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import Adapters
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.history.events import CRM, Event


def told(adapters: Adapters, body: object, query: str = "", **settings: Any) -> list[Event]:
    connection = Connection(1, CRM, settings.pop("tool", ""), 0, 0, settings=ConnectionSettings(**settings))
    request = WebhookRequest(CRM, {}, query, json.dumps(body).encode(), connections=(connection,) if connection.tool else ())
    return adapters.translate(request).events


def changes(event: Event) -> dict[str, str | None]:
    return {change.property: change.value for change in event.changed}


# Salesforce: companies and person accounts.


@pytest.mark.parametrize("said", [{"IsPersonAccount": False, "PersonEmail": None}, {"PersonEmail": None, "LastName": None}])
def test_salesforce_account__is_a_company_despite_empty_person_fields(adapters: Adapters, said: dict[str, object]) -> None:
    (event,) = told(adapters, {"attributes": {"type": "Account"}, "Id": "001000000000001AAA", "Name": "Orbit", **said})

    assert (event.event, event.name, event.fields) == ("company.updated", "Orbit", {"name": "Orbit"})


@pytest.mark.parametrize("field", [{"Name": {"LastName": "Quill"}}, {"PersonTitle": "CEO"}, {"Tier__pc": "A"}])
def test_salesforce_change__with_person_account_fields_is_a_contact(adapters: Adapters, field: dict[str, object]) -> None:
    header = {"entityName": "Account", "recordIds": ["001000000000001AAA"], "changeType": "UPDATE", "changedFields": [*field]}

    (event,) = told(adapters, {"payload": {"ChangeEventHeader": header, **field}})

    assert event.event == "contact.updated"


def test_salesforce_account__with_a_custom_person_field_stays_a_company(adapters: Adapters) -> None:
    (event,) = told(
        adapters, {"attributes": {"type": "Account"}, "Id": "001000000000001AAA", "Name": "Orbit", "Person_In_Charge__c": "Una"}
    )

    assert event.event == "company.updated"


# Dynamics 365: options have labels, links seldom names.


def dynamics(attributes: dict[str, object], labels: dict[str, str]) -> dict[str, object]:
    pairs = [{"key": name, "value": value} for name, value in attributes.items()]
    shown = [{"key": name, "value": value} for name, value in labels.items()]
    target = {"LogicalName": "contact", "Id": "d1", "Attributes": pairs, "FormattedValues": shown}
    parameters = [{"key": "Target", "value": target}]
    return {"MessageName": "Update", "PrimaryEntityName": "contact", "PrimaryEntityId": "d1", "InputParameters": parameters}


def test_dynamics_option__is_read_by_its_label_and_money_by_its_amount(adapters: Adapters) -> None:
    values = {"new_tier": {"Value": 100001}, "new_areas": [{"Value": 1}, {"Value": 2}], "revenue": {"__type": "Money:x", "Value": 12}}

    (event,) = told(adapters, dynamics(values, {"new_tier": "Gold", "new_areas": "North; South", "revenue": "$12.00"}))

    assert changes(event) == {"new_tier": "Gold", "new_areas": "North; South", "revenue": "12"}


def test_dynamics_link__without_a_name_clears_nothing(adapters: Adapters) -> None:
    link = {"__type": "EntityReference:x", "Id": "a1", "LogicalName": "account", "Name": None}

    (event,) = told(adapters, dynamics({"parentcustomerid": link}, {}))

    assert (changes(event), event.custom) == ({"parentcustomerid": "a1"}, {})


def test_dynamics_status_property__is_read_by_its_label(adapters: Adapters) -> None:
    ours: dict[str, Any] = {"tool": "dynamics365", "status_property": {"contact": "new_tier"}}
    row = {"@odata.etag": "x", "contactid": "d1", "new_tier": 1, "new_tier@OData.Community.Display.V1.FormattedValue": "Gold"}

    (changed,) = told(adapters, dynamics({"new_tier": {"Value": 1}}, {"new_tier": "Gold"}), **ours)
    (_, whole) = told(adapters, row, **ours)

    assert (changed.event, changed.status, whole.status) == ("contact.status_changed", "Gold", "Gold")


# Odoo: titles are no names, false is empty, lists of choices are no links.


def test_odoo_lead_title__is_not_the_contact_name(adapters: Adapters) -> None:
    lead = {"_model": "crm.lead", "_id": 3, "type": "lead", "name": "Chairs for the office", "email_from": "noor@example.com"}

    (nameless,) = told(adapters, lead)
    (named,) = told(adapters, lead | {"contact_name": "Noor Quill"})

    assert (nameless.email, nameless.fields, nameless.custom) == ("noor@example.com", {}, {})
    assert named.fields == {"first_name": "Noor", "last_name": "Quill"}


def test_odoo_false__is_an_empty_value(adapters: Adapters) -> None:
    (event,) = told(adapters, {"_model": "res.partner", "_id": 3, "name": "Noor", "function": False, "x_vip": False, "x_areas": ["A", "B"]})

    assert event.custom == {"function": None, "x_vip": None, "x_areas": "A, B"}


def test_odoo_partner__archived_in_nested_values_is_deleted(adapters: Adapters) -> None:
    (event,) = told(adapters, {"model": "res.partner", "method": "write", "id": 3, "values": {"active": False}})

    assert event.event == "contact.deleted"


# Close: what is displayed in the place of an empty name.


def close(kind: str, **data: object) -> dict[str, object]:
    changed = [name for name in ("name",) if name in data]
    event = {"id": "ev_1", "object_type": kind, "action": "updated", "object_id": "1", "changed_fields": changed, "data": data}
    return {"subscription_id": "whsub_1", "event": event | {"previous_data": {"name": "Noor Quill"}}}


def test_close_contact__does_not_take_a_displayed_number_as_name(adapters: Adapters) -> None:
    (event,) = told(adapters, close("contact", id="1", name="", display_name="+49 228 1"))

    assert event.fields == {"first_name": None, "last_name": None}


def test_close_lead__does_not_take_a_displayed_contact_as_company_name(adapters: Adapters) -> None:
    (event,) = told(adapters, close("lead", id="1", name="", display_name="Noor Quill"))

    assert (event.name, event.fields) == (None, {"name": None})


# Twenty: fields of several parts.


def test_twenty_name__clears_its_empty_parts(adapters: Adapters) -> None:
    link = {"primaryLinkUrl": "", "primaryLinkLabel": "", "secondaryLinks": None}
    record = {"id": "p1", "name": {"firstName": "Noor", "lastName": ""}, "linkedinLink": link, "tier": ["A", "B"]}
    fields = ["name", "linkedinLink", "tier"]

    (event,) = told(adapters, {"eventName": "person.updated", "workspaceId": "w", "record": record, "updatedFields": fields})

    assert changes(event) == {"name": "Noor", "linkedinLink": None, "tier": "A, B"}
    assert event.fields == {"first_name": "Noor", "last_name": None, "linkedin_url": None}


# Fields of the client's own, of every type.


def test_intercom_attributes__retain_booleans_and_nulls(adapters: Adapters) -> None:
    item = {"type": "contact", "id": "c1", "custom_attributes": {"vip": True, "plan": None, "areas": ["North", "South"]}}

    (event,) = told(adapters, {"type": "notification_event", "topic": "contact.created", "data": {"item": item}})

    assert event.custom == {"vip": "true", "plan": None, "areas": "North, South"}


def test_insightly_custom_fields__retain_booleans_and_nulls(adapters: Adapters) -> None:
    fields = [{"FIELD_NAME": "VIP__c", "FIELD_VALUE": True}, {"FIELD_NAME": "Tier__c", "FIELD_VALUE": None}]

    (event,) = told(adapters, {"entity": {"CONTACT_ID": 1, "EMAIL_ADDRESS": "noor@example.com", "CUSTOMFIELDS": fields}})

    assert event.custom == {"VIP__c": "true", "Tier__c": None}


def test_kommo_field__gives_all_its_values(adapters: Adapters) -> None:
    fields = [
        {"name": "Areas", "values": [{"value": "North"}, {"value": "South"}]},
        {"name": "Почта", "values": [{"value": "noor@example.com"}, {"value": "q@example.com"}]},
    ]
    contacts = {"update": [{"id": "1", "type": "contact", "custom_fields": fields}]}

    (event,) = told(adapters, {"contacts": contacts, "account": {"subdomain": "x", "id": "1"}})

    assert (event.email, event.custom) == ("noor@example.com", {"Areas": "North, South"})


def test_espocrm_email_list__gives_the_primary_address(adapters: Adapters) -> None:
    listed = [{"emailAddress": "b@example.com", "primary": False}, {"emailAddress": "noor@example.com", "primary": True}]

    (event,) = told(adapters, [{"id": "e1", "emailAddressData": listed}], "event=Contact.update")

    assert event.email == "noor@example.com"


def test_capsule_party__gives_its_custom_fields(adapters: Adapters) -> None:
    fields = [
        {"definition": {"name": "Tier"}, "value": "A"},
        {"definition": {"name": "VIP"}, "value": True},
        {"definition": None, "value": 1},
    ]
    party = {"id": 1, "type": "person", "firstName": "Noor", "emailAddresses": [], "fields": fields}

    (event,) = told(adapters, {"event": "party/updated", "payload": [party]})
    (gone,) = told(adapters, {"event": "party/deleted", "payload": [party]})

    assert (event.custom, gone.custom) == ({"Tier": "A", "VIP": "true"}, {})


def test_activecampaign_update__does_not_clear_a_named_field_that_is_absent(adapters: Adapters) -> None:
    contact = {"id": "1", "email": "noor@example.com", "first_name": ""}
    body = {"type": "update", "initiated_by": "admin", "contact": contact, "updated_fields": ["first_name", "last_name", "Tier"]}

    (event,) = told(adapters, body)

    assert (changes(event), event.fields, event.custom) == ({"first_name": None, "last_name": None, "Tier": None}, {"first_name": None}, {})


@pytest.mark.parametrize("place", ["customFields", "customField"])
@pytest.mark.parametrize("key", ["value", "fieldValueArray"])
def test_gohighlevel_field__may_hold_several_choices(adapters: Adapters, place: str, key: str) -> None:
    body = {"type": "ContactUpdate", "locationId": "l", "id": "g", place: [{"id": "f1", key: ["Hot", "New"]}]}

    (_, event) = told(adapters, body, tool="gohighlevel", status_property={"contact": "f1"})

    assert event.status == "Hot, New"


# Whose value it is.


def test_generic_lead_and_contact__with_the_same_id_are_two_objects(adapters: Adapters) -> None:
    (lead,) = told(adapters, {"event": "lead.updated", "data": {"id": 7, "email": "noor@example.com"}})
    (contact,) = told(adapters, {"event": "contact.updated", "data": {"id": 7, "email": "ada@example.com"}})

    assert (lead.event, contact.event) == ("contact.updated", "contact.updated")
    assert lead.object_type != contact.object_type


def test_monday_new_item__takes_the_first_email_and_a_linkedin_profile(adapters: Adapters) -> None:
    columns = {
        "page": {"url": "https://example.com/noor", "text": "page"},
        "profile": {"url": "https://www.linkedin.com/in/noor-example", "text": "profile"},
        "mail": {"email": "noor@example.com", "text": "Noor"},
        "manager_mail": {"email": "una@example.com", "text": "Una"},
    }
    event = {"type": "create_pulse", "boardId": 1, "pulseId": 2, "pulseName": "Noor Quill", "columnValues": columns}

    (item,) = told(adapters, {"event": event})

    assert (item.email, item.linkedin_url) == ("noor@example.com", "https://www.linkedin.com/in/noor-example")


def test_monday_timeline__is_displayed_as_a_range(adapters: Adapters) -> None:
    value = {"from": "2026-01-01", "to": "2026-02-01", "visualization_type": None}
    event = {"type": "update_column_value", "boardId": 1, "pulseId": 2, "columnId": "t", "columnType": "timerange", "value": value}

    (item,) = told(adapters, {"event": event})

    assert changes(item) == {"t": "2026-01-01 - 2026-02-01"}


def test_copper_person__gives_its_other_values_as_custom_fields(adapters: Adapters) -> None:
    person = {"id": 7, "name": "Noor Quill", "emails": [{"email": "noor@example.com", "category": "work"}], "title": "CEO"}
    times = {"date_created": 1_790_000_000, "date_modified": 1_790_000_000}

    (event,) = told(adapters, person | times | {"company_name": "Orbit", "websites": [], "interaction_count": 0})

    assert event.custom == {"title": "CEO", "company_name": "Orbit"}


@pytest.mark.parametrize(
    ("value", "shown", "custom"),
    [
        ({"personsAndTeams": [{"id": 1, "kind": "person"}]}, '[{"id": 1, "kind": "person"}]', {}),
        ({"personsAndTeams": []}, None, {"c": None}),
        ({"files": [{"name": "offer.pdf", "assetId": 1}]}, "offer.pdf", {"c": "offer.pdf"}),
        ({"tag_ids": [5]}, "[5]", {}),
    ],
)
def test_monday_link_column__is_a_custom_field_only_with_names(
    adapters: Adapters, value: object, shown: str | None, custom: dict[str, str | None]
) -> None:
    event = {"type": "update_column_value", "boardId": 1, "pulseId": 2, "columnId": "c", "columnType": "any", "value": value}

    (item,) = told(adapters, {"event": event})

    assert (changes(item), item.custom) == ({"c": shown}, custom)


def test_kommo_phone_number__is_not_a_name(adapters: Adapters) -> None:
    contacts = {"add": [{"id": "1", "type": "contact", "name": "+49 228 1"}]}

    (event,) = told(adapters, {"contacts": contacts, "account": {"subdomain": "x", "id": "1"}})

    assert event.fields == {}


def test_zoho_none_option__is_an_empty_value(adapters: Adapters) -> None:
    record = {"id": "4", "Last_Name": "Quill", "Lead_Status": "-None-", "Modified_Time": "2026-11-20T09:30:00+01:00", "$approved": True}
    values = [{"record_id": "4", "values": {"Lead_Status": "-None-", "Industry": "-None-"}}]

    whole = told(adapters, record)
    (changed, status) = told(
        adapters, {"module": "Leads", "operation": "update", "channel_id": "1", "ids": ["4"], "affected_values": values}
    )

    assert [event.event for event in whole] == ["contact.updated"]
    assert (changed.custom, status.status) == ({"Industry": None}, None)


CHANGE = {"entityName": "Contact", "recordIds": ["003000000000001AAA"], "changeType": "UPDATE"}


@pytest.mark.parametrize("fields", [["0x02", "3-0x1F"], ["FirstName", "LastName", "Title"], ["Name", "Title"]])
def test_salesforce_changed_fields__are_read_from_bitmaps_and_partial_names(adapters: Adapters, fields: list[str]) -> None:
    values = {"Name": {"FirstName": "Noor", "LastName": "Quill"}, "Title": "CEO"}

    (event,) = told(adapters, {"ChangeEventHeader": CHANGE | {"changedFields": fields}, **values})

    assert (changes(event), event.custom) == ({"Name.FirstName": "Noor", "Name.LastName": "Quill", "Title": "CEO"}, {"Title": "CEO"})


def test_salesforce_wildcard_change__is_ignored(adapters: Adapters) -> None:
    (event,) = told(adapters, {"ChangeEventHeader": CHANGE | {"recordIds": ["003*"]}, "LastModifiedDate": 1_790_000_000_000})

    assert (event.event, event.object_id) == ("ignored", None)


@pytest.mark.parametrize("name", ["Account_Manager_LinkedIn", "referrer_linkedin", "Sales Rep LinkedIn", "sdr_linkedin"])
def test_linkedin_field__of_another_person_is_not_the_contacts(adapters: Adapters, name: str) -> None:
    contact = {"id": 7, "email": "noor@example.com", name: "https://www.linkedin.com/in/una-ours"}

    (event,) = told(adapters, {"event": "contact.updated", "contact": contact})

    assert event.linkedin_url is None


def test_attio_attribute__gives_all_its_choices(adapters: Adapters) -> None:
    chosen = [{"option": {"title": "Hot"}, "active_from": "2026-11-20T09:30:00Z"}, {"option": {"title": "New"}}]
    ids = {"workspace_id": "w", "object_id": "o", "record_id": "r"}
    values = {"email_addresses": [{"email_address": "noor@example.com"}], "status": chosen}

    (_, event) = told(adapters, {"id": ids, "values": values})

    assert event.status == "Hot, New"
