"""Bodies of CRMs without an adapter: whose an id is, where a person or a row stands, and what is about nobody."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import CRM, Event

ADAPTERS = load_adapters([CRM])
NORA, SAM = "nora@example.com", "sam@agency.example"


def events_of(body: object, settings: ConnectionSettings | None = None) -> list[Event]:
    connections = [] if settings is None else [Connection(1, CRM, "generic", 0, 0, settings=settings)]
    return ADAPTERS.translate(WebhookRequest(CRM, {}, "", json.dumps(body).encode(), connections=connections)).events


@given(
    st.sampled_from(["id", "Id", "ID", "uuid", "record_id"]),
    st.sampled_from([None, "data", "record", "payload", "object", "entry", "subject"]),
    st.sampled_from([{}, {"status": "active"}, {"created_at": "2026-11-20T09:30:00Z"}, {"name": "Nora Quill"}]),
)
def test_id__of_any_body_without_a_type_is_no_contacts(key: str, level: str | None, more: dict[str, Any]) -> None:
    record = {key: 4, "email": NORA, **more}

    (event, *_) = events_of(record if level is None else {level: record})

    assert (event.event, event.email, event.object_id) == ("contact.updated", NORA, None)


@pytest.mark.parametrize(
    "body",
    [{"event": "contact.updated", "id": 4, "email": NORA}, {"object_type": "contact", "id": 4, "email": NORA},
     {"contact": {"id": 4, "email": NORA}}, {"contact_id": 4, "email": NORA}],
)  # fmt: skip
def test_id__counts_where_its_kind_is_known(body: dict[str, Any]) -> None:
    assert [(event.object_type, event.object_id) for event in events_of(body)] == [("contact", "4")]


def test_ids__of_a_company_and_a_contact_are_of_two_types() -> None:
    person, company = {"id": 4, "email": NORA, "socid": 9}, {"id": 4, "name": "Acme", "email": SAM, "url": "https://www.acme.example"}

    (contact,) = events_of({"action": "CONTACT_CREATE", "object": person})
    (acme,) = events_of({"action": "COMPANY_CREATE", "object": company})

    assert (contact.event, contact.object_type, contact.object_id, contact.company_object) == (
        "contact.created",
        "contact",
        "4",
        ("company", "9"),
    )
    assert (acme.event, acme.object_type, acme.object_id, acme.domain) == ("company.created", "company", "4", "acme.example")


def test_url_of_a_company__with_a_path_is_not_its_website() -> None:
    (event,) = events_of({"event": "company.updated", "data": {"id": 4, "url": "https://crm.example/companies/4"}})

    assert event.domain is None


@pytest.mark.parametrize(
    ("name", "meaning"),
    [("ONCRMCONTACTADD", "contact.created"), ("ONCRMLEADUPDATE", "contact.updated"), ("ONCRMCOMPANYDELETE", "company.deleted"),
     ("ONCRMDEALADD", "ignored")],
)  # fmt: skip
def test_event_name__may_be_one_run_of_words(name: str, meaning: str) -> None:
    body = urlencode({"event": name, "data[FIELDS][ID]": "9", "auth[domain]": "crm.example", "ts": "1764000000"})

    (event,) = ADAPTERS.translate(WebhookRequest(CRM, {}, "", body.encode())).events

    assert (event.event, event.object_id) == (meaning, "9")


@pytest.mark.parametrize("level", ["items", "records", "data", "rows"])
def test_row_of_a_table__has_its_id_in_that_table(level: str) -> None:
    people = {"table_id": 2, "event_type": "rows.updated", level: [{"id": 1, "Email": NORA, "Status": {"id": 3, "value": "Qualified"}}]}
    sites = {
        "table_id": 1,
        "event_type": "rows.created",
        level: [{"id": 1, "Name": "Acme", "Website": "acme.example"}, {"id": 2, "Website": "b.example"}],
    }

    contact, status = events_of(people)
    companies = events_of(sites)

    assert (contact.object_type, contact.object_id, contact.email, status.status) == ("table:2", "1", NORA, "Qualified")
    assert [(event.event, event.object_type, event.object_id) for event in companies] == [
        ("company.created", "table:1", "1"), ("company.created", "table:1", "2"),
    ]  # fmt: skip


def test_deleted_row__is_of_the_kind_that_the_client_has_named() -> None:
    body = {"table_id": 2, "event_type": "rows.deleted", "row_ids": [1, 3]}

    events = events_of(body, ConnectionSettings(objects={"2": "contact"}))

    assert [(event.event, event.object_type, event.object_id) for event in events] == [
        ("contact.deleted", "table:2", "1"), ("contact.deleted", "table:2", "3"),
    ]  # fmt: skip
    with pytest.raises(UnrecognisedPayload):
        events_of(body)


def nocodb(verb: str, table: str, *rows: dict[str, Any]) -> dict[str, Any]:
    named = {"table_id": "md_1", "table_name": table, "view_id": None, "rows": rows, "previous_rows": rows}
    return {"type": f"records.after.{verb}", "id": "8d2a5b4c-0000-4000-8000-000000000001", "version": "v3", "data": named}


@pytest.mark.parametrize(("verb", "meaning"), [("insert", "created"), ("update", "updated"), ("delete", "deleted")])
def test_rows_below_data__are_rows_of_the_table(verb: str, meaning: str) -> None:
    rows = [{"Id": 1, "Email": NORA, "UpdatedAt": "2026-11-20 09:30:00+00:00"}, {"Id": 2, "Email": "sam@example.net"}]

    events = events_of(nocodb(verb, "Sheet", *rows))

    assert [(event.event, event.object_type, event.object_id) for event in events] == [
        (f"contact.{meaning}", "table:md_1", "1"), (f"contact.{meaning}", "table:md_1", "2"),
    ]  # fmt: skip
    # A row that is gone still has the time of its last change, which is not that of its deletion.
    assert (events[0].occurred_us is None) == (verb == "delete")


def test_rows_below_data__have_declared_columns() -> None:
    fields = {
        "event": "type", "object_type": "data.table_name", "id": "data.rows[].Id", "email": "data.rows[].Work mail",
        "domain": "data.rows[].Site", "custom.Tier": "data.rows[].Tier",
    }  # fmt: skip
    mapped = ConnectionSettings(fields=fields)

    people = events_of(nocodb("update", "People", {"Id": 1, "Work mail": NORA, "Tier": "A"}, {"Id": 2, "Work mail": "b@x.example"}), mapped)
    companies = events_of(nocodb("delete", "Companies", {"Id": 3, "Site": "acme.example"}), mapped)

    assert [(event.event, event.email, event.object_id, event.custom) for event in people] == [
        ("contact.updated", NORA, "1", {"Tier": "A"}), ("contact.updated", "b@x.example", "2", {}),
    ]  # fmt: skip
    assert [(event.event, event.domain, event.object_id) for event in companies] == [("company.deleted", "acme.example", "3")]


def test_row_of_a_table__is_what_the_tables_name_says() -> None:
    row = {"id": "recA", "Name": "Acme", "Email": "info@acme.example", "Website": "acme.example"}

    (company,) = events_of({"event": "record.updated", "table_name": "Companies", "rows": [row]})
    (cells,) = events_of({"event": "record.updated", "table_name": "People", "records": [{"id": "recB", "fields": {"Email": NORA}}]})
    (gone,) = events_of(nocodb("delete", "Companies", {"Id": 3}))

    assert (company.event, company.domain, company.object_type, company.object_id) == (
        "company.updated", "acme.example", "table:Companies", "recA",
    )  # fmt: skip
    assert (cells.event, cells.email, cells.object_id) == ("contact.updated", NORA, "recB")
    assert (gone.event, gone.object_id) == ("company.deleted", "3")


def test_event__may_be_the_members_name() -> None:
    fields = {"core": {"email": {"label": "Email", "value": NORA}, "firstname": {"label": "First", "value": "Nora"}}, "social": []}
    body = {"mautic.lead_post_save_update": [{"contact": {"id": 50, "fields": fields}, "timestamp": "2026-11-20T09:30:00Z"}]}

    (event,) = events_of(body)

    assert (event.event, event.email, event.object_id, event.fields["first_name"]) == ("contact.updated", NORA, "50", "Nora")


def test_form__is_a_saved_contact_without_the_forms_id() -> None:
    listed = [
        {"label": "Full Name", "value": "Nora Quill"},
        {"label": "Referrer's email", "value": SAM},
        {"label": "E-Mail", "value": NORA},
    ]

    (event,) = events_of({"eventType": "FORM_RESPONSE", "data": {"id": "r1", "fields": listed}})

    assert (event.event, event.email, event.object_id) == ("contact.updated", NORA, None)
    assert event.fields == {"first_name": "Nora", "last_name": "Quill"}


def test_new_user__below_an_end_users_key_is_a_contact() -> None:
    (event,) = events_of({"eventType": "newUser", "endUserData": [{"id": "u1", "email": NORA, "firstName": "Nora"}]})

    assert (event.event, event.email, event.object_id) == ("contact.created", NORA, "u1")
    with pytest.raises(UnrecognisedPayload):
        events_of({"eventType": "newUser", "user": {"id": "u1", "email": SAM}})


def test_number_as_status__is_no_status() -> None:
    assert [event.event for event in events_of({"event": "contact.updated", "contact": {"id": 1, "email": NORA, "status": 1}})] == [
        "contact.updated"
    ]


def test_time__named_gmt_has_its_zone() -> None:
    (event,) = events_of({"event": "contact.updated", "id": 1, "email": NORA, "date_modified_gmt": "2026-11-20T09:30:00"})

    assert not event.unzoned


def test_declared_path_with_brackets__reads_a_record_for_each_of_a_list() -> None:
    fields = {"event": "what", "object_type": "what", "id": "rows[].no", "email": "rows[].Mail", "company": "rows[].Firm.name",
              "company_id": "rows[].Firm.no", "phone": "rows[].Tel", "title": "rows[].Job"}  # fmt: skip
    rows: list[object] = [
        {"no": 1, "Mail": NORA, "Firm": {"no": 9, "name": "Acme"}, "Tel": "+43 1", "Job": "CEO"},
        {"no": 2, "Mail": SAM},
        {"Mail": ""},
        "text",
    ]

    nora, sam, *unread = events_of({"what": "person.updated", "rows": rows}, ConnectionSettings(fields=fields))

    assert (nora.event, nora.email, nora.object_id, nora.company_object) == ("contact.updated", NORA, "1", ("company", "9"))
    assert nora.custom == {"company": "Acme", "phone": "+43 1", "title": "CEO"}
    assert (sam.email, sam.object_id) == (SAM, "2")
    assert [event.event for event in unread] == ["unrecognised", "unrecognised"]
