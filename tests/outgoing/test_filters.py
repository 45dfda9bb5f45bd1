"""What the filter of an endpoint lets through: for any tree what a search with it finds, also after a change."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.house import House
from tests.outgoing.conftest import PATH, URL, Webhooks
from tests.search.test_search_property import ANNA, STATUSES, TEXTS, companies, contacts, create_world, trees

from touchbase.clients.models import ClientSettings
from touchbase.common.timestamps import SECOND
from touchbase.outgoing.filters import filter_faults
from touchbase.outgoing.line import ADVANCE_EVERY
from touchbase.outgoing.sql.backlog import count_outgoing
from touchbase.records.operations import update_company, update_contact
from touchbase.records.writes import RecordUpdate, new_write_key

KINDS = {"contact": "contacts", "company": "companies"}
NUMBERS = itertools.count(1)
FIELDS = {"Score": {"type": "number"}, "Renewal": {"type": "date"}}
FILTERS = st.fixed_dictionaries({}, optional={"contact": trees(1), "company": trees(2)})
CHANGES = st.lists(st.tuples(st.sampled_from([1, 2]), st.integers(0, 11), st.sampled_from(TEXTS), st.sampled_from(STATUSES)), max_size=4)


@pytest.mark.slow_on_postgresql
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(filters=st.lists(FILTERS, min_size=1, max_size=4), given_companies=companies, given_contacts=contacts.filter(bool), changes=CHANGES)
@example(  # as numbers, because the client declares the field as one
    filters=[{"contact": {"cf.Score": "10"}}, {"contact": {"cf.Score[ne]": "10"}}], given_companies=[],
    given_contacts=[{**ANNA, "custom": {"Score": "10.0"}}], changes=[],
)  # fmt: skip
async def test_any_filter__lets_through_events_of_the_records_that_a_search_with_it_finds(
    webhooks: Webhooks, filters: list[dict[str, Any]], given_companies: list[Any], given_contacts: list[Any], changes: list[Any]
) -> None:
    store = webhooks.house.call.parts.store
    house = await House.of(webhooks.house.call, f"client-{next(NUMBERS)}")
    await house.call.settings(house.client_id, contact_fields=FIELDS, company_fields={"Size": {"type": "number"}})
    endpoints: dict[int, dict[str, Any]] = {}
    for tree in filters:
        reply = await house.request("POST", PATH, {"url": URL, "filter": tree})
        assert reply.status == 201, reply.body
        endpoints[reply.json()["id"]] = tree

    world = await create_world(store, given_companies, given_contacts, house.number)
    last = await compare(webhooks, house, endpoints)
    for kind, index, name, status in changes:
        if records := world.records(kind):
            number, key = records[index % len(records)].id, new_write_key()
            field, command = ("first_name", update_contact) if kind == 1 else ("name", update_company)
            update: Any = RecordUpdate(house.number, number, {field: name, "status": status}, {}, webhooks.clock(), key)
            await store.write(command(update))
    await compare(webhooks, house, endpoints, last)
    for number in endpoints:
        await house.request("DELETE", f"{PATH}/{number}")


async def compare(webhooks: Webhooks, house: House, endpoints: dict[int, dict[str, Any]], last: str = "evt_0") -> str:
    """Deliver, and compare what each endpoint gets of the events after the last one with what searches find now; return the last event."""
    page = (await house.request("GET", f"/public/v2/events?limit=200&after={last}")).json()
    waiting = {number: (await webhooks.ask_of(house, f"/{number}"))["progress"]["waiting"] for number in endpoints}
    counted = (await webhooks.house.call.parts.store.read(count_outgoing(webhooks.clock()))).waiting
    sent = await webhooks.deliver()
    assert counted == len(sent)
    for number, filters in endpoints.items():
        results = {(kind, item) for kind in KINDS for item in await searched(house, kind, filters.get(kind))}
        wanted = [event["data"]["id"] for event in page["data"] if (event["type"].partition(".")[0], event["data"]["record_id"]) in results]
        got = [f"evt_{item.sequence}" for item in sent if item.id.endswith(f"_{number}")]
        assert sorted(got) == sorted(wanted), filters
        assert waiting[number] == len(wanted), filters
    assert await webhooks.deliver(ADVANCE_EVERY / SECOND) == []  # it stores that endpoints have passed over the other events
    return str(page["next_cursor"])


async def searched(house: House, kind: str, tree: Any) -> list[int]:
    """The ids of the records that a search finds."""
    body = {"limit": 200} if tree is None else {"limit": 200, "where": tree}
    reply = await house.request("POST", f"/public/v2/{KINDS[kind]}/search", body)
    assert reply.status == 200, reply.body
    return [item["id"] for item in reply.json()["data"]]


@pytest.mark.parametrize("cause", ["too many parts", "another type"])
async def test_filter__that_is_not_valid_any_more_pauses_its_endpoint(
    webhooks: Webhooks, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    tree = {"contact": {"cf.Score[gte]": "many", "any": [{"first_name": str(number)} for number in range(9)]}}
    endpoint = await webhooks.ask("POST", "", {"url": URL, "filter": tree}, 201)
    refused = {"contact": {"any": [{"all": [{"first_name": "a"}, {"first_name": "b"}]} for _ in range(200)]}}
    too_large = await webhooks.ask("POST", "", {"url": URL, "filter": refused}, 422)
    with monkeypatch.context() as limits:
        if cause == "too many parts":
            limits.setattr("touchbase.search.parse.MOST_PARTS", 10)
        else:
            await webhooks.house.call.settings("default", contact_fields=FIELDS)
        await webhooks.house.contact(email="ann@example.com", first_name="8")
        assert await webhooks.deliver() == []
        shown = await webhooks.ask("GET", f"/{endpoint['id']}")

    changed = await webhooks.ask("PATCH", f"/{endpoint['id']}", {"filter": {"contact": {"first_name": "8"}}})
    await webhooks.ask("POST", f"/{endpoint['id']}/resume")

    assert too_large["errors"][0]["pointer"].startswith("/filter/contact")
    assert (shown["state"], changed["state"]) == ("paused", "paused")
    assert "its filter is not valid now: /filter/contact" in shown["state_reason"]
    assert [sent.body["type"] for sent in await webhooks.deliver()] == ["contact.created"]


def test_filter_of_many_long_values__is_refused_as_a_whole() -> None:
    trees = {"contact": {"first_name[in]": [f"{number}" + "x" * 900 for number in range(100)]}}

    assert [(fault.pointer, fault.code) for fault in filter_faults(trees, ClientSettings(), 0)] == [("/filter", "too_long")]
