"""To which company's object a contact belongs: every CRM whose bodies name its id says so in one form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.history.events import CRM, Event

ADAPTERS = load_adapters()
MAIL = "ann@example.com"


def told(tool: str, body: object, query: str = "") -> list[Event]:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return ADAPTERS.translate(WebhookRequest(CRM, {}, query, data), tool).events


def links(events: list[Event]) -> set[tuple[str, str] | None]:
    return {event.company_object for event in events}


def dynamics(name: str, kind: str) -> dict[str, Any]:
    link = {"__type": "EntityReference", "Id": "a-1", "LogicalName": kind, "Name": "Acme"}
    pairs = [{"key": "emailaddress1", "value": MAIL}, {"key": name, "value": link}]
    target = {"key": "Target", "value": {"LogicalName": "contact", "Attributes": pairs}}
    return {"MessageName": "Update", "PrimaryEntityName": "contact", "PrimaryEntityId": "c-1", "InputParameters": [target]}


def outbound(name: str) -> str:
    return (
        '<E xmlns="http://soap.sforce.com/2005/09/outbound"><Notification><Id>n1</Id>'
        '<sObject xsi:type="sf:Contact"'
        ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:sf="urn:sobject.enterprise.soap.sforce.com">'
        f"<sf:Id>003000000000001</sf:Id><sf:Email>{MAIL}</sf:Email><sf:{name}>001000000000009</sf:{name}></sObject></Notification></E>"
    )


NAMED: list[tuple[str, object, tuple[str, str]]] = [
    ("activecampaign", {"type": "update", "contact": {"id": "7", "email": MAIL, "customer_acct_id": "31"}}, ("account", "31")),
    ("affinity", {"id": 7, "primary_email": MAIL, "organization_ids": [31]}, ("organization", "31")),
    (
        "attio",
        {
            "id": {"workspace_id": "w", "object_id": "o", "record_id": "r"},
            "values": {
                "email_addresses": [{"email_address": MAIL, "attribute_type": "email-address"}],
                "company": [{"target_object": "companies", "target_record_id": "c-31", "attribute_type": "record-reference"}],
            },
        },
        ("companies", "c-31"),
    ),
    (
        "capsule",
        {"event": "party/updated", "payload": [{"id": 7, "type": "person", "organisation": {"id": 31, "name": "Acme"}}]},
        ("organisation", "31"),
    ),
    (
        "close",
        {"event": {"object_type": "contact", "action": "created", "object_id": "cont_7", "data": {"lead_id": "lead_31"}}},
        ("lead", "lead_31"),
    ),
    (
        "copper",
        {"type": "person", "event": "update", "ids": [7], "subscription_id": 1, "updated_attributes": {"company_id": [None, 31]}},
        ("company", "31"),
    ),
    ("dynamics365", dynamics("parentcustomerid", "account"), ("account", "a-1")),
    ("dynamics365", {**dynamics("jobtitle", "account"), "PostEntityImages": [
        {"key": "all", "value": {"Attributes": [{"key": "parentcustomerid", "value": {"Id": "a-1", "LogicalName": "account"}}]}},
    ]}, ("account", "a-1")),
    (
        "dynamics365",
        {"@odata.etag": "W/1", "contactid": "c-1", "_parentcustomerid_value": "a-1", "_parentcustomerid_type": "accounts"},
        ("account", "a-1"),
    ),
    ("dynamics365", {"@odata.etag": "W/1", "leadid": "l-1", "_parentaccountid_value": "a-1"}, ("account", "a-1")),
    ("espocrm", {"entityType": "Contact", "event": "update", "data": {"id": "7", "accountId": "31"}}, ("Account", "31")),
    ("espocrm", {"entityType": "Lead", "event": "update", "data": {"id": "7", "createdAccountId": "31"}}, ("Account", "31")),
    (
        "folk",
        {"type": "person.created", "id": "e1", "createdAt": 1, "data": {"id": "per_7", "companies": [{"id": "com_31"}]}},
        ("company", "com_31"),
    ),
    ("frappe", {"doctype": "CRM Lead", "name": "L-7", "organization": "Acme"}, ("CRM Organization", "Acme")),
    ("frappe", {"doctype": "Contact", "name": "A", "links": [{"link_doctype": "Customer", "link_name": "Acme"}]}, ("Customer", "Acme")),
    ("generic", {"event": "contact.updated", "data": {"id": 7, "email": MAIL, "company_id": 31}}, ("company", "31")),
    ("generic", {"event": "contact.updated", "data": {"id": 7, "email": MAIL, "account": {"id": 31, "name": "Acme"}}}, ("company", "31")),
    ("gohighlevel", {"type": "ContactUpdate", "locationId": "l", "id": "7", "businessId": "b-31"}, ("business", "b-31")),
    (
        "hubspot",
        {"subscriptionType": "contact.propertyChange", "objectId": 7, "propertyName": "associatedcompanyid", "propertyValue": "31"},
        ("company", "31"),
    ),
    (
        "hubspot",
        {"subscriptionType": "contact.associationChange", "associationType": "CONTACT_TO_COMPANY", "fromObjectId": 7, "toObjectId": 31},
        ("company", "31"),
    ),
    ("hubspot", {"vid": 7, "properties": {"email": {"value": MAIL}, "associatedcompanyid": {"value": "31"}}}, ("company", "31")),
    ("insightly", {"entity": {"CONTACT_ID": 7, "EMAIL_ADDRESS": MAIL, "ORGANISATION_ID": 31}}, ("organisation", "31")),
    (
        "intercom",
        {
            "type": "notification_event", "topic": "contact.user.updated", "id": "n",
            "data": {"item": {"type": "contact", "id": "7", "companies": {"type": "list", "data": [{"type": "company", "id": "31"}]}}},
        },
        ("company", "31"),
    ),
    (
        "kommo",
        {"contacts": {"update": [{"id": "7", "type": "contact", "linked_company_id": "31"}]}, "account": {"subdomain": "x"}},
        ("company", "31"),
    ),
    ("odoo", {"_model": "res.partner", "_id": 7, "email": MAIL, "parent_id": 31}, ("res.partner", "31")),
    ("odoo", {"model": "res.partner", "id": 7, "event": "write", "data": {"parent_id": [31, "Acme"]}}, ("res.partner", "31")),
    (
        "outreach",
        {"meta": {"eventName": "prospect.updated"}, "data": {"type": "prospect", "id": 7, "relationships": {"account": {"id": 31}}}},
        ("account", "31"),
    ),
    (
        "pipedrive",
        {"meta": {"version": "2.0", "action": "change", "entity": "person", "entity_id": "7"}, "data": {"org_id": 31}},
        ("organization", "31"),
    ),
    (
        "pipedrive",
        {"meta": {"v": 1, "action": "added", "object": "person", "id": 7}, "current": {"id": 7, "org_id": {"value": 31, "name": "Acme"}}},
        ("organization", "31"),
    ),
    ("salesforce", outbound("AccountId"), ("Account", "001000000000009AAA")),
    (
        "salesforce",
        {
            "ChangeEventHeader": {"entityName": "Contact", "changeType": "UPDATE", "recordIds": ["003000000000001AAA"]},
            "AccountId": "001000000000009AAA",
        },
        ("Account", "001000000000009AAA"),
    ),
    ("salesforce", {"attributes": {"type": "Lead"}, "Id": "00Q000000000001AAA", "ConvertedAccountId": "001000000000009AAA"},
     ("Account", "001000000000009AAA")),
    ("twenty", {"eventName": "person.updated", "record": {"id": "7", "companyId": "c-31"}}, ("company", "c-31")),
    (
        "zoho",
        {
            "module": "Contacts", "operation": "insert", "ids": ["7"], "channel_id": "1",
            "data": [{"id": "7", "Account_Name": {"name": "Acme", "id": "31"}}],
        },
        ("Accounts", "31"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "body", "company"), NAMED)
def test_crm_contact__links_to_the_object_of_its_company(tool: str, body: object, company: tuple[str, str]) -> None:
    events = told(tool, body)

    assert events
    assert links(events) == {company}
    assert all(event.event.startswith("contact.") for event in events)


NOT_NAMED: list[tuple[str, object]] = [
    ("activecampaign", {"type": "update", "contact": {"id": "7", "email": MAIL, "customer_acct_id": "0"}}),
    ("affinity", {"id": 7, "primary_email": MAIL, "organization_ids": [31, 32]}),
    ("dynamics365", dynamics("parentcustomerid", "contact")),
    ("dynamics365", {"@odata.etag": "W/1", "contactid": "c-1", "_parentcustomerid_value": "a-1"}),
    ("espocrm", {"entityType": "Contact", "event": "delete", "data": {"id": "7", "accountId": "31"}}),
    ("generic", {"event": "contact.updated", "data": {"id": 7, "email": MAIL, "company": "Acme"}}),
    ("generic", {"event": "company.updated", "data": {"id": 7, "domain": "acme.example", "company_id": 31}}),
    ("odoo", {"_model": "res.partner", "_id": 7, "email": MAIL, "parent_id": False, "commercial_partner_id": 7}),
    ("odoo", {"_model": "res.partner", "_id": 7, "is_company": True, "website": "acme.example", "parent_id": 31}),
    (
        "hubspot",
        {
            "subscriptionType": "contact.associationChange", "associationType": "CONTACT_TO_COMPANY", "fromObjectId": 7, "toObjectId": 31,
            "associationRemoved": True,
        },
    ),
    ("twenty", {"eventName": "person.updated", "record": {"id": "7", "company": "Acme"}}),
    ("zoho", {"module": "Contacts", "operation": "insert", "ids": ["7"], "channel_id": "1", "data": [{"id": "7", "Account_Name": "Acme"}]}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "body"), NOT_NAMED)
def test_crm_contact__without_a_single_company_id_links_to_none(tool: str, body: object) -> None:
    assert links(told(tool, body)) == {None}


def test_crm_company__has_the_object_type_that_contacts_link_to() -> None:
    companies = [event for tool, body in COMPANIES for event in told(tool, body) if event.about]

    assert {(event.event.partition(".")[0], event.object_type) for event in companies} == {
        ("company", "Account"), ("company", "res.partner"), ("company", "organization"), ("company", "CRM Organization"),
        ("company", "company"), ("company", "lead"),
    }  # fmt: skip


COMPANIES: list[tuple[str, object]] = [
    ("espocrm", {"entityType": "Account", "event": "update", "data": {"id": "31", "website": "acme.example"}}),
    ("odoo", {"_model": "res.partner", "_id": 31, "is_company": True, "website": "acme.example"}),
    ("pipedrive", {"meta": {"v": 1, "action": "added", "object": "organization", "id": 31}, "current": {"id": 31, "name": "Acme"}}),
    ("frappe", {"doctype": "CRM Organization", "name": "Acme", "website": "acme.example"}),
    ("generic", {"event": "account.updated", "data": {"id": 31, "domain": "acme.example"}}),
    ("twenty", {"eventName": "company.updated", "record": {"id": "31", "domainName": {"primaryLinkUrl": "acme.example"}}}),
    ("close", {"event": {"object_type": "lead", "action": "created", "object_id": "lead_31", "data": {"url": "acme.example"}}}),
]
