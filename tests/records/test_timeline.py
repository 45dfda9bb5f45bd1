"""The timeline of a record: its events newest first, and what each changed."""

from __future__ import annotations

import json
from typing import Any

from tests.asgi_client import ApiClient
from tests.house import House

from touchbase.adapters.registry import load_adapters
from touchbase.common.timestamps import from_text
from touchbase.deliveries.delivery import Delivery
from touchbase.history.events import Event, Translation
from touchbase.inbox.worker import InboxWorker

NOON = from_text("2026-11-20T09:00:00Z")
SENT, REPLIED, NOW = "2026-11-18T08:00:00Z", "2026-11-19T08:00:00Z", "2026-11-20T09:30:00Z"


def campaign(*events: Event) -> Any:
    def translate(delivery: Delivery) -> Translation:
        return Translation("instantly", list(events))

    return translate


async def mailed_and_replied(call: ApiClient) -> None:
    """Jane was mailed and replied; the reply is told first."""
    call.clock.now = from_text("2026-11-17T08:00:00Z")
    await call.post("/public/v2/contacts", {"email": "jane@example.com", "contact_status": "new"}, x_request_id="post-1")
    call.clock.now = from_text(NOW)
    for name, at in (("email_replied", REPLIED), ("email_sent", SENT)):
        event = Event(name, from_text(at), email="jane@example.com", campaign="Autumn")
        await call("POST", "/public/emailcampaign-webhook/default", raw=name.encode())
        await call.parts.store.work(call.kept[-1], 10, campaign(event), call.clock.now)


async def test_timeline__lists_events_newest_first_with_their_changes(call: ApiClient) -> None:
    await mailed_and_replied(call)
    later = call.clock.move(60)
    await call.patch("/public/v2/contacts/1", {"contact_status": "customer", "first_name": "Jane"}, x_request_id="patch-1")

    reply = await call.get("/public/v2/contacts/1/timeline")

    by_api = {
        "tool": "api", "campaign": None, "campaign_id": None, "delivery_id": None, "key_id": None, "problems": [], "message_id": None,
        "actor": {"type": "anyone", "id": None, "name": "", "via": "api"},
    }  # fmt: skip
    by_tool = {
        "tool": "instantly",
        "campaign": "Autumn",
        "campaign_id": None,
        "received_at": NOW,
        "key_id": None,
        "request_id": None,
        "problems": [],
        "message_id": None,
        "actor": {"type": "tool", "id": None, "name": "instantly", "via": "webhook"},
    }
    assert reply.status == 200
    assert reply.json() == {
        "data": [
            {
                **by_api,
                "event": "contact.updated",
                "occurred_at": later,
                "received_at": later,
                "request_id": "patch-1",
                "changed": [
                    {"field": "contact_status", "value": "customer", "previous": "replied"},
                    {"field": "first_name", "value": "Jane", "previous": None},
                ],
            },
            {
                **by_tool,
                "event": "email_replied",
                "occurred_at": REPLIED,
                "delivery_id": 1,
                "changed": [
                    {"field": "contact_status", "value": "replied", "previous": "contacted"},
                    {"field": "last_reply_received", "value": REPLIED, "previous": None},
                ],
            },
            {
                **by_tool,
                "event": "email_sent",
                "occurred_at": SENT,
                "delivery_id": 2,
                "changed": [
                    {"field": "contact_status", "value": "contacted", "previous": "new"},
                    {"field": "first_campaign_email_sent", "value": SENT, "previous": None},
                    {"field": "last_campaign_email_sent", "value": SENT, "previous": None},
                ],
            },
            {
                **by_api,
                "event": "contact.created",
                "occurred_at": "2026-11-17T08:00:00Z",
                "received_at": "2026-11-17T08:00:00Z",
                "request_id": "post-1",
                "changed": [
                    {"field": "contact_status", "value": "new", "previous": None},
                    {"field": "email", "value": "jane@example.com", "previous": None},
                ],
            },
        ],
        "next_cursor": None,
    }


async def test_timeline__lists_a_crm_value_once_under_the_record_field(call: ApiClient) -> None:
    item = {"subscriptionType": "contact.propertyChange", "portalId": 1, "objectId": 7, "occurredAt": 1_763_600_000_000}
    named = {"email": "nora@example.com", "firstname": "Nora", "lastname": "Quill", "phone": "1"}
    body = [{**item, "eventId": name, "propertyName": name, "propertyValue": value} for name, value in named.items()]
    await call("POST", "/public/crm-webhook/default", raw=json.dumps(body).encode())
    await InboxWorker(call.parts.store, load_adapters().translate, call.clock).drain()

    timeline = (await call.get("/public/v2/contacts/1/timeline")).json()["data"]

    changed = [(change["field"], change["value"]) for event in timeline for change in event["changed"]]
    assert sorted(changed) == [
        ("email", "nora@example.com"), ("first_name", "Nora"), ("last_name", "Quill"), ("origin", "hubspot"), ("phone", "1"),
    ]  # fmt: skip


