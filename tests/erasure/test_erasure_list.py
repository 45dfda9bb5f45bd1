"""The list of a client's erasures over HTTP."""

from __future__ import annotations

from typing import Any, cast

from tests.house import House

from touchbase.deliveries.work import ProcessingStore
from touchbase.erasure.service import Eraser
from touchbase.retention.service import Retention
from touchbase.sql.store import Store, Vacuumed


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
    assert [(each["removed"]["contacts"], each["searched_share"], each["searched_time"]) for each in listed] == [
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


async def test_erasure__is_done_only_when_the_files_of_the_store_are_clean(house: House) -> None:
    await House.of(house.call, "default")
    person = await house.contact(email="a@example.com")
    await house.request("DELETE", f"/public/v2/contacts/{person}?erase=true")
    store, clock = BlockedVacuums(house.call.parts.store), house.call.parts.clock
    retention = Retention(cast("Store", store), Eraser(cast("ProcessingStore", store), house.call.parts.read, clock), clock)

    await retention.run_once()
    blocked = (await house.request("GET", "/public/v2/erasures")).json()["data"]
    store.result = Vacuumed.CLEAN
    await retention.run_once()
    clean = (await house.request("GET", "/public/v2/erasures")).json()["data"]

    assert [(each["searched_time"] is not None, each["done_time"]) for each in blocked] == [(True, None)]
    assert [each["done_time"] for each in clean] == ["2026-11-20T09:30:00Z"]


class BlockedVacuums:
    """A store whose files are in use by another process."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.result = Vacuumed.BLOCKED

    async def vacuum(self, *, full: bool = False) -> Vacuumed:
        return self.result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
