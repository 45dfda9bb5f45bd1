"""Write-back is safe against loops: what HubSpot set is not written back, and our own writes that it reports change nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import Clock, MakeClient
from tests.examples import examples
from tests.outgoing.hubspot import APP, PROPERTY, Hub, hub_of

from touchbase.sql.store import Store

BOTH_WAYS: dict[str, Any] = {"status_property": {"contact": PROPERTY}}
"""The written property is also the one that people set the status with in HubSpot."""
ADA = "ada@example.com"


@pytest.fixture
async def hub(store: Store, make_client: MakeClient, clock: Clock) -> AsyncIterator[Hub]:
    async with hub_of(store, make_client, clock) as created:
        yield created


async def test_own_write__that_comes_back_changes_nothing(hub: Hub) -> None:
    await hub.connect()
    await hub.add()
    ada = await hub.contact("101", ADA)
    await hub.set_status(ada, "replied")
    await hub.deliver()
    before, events = await hub.house.get(ada), await hub.house.timeline(ada)

    await hub.hear()

    assert await hub.house.get(ada) == before
    assert await hub.house.timeline(ada) == events
    assert (await hub.house.states())[-1] == "ignored"
    assert await hub.deliver() == 0


async def test_own_write_of_another_property__by_the_same_app_is_read(hub: Hub) -> None:
    await hub.connect()
    await hub.add()
    ada = await hub.contact("101", ADA)

    await hub.receive([hub.hubspot.change("101", "firstname", "Ada", "INTEGRATION", str(APP))])

    assert (await hub.house.get(ada))["first_name"] == "Ada"


@pytest.mark.parametrize(
    ("source", "source_id"), [("CRM_UI", "userId:98499705"), ("INTEGRATION", "1160452"), ("AUTOMATION_PLATFORM", str(APP)), ("IMPORT", "")]
)
async def test_change_of_the_written_property_by_others__sets_the_status_and_is_not_written_back(
    hub: Hub, source: str, source_id: str
) -> None:
    await hub.connect(**BOTH_WAYS, status_labels={"REPLIED": "replied"})
    await hub.add(values={"replied": "REPLIED"})
    ada = await hub.contact("101", ADA)
    hub.hubspot.set("101", PROPERTY, "REPLIED", source, source_id)

    await hub.hear()

    assert await hub.status(ada) == "replied"
    assert await hub.deliver() == 0
    assert [(attempt["outcome"], attempt["error"]) for attempt in await hub.attempts()] == [
        ("skipped", "HubSpot has set this status itself")
    ]


async def test_status_of_another_property_of_hubspot__is_not_written_back(hub: Hub) -> None:
    await hub.connect()
    await hub.add()
    ada = await hub.contact("101", ADA)
    hub.hubspot.set("101", "lifecyclestage", "customer")
    await hub.hear()

    assert await hub.status(ada) == "customer"
    assert await hub.deliver() == 0


async def test_reply_applied_together_with_a_call_of_hubspot__is_written(hub: Hub) -> None:
    await hub.connect()
    await hub.add()
    await hub.contact("101", ADA)
    hub.house.call.clock.move(5)
    await hub.reply(ADA)
    hub.house.call.clock.move(5)
    await hub.receive([hub.hubspot.change("101", "firstname", "Ada")])
    feed = (await hub.house.request("GET", "/public/v2/events?types=contact.status_changed")).json()["data"]

    await hub.deliver()

    # One transaction applied both, so HubSpot's call is named as a cause of the change; the history knows better.
    assert [item["data"]["cause"]["tool"] for item in feed] == ["hubspot"]
    assert hub.writes == [("101", {PROPERTY: "replied"})]


async def test_status_set_at_one_time_by_hubspot_and_another_tool__is_written(hub: Hub) -> None:
    await hub.connect()
    await hub.add()
    ada = await hub.contact("101", ADA)
    hub.house.call.clock.move(5)
    await hub.reply(ADA)
    await hub.receive([hub.hubspot.change("101", "lifecyclestage", "customer")])

    await hub.deliver()

    assert hub.writes == [("101", {PROPERTY: await hub.status(ada)})]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_two_quick_changes__come_back_late_in_either_order_and_change_nothing(hub: Hub, order: tuple[int, int]) -> None:
    await hub.connect(**BOTH_WAYS)
    await hub.add()
    ada = await hub.contact("101", ADA)
    hub.hubspot.behind_seconds = 30  # so the older changes look newer than the last one
    for status in ("replied", "won"):
        await hub.set_status(ada, status)
        await hub.deliver()
    late = [hub.hubspot.calls[number] for number in order]
    await hub.set_status(ada, "lost")

    for entry in late:
        hub.house.call.clock.move(1)
        await hub.receive([entry])

    assert [item["propertyValue"] for item in late] == [("replied", "won")[number] for number in order]
    assert await hub.status(ada) == "lost"
    assert await hub.deliver() == 1
    assert hub.hubspot.contacts["101"][PROPERTY] == "lost"


async def test_whole_record__is_not_read_for_the_written_property(hub: Hub) -> None:
    await hub.connect(**BOTH_WAYS)
    await hub.add()
    ada = await hub.contact("101", ADA)
    await hub.set_status(ada, "won")
    body = {
        "vid": 101,
        "properties": {"email": {"value": ADA}, PROPERTY: {"value": "replied"}, "lastmodifieddate": {"value": "1990000000000"}},
    }

    reply = await hub.house.call("POST", "/public/crm-webhook/default", body)
    await hub.inbox.drain()

    assert reply.status == 200
    assert await hub.status(ada) == "won"


@pytest.mark.parametrize(("source", "status"), [("INTEGRATION", None), ("CRM_UI", "replied")])
async def test_fetched_record__gives_what_people_set_and_not_what_programs_set(hub: Hub, source: str, status: str | None) -> None:
    await hub.connect(**BOTH_WAYS)
    versions = [
        {"value": "lost", "timestamp": "2026-11-20T09:20:00Z", "sourceType": "INTEGRATION", "sourceId": str(APP)},
        {"value": "replied", "timestamp": "2026-11-20T09:10:00Z", "sourceType": source, "sourceId": "userId:1"},
    ]
    record = {"id": "101", "properties": {"email": ADA, PROPERTY: "lost"}, "propertiesWithHistory": {PROPERTY: versions}}
    hub.hubspot.answer = lambda request: (200, {"results": [record]})
    creation = {**hub.hubspot.change("101", "", ""), "subscriptionType": "contact.creation"}
    await hub.receive([{name: value for name, value in creation.items() if not name.startswith("property")}])

    hub.house.call.clock.move(5)
    await hub.fetch.drain()
    await hub.inbox.drain()

    [ada] = await hub.house.listed()
    assert (ada["email"], ada.get("contact_status")) == (ADA, status)


steps = st.one_of(
    st.tuples(st.just("set"), st.sampled_from(["replied", "won", "lost"])),
    st.tuples(st.just("people set"), st.sampled_from(["replied", "won", "lost"])),
    st.tuples(st.just("deliver")),
    st.tuples(st.just("hear"), st.booleans(), st.integers(0, 2)),
)


@pytest.mark.slow_on_postgresql
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=st.lists(steps, max_size=12), both_ways=st.booleans(), behind=st.integers(0, 5))
async def test_any_order_of_changes_writes_and_calls__ends_with_the_last_change(
    hub: Hub, program: list[tuple[Any, ...]], both_ways: bool, behind: int
) -> None:
    await hub.begin()
    hub.hubspot.behind_seconds = behind
    await hub.connect(**(BOTH_WAYS if both_ways else {}))
    await hub.add()
    ada, last, changes = await hub.contact("101", ADA), None, 0
    for step in program:
        hub.house.call.clock.move(1)
        match step:
            case ["set", status] if await hub.status(ada) != status:
                await hub.set_status(ada, status)
                changes, last = changes + 1, ("set", status)
            case ["people set", status] if both_ways and hub.hubspot.contacts["101"].get(PROPERTY) != status:
                await hub.deliver()  # a change that crosses ours on the way is overwritten: the page says so
                hub.hubspot.set("101", PROPERTY, status)
                changes, last = changes + 1, step
            case ["deliver"]:
                await hub.deliver()
            case ["hear", backwards, late]:
                calls = hub.hubspot.calls[::-1] if backwards else hub.hubspot.calls
                held, hub.hubspot.calls = calls[:late], calls[late:]
                await hub.hear()
                hub.hubspot.calls = held

    for _ in range(2):
        await hub.deliver(2)
        await hub.hear()

    assert (await hub.deliver(400), hub.hubspot.calls) == (0, [])
    assert len(hub.writes) <= changes
    assert await hub.status(ada) == (None if last is None else last[1])
    if last is not None and last[0] == "set":
        assert hub.hubspot.contacts["101"][PROPERTY] == last[1]