async def came(call: ApiClient, query: str, *bodies: object) -> None:
    for body in bodies:
        call.clock.move(1)
        await call("POST", f"/public/crm-webhook/default?{query}", raw=json.dumps(body).encode())
        await InboxWorker(call.parts.store, load_adapters().translate, call.clock).drain()


async def changes(call: ApiClient, records: str, field: str) -> list[tuple[str | None, str | None]]:
    """What a field of the one record was and became, oldest first."""
    (record,) = (await call.get(f"/public/v2/{records}")).json()["data"]
    timeline = (await call.get(f"/public/v2/{records}/{record['id']}/timeline")).json()["data"]
    timelines = [change for event in reversed(timeline) for change in event["changed"]]
    return [(change["previous"], change["value"]) for change in timelines if change["field"] == field]


async def test_timeline__lists_an_email_changed_by_webhooks_with_its_previous_value(call: ApiClient) -> None:
    person = {"_model": "res.partner", "_id": 8, "is_company": False}

    await came(call, "", {**person, "email": "Olga@example.com"}, {**person, "email": "olga.new@example.com"}, {**person, "email": False})

    assert await changes(call, "contacts", "email") == [(None, "olga@example.com"), ("olga@example.com", "olga.new@example.com")]


async def test_timeline__lists_a_crm_address_or_domain_property_under_the_record_field(call: ApiClient) -> None:
    await came(call, "event=Contact.create", [{"id": "c", "emailAddress": "uma@example.com"}])
    await came(call, "event=Contact.fieldUpdate.emailAddress", [{"id": "c", "emailAddress": "uma.ray@example.com", "title": "CEO"}])
    await came(call, "event=Account.create", [{"id": "a", "website": "https://www.ray.example"}])
    await came(call, "event=Account.update", [{"id": "a", "website": "http://ray2.example/home"}])

    assert await changes(call, "contacts", "email") == [(None, "uma@example.com"), ("uma@example.com", "uma.ray@example.com")]
    assert await changes(call, "companies", "domain") == [(None, "ray.example"), ("ray.example", "ray2.example")]
    assert [await changes(call, "contacts", "emailAddress"), await changes(call, "companies", "website")] == [[], []]


async def test_timeline__places_a_late_event_at_its_own_time(call: ApiClient) -> None:
    await mailed_and_replied(call)

    reply = await call.get("/public/v2/contacts/1/timeline")
    record = (await call.get("/public/v2/contacts/1")).json()

    assert [(item["event"], item["occurred_at"], item["delivery_id"]) for item in reply.json()["data"]] == [
        ("email_replied", REPLIED, 1),
        ("email_sent", SENT, 2),
        ("contact.created", "2026-11-17T08:00:00Z", None),
    ]
    assert {"field": "last_reply_received", "value": REPLIED, "previous": None} in reply.json()["data"][0]["changed"]
    assert (record["first_campaign_email_sent"], record["last_reply_received"]) == (SENT, REPLIED)


async def test_timeline__has_pages(call: ApiClient) -> None:
    await call.post("/public/v2/companies", {"domain": "example.com"})
    for number in range(5):
        call.clock.move(1)
        await call.patch("/public/v2/companies/1", {"name": f"Example {number}"})

    names, target = [], "/public/v2/companies/1/timeline?limit=2"
    cursor: str | None = ""
    while cursor is not None:
        page = (await call.get(f"{target}&cursor={cursor}" if cursor else target)).json()
        names.append([item["changed"][0]["value"] for item in page["data"]])
        cursor = page["next_cursor"]

    assert names == [["Example 4", "Example 3"], ["Example 2", "Example 1"], ["Example 0", "example.com"]]


async def test_timeline__includes_a_creation(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"first_name": "Jane"})

    [entry] = (await call.get("/public/v2/contacts/1/timeline")).json()["data"]

    assert (entry["event"], entry["occurred_at"], entry["changed"]) == (
        "contact.created", NOW, [{"field": "first_name", "value": "Jane", "previous": None}],
    )  # fmt: skip


