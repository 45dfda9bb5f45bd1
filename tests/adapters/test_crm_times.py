"""When something happened in a CRM: a time that names none hides no other, and a record's creation is not its change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.kit.describe import describe
from touchbase.adapters.registry import Adapters
from touchbase.history.events import CRM

NONE = "0000-00-00 00:00:00"
THEN = "2026-11-20T09:30:00Z"
LONG_AGO = "2019-01-01T00:00:00Z"
MILLIS = 1_795_167_000_000


def _at(adapters: Adapters, tool: str, body: object) -> list[str | None]:
    told: Any = describe(adapters.translate(WebhookRequest(CRM, {}, "", json.dumps(body).encode()), tool))
    return [event["occurred_at"] for event in told["events"]]


def _of_close(action: str, **more: object) -> dict[str, Any]:
    return {"event": {"object_type": "lead", "action": action, "object_id": "lead_7", **more}}


SECOND_PLACES: list[tuple[str, dict[str, Any]]] = [
    (
        "activecampaign",
        {"type": "update", "date_time": NONE, "contact": {"id": "7", "email": "contact@example.com", "udate": THEN}},
    ),
    ("close", _of_close("created", date_updated=NONE, date_created=THEN)),
    ("close", _of_close("updated", date_updated=NONE, data={"date_updated": THEN})),
    ("capsule", {"event": "party/created", "payload": [{"id": 7, "type": "person", "updatedAt": NONE, "createdAt": THEN}]}),
    (
        "dynamics365",
        {
            "id": "1", "eventTime": THEN, "data": {
                "MessageName": "Delete", "PrimaryEntityName": "contact", "PrimaryEntityId": "7b1d", "OperationCreatedOn": NONE,
            },
        },
    ),
    ("folk", {"type": "person.deleted", "createdAt": NONE, "timestamp": THEN, "data": {"id": "per_7"}}),
    ("gohighlevel", {"type": "ContactCreate", "locationId": "l1", "id": "7", "timestamp": NONE, "dateAdded": THEN}),
    ("hubspot", {"vid": 7, "properties": {"lastmodifieddate": {"value": "0"}, "hs_lastmodifieddate": {"value": str(MILLIS)}}}),
    ("hubspot", {"id": "7", "properties": {"hs_object_id": "7", "email": "a@example.com", "lastmodifieddate": NONE}, "updatedAt": THEN}),
    (
        "intercom",
        {
            "type": "notification_event", "topic": "contact.email.updated", "created_at": 0, "id": "notif_7",
            "data": {"item": {"type": "contact", "id": "7", "email": "contact@example.com", "updated_at": THEN}},
        },
    ),
    ("kommo", {"contacts": {"update": [{"id": "7", "type": "contact", "updated_at": NONE, "last_modified": str(MILLIS // 1000)}]}}),
    ("monday", {"event": {"type": "delete_pulse", "boardId": 1, "itemId": 7, "triggerTime": NONE, "changedAt": MILLIS / 1000}}),
    (
        "odoo",
        {"_model": "res.partner", "_id": 7, "write_date": NONE, "timestamp": THEN, "email": "contact@example.com"},
    ),
    (
        "outreach",
        {
            "meta": {"eventName": "prospect.updated", "deliveredAt": THEN},
            "data": {"type": "prospect", "id": 7, "attributes": {"updatedAt": NONE}},
        },
    ),
    (
        "pipedrive",
        {
            "event": "added.person", "meta": {"v": 1, "action": "added", "object": "person", "id": 7, "timestamp": MILLIS // 1000},
            "current": {"id": 7},
        },
    ),
    (
        "pipedrive",
        {
            "event": "added.person",
            "meta": {"v": 1, "action": "added", "object": "person", "id": 7, "timestamp_micro": 0, "timestamp_milli": "", "timestamp": 0},
            "current": {"id": 7, "update_time": "2026-11-20 09:30:00"},
        },
    ),
    (
        "pipedrive",
        {
            "meta": {"version": "2.0", "action": "create", "entity": "person", "entity_id": "7", "timestamp": NONE},
            "data": {"id": 7, "update_time": THEN, "add_time": LONG_AGO}, "previous": None,
        },
    ),
    (
        "salesforce",
        {
            "ChangeEventHeader": {"entityName": "Contact", "changeType": "UPDATE", "recordIds": ["003000000000007"], "commitTimestamp": 0},
            "LastModifiedDate": THEN,
        },
    ),
    (
        "salesforce",
        {
            "ChangeEventHeader": {"entityName": "Contact", "changeType": "CREATE", "recordIds": ["003000000000007"]},
            "LastModifiedDate": MILLIS,
        },
    ),
    ("twenty", {"eventName": "person.updated", "eventDate": NONE, "record": {"id": "7", "updatedAt": THEN}}),
    ("twenty", {"eventName": "person.deleted", "eventDate": None, "record": {"id": "7", "updatedAt": LONG_AGO, "deletedAt": THEN}}),
    ("zoho", {"module": "Contacts", "operation": "insert", "ids": ["7"], "channel_id": "1", "server_time": 0, "timestamp": THEN}),
    ("zoho", {"module": "Contacts", "operation": "insert", "data": {"id": "7", "Last_Name": "Doe", "Created_Time": THEN}}),
    (
        "zoho",
        {
            "module": "Contacts", "operation": "update", "timestamp": THEN,
            "data": {"id": "7", "Last_Name": "Doe", "Created_Time": LONG_AGO, "Modified_Time": NONE},
        },
    ),
    ("generic", {"event": "contact.updated", "timestamp": NONE, "data": {"email": "contact@example.com", "updated_at": THEN}}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "body"), SECOND_PLACES)
def test_crm_time__that_is_empty_does_not_hide_another(adapters: Adapters, tool: str, body: dict[str, Any]) -> None:
    assert set(_at(adapters, tool, body)) == {THEN}


OF_OLD_RECORDS: list[tuple[str, dict[str, Any]]] = [
    ("capsule", {"event": "party/updated", "payload": [{"id": 7, "type": "person", "createdAt": LONG_AGO}]}),
    ("close", _of_close("updated", data={"date_created": LONG_AGO})),
    ("close", _of_close("deleted", previous_data={"date_updated": LONG_AGO})),
    ("espocrm", {"entityType": "Contact", "event": "update", "data": {"id": "7", "createdAt": "2019-01-01 00:00:00"}}),
    ("kommo", {"contacts": {"update": [{"id": "7", "type": "contact", "created_at": "1546300800"}]}}),
    (
        "outreach",
        {"meta": {"eventName": "prospect.destroyed"}, "data": {"type": "prospect", "id": 7, "attributes": {"updatedAt": LONG_AGO}}},
    ),
    (
        "intercom",
        {
            "type": "notification_event", "topic": "contact.deleted", "id": "notif_7",
            "data": {"item": {"type": "contact", "id": "7", "updated_at": LONG_AGO}},
        },
    ),
    ("twenty", {"eventName": "person.deleted", "record": {"id": "7", "updatedAt": LONG_AGO}}),
    ("zoho", {"module": "Contacts", "operation": "update", "data": {"id": "7", "Last_Name": "Doe", "Created_Time": LONG_AGO}}),
    (
        "generic",
        {"event": "contact.updated", "data": {"email": "contact@example.com", "created_at": LONG_AGO}},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "body"), OF_OLD_RECORDS)
def test_crm_time__of_an_old_record_is_not_the_event_time(adapters: Adapters, tool: str, body: dict[str, Any]) -> None:
    assert set(_at(adapters, tool, body)) == {None}


@pytest.mark.parametrize(
    "body",
    [
        {"triggerType": "form_submission", "payload": {"data": {"email": "ann@example.com"}, "submittedAt": THEN}},
        {"type": "customer.created", "created": MILLIS // 1000, "data": {"object": {"id": "cus_1", "email": "ann@example.com"}}},
        {"event": "contact.updated", "contact": {"id": 7, "email": "ann@example.com", "date_modified_gmt": THEN, "created": LONG_AGO}},
    ],
)
def test_generic__reads_a_time_in_the_objects_of_the_event(adapters: Adapters, body: dict[str, Any]) -> None:
    assert _at(adapters, "generic", body) == [THEN]
