"""Custom fields as a resource: the list with use counts and pages, definitions, removal."""

from __future__ import annotations

import asyncio
from urllib.parse import quote, unquote

import pytest
from tests.custom_fields.fields import contact, done, inputs, listed, path, uses, values
from tests.house import House


async def test_list__has_defined_and_used_fields_with_their_use(house: House) -> None:
    house.call.clock.move(1)
    jane = await contact(house, "jane@a.example", Industry="Bank", Seats="4")
    house.call.clock.move(1)
    await contact(house, "ann@a.example", Industry="Retail")
    await house.request("PATCH", f"/public/v2/contacts/{jane}", {"contact_custom_fields": inputs(Seats=None)})
    await house.request("POST", path(), {"name": "Tier", "type": "select", "options": ["A", "B"]})
    await house.company("a.example", company_custom_fields=inputs(Size="10"))

    result = {item["name"]: item for item in await listed(house)}

    assert list(result) == ["Industry", "Tier"]
    assert result["Industry"] == {
        "id": "Industry", "name": "Industry", "type": "text", "options": [], "defined": False, "records": 2, "former_names": [],
        "first_used": "2026-11-20T09:30:01Z", "last_changed": "2026-11-20T09:30:02Z", "version": result["Industry"]["version"],
    }  # fmt: skip
    assert (result["Tier"]["type"], result["Tier"]["options"], result["Tier"]["records"]) == ("select", ["A", "B"], 0)
    assert result["Tier"]["first_used"] is None
    assert await uses(house, "companies") == {"Size": 1}


async def test_list__is_paged_by_name(house: House) -> None:
    await contact(house, "jane@a.example", **{"B/2": "x", "a": "x", "~C": "x"})

    first = (await house.request("GET", f"{path()}?limit=2")).json()
    second = (await house.request("GET", f"{path()}?limit=2&cursor={first['next_cursor']}")).json()

    assert [item["id"] for item in first["data"] + second["data"]] == ["B~12", "a", "~0C"]
    assert second["next_cursor"] is None
    for name in ("B/2", "~C"):
        assert (await house.request("GET", path(name))).json()["name"] == name
    assert (await house.request("GET", path("c"))).status == 404


@pytest.mark.parametrize("name", ["Größe & 100 %", "a/b~c?d#e", "a\r\nSet-Cookie: b"])
async def test_define__responds_with_an_address_that_finds_odd_names(house: House, name: str) -> None:
    response = await house.request("POST", path(), {"name": name})

    location = response.headers["location"]
    assert (response.status, location) == (201, quote(unquote(location)))
    assert (await house.request("GET", location)).json()["name"] == name


async def test_define__refuses_names_and_types_that_cannot_be(house: House) -> None:
    await contact(house, "jane@a.example", Industry="Bank")
    response = await house.request("POST", path(), {"name": " Seats ", "type": "number"})

    assert (response.status, response.json()["name"]) == (201, "Seats")
    assert response.headers["location"].endswith("/custom-fields/contacts/Seats")
    for body, status, pointer in (
        ({"name": "Seats"}, 409, None), ({"name": "Industry"}, 409, None), ({"name": " "}, 422, "/name"),
        ({"name": "x", "type": "money"}, 422, "/type"), ({"name": "x", "type": "select"}, 422, "/options"),
        ({"name": "x", "options": ["a"]}, 422, "/options"), ({"type": "text"}, 422, "/name"),
    ):  # fmt: skip
        reply = await house.request("POST", path(), body)
        assert reply.status == status, (body, reply.body)
        assert pointer is None or reply.problem["errors"][0]["pointer"] == pointer, reply.body
    assert (await house.request("POST", path(of="companies"), {"name": "Seats"})).status == 201


async def test_define__of_64_at_once_makes_one(house: House) -> None:
    replies = await asyncio.gather(*(house.request("POST", path(), {"name": "Seats", "type": "number"}) for _ in range(64)))

    assert sorted(reply.status for reply in replies) == [201] + [409] * 63
    assert await uses(house) == {"Seats": 0}


async def test_contacts__64_created_at_once_with_a_new_name_have_one_field(house: House) -> None:
    await asyncio.gather(*(contact(house, f"p{number}@a.example", Region="North") for number in range(64)))

    assert await uses(house) == {"Region": 64}


async def test_remove__refuses_a_field_in_use_unless_its_values_go_too(house: House) -> None:
    jane = await contact(house, "jane@a.example", Industry="Bank", Seats="4")

    refused = await house.request("DELETE", path("Industry"))
    tried = await house.request("DELETE", f"{path('Industry')}?values=delete&dry_run=true")
    assert (refused.status, refused.problem["code"]) == (409, "conflict")
    assert "1 contacts have a value of 'Industry'; send values=delete" in refused.problem["detail"]
    assert tried.json() == {
        "dry_run": True, "records": 1, "samples": [{"id": jane, "before": {"Industry": "Bank"}, "after": {"Industry": None}}],
    }  # fmt: skip
    assert await uses(house) == {"Industry": 1, "Seats": 1}

    job = await done(house, await house.request("DELETE", f"{path('Industry')}?values=delete"))

    assert job["progress"] == {"records": 1, "total": 1, "percent": 100}
    assert await uses(house) == {"Seats": 1}
    assert await values(house, jane) == {"Seats": "4"}
    assert await house.differences() == []
    await house.request("POST", path(), {"name": "Tier"})
    assert (await house.request("DELETE", path("Tier"))).status == 204
    assert (await house.request("DELETE", path("Tier"))).status == 404


async def test_list__finds_names_by_a_part(house: House) -> None:
    await contact(house, "jane@a.example", **{"Seats 1": "x", "seats 2": "x", "Other": "x", "Élan": "x"})
    house_fields = await house.request("POST", path(), {"name": "Reserved SEATS", "type": "text"})
    assert house_fields.status == 201

    async def names(query: str) -> list[str]:
        page = (await house.request("GET", f"{path()}?{query}")).json()
        return [item["name"] for item in page["data"]]

    assert await names("q=sEaTs") == ["Reserved SEATS", "Seats 1", "seats 2"]
    assert await names("q=lan") == ["Élan"]
    assert await names("q=none") == []
    first = (await house.request("GET", f"{path()}?q=seats&limit=2")).json()
    assert await names(f"q=seats&limit=2&cursor={first['next_cursor']}") == ["seats 2"]
