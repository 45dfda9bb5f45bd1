"""A home store on SQLite with cells on PostgreSQL: clients do not see which engine has their data."""

from __future__ import annotations

import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.house import House, read

from touchbase.inbox.worker import InboxWorker
from touchbase.routing.router import CellRouter
from touchbase.stores.postgres import PostgresStore
from touchbase.stores.sqlite import SqliteStore


@pytest.fixture
def engine_url(sqlite_url: str) -> str:
    """The home store."""
    return sqlite_url


@pytest.fixture
def call(router: CellRouter, make_client: MakeClient) -> ApiClient:
    return make_client(router, read=read)


@pytest.fixture
async def houses(call: ApiClient, router: CellRouter) -> list[House]:
    """A client in each store: the home store, and the cells eu and us."""
    created = [await House.of(call, f"client-{number}") for number in range(3)]
    assert [router.placement.cell_of(house.number) for house in created] == [0, 1, 2]
    assert {type(router.home), type(router.cells[1].store)} == {SqliteStore, PostgresStore}
    return created


async def test_records_and_webhooks__give_the_same_on_either_engine(router: CellRouter, houses: list[House]) -> None:
    observed = []
    for house in houses:
        number = await house.contact(
            email="ada@example.com", first_name="Ada", contact_custom_fields_input=[{"field_name": "Seats", "field_value": "4"}]
        )
        await house.hook("camp", {"event": "email_sent", "email": "ada@example.com", "at": 9}, apply=False)
        await InboxWorker(router.store(router.placement.cell_of(house.number)), read, house.call.clock).drain()
        await house.request("PATCH", f"/public/v2/contacts/{number}", {"contact_status": "replied"})
        shown = await house.get(number)
        assert await house.differences() == []
        shown |= {"id": 0, "contact_custom_fields": [custom_field | {"id": 0} for custom_field in shown["contact_custom_fields"]]}
        observed.append((shown, await house.timeline(number), await house.states(), len(await house.listed(query="q=ada"))))

    assert observed[0] == observed[1] == observed[2]
    assert (observed[0][2], observed[0][3]) == (["applied"], 1)


async def test_erasures__hold_on_either_engine(houses: list[House]) -> None:
    for house in houses:
        number = await house.contact(email="ada@example.com")
        erased = await house.request("DELETE", f"/public/v2/contacts/{number}?erase=true")
        assert erased.status == 200, erased.body
        again = await house.request("POST", "/public/v2/contacts", {"email": "ada@example.com"})
        assert (again.status, again.problem["code"]) == (409, "person_erased")
