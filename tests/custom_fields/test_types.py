"""Types of custom fields: values of requests, imports and webhooks; setting a type while values do not fit; filters."""

from __future__ import annotations

import pytest
from tests.custom_fields.fields import contact, done, inputs, listed, path, values
from tests.custom_fields.test_rename import JANE, said
from tests.house import House
from tests.imports.jobs import finished, report, upload

GOOD_AND_BAD = {
    "number": ("-3.5", "3,5"),
    "boolean": ("true", "yes"),
    "date": ("2026-02-28", "2026-02-30"),
    "datetime": ("2026-11-20T09:30:00Z", "2026-11-20 09:30"),
    "email": ("jane@example.com", "jane at example.com"),
    "url": ("https://example.com/a?b=c", "example.com"),
    "select": ("A", "a"),
}


@pytest.mark.parametrize("kind", GOOD_AND_BAD)
async def test_type__requests_and_imports_refuse_other_values(house: House, kind: str) -> None:
    good, bad = GOOD_AND_BAD[kind]
    options = {"options": ["A", "B"]} if kind == "select" else {}
    assert (await house.request("POST", path(), {"name": "x", "type": kind, **options})).status == 201

    jane = await contact(house, JANE, x=good)
    assert str((await values(house, jane))["x"]).lower() == good.lower()
    for method, target in (("POST", "/public/v2/contacts"), ("PATCH", f"/public/v2/contacts/{jane}")):
        reply = await house.request(method, target, {"contact_custom_fields": inputs(x=bad)})
        assert (reply.status, reply.problem["errors"][0]["code"]) == (422, kind), reply.body
    data = f'email,x\nok@a.example,"{good}"\nbad@a.example,"{bad}"\n'.encode()
    mapping = {"columns": {"email": "email", "x": "cf.x"}}
    job = await finished(house.call, await upload(house.call, data, start="true", mapping=mapping))
    assert (job["progress"]["created"], job["progress"]["invalid"]) == (2, 0)
    (cell,) = [line for line in await report(house.call, job) if line[1] == "cells_left_out"]
    assert cell[:4] == ("3", "cells_left_out", "x", bad)
    assert cell[4].startswith(f"{bad!r} is not ")


async def test_webhook__a_value_that_does_not_fit_is_stored_and_shown_as_a_problem(house: House) -> None:
    await house.request("POST", path(), {"name": "Seats", "type": "number"})
    await house.hook("hubspot", said(1, Seats="about 50", Other="x"))
    await house.hook("hubspot", said(2, email="ann@a.example", Seats="50"))

    result = {item["email"]: item["id"] for item in await house.listed()}
    assert await values(house, result[JANE]) == {"Seats": "about 50", "Other": "x"}
    deliveries = (await house.request("GET", "/admin/v1/deliveries?problems=true")).json()
    problems = [delivery["problems"] for delivery in deliveries["data"] if delivery["problems"]]
    assert [[first["code"] for first in problem] for problem in problems] == [["value_type"]]
    assert "'Seats'" in problems[0][0]["detail"]
    assert await house.differences() == []


async def test_set_type__is_refused_while_values_do_not_fit(house: House) -> None:
    jane = await contact(house, JANE, Seats="about 50")
    await contact(house, "ann@a.example", Seats="40")

    tried = await house.request("PATCH", f"{path('Seats')}?dry_run=true", {"type": "number"})
    refused = await house.request("PATCH", path("Seats"), {"type": "number"})
    assert tried.json() == {"dry_run": True, "misfits": 1, "samples": [{"id": jane, "value": "about 50"}]}
    assert (refused.status, refused.problem["code"]) == (409, "conflict")
    assert "1 values are not of this type, such as 'about 50'" in refused.problem["detail"]
    assert (await listed(house))[0]["type"] == "text"

    assert (await house.request("PATCH", f"{path('Seats')}?misfits=keep", {"type": "number"})).json()["type"] == "number"
    assert await values(house, jane) == {"Seats": "about 50"}
    await done(house, await house.request("POST", f"{path('Seats')}/merge-values", {"values": ["about 50"], "into": "50"}))
    assert await values(house, jane) == {"Seats": 50}
    assert [item["email"] for item in await house.listed(query="cf.Seats[gt]=9")] == [JANE, "ann@a.example"]
    assert (await house.request("PATCH", path("Seats"), {"type": "select"})).status == 422
    assert (await house.request("PATCH", path("None"), {"type": "number"})).status == 404
    assert (await house.request("PATCH", path("Seats"), {"type": "text", "name": "x"})).status == 422
    assert (await house.request("PATCH", path("Seats"), {})).json()["type"] == "number"


async def test_filter__compares_by_the_type(house: House) -> None:
    await house.request("POST", path(), {"name": "Renewal", "type": "datetime"})
    for number, day in enumerate((1, 10, 20)):
        await contact(house, f"p{number}@a.example", Renewal=f"2026-11-{day:02}T12:00:00Z", Seats=("9", "10", "many")[number])

    for query, emails in (
        ("cf.Renewal[gt]=2026-11-10T12:00:00Z", ["p2"]), ("cf.Renewal[lte]=2026-11-10T13:00:00%2B01:00", ["p0", "p1"]),
        ("cf.Seats[gt]=9", ["p1"]), ("cf.Renewal[lt]=12d", ["p0"]),
    ):  # fmt: skip
        assert [item["email"].partition("@")[0] for item in await house.listed(query=query)] == emails, query


async def test_merge__refuses_values_that_are_not_of_the_other_fields_type(house: House) -> None:
    await house.request("POST", path(), {"name": "Seats", "type": "number"})
    await contact(house, JANE, Size="L")

    refused = await house.request("POST", f"{path('Size')}/merge", {"into": "Seats"})

    assert (refused.status, refused.problem["detail"]) == (
        409,
        "1 values of 'Size' are not of the type of 'Seats', which is number; change them first",
    )
    assert (await house.request("POST", f"{path('Size')}/merge", {"into": "Size"})).status == 422
    assert (await house.request("POST", f"{path('Size')}/merge", {"into": "Nothing"})).status == 404
