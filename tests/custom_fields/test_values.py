"""Replacing values of a field by another one."""

from __future__ import annotations

from tests.custom_fields.fields import contact, done, listed, path, values
from tests.custom_fields.test_rename import JANE, said
from tests.house import House


async def test_merge_values__replaces_exactly_these_values(house: House) -> None:
    emails = [f"p{number}@a.example" for number in range(5)]
    values_values = ["fintech", "FinTech", "Fintech", "fintech ", "Bank"]
    numbers = [await contact(house, email, Industry=value) for email, value in zip(emails, values_values, strict=True)]
    house.call.clock.move(60)
    body = {"values": ["fintech", "FinTech", "Fintech"], "into": "Fintech"}

    tried = await house.request("POST", f"{path('Industry')}/merge-values?dry_run=true", body)
    job = await done(house, await house.request("POST", f"{path('Industry')}/merge-values", body))

    assert tried.json()["records"] == job["progress"]["records"] == 3
    assert tried.json()["samples"][0] == {"id": numbers[0], "before": {"Industry": "fintech"}, "after": {"Industry": "Fintech"}}
    assert [await values(house, number) for number in numbers] == [{"Industry": item} for item in ["Fintech"] * 4 + ["Bank"]]
    history = (await house.request("GET", f"/public/v2/contacts/{numbers[0]}/history?field=cf.Industry")).json()["data"]
    assert [item["value"] for item in history] == ["Fintech", "fintech"]
    assert await house.differences() == []


async def test_merge_values__a_fact_that_happened_later_wins_although_it_arrives_after(house: House) -> None:
    await house.hook("hubspot", said(1, Industry="fintech"))
    [record] = await house.listed()
    house.call.clock.move(60)
    await done(house, await house.request("POST", f"{path('Industry')}/merge-values", {"values": ["fintech"], "into": "Fintech"}))

    await house.hook("hubspot", said(30, Industry="Bank"))
    await house.hook("hubspot", said(1, Industry="fintech"))
    await house.replay()

    assert await values(house, record["id"]) == {"Industry": "Bank"}
    assert await house.differences() == []


async def test_merge_values__of_a_select_changes_its_options(house: House) -> None:
    await house.request("POST", path(), {"name": "Tier", "type": "select", "options": ["gold", "Gold", "silver"]})
    jane = await contact(house, JANE, Tier="gold")

    await done(house, await house.request("POST", f"{path('Tier')}/merge-values", {"values": ["gold", "Gold"], "into": "A"}))

    assert await values(house, jane) == {"Tier": "A"}
    assert (await listed(house))[0]["options"] == ["A", "silver"]


async def test_merge_values__refuses_what_the_field_cannot_have(house: House) -> None:
    await house.request("POST", path(), {"name": "Seats", "type": "number"})
    await contact(house, JANE, Seats="4")
    for name, body, status in (
        ("Seats", {"values": ["4"], "into": "four"}, 422), ("Seats", {"values": ["4"], "into": "4"}, 422),
        ("Seats", {"values": [], "into": "4"}, 422), ("Seats", {"values": ["4"]}, 422), ("None", {"values": ["4"], "into": "5"}, 404),
    ):  # fmt: skip
        reply = await house.request("POST", f"{path(name)}/merge-values", body)
        assert reply.status == status, (body, reply.body)
