"""Write-back: the status of a contact becomes a property of its HubSpot contacts, and what cannot be written says why."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import pytest
from tests.asgi_client import Clock, MakeClient
from tests.outgoing.conftest import PATH
from tests.outgoing.hubspot import CONNECTIONS, PROPERTY, TOKEN, Hub, hub_of, text_of

from touchbase.outgoing.http_client import READ_BYTES
from touchbase.outgoing.hubspot_client import response_text
from touchbase.outgoing.models import RESPONSE_BYTES
from touchbase.sql.store import Store


@pytest.fixture
async def hub(store: Store, make_client: MakeClient, clock: Clock) -> AsyncIterator[Hub]:
    async with hub_of(store, make_client, clock) as created:
        yield created


async def test_status__is_written_with_the_token_of_the_connection(hub: Hub, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await hub.connect()
    created = await hub.add(values={"replied": "REPLIED"})
    ada, joan = await hub.contact("101", "ada@example.com"), await hub.contact("102", "joan@example.com")

    await hub.set_status(ada, "replied")
    await hub.set_status(joan, "won")
    assert await hub.deliver() == 2

    assert sorted(hub.writes) == [("101", {PROPERTY: "REPLIED"}), ("102", {PROPERTY: "won"})]
    assert {request.headers["authorization"] for request in hub.hubspot.api.requests} == {f"Bearer {TOKEN}"}
    attempts = await hub.attempts()
    assert [(attempt["outcome"], attempt["status"], attempt["error"]) for attempt in attempts] == [("delivered", 200, "")] * 2
    assert (created["url"], created["types"], created["rate_limit"], created["values"]) == (
        "hubspot:contacts", ["contact.status_changed", "contact.merged"], 5, {"replied": "REPLIED"},
    )  # fmt: skip
    assert TOKEN not in text_of([created, attempts, await hub.ask("GET", "")]) + caplog.text


async def test_status__that_is_removed_empties_the_property(hub: Hub) -> None:
    await hub.connect()
    await hub.add()
    ada = await hub.contact("101", "ada@example.com", contact_status="won")

    await hub.set_status(ada, None)
    await hub.deliver()

    assert hub.writes == [("101", {PROPERTY: ""})]


async def test_replay_and_late_attempts__write_the_present_status(hub: Hub) -> None:
    await hub.connect()
    created = await hub.add()
    ada = await hub.contact("101", "ada@example.com")
    hub.hubspot.answer = lambda request: (500, {"message": "internal"})
    await hub.set_status(ada, "replied")
    await hub.deliver()
    await hub.set_status(ada, "won")
    hub.hubspot.answer = lambda request: None
    await hub.deliver(20)
    event = (await hub.attempts())[-1]["event"]

    await hub.ask("POST", f"/{created['id']}/replay", {"event": event}, expect=202)
    await hub.deliver()

    assert [properties for _, properties in hub.writes] == [{PROPERTY: "replied"}, *[{PROPERTY: "won"}] * 3]
    assert hub.hubspot.contacts["101"][PROPERTY] == "won"


async def test_contact_unknown_to_hubspot__is_skipped_and_says_so(hub: Hub) -> None:
    await hub.connect()
    created = await hub.add()
    ada = await hub.house.contact(email="ada@example.com")
    await hub.set_status(ada, "replied")

    assert await hub.deliver() == 0

    [attempt] = await hub.attempts()
    assert (attempt["outcome"], attempt["status"]) == ("skipped", None)
    assert "no webhook or fetched record of HubSpot was about this contact" in attempt["error"]
    shown = await hub.ask("GET", f"/{created['id']}")
    assert (shown["state"], shown["progress"]["waiting"], shown["progress"]["failed"]) == ("active", 0, 0)
    previewed = await hub.ask("POST", "/preview", {"kind": "hubspot", "event": attempt["event"]})
    assert previewed["not_sent"] == attempt["error"]


@pytest.mark.parametrize("is_full", [False, True])
async def test_skipped_event__is_written_by_a_replay_once_hubspot_has_the_contact(hub: Hub, is_full: bool) -> None:
    await hub.connect()
    created = await hub.add()
    ada = await hub.house.contact(email="ada@example.com")
    await hub.set_status(ada, "replied")
    await hub.deliver()
    [attempt] = await hub.attempts()
    hub.hubspot.contacts["101"] = {}
    await hub.receive([hub.hubspot.change("101", "email", "ada@example.com")])

    requested = {"missing_since": "2026-11-20T00:00:00Z"} if is_full else {"event": attempt["event"]}
    replayed = [await hub.ask("POST", f"/{created['id']}/replay", requested, expect=202) for _ in range(2)]
    await hub.deliver()

    assert hub.writes == [("101", {PROPERTY: "replied"})]
    assert replayed == [{"events": 1}] * 2


async def test_change__of_values_counts_for_the_next_write(hub: Hub) -> None:
    await hub.connect()
    created = await hub.add(values={"won": "WON"})
    ada = await hub.contact("101", "ada@example.com")

    changed = await hub.ask("PATCH", f"/{created['id']}", {"values": {"won": "CUSTOMER"}})
    await hub.set_status(ada, "won")
    await hub.deliver()

    assert changed["values"] == {"won": "CUSTOMER"}
    assert hub.writes == [("101", {PROPERTY: "CUSTOMER"})]
    await hub.ask("PATCH", f"/{created['id']}", {"url": "https://api.hubapi.com"}, expect=422)


async def test_skipped_events__do_not_count_against_the_rate(hub: Hub) -> None:
    await hub.connect()
    await hub.add(rate_limit=1)
    for number in range(30):
        await hub.set_status(await hub.house.contact(email=f"p{number}@example.com"), "replied")
    ada = await hub.contact("101", "ada@example.com")
    await hub.set_status(ada, "replied")

    assert await hub.deliver(0) == 1
    assert [attempt["outcome"] for attempt in await hub.attempts()].count("skipped") == 30


async def test_rate__bounds_the_requests_of_a_second(hub: Hub) -> None:
    await hub.connect()
    await hub.add()
    people = [await hub.contact(str(200 + number), f"p{number}@example.com") for number in range(12)]
    for person in people:
        await hub.set_status(person, "replied")

    sent = [await hub.deliver(seconds) for seconds in (0, 0, 1, 1, 1)]

    assert sent == [5, 0, 5, 2, 0]


@pytest.mark.parametrize("status", [401, 403])
async def test_refused_token__is_named_and_tried_again_with_the_new_one(hub: Hub, status: int) -> None:
    await hub.connect()
    created = await hub.add()
    ada = await hub.contact("101", "ada@example.com")
    hub.hubspot.answer = lambda request: (status, {"message": f"refused {request.headers['authorization']}"})
    await hub.set_status(ada, "replied")
    await hub.deliver()

    [attempt] = await hub.attempts()
    assert (attempt["outcome"], attempt["status"]) == ("refused", status)
    assert "access token of the connection" in attempt["error"]
    assert attempt["response_body"] == '{"message": "refused Bearer ***"}'
    assert (await hub.ask("GET", f"/{created['id']}"))["progress"]["failing_since_time"] is not None

    hub.hubspot.answer = lambda request: None
    await hub.change_connection(access_token=TOKEN)
    await hub.deliver(10)
    assert hub.hubspot.contacts["101"][PROPERTY] == "replied"


async def test_contact_that_is_gone_in_hubspot__is_skipped(hub: Hub) -> None:
    await hub.connect()
    created = await hub.add()
    ada = await hub.contact("101", "ada@example.com")
    del hub.hubspot.contacts["101"]
    await hub.set_status(ada, "replied")

    assert [await hub.deliver(seconds) for seconds in (0, 400)] == [1, 0]

    [attempt] = await hub.attempts()
    assert (attempt["outcome"], attempt["status"], attempt["error"]) == ("skipped", 404, "HubSpot does not have this contact any more")
    progress = (await hub.ask("GET", f"/{created['id']}"))["progress"]
    assert (progress["waiting"], progress["failed"], progress["last_delivered_time"]) == (0, 0, None)


async def test_not_found_of_another_server__is_no_missing_contact(hub: Hub) -> None:
    await hub.connect()
    await hub.add()
    ada = await hub.contact("101", "ada@example.com")
    hub.hubspot.answer = lambda request: (404, b"<html>nothing here</html>")
    await hub.set_status(ada, "replied")

    await hub.deliver()

    [attempt] = await hub.attempts()
    assert (attempt["outcome"], attempt["status"]) == ("refused", 404)
    assert "api_base" in attempt["error"]


async def test_refused_value__shows_hubspots_words(hub: Hub) -> None:
    await hub.connect()
    await hub.add()
    ada = await hub.contact("101", "ada@example.com")
    hub.hubspot.answer = lambda request: (400, {"message": "replied was not one of the allowed options: [NEW, OPEN]"})
    await hub.set_status(ada, "replied")

    await hub.deliver()

    [attempt] = await hub.attempts()
    assert (attempt["outcome"], attempt["status"]) == ("refused", 400)
    assert "not one of the allowed options" in attempt["response_body"]


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "7"}, {}, 7),
        ({"x-hubspot-ratelimit-interval-milliseconds": "10000"}, {"policyName": "TEN_SECONDLY_ROLLING"}, 10),
        ({}, {"policyName": "SECONDLY"}, 10),
        ({"x-hubspot-ratelimit-interval-milliseconds": "10000"}, {"policyName": "DAILY"}, 3_600),
    ],
)
async def test_too_many_requests__slow_all_writes_down(hub: Hub, headers: dict[str, str], body: dict[str, str], seconds: int) -> None:
    await hub.connect()
    await hub.add()
    ada, joan = await hub.contact("101", "ada@example.com"), await hub.contact("102", "joan@example.com")
    hub.hubspot.answer = lambda request: (429, body, headers)
    await hub.set_status(ada, "replied")
    await hub.deliver(0)
    hub.hubspot.answer = lambda request: None
    await hub.set_status(joan, "won")

    assert await hub.deliver(seconds - 2) == 0
    assert await hub.deliver(seconds + 10) == 2


async def test_second_object__is_written_too_and_a_missing_one_is_noted(hub: Hub) -> None:
    await hub.connect()
    await hub.add()
    ada = await hub.contact("101", "ada@example.com")
    hub.hubspot.contacts["102"] = {"email": "ada@example.com"}
    await hub.receive([hub.hubspot.change("102", "email", "ada@example.com")])

    await hub.set_status(ada, "replied")
    await hub.deliver()
    del hub.hubspot.contacts["101"]
    await hub.set_status(ada, "won")
    await hub.deliver()

    assert hub.writes == [(number, {PROPERTY: status}) for status in ("replied", "won") for number in ("101", "102")]
    newest = (await hub.attempts())[0]
    assert (newest["outcome"], newest["error"]) == ("delivered", "HubSpot does not have 1 of the 2 contacts of this person any more")


async def test_second_object__that_fails_is_tried_again_with_the_first(hub: Hub) -> None:
    await hub.connect()
    await hub.add()
    ada = await hub.contact("101", "ada@example.com")
    hub.hubspot.contacts["102"] = {"email": "ada@example.com"}
    await hub.receive([hub.hubspot.change("102", "email", "ada@example.com")])
    hub.hubspot.answer = lambda request: (500, {}) if request.path.endswith("102") else None
    await hub.set_status(ada, "replied")
    await hub.deliver()
    hub.hubspot.answer = lambda request: None
    await hub.deliver(10)

    assert [attempt["outcome"] for attempt in await hub.attempts()] == ["delivered", "refused"]
    assert hub.hubspot.contacts["102"][PROPERTY] == "replied"


async def test_merge__writes_the_status_to_the_objects_of_both(hub: Hub) -> None:
    await hub.connect()
    await hub.add()
    ada, old = await hub.contact("101", "ada@example.com"), await hub.contact("102", "ada.king@example.com")
    await hub.set_status(old, "lost")
    await hub.set_status(ada, "won")
    await hub.deliver()

    await hub.house.merge(ada, old)
    await hub.deliver()

    assert {number: contact[PROPERTY] for number, contact in hub.hubspot.contacts.items()} == {"101": "won", "102": "won"}


async def test_merge_in_hubspot__writes_the_status_to_the_contact_that_is_left(hub: Hub) -> None:
    await hub.connect()
    await hub.add()
    ada = await hub.contact("101", "ada@example.com")
    hub.hubspot.contacts["102"] = {"email": "ada.king@example.com"}
    await hub.receive([hub.hubspot.change("102", "email", "ada.king@example.com")])
    merge = {**hub.hubspot.change("101", "", ""), "subscriptionType": "contact.merge", "primaryObjectId": 101, "mergedObjectIds": [102]}
    del hub.hubspot.contacts["102"]
    hub.house.call.clock.move(5)
    await hub.receive([{name: value for name, value in merge.items() if not name.startswith("property")}])
    await hub.set_status(ada, "won")

    await hub.deliver()

    assert hub.hubspot.contacts["101"][PROPERTY] == "won"
    assert (await hub.attempts())[0]["outcome"] == "delivered"


async def test_event_of_another_type__writes_nothing_when_it_is_replayed(hub: Hub) -> None:
    await hub.connect()
    created = await hub.add()
    await hub.house.company("acme.example")

    await hub.ask("POST", f"/{created['id']}/replay", {"event": "evt_1"}, expect=202)

    assert await hub.deliver() == 0
    assert [(attempt["type"], attempt["error"]) for attempt in await hub.attempts()] == [
        ("company.created", "only contact.status_changed and contact.merged write to HubSpot")
    ]


async def test_deleted_contact__is_skipped(hub: Hub) -> None:
    await hub.connect()
    await hub.add()
    ada = await hub.contact("101", "ada@example.com")
    await hub.set_status(ada, "won")
    await hub.house.delete(ada)

    assert await hub.deliver() == 0
    assert [(attempt["outcome"], attempt["error"]) for attempt in await hub.attempts()] == [
        ("skipped", "the contact does not exist any more")
    ]


async def test_connection_removed__lets_events_wait_until_it_is_back(hub: Hub) -> None:
    await hub.connect()
    created = await hub.add()
    ada = await hub.contact("101", "ada@example.com")
    reply = await hub.house.request("DELETE", f"{CONNECTIONS}/crm/hubspot")
    assert reply.status == 204, reply.body
    await hub.set_status(ada, "replied")
    await hub.deliver()

    [attempt] = await hub.attempts()
    assert (attempt["outcome"], attempt["status"]) == ("unreachable", None)
    assert "connect it, or give its connection the token" in attempt["error"]
    changed = await hub.ask("PATCH", f"/{created['id']}", {"description": "it can be changed all the same"})
    assert changed["description"] != ""

    await hub.connect()
    await hub.deliver(10)
    assert hub.writes == [("101", {PROPERTY: "replied"})]


async def test_two_clients__write_each_with_its_own_token(hub: Hub) -> None:
    for number, token in (("101", TOKEN), ("201", f"{TOKEN}-other")):
        await hub.begin()
        await hub.connect(token)
        await hub.add()
        await hub.set_status(await hub.contact(number, "ada@example.com"), "won")
    hub.hubspot.answer = lambda request: (200, {})

    await hub.deliver()

    got = {first_request.path.rpartition("/")[2]: first_request.headers["authorization"] for first_request in hub.hubspot.api.requests}
    assert got == {"101": f"Bearer {TOKEN}", "201": f"Bearer {TOKEN}-other"}


async def test_preview__shows_the_request_and_no_token(hub: Hub) -> None:
    await hub.connect()
    ada = await hub.contact("101", "ada@example.com")
    await hub.add()
    await hub.set_status(ada, "won")
    await hub.deliver()
    event = (await hub.attempts())[0]["event"]

    fictitious = await hub.ask("POST", "/preview", {"kind": "hubspot", "values": {"replied": "REPLIED"}})
    stored = await hub.ask("POST", "/preview", {"kind": "hubspot", "event": event})

    assert fictitious == {
        "kind": "hubspot", "type": "contact.status_changed", "headers": {"content-type": "application/json"},
        "body": {"properties": {PROPERTY: "REPLIED"}}, "requests": ["PATCH /crm/v3/objects/contacts/101"],
    }  # fmt: skip
    assert (stored["body"], stored["requests"]) == ({"properties": {PROPERTY: "won"}}, ["PATCH /crm/v3/objects/contacts/101"])
    assert len(hub.writes) == 1


async def test_test_send__reads_the_property_and_writes_nothing(hub: Hub) -> None:
    await hub.connect()
    created = await hub.add()

    fine = await hub.ask("POST", f"/{created['id']}/test")
    await hub.change_connection(settings={"written_property": "hs_lead_status"})
    missing = await hub.ask("POST", f"/{created['id']}/test")

    assert (fine["outcome"], fine["status"], fine["event"]) == ("delivered", 200, None)
    assert (missing["outcome"], missing["status"]) == ("refused", 404)
    assert "no such property" in missing["error"]
    assert [(request.method, request.path) for request in hub.hubspot.api.requests] == [
        ("GET", f"/crm/v3/properties/contacts/{PROPERTY}"),
        ("GET", "/crm/v3/properties/contacts/hs_lead_status"),
    ]


async def test_add__says_what_the_connection_lacks(hub: Hub) -> None:
    async def fault() -> str:
        reply = await hub.house.request("POST", PATH, {"kind": "hubspot"})
        assert reply.status == 422, reply.body
        [result] = reply.json()["errors"]
        assert result["pointer"] == "/kind"
        return str(result["detail"])

    unconnected = await fault()
    await hub.connect(written_property=None)
    without_property = await fault()
    await hub.change_connection(access_token=None, settings={"written_property": PROPERTY})
    without_token = await fault()

    assert unconnected == without_token
    assert "/connections" in unconnected
    assert "remove" not in unconnected  # there is no endpoint yet
    assert "access token" in without_token
    assert "written_property" in without_property


@pytest.mark.parametrize(
    ("value", "pointer", "says"),
    [
        ({"url": "https://api.hubapi.com"}, "/url", "connection"),
        ({"types": ["contact.replied"]}, "/types/0", "contact.status_changed"),
        ({"template": "{{person}}"}, "/template", "leave it out"),
        ({"fields": ["email"]}, "/fields", "leave it out"),
        ({"format": "cloudevents"}, "/format", "leave it out"),
        ({"to": ["a@example.com"]}, "/to", "leave it out"),
        ({"values": {"won": " "}}, "/values/won", "empty"),
        ({"values": {"won/lost": ""}}, "/values/won~1lost", "empty"),
        ({"kind": "slack", "url": "https://hooks.slack.com/services/x", "values": {"won": "WON"}}, "/values", "hubspot"),
    ],
)
async def test_add__names_the_fault(hub: Hub, value: dict[str, object], pointer: str, says: str) -> None:
    await hub.connect()

    reply = await hub.house.request("POST", PATH, {"kind": "hubspot", **value})

    assert reply.status == 422, reply.body
    [fault] = reply.json()["errors"]
    assert fault["pointer"] == pointer
    assert says in fault["detail"]


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("hubspot", "email"),
        ("hubspot", "Touchbase Status"),
        ("hubspot", "hs_linkedin_url"),
        ("hubspot", "../companies"),
        ("close", PROPERTY),
    ],
)
async def test_connection__refuses_a_property_that_is_none_for_statuses(hub: Hub, tool: str, name: str) -> None:
    reply = await hub.house.request("POST", CONNECTIONS, {"channel": "crm", "tool": tool, "settings": {"written_property": name}})

    assert reply.status == 422, reply.body
    assert [error["pointer"] for error in reply.json()["errors"]] == ["/settings/written_property"]


@pytest.mark.parametrize("before", [0, READ_BYTES - 5, READ_BYTES, RESPONSE_BYTES - 5])
def test_response_text__has_no_part_of_the_token(before: int) -> None:
    token = b"pat-eu1-secret"

    text = response_text(b"." * before + token * 500_000, token.decode())

    assert "pat-" not in text
    assert text.startswith("." * min(before, RESPONSE_BYTES) or "***")
    assert len(text) <= RESPONSE_BYTES