async def test_timeline__adds_up_to_the_record(call: ApiClient) -> None:
    company = (await call.post("/public/v2/companies", {"domain": "example.com", "name": "Example"})).json()["id"]
    posted = {
        "email": "Jane@example.com", "linkedin_url": "linkedin.com/in/jane", "first_name": "Jane", "company_id": company,
        "contact_status": "new", "contact_custom_fields_input": [{"field_name": "plan", "field_value": "pro"}],
    }  # fmt: skip
    await call.post("/public/v2/contacts", posted)
    call.clock.move(60)
    await call.patch("/public/v2/contacts/1", {"email": None, "last_name": "Quill", "origin": "fair"})
    call.clock.move(60)
    fields = [{"field_name": "plan", "field_value": None}, {"field_name": "seats", "field_value": "3"}]
    await call.patch("/public/v2/contacts/1", {"company_id": None, "contact_status": "won", "contact_custom_fields_input": fields})

    timeline = (await call.get("/public/v2/contacts/1/timeline")).json()["data"]
    record = (await call.get("/public/v2/contacts/1?structure=FLAT")).json()

    sums: dict[str, Any] = {}
    for entry in reversed(timeline):
        for change in entry["changed"]:
            assert sums.get(change["field"]) == change["previous"]
            sums[change["field"]] = change["value"]
    assert sums == {
        "contact_status": "won", "email": None, "linkedin_url": "linkedin.com/in/jane", "first_name": "Jane", "last_name": "Quill",
        "company_id": None, "origin": "fair", "plan": None, "seats": "3",
    }  # fmt: skip
    assert ("email" in record, "company_id" in record, record["contact_custom_fields"]) == (False, False, {"seats": "3"})


async def test_timeline__orders_previous_values_by_time_and_not_by_arrival(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"email": "jane@example.com"})
    call.clock.move(60)
    await call.patch("/public/v2/contacts/1", {"first_name": "Jane"})
    earlier = Event("contact.updated", from_text(NOW) + 9, email="jane@example.com", fields={"first_name": "J."}, object_id="7")
    await call("POST", "/public/crm-webhook/default", raw=b"1")
    await call.parts.store.work(call.kept[-1], 10, campaign(earlier), call.clock.now)

    timeline = (await call.get("/public/v2/contacts/1/timeline")).json()["data"]

    assert [entry["changed"] for entry in timeline[:2]] == [
        [{"field": "first_name", "value": "Jane", "previous": "J."}],
        [{"field": "first_name", "value": "J.", "previous": None}],
    ]


async def test_timeline__returns_404_for_an_unknown_record(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"first_name": "Jane"}, x_client_id="theirs")

    assert (await call.get("/public/v2/contacts/1/timeline")).status == 404
    assert (await call.get("/public/v2/companies/x/timeline")).status == 404


async def test_timeline__refuses_a_cursor_of_another_timeline(sqlite_call: ApiClient) -> None:
    for _ in range(2):
        await sqlite_call.post("/public/v2/contacts", {"first_name": "Jane"})
    for number in range(2):
        sqlite_call.clock.move(1)
        await sqlite_call.patch("/public/v2/contacts/1", {"origin": f"x{number}"})
    cursor = (await sqlite_call.get("/public/v2/contacts/1/timeline?limit=1")).json()["next_cursor"]

    reply = await sqlite_call.get(f"/public/v2/contacts/2/timeline?cursor={cursor}")

    assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, "?cursor")


async def test_merged_contact__returns_404_with_the_id_of_the_surviving_contact(call: ApiClient) -> None:
    calls = [[Event("contact.updated", NOON - 9, email=f"p{n}@example.com", object_type="record", object_id=n)] for n in "12"]
    calls.append([Event("contact.deleted", NOON - 5, object_type="record", object_id="2", merged_into="1")])
    for number, events in enumerate(calls):
        await call("POST", "/public/crm-webhook/default", raw=b"%d" % number)
        await call.parts.store.work(call.kept[-1], 10, campaign(*events), call.clock.now)
    [stored] = (await call.get("/public/v2/contacts")).json()["data"]
    gone = 3 - stored["id"]

    replies = [
        await call.get(f"/public/v2/contacts/{gone}"),
        await call.get(f"/public/v2/contacts/{gone}/timeline"),
        await call.patch(f"/public/v2/contacts/{gone}", {"first_name": "Jane"}),
    ]

    assert [(reply.status, reply.problem.get("existing_id")) for reply in replies] == [(404, stored["id"])] * 3
    assert "existing_id" not in (await call.get("/public/v2/contacts/99")).problem


async def test_a_property_without_its_value_before__gets_the_one_of_its_last_change(house: House) -> None:
    jane = await house.contact(email="jane@example.com")
    for at, stage in ((-9, "lead"), (-8, "customer")):
        changed = [{"property": "lifecyclestage", "value": stage}]
        event = {
            "event": "contact.status_changed",
            "object_type": "contact",
            "object_id": "7",
            "email": "jane@example.com",
            "status": stage,
        }
        await house.hook("hubspot", {**event, "at": at, "changed": changed})

    entries = (await house.request("GET", f"/public/v2/contacts/{jane}/timeline")).json()["data"]

    changes = [change for entry in entries for change in entry["changed"] if change["field"] == "lifecyclestage"]
    assert [(change["value"], change["previous"]) for change in changes] == [("customer", "lead"), ("lead", None)]
