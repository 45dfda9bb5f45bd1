"""Samples of events: what a builder of workflows shows before the first event comes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.asgi_client import MakeClient
from tests.event_log.test_log import JANE
from tests.house import House

from touchbase.event_log import models
from touchbase.event_log.models import EVENT_TYPES
from touchbase.event_log.sql import queries
from touchbase.sql.store import Store

SAMPLES = "/public/v2/events/samples"


async def samples(house: House, query: str = "") -> Any:
    """The samples."""
    reply = await house.request("GET", f"{SAMPLES}?{query}")
    assert reply.status == 200, reply.body
    return reply.json()


async def test_samples__are_the_newest_events_newest_first(house: House) -> None:
    for n in range(5):
        await house.contact(email=f"p{n}@example.com")
    feed = (await house.request("GET", "/public/v2/events")).json()["data"]

    sample_samples = await samples(house, "types=contact.*")

    assert (sample_samples["data"], sample_samples["fictitious"]) == (feed[:1:-1], False)
    assert [item["id"] for item in sample_samples["data"]] == ["evt_5", "evt_4", "evt_3"]
    assert [item["id"] for item in (await samples(house, "limit=1"))["data"]] == ["evt_5"]


async def test_samples__of_types_without_an_event_are_fictitious(house: House) -> None:
    await house.contact(**JANE)

    sample_samples = await samples(house, "types=contact.replied,suppression.added")

    assert [(item["id"], item["type"]) for item in sample_samples["data"]] == [
        ("sample_contact.replied", "contact.replied"), ("sample_suppression.added", "suppression.added"),
    ]  # fmt: skip
    assert sample_samples["fictitious"] is True
    assert sample_samples["data"][1]["data"]["object"]["value"] == "ada@acme.example"


async def test_samples__of_every_type_have_the_members_of_an_event(house: House) -> None:
    sample_item = (await samples(house))["data"]
    await house.contact(**JANE)
    [real] = (await samples(house))["data"]

    assert [item["type"] for item in sample_item] == list(EVENT_TYPES)
    assert {tuple(item) for item in sample_item} == {tuple(real)}
    of_some = {"record_id", "meeting"}
    assert {tuple(sorted(item["data"].keys() - of_some)) for item in sample_item} == {tuple(sorted(real["data"].keys() - of_some))}
    assert {item["type"] for item in sample_item if "meeting" in item["data"]} == {name for name in EVENT_TYPES if ".meeting_" in name}


async def test_samples__look_at_the_end_of_the_log_only(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "LOOKED_AT", 2)
    await house.contact(**JANE)
    await house.company("example.com")
    await house.company("example.net")

    assert models.LOOKED_AT == 10_000
    assert (await samples(house, "types=contact.created"))["fictitious"] is True
    assert (await samples(house, "types=company.created&limit=5"))["fictitious"] is False


async def test_samples__of_another_client_are_not_shown(store: Store, make_client: MakeClient) -> None:
    call = make_client(store)
    second, own = await House.of(call, "other"), await House.of(call, "own")
    await second.contact(**JANE)

    assert (await samples(own, "types=contact.created"))["fictitious"] is True


async def test_samples__name_what_is_wrong_with_a_request(house: House) -> None:
    reply = await house.request("GET", f"{SAMPLES}?types=contact.reply&limit=21")

    assert reply.status == 422
    errors = {error["pointer"]: error["detail"] for error in reply.json()["errors"]}
    assert errors.keys() == {"?types", "?limit"}
    assert "contact.replied" in errors["?types"]
