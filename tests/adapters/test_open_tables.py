"""Rows of open tables: what a table holds, columns by a client's names, links to companies, and clients who read them by `generic`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.connections.validation import connection_faults
from touchbase.history.events import CRM, Translation

ADAPTERS = load_adapters()
ROW = {"id": 1, "order": "1.0", "Work mail": "ida@north.example", "Level": {"id": 2, "value": "Gold", "color": "red"}, "Phase": "Open"}


def baserow(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"table_id": 7, "event_id": "0a1", "event_type": "rows.updated", "items": rows}


def connected(tool: str, **settings: Any) -> Connection:
    return Connection(1, CRM, tool, Micros(0), Micros(0), settings=ConnectionSettings(**settings))


def read(body: object, *connections: Connection, query: str = "") -> Translation:
    return ADAPTERS.translate(WebhookRequest(CRM, {}, query, json.dumps(body).encode(), connections=connections))


def test_columns__have_the_names_that_the_client_maps() -> None:
    fields = {"email": "Work mail", "status": "Phase", "custom.Tier": "Level"}

    contact, status = read(baserow(ROW), connected("baserow", fields=fields)).events

    assert (contact.event, contact.email, contact.custom) == ("contact.updated", "ida@north.example", {"Tier": "Gold"})
    assert (status.event, status.status) == ("contact.status_changed", "Open")


def test_columns__without_a_mapping_become_custom_fields() -> None:
    row = {
        "id": 1,
        "order": "1.0",
        "Email": "ida@north.example",
        "Level": {"id": 2, "value": "Gold", "color": "red"},
        "Tags": [{"value": "a"}],
    }

    (contact,) = read(baserow(row)).events

    assert contact.custom == {"Level": "Gold", "Tags": "a"}


@pytest.mark.parametrize(
    ("objects", "linked"), [({"6": "company"}, ("table:6", "4")), ({"6": "company", "5": "company"}, None), ({}, None)]
)
def test_linked_row__is_the_company_if_one_table_holds_companies(objects: dict[str, str], linked: tuple[str, str] | None) -> None:
    row = {"id": 1, "Email": "ida@north.example", "Company": [{"id": 4, "value": "North", "order": "1.0"}]}

    (contact,) = read(baserow(row), connected("baserow", objects=objects)).events

    assert contact.company_object == linked


@pytest.mark.parametrize(("kind", "events"), [("company", ["company.updated"]), ("ignore", ["ignored"])])
def test_table__holds_what_the_client_says(kind: str, events: list[str]) -> None:
    told = read(baserow({"id": 1, "Email": "a@north.example", "Website": "north.example"}), connected("baserow", objects={"7": kind}))

    assert [event.event for event in told.events] == events


def test_client_who_connected_generic__keeps_its_mapping_until_it_connects_the_tool() -> None:
    generic = connected("generic", fields={"id": "items[].id", "email": "items[].Work mail"})

    assert read(baserow(ROW), generic).tool == "generic"
    assert read(baserow(ROW), generic, connected("baserow", fields={"email": "Work mail"})).tool == "baserow"


def test_mapping_of_columns__needs_no_address() -> None:
    settings = ConnectionSettings(fields={"custom.Tier": "Level"})

    assert connection_faults(CRM, "grist", settings, ADAPTERS.tools(CRM)) == []
    assert [fault.pointer for fault in connection_faults(CRM, "notion", settings, ADAPTERS.tools(CRM))] == [
        "/settings/fields", "/settings/fields",
    ]  # fmt: skip
