"""The list of a client's erasures over HTTP."""

from __future__ import annotations

from tests.house import House


async def test_erasures__are_listed_newest_first_page_by_page_without_the_person(house: House) -> None:
    await House.of(house.call, "default")
    people = [await house.contact(email=f"{name}@example.com", first_name="Ann") for name in "abc"]
    for each in people:
        await house.request("DELETE", f"/public/v2/contacts/{each}?erase=true")

    first = (await house.request("GET", "/public/v2/erasures?limit=2")).json()
    second = (await house.request("GET", f"/public/v2/erasures?limit=2&cursor={first['next_cursor']}")).json()

    listed = [*first["data"], *second["data"]]
    assert second["next_cursor"] is None
    assert [each["id"] for each in listed] == sorted((each["id"] for each in listed), reverse=True)
    assert [(each["removed"]["contacts"], each["searched_share"], each["done_time"]) for each in listed] == [
        (1, 1.0, "2026-11-20T09:30:00Z")
    ] * 3
    assert "example.com" not in str(listed)


async def test_erasures__of_another_client_are_not_listed(house: House) -> None:
    await House.of(house.call, "default")
    other = await House.of(house.call, "other")
    number = await other.contact(email="ann@example.com")
    await other.request("DELETE", f"/public/v2/contacts/{number}?erase=true")

    assert (await house.request("GET", "/public/v2/erasures")).json()["data"] == []
    assert len((await other.request("GET", "/public/v2/erasures")).json()["data"]) == 1


async def test_unknown_parameter_and_cursor__are_named(house: House) -> None:
    assert (await house.request("GET", "/public/v2/erasures?state=done")).problem["errors"][0]["pointer"] == "?state"
    assert (await house.request("GET", "/public/v2/erasures?cursor=x")).problem["errors"][0]["pointer"] == "?cursor"
