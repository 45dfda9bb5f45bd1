"""Odoo: opportunities are the pipeline of their people, and only the address says that a rule is for deletions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.history.events import CRM, Event

ADAPTERS = load_adapters()
OPPORTUNITY: dict[str, Any] = {
    "_action": "Send Webhook Notification(#1)", "_id": 2, "_model": "crm.lead", "active": True, "contact_name": "Vera",
    "type": "opportunity",
    "email_from": "vera@quay.example", "name": "Cranes", "partner_id": 8, "partner_name": "Quay SA", "stage_id": 3, "function": "CEO",
    "write_date": "2026-10-02 12:00:00",
}  # fmt: skip
PARTNER = {"_action": "x", "_id": 8, "_model": "res.partner", "active": True, "email": "vera@quay.example", "is_company": False}


def told(body: object, query: str = "", **status_property: str) -> list[Event]:
    connection = Connection(1, CRM, "odoo", 0, 0, [], ConnectionSettings(status_property=status_property))
    return ADAPTERS.translate(WebhookRequest(CRM, {}, query, json.dumps(body).encode(), None, [connection])).events


def short(events: list[Event]) -> list[tuple[str, str | None, str | None, str | None]]:
    return [(event.event, event.object_type, event.object_id, event.status) for event in events]


def test_odoo_opportunity__gives_its_stage_as_the_partners_status() -> None:
    for named in ({"contact": "stage_id"}, {"crm.lead": "stage_id"}):
        assert short(told(OPPORTUNITY, **named)) == [
            ("contact.updated", "res.partner", "8", None),
            ("contact.status_changed", "res.partner", "8", "3"),
        ]


def test_odoo_opportunity__gives_the_partner_an_email_but_no_name_or_fields() -> None:
    (event,) = told(OPPORTUNITY)

    assert event.email == "vera@quay.example"
    assert (event.fields, event.custom, event.first_name, event.last_name) == ({}, {}, None, None)


def test_odoo_opportunity__without_a_partner_is_its_own_contact() -> None:
    assert short(told({**OPPORTUNITY, "partner_id": False}, contact="stage_id")) == [
        ("contact.updated", "crm.lead", "2", None),
        ("contact.status_changed", "crm.lead", "2", "3"),
    ]


def test_odoo_opportunity__of_a_company_is_about_the_company() -> None:
    body = {**OPPORTUNITY, "contact_name": False, "email_from": "info@quay.example"}

    assert short(told(body, company="stage_id")) == [
        ("company.updated", "res.partner", "8", None),
        ("company.status_changed", "res.partner", "8", "3"),
    ]
    assert [event.event for event in told(body)] == ["ignored"]


@pytest.mark.parametrize("partner", [8, [8, "Vera Quay"]])
def test_odoo_link__may_be_a_number_or_a_number_with_a_name(partner: object) -> None:
    (event,) = told({**OPPORTUNITY, "partner_id": partner})

    assert (event.object_type, event.object_id) == ("res.partner", "8")


def test_odoo_lost_opportunity__deletes_no_contact() -> None:
    lost = {**OPPORTUNITY, "active": False}

    assert {event.event for event in (*told(lost), *told({**lost, "partner_id": False}))} == {"contact.updated"}


def test_odoo_deleted_opportunity__does_not_delete_its_partner() -> None:
    assert [event.event for event in told(OPPORTUNITY, "event=unlink")] == ["ignored"]


@pytest.mark.parametrize("event", ["unlink", "res.partner.unlink", "on_unlink", "delete", "deleted", "contact.deleted", "on_deletion"])
def test_odoo_webhook_query__may_declare_deletions(event: str) -> None:
    (told_now,) = told(PARTNER, f"token=x&event={event}")

    assert (told_now.event, told_now.object_id, told_now.occurred_us) == ("contact.deleted", "8", None)


@pytest.mark.parametrize(
    ("query", "event"), [("event=create", "contact.created"), ("event=write", "contact.updated"), ("", "contact.updated")]
)
def test_odoo_webhook_query__may_declare_other_events(query: str, event: str) -> None:
    assert [one.event for one in told(PARTNER, query)] == [event]
