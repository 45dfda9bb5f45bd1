"""Bodies of CRMs and relays that we have no adapter for: whose they are, and that nobody is guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import CRM, Event

ADAPTERS = load_adapters([CRM])
NORA, SAM = "nora@example.com", "sam@example.net"


def told(body: Any, **headers: str) -> list[Event]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    translation = ADAPTERS.translate(WebhookRequest(CRM, named, "", json.dumps(body).encode()))
    assert translation.tool == "generic"
    return translation.events


def test_account_object__is_not_the_record() -> None:
    (event,) = told({"subject": {"type": "contact", "id": "c-1"}, "type": "contact.deleted", "account": {"type": "account", "id": "a-9"}})

    assert (event.event, event.object_id) == ("contact.deleted", "c-1")


def test_contact_event__with_only_an_account_is_unrecognised() -> None:
    with pytest.raises(UnrecognisedPayload):
        told({"type": "contact.updated", "account": {"id": "a-9"}})


@pytest.mark.parametrize(
    "name",
    [
        "contact_removed_from_campaign", "contact.field.deleted", "contact.file.deleted", "contact.property.deleted",
        "contact.company.removed", "contact_added_to_campaign", "New contact.note",
    ],
)  # fmt: skip
def test_contact_part_event__gives_at_most_contact_updated(name: str) -> None:
    try:
        events = told({"event": name, "contact": {"id": 1, "email": NORA}})
    except UnrecognisedPayload:
        events = []

    assert {event.event for event in events} <= {"contact.updated"}


@pytest.mark.parametrize(
    "name",
    ["contact.deleted", "delete_contact", "onContactDelete", "Contact was removed", "crm.contact.deleted", "contact.gdpr_deleted",
        "contact.bulk_delete", "contacts.items.delete",
     "deleted"],
)  # fmt: skip
def test_contact_deletion_names__give_contact_deleted(name: str) -> None:
    (event,) = told({"event": name, "contact": {"id": 1, "email": NORA}})

    assert (event.event, event.email) == ("contact.deleted", NORA)


@pytest.mark.parametrize(
    "name",
    [
        "booking.deleted", "row.deleted", "page.deleted", "comment.created", "invitee.created", "customer.subscription.created",
        "emails.new",
    ],
)  # fmt: skip
def test_non_contact_event__with_an_address_is_unrecognised(name: str) -> None:
    with pytest.raises(UnrecognisedPayload):
        told({"event": name, "email": NORA, "id": "99"})


@pytest.mark.parametrize(
    "body", [{"event": "contact.updated", "email": NORA, "company_id": "9"}, {"contact": {"email": NORA, "company_id": "9"}}]
)
def test_company_id__is_not_the_id_of_a_contact(body: dict[str, Any]) -> None:
    (event,) = told(body)

    assert (event.email, event.object_id) == (NORA, None)


def test_company_event__takes_the_company_id() -> None:
    (event,) = told({"event": "company.updated", "domain": "works.example", "contact_id": "9", "company_id": "3"})

    assert event.object_id == "3"


def test_field_names_with_spaces__are_read_like_usual_ones() -> None:
    head, status = told({"Event": "New Lead", "Lead ID": "7", "Lead Email": NORA, "Owner Email": SAM, "Lead Status": "Open"})

    assert (head.event, head.email, head.object_id, status.status) == ("contact.created", NORA, "7", "Open")


@pytest.mark.parametrize("name", ["Work Email", "email1"])
def test_email_field_variants__are_read_as_email(name: str) -> None:
    (event,) = told({name: NORA, "Full Name": "Nora Quill"})

    assert (event.event, event.email) == ("contact.updated", NORA)


def test_object_keys__give_one_event_per_key() -> None:
    keys = [{"id": 123, "timestamp": "2026-11-20T09:30:00Z"}, {"id": 124}]

    events = told({"event": "contact.delete", "object_type": "contact", "object_keys": keys})

    assert [(event.event, event.object_id) for event in events] == [("contact.deleted", "123"), ("contact.deleted", "124")]


def test_saved_bean__is_read_as_a_record() -> None:
    head, status = told({"bean": "Leads", "trigger": "after_save", "data": {"id": "b-1", "email1": NORA, "status": "New"}})

    assert (head.event, head.email, head.object_id, status.status) == ("contact.updated", NORA, "b-1", "New")


def test_topic_header__names_the_record_type() -> None:
    record = {"id": 706, "email": NORA}

    assert [event.event for event in told(record, x_shop_topic="customers/create")] == ["contact.created"]
    assert [event.event for event in told(record, x_shop_topic="orders/create")] == ["ignored"]


def test_envelope_id__is_not_the_contact_id() -> None:
    (event,) = told({"id": "evt_1", "type": "contact.created", "contactCreated": {"id": "18", "email": NORA, "ownerEmail": SAM}})
    assert (event.object_id, event.email) == ("18", NORA)

    assert [event.object_id for event in told({"id": "evt_1", "event": "contact.deleted", "contactId": "c5"})] == ["c5"]
    assert [event.object_id for event in told({"event": "contact.deleted", "data": {"contactId": "c5"}})] == ["c5"]


@pytest.mark.parametrize("owner", ["contact_owner", "old_contact", "previousContact"])
def test_contact_event__with_only_an_owner_or_former_contact_is_unrecognised(owner: str) -> None:
    with pytest.raises(UnrecognisedPayload):
        told({"event": "contact.updated", owner: {"id": 7, "email": SAM}})


@pytest.mark.parametrize(("table", "event"), [("contacts", "contact.deleted"), ("users", None), ("email_logs", None)])
def test_table_row__is_read_by_its_table_name(table: str, event: str | None) -> None:
    body = {"type": "DELETE", "table": table, "schema": "public", "record": None, "old_record": {"id": 1, "email": NORA}}
    if event is None:
        with pytest.raises(UnrecognisedPayload):
            told(body)
        return

    assert [(one.event, one.email) for one in told(body)] == [(event, NORA)]


@pytest.mark.parametrize("now", ["new", "after", "current"])
def test_current_record__is_read_instead_of_the_old_one(now: str) -> None:
    (event,) = told({"event": "contact.updated", now: {"id": 1, "email": NORA}, "old": {"id": 1, "email": "nora@example.net"}})

    assert event.email == NORA


@pytest.mark.parametrize(
    "body",
    [
        {"event": "contact.status_changed", "data": {"id": 1, "email": NORA, "old_status": "New", "new_status": "Won"}},
        {"event": "contact.status_changed", "contact": {"id": 1, "email": NORA}, "old_status": "New", "new_status": "Won"},
        {"Event": "Lead Status Changed", "Email": NORA, "Old Status": "New", "New Status": "Won"},
        {"event": "lead.stage_changed", "lead": {"id": 1, "email": NORA, "stage": "Won"}},
        {"event": "lead.status.changed", "email": NORA, "status": "Won"},
    ],
)
def test_status_change__takes_the_new_status(body: dict[str, Any]) -> None:
    assert [(event.event, event.status) for event in told(body)][1:] == [("contact.status_changed", "Won")]


def test_relay_status__is_not_the_contact_status() -> None:
    assert [event.event for event in told({"event": "contact.updated", "status": "success", "contact": {"email": NORA}})] == [
        "contact.updated"
    ]


def test_fields_setting__ignores_a_user_event() -> None:
    ours = Connection(1, CRM, "generic", 0, 0, settings=ConnectionSettings(fields={"event": "kind", "email": "mail"}))
    body = json.dumps({"kind": "user.updated", "mail": SAM}).encode()

    assert [event.event for event in ADAPTERS.translate(WebhookRequest(CRM, {}, "", body, connections=(ours,))).events] == ["ignored"]
