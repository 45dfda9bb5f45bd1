"""Each tool that sends thin calls, asked for the record at a server that speaks its API's shape."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.enrichment.fake_tool_api import ADAPTERS, NOON, TOKEN, FakeApi, FetchSetup, ReceivedRequest, Respond, setup_with_api

from touchbase.common.timestamps import DAY, SECOND, to_text
from touchbase.history.events import CONTACT
from touchbase.history.sql import get_history
from touchbase.inbox.sql.queries import get_delivery, list_deliveries
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.sql.store import Store

YESTERDAY = to_text(NOON - DAY)
LATER = to_text(NOON - DAY // 2)


@dataclass
class Case:
    """A thin call, what the tool's API says about its object, and what it was asked."""

    tool: str
    call: object
    answer: object
    method: str
    path: str
    shown: dict[str, str]
    query: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    contact: dict[str, Any] = field(default_factory=dict)
    company: dict[str, Any] = field(default_factory=dict)


BEARER = {"authorization": f"Bearer {TOKEN}"}
ANN = {"email": "ann@example.com", "first_name": "Ann", "last_name": "Lee"}
EVENT = {"id": {"workspace_id": "w", "object_id": "o", "record_id": "r-1"}}


def attio(**values: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "data": {"id": {"workspace_id": "w", "object_id": "o", "record_id": "r-1"}, "created_at": "2020-01-01T00:00:00Z", "values": values}
    }


def notion(event: str) -> dict[str, Any]:
    return {
        "id": "e-1", "timestamp": to_text(NOON), "subscription_id": "s-1", "integration_id": "i-1", "type": event,
        "entity": {"id": "p-1", "type": "page"}, "data": {"parent": {"id": "d-1", "type": "database"}},
    }  # fmt: skip


