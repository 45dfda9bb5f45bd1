"""A record's custom fields have a budget in bytes: webhooks in any order leave the same fields, and what is left out is listed."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient, MakeClient
from tests.examples import examples
from tests.house import House, house
from tests.projection.test_convergence import NOON, differences, receive, seed, snapshot

from touchbase.common import field_limits
from touchbase.common.timestamps import DAY, SECOND
from touchbase.records import custom_budget
from touchbase.sql.store import Store

__all__ = ["house"]
SMALL = 40
"""Bytes of the budget in tests of the order: four fields of ten bytes."""
EMAIL = "ann@example.com"
LONG = 9_990

crm_contacts = st.builds(
    dict,
    event=st.sampled_from(["contact.created", "contact.updated", "contact.updated", "contact.deleted"]),
    occurred_us=st.integers(1, 6).map(lambda step: NOON - DAY + step * SECOND),
    email=st.just(EMAIL),
    object_type=st.just("partner"),
    object_id=st.sampled_from(["1", "1", "1", "2"]),
    custom=st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([None, "x", "x" * 9, "x" * 19, "x" * 30]), max_size=4),
)


@pytest.fixture
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (field_limits, custom_budget):
        monkeypatch.setattr(module, "CUSTOM_FIELD_BYTES", SMALL)


@pytest.mark.slow_on_postgresql
@pytest.mark.usefixtures("small_budget")
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=st.lists(st.lists(crm_contacts, min_size=1, max_size=2), min_size=2, max_size=6), data=st.data())
async def test_any_order_of_too_long_custom_fields__gives_the_same_record(
    store: Store, calls: list[list[dict[str, Any]]], data: st.DataObject
) -> None:
    again = data.draw(st.lists(st.sampled_from(calls), max_size=2))
    shuffled = data.draw(st.permutations([*calls, *again]))
    first, second = await seed(store, []), await seed(store, [])

    await receive(store, first, calls, batch=50)
    await receive(store, second, shuffled, batch=data.draw(st.integers(1, 3)), sent=calls)

    ours, theirs = await snapshot(store, first), await snapshot(store, second)
    assert theirs == ours
    for record in ours:
        assert field_limits.custom_bytes([(name, value) for name, value, _ in record["custom"]]) <= SMALL
    assert [*await differences(store, first), *await differences(store, second)] == []


def shown(record: dict[str, Any]) -> dict[str, str]:
    """A record's custom fields by name."""
    return {custom_field["field_name"]: custom_field["field_value"] for custom_field in record["contact_custom_fields"]}


def custom(**values: str | None) -> list[dict[str, str | None]]:
    """Custom fields as requests have them."""
    return [{"field_name": name, "field_value": value} for name, value in values.items()]


async def hook(house: House, at: float, fields: dict[str, str]) -> None:
    """A webhook of a CRM about the person."""
    event = {"event": "contact.updated", "email": EMAIL, "object_type": "partner", "object_id": "1", "at": at, "custom": fields}
    await house.hook("odoo", event)


@pytest.mark.usefixtures("small_budget")
async def test_any_order_of_webhooks_and_a_request__gives_the_same_fields(memory: Store, make_client: MakeClient) -> None:
    observed: list[tuple[list[str], dict[str, str]]] = []
    for number, order in enumerate(itertools.permutations(["first", "second", "request", "third"])):
        house = await House.of(make_client(memory), f"client-{number}")
        contact = await house.contact(email=EMAIL)
        for step in order:
            house.call.clock.now = NOON + 100 * SECOND
            if step == "first":
                await hook(house, 10, {"a": "x" * 20, "b": "y" * 9})
            elif step == "second":
                await hook(house, 20, {"c": "z" * 15, "a": "x"})
            elif step == "third":
                await hook(house, 30, {"d": "w" * 30})
            else:
                house.call.clock.now = NOON + 25 * SECOND
                body = {"contact_custom_fields_input": custom(e="v" * 4)}
                reply = await house.request("PATCH", f"/public/v2/contacts/{contact}", body)
                if reply.status == 422:  # where the record is full, the caller learns it
                    break
        else:
            observed.append(([*order], shown(await house.get(contact))))

    assert len(observed) > 10
    assert all(fields == {"a": "x", "b": "y" * 9, "c": "z" * 15, "e": "v" * 4} for _, fields in observed), observed


async def test_webhook_of_many_long_fields__leaves_256_kb_and_a_problem(house: House) -> None:
    await hook(house, 1, {f"field {number:03}": "x" * LONG for number in range(400)})
    await hook(house, 2, {f"other {number:03}": "x" * LONG for number in range(400)})

    (record,) = await house.listed()
    deliveries = (await house.request("GET", "/admin/v1/deliveries?problems=true")).json()["data"]

    assert field_limits.custom_bytes(shown(record).items()) <= field_limits.CUSTOM_FIELD_BYTES
    assert [*shown(record)] == [f"field {number:03}" for number in range(26)]
    assert [delivery["problems"][0]["code"] for delivery in deliveries] == ["fields_left_out"] * 2
    assert "374 fields, such as field 026, field 027" in deliveries[-1]["problems"][0]["detail"]


async def test_request_above_the_budget__is_refused_and_names_the_field(sqlite_call: ApiClient) -> None:
    call, long = sqlite_call, {f"field {number:03}": "é" * 5_000 for number in range(27)}
    refused = await call.post("/public/v2/contacts", {"contact_custom_fields_input": custom(**long)})
    del long["field 026"]
    created = await call.post("/public/v2/contacts", {"contact_custom_fields_input": custom(**long)})
    path = f"/public/v2/contacts/{created.json()['id']}"
    added = await call.patch(path, {"contact_custom_fields_input": custom(more="é" * 5_000)})
    shorter = await call.patch(path, {"contact_custom_fields_input": custom(more="é" * 5_000, **{"field 000": None})})

    assert [item.status for item in (refused, created, added, shorter)] == [422, 201, 422, 200]
    assert [item.problem["errors"][0]["code"] for item in (refused, added)] == ["too_large"] * 2
    assert "'field 026'" in refused.problem["detail"]
    assert "'more'" in added.problem["detail"]
    assert "262144" in refused.problem["detail"] + added.problem["detail"]


async def test_merge_above_the_budget__leaves_what_fits(house: House) -> None:
    parts = [{f"{name} {number:03}": "x" * LONG for number in range(20)} for name in ("one", "two")]
    first = await house.contact(email=EMAIL, contact_custom_fields_input=custom(**parts[0]))
    second = await house.contact(email="bob@example.com", contact_custom_fields_input=custom(**parts[1]))

    await house.merge(first, second)

    record = await house.get(first)
    assert len(shown(record)) == 26
    assert shown(record).keys() >= parts[0].keys()
    assert await house.differences() == []
