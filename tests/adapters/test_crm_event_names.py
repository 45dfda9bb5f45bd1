"""What the names of a CRM's events say: who was made, changed or deleted, and when it was only something of theirs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import Adapters
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import CRM

PERSON = {"id": "c1", "email": "contact@example.com", "first_name": "Ada"}


def translated(adapters: Adapters, body: object, settings: ConnectionSettings | None = None) -> list[str]:
    connections = () if settings is None else (Connection(1, CRM, "generic", 0, 0, settings=settings),)
    request = WebhookRequest(CRM, {}, "", json.dumps(body).encode(), connections=connections)
    return [event.event for event in adapters.translate(request).events]


@pytest.mark.parametrize(
    "name",
    [
        "contact.address.deleted", "contact_field.deleted", "custom_field.deleted", "customer.subscription.deleted",
        "contact.comment.created", "account.contact.removed", "company.contact.added", "organization.member_removed",
        "organizationMembership.created",
        "peopleTagsDeleted", "contact.owner_removed", "booking.deleted",
        "deleted_contact_comment", "contact.archive.updated", "customer.subscription.updated", "organizationMembership.updated",
        "company.contact.updated", "contact_messages.update",
    ],
)  # fmt: skip
def test_event_name__about_a_part_of_a_contact_is_unrecognised(adapters: Adapters, name: str) -> None:
    with pytest.raises(UnrecognisedPayload):
        translated(adapters, {"event": name, "data": PERSON})


@pytest.mark.parametrize(
    "name", ["contact_removed_from_segment", "lead.removed_from_campaign", "contact_added_to_group", "removed_lead_from_cadence"]
)
def test_event_name__of_group_membership_gives_contact_updated(adapters: Adapters, name: str) -> None:
    assert translated(adapters, {"event": name, "data": PERSON}) == ["contact.updated"]


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("crm.contact.deleted", "contact.deleted"), ("wix.contacts.v4.contact.deleted", "contact.deleted"),
        ("contact.soft_deleted", "contact.deleted"), ("customer.customer_deleted", "contact.deleted"),
        ("contact.removed", "contact.deleted"), ("contact.remove", "contact.deleted"), ("contact_destroy", "contact.deleted"),
        ("contact/archive", "contact.deleted"), ("contact.unarchived", "contact.updated"),
        ("delete_contact", "contact.deleted"), ("subscriber.deleted", "contact.deleted"),
        ("record.deleted", "contact.deleted"), ("business_contact.created", "contact.created"), ("lead.form.created", "contact.created"),
        ("new_lead_from_website", "contact.created"), ("contact_added", "contact.created"), ("contact.tags.updated", "contact.updated"),
        ("contact.address.updated", "contact.updated"), ("lead.agent.changed", "contact.updated"),
        ("contact.company.changed", "contact.updated"),
    ],
)  # fmt: skip
def test_event_name__with_neutral_words_still_names_the_contact(adapters: Adapters, name: str, event: str) -> None:
    assert translated(adapters, {"event": name, "data": PERSON}) == [event]


def test_object_word__counts_like_the_event_name(adapters: Adapters) -> None:
    with pytest.raises(UnrecognisedPayload):
        translated(adapters, {"event": "deleted", "object": "contact_address", "data": PERSON})

    assert translated(adapters, {"event": "deleted", "object": "contact", "data": PERSON}) == ["contact.deleted"]


@pytest.mark.parametrize(
    ("body", "event"),
    [
        ({"what": "contact.address.deleted"}, "ignored"),
        ({"what": "orders/create"}, "ignored"),
        ({"what": "contact.deleted"}, "contact.deleted"),
        ({"what": "contact_removed_from_list"}, "contact.updated"),
        ({"what": "klient.deleted", "of": "klient"}, "contact.deleted"),
    ],
)
def test_fields_setting__reads_event_names_by_the_same_rules(adapters: Adapters, body: dict[str, Any], event: str) -> None:
    settings = ConnectionSettings(fields={"event": "what", "object_type": "of", "id": "no"}, objects={"klient": "contact"})

    assert translated(adapters, {**body, "no": "c1"}, settings) == [event]


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("deleted", "contact.deleted"), ("contact.deleted", "contact.deleted"), ("partner_deleted", "contact.deleted"),
        ("on_unlink", "contact.deleted"), ("on_archive", "contact.deleted"), ("res.partner.created", "contact.created"),
        ("on_create_or_write", "contact.updated"), ("on_unarchive", "contact.updated"), ("on_time_created", "contact.updated"),
        ("note_deleted", "contact.updated"), ("note.deleted", "contact.updated"),
    ],
)  # fmt: skip
def test_odoo_server_action__reads_the_event_in_its_authors_words(adapters: Adapters, name: str, event: str) -> None:
    body = {"model": "res.partner", "event": name, "record_id": 7, "data": {"name": "Ada Byrne", "email": "ada@example.com"}}

    assert translated(adapters, body) == [event]


def test_salesforce_record__does_not_take_the_event_name_as_a_field(adapters: Adapters) -> None:
    body = {"event": "created", "Id": "0035e00000MaDeUpAV", "Email": "siv@anvil.example", "LastName": "Berg", "Title": "Owner"}

    (event,) = adapters.translate(WebhookRequest(CRM, {}, "", json.dumps(body).encode())).events

    assert event.custom == {"Title": "Owner"}


@pytest.mark.parametrize(
    ("body", "event", "object_id"),
    [
        ({"event": "contact.updated", "email": "ada@example.com", "company_id": "k1"}, "contact.updated", None),
        ({"email": "ada@example.com", "company_id": "k1"}, "contact.updated", None),
        ({"event": "company.updated", "domain": "example.com", "contact_id": "c1", "company_id": "k1"}, "company.updated", "k1"),
        ({"event": "contact.updated", "contact_id": "c1", "data": {"email": "ada@example.com"}}, "contact.updated", "c1"),
        ({"event": "lead.deleted", "lead_id": "l1"}, "contact.deleted", "l1"),
        ({"event": "account.deleted", "account_id": "a1"}, "company.deleted", "a1"),
        ({"event": "customer.deleted", "data": {"customer": {"id": "c1"}}}, "contact.deleted", "c1"),
        ({"type": "contact.deleted", "subject": {"type": "contact", "id": "c1"}, "account": {"type": "account", "id": "a1"}},
         "contact.deleted", "c1"),
    ],
)  # fmt: skip
def test_object_id__is_that_of_the_events_record_and_not_of_its_parent(
    adapters: Adapters, body: dict[str, Any], event: str, object_id: str | None
) -> None:
    (told,) = adapters.translate(WebhookRequest(CRM, {}, "", json.dumps(body).encode())).events

    assert (told.event, told.object_id) == (event, object_id)


def test_contact_event__with_only_an_account_is_unrecognised(adapters: Adapters) -> None:
    with pytest.raises(UnrecognisedPayload):
        translated(adapters, {"event": "contact.created", "account": {"id": "a1"}})


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("ContactCreate", "contact.created"), ("ContactCreated", "contact.created"), ("ContactUpdated", "contact.updated"),
        ("ContactDeleted", "contact.deleted"), ("contact.deleted", "contact.deleted"), ("ContactNoteCreated", "ignored"),
    ],
)  # fmt: skip
def test_gohighlevel_custom_webhook__accepts_variants_of_the_event_names(adapters: Adapters, name: str, event: str) -> None:
    assert translated(adapters, {"type": name, "locationId": "loc1", **PERSON}) == [event]


@pytest.mark.parametrize("name", ["contact.group.removed", "segment.contact.removed", "orders/create", "invoices_created", "webhook.test"])
def test_event_name__that_says_nothing_of_a_person_is_ignored(adapters: Adapters, name: str) -> None:
    assert translated(adapters, {"event": name, "data": PERSON}) == ["ignored"]


def test_event_name__of_a_group_is_unrecognised_if_the_client_reads_statuses_from_a_property(adapters: Adapters) -> None:
    settings = ConnectionSettings(status_property={"contact": "groups"})

    assert translated(adapters, {"event": "contact.group.removed", "data": PERSON}, settings) == ["unrecognised"]


@pytest.mark.parametrize("name", ["tasksCreated", "notes.updated", "opportunities.updated"])
def test_event_name__of_another_collection_is_ignored(adapters: Adapters, name: str) -> None:
    for body in ({"event": name, "data": PERSON}, {"event": "created", "object": name, "data": PERSON}):
        assert translated(adapters, body) == ["ignored"]


@pytest.mark.parametrize(
    ("body", "event"),
    [
        ({"type": "INSERT", "table": "leads", "record": PERSON, "old_record": None}, "contact.created"),
        (
            {"type": "UPDATE", "table": "contacts", "record": PERSON, "old_record": {**PERSON, "email": "old@x.example"}},
            "contact.updated",
        ),
        ({"type": "DELETE", "table": "contacts", "record": None, "old_record": PERSON}, "contact.deleted"),
        ({"type": "INSERT", "table": "companies", "record": {"id": "c1", "domain": "example.com"}, "old_record": None}, "company.created"),
    ],
)
def test_table_row__is_read_by_its_table_name(adapters: Adapters, body: dict[str, Any], event: str) -> None:
    (told,) = adapters.translate(WebhookRequest(CRM, {}, "", json.dumps(body).encode())).events

    assert (told.event, told.object_id) == (event, "c1")
    assert told.email in ("contact@example.com", None)


@pytest.mark.parametrize("table", ["orders", "deals", "invoices"])
def test_table_row__of_another_table_is_ignored(adapters: Adapters, table: str) -> None:
    assert translated(adapters, {"type": "INSERT", "table": table, "record": PERSON, "old_record": None}) == ["ignored"]


def test_table_row__of_users_is_unrecognised(adapters: Adapters) -> None:
    with pytest.raises(UnrecognisedPayload):
        translated(adapters, {"type": "INSERT", "table": "users", "record": PERSON, "old_record": None})


@pytest.mark.parametrize("key", ["operation", "event", "action", "event_type"])
@pytest.mark.parametrize("name", ["delete", "deleted", "lead.deleted", "Leads.delete", "Lead Deleted"])
def test_zoho_workflow__with_a_deletion_gives_only_contact_deleted(adapters: Adapters, key: str, name: str) -> None:
    lead = {"id": "554", "Last_Name": "Byrne", "Email": "ada@example.com", "Lead_Status": "New"}

    assert translated(adapters, {key: name, "module": "Leads", **lead}) == ["contact.deleted"]
    assert translated(adapters, {key: name, "module": "Leads", "data": lead}) == ["contact.deleted"]


def test_zoho_note_deletion__gives_contact_updated(adapters: Adapters) -> None:
    body = {"event": "note_deleted", "module": "Leads", "Last_Name": "Byrne", "Email": "ada@example.com"}

    assert translated(adapters, body) == ["contact.updated"]