CASES = {
    "bitrix24 lead": Case(
        "bitrix24",
        {"event": "ONCRMLEADADD", "data": {"FIELDS": {"ID": "9"}}, "ts": str(NOON // SECOND), "auth": {"domain": "evil.example"}},
        {"result": {"ID": "9", "NAME": "Ann", "LAST_NAME": "Lee", "EMAIL": [{"VALUE": "ann@example.com", "VALUE_TYPE": "WORK"}],
                    "STATUS_ID": "IN_PROCESS", "DATE_MODIFY": YESTERDAY}},
        "GET", f"/rest/31/{TOKEN}/crm.lead.get.json?id=9", {},
        settings={"api_user": "31"}, contact={**ANN, "status": "IN_PROCESS", "status_entry_us": NOON - DAY},
    ),
    "follow up boss": Case(
        "follow_up_boss",
        {"eventId": "e", "eventCreated": to_text(NOON), "event": "peopleCreated", "resourceIds": [152], "uri": "https://x.example"},
        {"people": [{"id": 152, "firstName": "Ann", "lastName": "Lee", "emails": [{"value": "ann@example.com", "isPrimary": 1}],
                     "stage": "Lead", "updated": YESTERDAY}]},
        "GET", "/v1/people?id=152&fields=allFields&limit=1", {"authorization": f"Basic {b64encode(f'{TOKEN}:'.encode()).decode()}"},
        contact={**ANN, "status": "Lead", "status_entry_us": NOON - DAY},
    ),
    "keap contact": Case(
        "keap",
        {"event_key": "contact.add", "object_type": "contact", "object_keys": [{"id": 5, "timestamp": to_text(NOON)}]},
        {"id": 5, "given_name": "Ann", "family_name": "Lee", "email_addresses": [{"email": "ann@example.com", "field": "EMAIL1"}],
         "last_updated": YESTERDAY},
        "GET", "/crm/rest/v1/contacts/5", BEARER, contact=ANN,
    ),
    "keap company": Case(
        "keap",
        {"event_key": "company.add", "object_type": "company", "object_keys": [{"id": 6, "timestamp": to_text(NOON)}]},
        {"id": 6, "company_name": "Example", "website": "https://www.example.com", "last_updated": YESTERDAY},
        "GET", "/crm/rest/v1/companies/6", BEARER, company={"domain": "example.com", "name": "Example"},
    ),
    "acuity": Case(
        "acuity",
        {"action": "scheduled", "id": 7, "calendarID": 3, "appointmentTypeID": 2},
        {"id": 7, "firstName": "Ann", "lastName": "Lee", "email": "ann@example.com", "phone": "", "datetime": LATER, "canceled": False},
        "GET", "/api/v1/appointments/7",
        {"authorization": f"Basic {b64encode(f'31:{TOKEN}'.encode()).decode()}"},
        settings={"api_user": "31"}, contact={**ANN, "status": "meeting_booked"},
    ),
    "notion person": Case(
        "notion",
        notion("page.created"),
        {"object": "page", "id": "p-1", "last_edited_time": YESTERDAY, "in_trash": False, "properties": {
            "Who": {"type": "title", "title": [{"plain_text": "Ann "}, {"plain_text": "Lee"}]},
            "Mail": {"type": "email", "email": "ann@example.com"}, "Stage": {"type": "select", "select": {"name": "Warm"}},
            "Points": {"type": "rollup", "rollup": {"type": "array", "array": [], "function": "sum"}}}},
        "GET", "/v1/pages/p-1", {**BEARER, "notion-version": "2025-09-03"},
        contact={**ANN, "status": "Warm", "status_entry_us": NOON - DAY},
    ),
    "notion company": Case(
        "notion",
        notion("page.properties_updated"),
        {"object": "page", "id": "p-1", "last_edited_time": YESTERDAY, "properties": {
            "Name": {"type": "title", "title": [{"plain_text": "Example"}]}, "Site": {"type": "url", "url": "https://www.example.com/a"},
            "Profile": {"type": "url", "url": "https://www.linkedin.com/company/example"}}},
        "GET", "/v1/pages/p-1", BEARER, settings={"objects": {"d-1": "company"}},
        company={"domain": "example.com", "name": "Example"},
    ),
    "zendesk sell lead": Case(
        "zendesk_sell",
        {"meta": {"type": "lead", "event_type": "created", "event_time": to_text(NOON)}, "data": {"id": 8, "creator_id": 1}},
        {"data": {"id": 8, "first_name": "Ann", "last_name": "Lee", "email": "ann@example.com", "status": "New", "updated_at": YESTERDAY},
         "meta": {"type": "lead"}},
        "GET", "/v2/leads/8", BEARER, contact={**ANN, "status": "New", "status_entry_us": NOON - DAY},
    ),
    "zendesk sell organization": Case(
        "zendesk_sell",
        {"meta": {"type": "event", "event": {"type": "contact_created"}}, "data": {"id": 9, "is_organization": True, "name": "Example"}},
        {"data": {"id": 9, "is_organization": True, "name": "Example", "website": "example.com", "updated_at": YESTERDAY}},
        "GET", "/v2/contacts/9", BEARER, company={"domain": "example.com", "name": "Example"},
    ),
    "freshsales contact": Case(
        "freshsales",
        {"freshsales": "contact", "event": "created", "id": 7},
        {"contact": {"id": 7, "first_name": "Ann", "last_name": "Lee", "email": "ann@example.com", "updated_at": YESTERDAY}},
        "GET", "/crm/sales/api/contacts/7", {"authorization": f"Token token={TOKEN}"}, contact=ANN,
    ),
    "freshsales account": Case(
        "freshsales",
        {"freshsales": "sales_account", "event": "created", "id": 9},
        {"sales_account": {"id": 9, "name": "Example", "website": "https://www.example.com", "updated_at": YESTERDAY}},
        "GET", "/crm/sales/api/sales_accounts/9", {}, company={"domain": "example.com", "name": "Example"},
    ),
    "vtiger lead": Case(
        "vtiger",
        {"vtiger": "Leads", "event": "created", "id": "10x345"},
        {"success": True, "result": {
            "id": "10x345", "firstname": "Ann", "lastname": "Lee", "email": "ann@example.com", "leadstatus": "Hot"}},
        "GET", "/restapi/v1/vtiger/default/retrieve?id=10x345",
        {"authorization": f"Basic {b64encode(f'31:{TOKEN}'.encode()).decode()}"}, settings={"api_user": "31"},
        contact={**ANN, "status": "Hot"},
    ),
    "suitecrm lead": Case(
        "suitecrm",
        {"suitecrm": "Leads", "event": "created", "id": "b5-1"},
        {"data": {"type": "Lead", "id": "b5-1", "attributes": {
            "first_name": "Ann", "last_name": "Lee", "email1": "ann@example.com", "status": "New", "date_modified": YESTERDAY}}},
        "GET", "/Api/V8/module/Leads/b5-1", BEARER, contact={**ANN, "status": "New", "status_entry_us": NOON - DAY},
    ),
    "suitecrm account": Case(
        "suitecrm",
        {"suitecrm": "Accounts", "event": "updated", "id": "b5-2"},
        {"data": {"type": "Account", "id": "b5-2", "attributes": {"name": "Example", "website": "example.com"}}},
        "GET", "/Api/V8/module/Accounts/b5-2", BEARER, company={"domain": "example.com", "name": "Example"},
    ),
    "hubspot contact": Case(
        "hubspot",
        [{"eventId": 7, "portalId": 1, "occurredAt": NOON // 1000, "subscriptionType": "contact.creation", "objectId": 123}],
        {"status": "COMPLETE", "results": [{
            "id": "123", "archived": False, "createdAt": YESTERDAY, "updatedAt": LATER,
            "properties": {"email": "Ann@example.com", "firstname": "Ann", "lastname": "Lee", "lifecyclestage": "lead",
                           "hs_lead_status": "OPEN", "lastmodifieddate": LATER, "jobtitle": "CTO", "phone": None},
            "propertiesWithHistory": {"lifecyclestage": [{"value": "lead", "timestamp": to_text(NOON - 3 * DAY)}],
                                      "hs_lead_status": [{"value": "OPEN", "timestamp": YESTERDAY}]},
        }]},
        "POST", "/crm/v3/objects/contacts/batch/read", BEARER,
        contact={**ANN, "status": "OPEN", "status_entry_us": NOON - DAY},
    ),
    "hubspot company": Case(
        "hubspot",
        [{"eventId": 8, "portalId": 1, "occurredAt": NOON // 1000, "subscriptionType": "company.creation", "objectId": 9}],
        {"results": [{"id": "9", "updatedAt": LATER,
                      "properties": {"domain": "example.com", "name": "Example", "lifecyclestage": "customer"}}]},
        "POST", "/crm/v3/objects/companies/batch/read", BEARER,
        company={"domain": "example.com", "name": "Example", "status": "customer", "status_entry_us": NOON - DAY // 2},
    ),
    "attio person": Case(
        "attio",
        {"webhook_id": "h", "events": [{"event_type": "record.created", **EVENT}]},
        attio(
            name=[{"first_name": "Ann", "last_name": "Lee", "attribute_type": "personal-name", "active_from": YESTERDAY}],
            email_addresses=[{"email_address": "ann@example.com", "attribute_type": "email-address", "active_from": YESTERDAY}],
            stage=[{"status": {"title": "Won"}, "attribute_type": "status", "active_from": LATER}],
            last_interaction=[{"attribute_type": "interaction", "active_from": to_text(NOON)}],
        ),
        "GET", "/v2/objects/people/records/r-1", BEARER, query="object=people", settings={"status_property": {"contact": "stage"}},
        contact={**ANN, "status": "Won", "status_entry_us": NOON - DAY // 2},
    ),
    "attio company": Case(
        "attio",
        {"webhook_id": "h", "events": [{"event_type": "record.created", **EVENT}]},
        attio(name=[{"value": "Example", "active_from": YESTERDAY}], domains=[{"domain": "example.com", "active_from": YESTERDAY}]),
        "GET", "/v2/objects/companies/records/r-1", BEARER, query="object=companies",
        company={"domain": "example.com", "name": "Example", "status": None},
    ),
    "zoho lead": Case(
        "zoho",
        {"server_time": NOON // 1000, "channel_id": "1", "module": "Leads", "operation": "insert", "ids": ["501"], "affected_fields": []},
        {"data": [{"id": "501", "Email": "ann@example.com", "First_Name": "Ann", "Last_Name": "Lee", "Lead_Status": "Contacted",
                   "Modified_Time": LATER, "Website": None}], "info": {"count": 1}},
        "GET", "/crm/v7/Leads?ids=501&fields=Email,", {"authorization": f"Zoho-oauthtoken {TOKEN}"},
        contact={**ANN, "status": "Contacted", "status_entry_us": NOON - DAY // 2},
    ),
    "zoho account": Case(
        "zoho",
        {"server_time": NOON // 1000, "channel_id": "1", "module": "Accounts", "operation": "insert", "ids": ["601"]},
        {"data": [{"id": "601", "Account_Name": "Example", "Website": "https://www.example.com", "Rank": "A", "Modified_Time": LATER}]},
        "GET", "/crm/v7/Accounts?ids=601&fields=Account_Name,", {"authorization": f"Zoho-oauthtoken {TOKEN}"},
        settings={"status_property": {"Accounts": "Rank"}},
        company={"domain": "example.com", "name": "Example", "status": "A"},
    ),
    "copper lead": Case(
        "copper",
        {"ids": [23], "type": "lead", "event": "new", "subscription_id": 31},
        [{"id": 23, "name": "Ann Lee", "first_name": "Ann", "last_name": "Lee", "email": {"email": "ann@example.com", "category": "work"},
          "status": "New", "status_id": 4, "date_modified": (NOON - DAY) // 1_000_000}],
        "POST", "/developer_api/v1/leads/search",
        {"x-pw-accesstoken": TOKEN, "x-pw-useremail": "boss@example.net", "x-pw-application": "developer_api"},
        settings={"api_user": "boss@example.net"},
        contact={**ANN, "status": "New", "status_entry_us": NOON - DAY},
    ),
    "copper company": Case(
        "copper",
        {"ids": [24], "type": "company", "event": "new", "subscription_id": 31},
        [{"id": 24, "name": "Example", "email_domain": "example.com", "date_modified": (NOON - DAY) // 1_000_000,
          "custom_fields": [{"custom_field_definition_id": 990, "value": "Gold"}]}],
        "POST", "/developer_api/v1/companies/search", {"x-pw-accesstoken": TOKEN},
        settings={"api_user": "boss@example.net", "status_property": {"company": "custom_fields.990"}},
        company={"domain": "example.com", "name": "Example", "status": "Gold"},
    ),
    "monday item": Case(
        "monday",
        {"event": {"boardId": 5, "type": "create_pulse", "triggerTime": to_text(NOON), "triggerUuid": "u", "pulseId": 91}},
        {"data": {"items": [{
            "id": "91", "name": "Ann Lee", "state": "active", "updated_at": LATER, "board": {"id": "5"}, "group": {"title": "New"},
            "column_values": [
                {"id": "e", "type": "email", "text": "ann@example.com", "value": '{"email":"ann@example.com","text":"x"}'},
                {"id": "s1", "type": "status", "text": "Old", "value": f'{{"index":0,"changed_at":"{to_text(NOON - 2 * DAY)}"}}'},
                {"id": "s2", "type": "status", "text": "Hot", "value": f'{{"index":1,"changed_at":"{YESTERDAY}"}}'},
                {"id": "s3", "type": "status", "text": None, "value": None},
            ]}]}, "account_id": 1},
        "POST", "/v2", {"authorization": TOKEN},
        contact={**ANN, "status": "Hot", "status_entry_us": NOON - DAY},
    ),
    "monday company": Case(
        "monday",
        {"event": {"boardId": 5, "type": "create_pulse", "triggerTime": to_text(NOON), "triggerUuid": "u", "pulseId": 92}},
        {"data": {"items": [{
            "id": "92", "name": "Example", "state": "active", "updated_at": LATER, "group": {"title": "Customers"},
            "column_values": [{"id": "l", "type": "link", "text": "site", "value": '{"url":"https://example.com/a","text":"site"}'}]}]}},
        "POST", "/v2", {"authorization": TOKEN}, query="object=company", settings={"status_property": {"company": "group"}},
        company={"domain": "example.com", "name": "Example", "status": "Customers"},
    ),
    "folk person": Case(
        "folk",
        {"id": "evt", "type": "person.created", "createdAt": to_text(NOON), "source": "https://api.folk.app/v1/webhooks/w",
         "data": {"id": "per_1", "url": "https://api.folk.app/v1/people/per_1"}},
        {"data": {"id": "per_1", "firstName": "Ann", "lastName": "Lee", "emails": ["ann@example.com"], "urls": ["https://example.com"],
                  "customFieldValues": {"grp_1": {"Status": "Active"}, "grp_2": {"Status": "Other"}}}},
        "GET", "/v1/people/per_1", BEARER,
        contact={**ANN, "status": "Active"},
    ),
    "folk company": Case(
        "folk",
        {"id": "evt", "type": "company.created", "createdAt": to_text(NOON), "source": "https://api.folk.app/v1/webhooks/w",
         "data": {"id": "com_1"}},
        {"data": {"id": "com_1", "name": "Example", "urls": ["https://linkedin.com/company/x", "https://example.com"]}},
        "GET", "/v1/companies/com_1", BEARER,
        company={"domain": "example.com", "name": "Example"},
    ),
}  # fmt: skip


def always(answer: object) -> Respond:
    return lambda request: (200, answer)


async def records(setup: FetchSetup) -> tuple[list[Contact], list[Company]]:
    return await setup.store.read(list_records(Listing(CONTACT_TYPE, setup.client, 10))), await setup.store.read(
        list_records(Listing(COMPANY_TYPE, setup.client, 10))
    )


async def fetched(setup: FetchSetup, server: FakeApi, case: Case) -> tuple[list[Contact], list[Company]]:
    """The thin call comes, waits, and is told by the tool."""
    await setup.connect(case.tool, server.base, **case.settings)
    await setup.receive(case.call, case.query)
    before = await records(setup)
    assert before == ([], [])
    await setup.work()
    return await records(setup)


def check_asked(case: Case, request: ReceivedRequest) -> None:
    assert request.method == case.method
    assert request.path.startswith(case.path)
    assert {name: request.headers.get(name) for name in case.shown} == case.shown


@pytest.mark.parametrize("name", CASES)
async def test_fetch__turns_a_parked_object_into_a_record(store: Store, name: str) -> None:
    case = CASES[name]
    async with setup_with_api(store, always(case.answer)) as (setup, server):
        contacts, companies = await fetched(setup, server, case)

        (request,) = server.requests
        check_asked(case, request)
        for wanted, result in ((case.contact, contacts), (case.company, companies)):
            assert [{key: getattr(first, key) for key in wanted} for first in result] == ([wanted] if wanted else [])
        deliveries = await store.read(list_deliveries(10, setup.client))
        assert {delivery.state for delivery in deliveries} == {"applied"}
        assert (await setup.fetching(case.tool)).wanted == 0
        assert await setup.work() == 0


@pytest.mark.parametrize("name", CASES)
async def test_fetched_record__is_stored_as_a_marked_delivery_without_the_token(store: Store, name: str) -> None:
    case = CASES[name]
    async with setup_with_api(store, always(case.answer)) as (setup, server):
        await fetched(setup, server, case)

        newest, _ = await store.read(list_deliveries(10, setup.client))
        full_delivery = await store.read(get_delivery(newest.id))
        assert full_delivery is not None
        assert (full_delivery.channel, full_delivery.tool, full_delivery.verified) == ("crm", case.tool, True)
        kinds = ("company", "contact", "people", "Leads", "lead", "item", "person", "appointment", "page", "sales_account", "account")
        assert full_delivery.headers["x-touchbase-fetched"].split(":")[0] in kinds
        assert TOKEN not in repr(full_delivery)


@pytest.mark.parametrize("name", CASES)
async def test_fetch__of_an_object_unknown_to_the_tool_is_not_repeated(store: Store, name: str) -> None:
    case = CASES[name]
    alone = ADAPTERS.fetcher("crm", case.tool).most == 1
    empty: dict[str, object] = {"hubspot": {"results": []}, "zoho": b"", "copper": [], "monday": {"data": {"items": []}}}
    empty |= {"follow_up_boss": {"people": []}}
    answer = (404, {"error": "not found"}) if alone else (204 if case.tool == "zoho" else 200, empty[case.tool])
    async with setup_with_api(store, lambda request: answer) as (setup, server):
        assert await fetched(setup, server, case) == ([], [])

        setup.clock.move(7200)
        again = await setup.work()
        reported = await setup.fetching(case.tool)
        assert (again, len(server.requests), reported.wanted, reported.not_found, reported.stopped) == (0, 1, 0, 1, False)
        assert setup.outcomes == [("gone", 0)]


async def test_fetched_record__without_a_primary_key_stays_parked_and_is_not_fetched_again(store: Store) -> None:
    case = CASES["hubspot contact"]
    nameless = {"results": [{"id": "123", "properties": {"email": None, "lifecyclestage": "lead", "lastmodifieddate": LATER}}]}
    async with setup_with_api(store, always(nameless)) as (setup, server):
        assert await fetched(setup, server, case) == ([], [])
        await setup.work()

        assert len(server.requests) == 1
        deliveries = await store.read(list_deliveries(10, setup.client))
        assert {delivery.state for delivery in deliveries} == {"parked"}
        assert any("until it is fetched with the access token" in (delivery.error or "") for delivery in deliveries)


@pytest.mark.parametrize(
    ("name", "at"),
    [("hubspot contact", NOON - DAY // 2), ("attio person", NOON - DAY // 2), ("zoho lead", NOON - DAY // 2), ("copper lead", NOON - DAY),
     ("monday item", NOON - DAY // 2), ("folk person", NOON + 3_000_000)],
)  # fmt: skip
async def test_fetched_record__has_the_tools_modification_time_or_the_time_of_the_request(store: Store, name: str, at: int) -> None:
    case = CASES[name]
    async with setup_with_api(store, always(case.answer)) as (setup, server):
        ((expected,), _) = await fetched(setup, server, case)

        history = await store.read(get_history(setup.client, CONTACT, expected.id))
        assert [event.occurred_us for event in history if event.event == "contact.updated"] == [at]
