"""A home store on SQLite with cells on PostgreSQL, and the reverse: clients do not see which engine has their data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.cells.conftest import empty_stores
from tests.house import House, read

from touchbase.cells import FindPlace, Place
from touchbase.events.worker import InboxWorker
from touchbase.maintenance import Maintenance
from touchbase.routing import CellRouter
from touchbase.storage.postgres.engine import PostgresStore
from touchbase.storage.sqlite.engine import SqliteStore


@pytest.fixture
def cell_urls(engine_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Addresses of empty stores of the other engine."""
    yield from empty_stores(not engine_url.startswith("sqlite"), tmp_path, request)


@pytest.fixture
def call(router: CellRouter, make_client: MakeClient) -> ApiClient:
    return make_client(router, read=read)


@pytest.fixture
async def houses(call: ApiClient, router: CellRouter) -> list[House]:
    """A client in each store: the home store, and the cells eu and us."""
    made = [await House.of(call, f"client-{number}") for number in range(3)]
    assert [router.placement.cell_of(house.number) for house in made] == [0, 1, 2]
    assert {type(router.home), type(router.cells[1].store)} == {SqliteStore, PostgresStore}
    return made


async def pages(call: ApiClient, target: str) -> list[Any]:
    """All rows of a list, read two at a time."""
    rows: list[Any] = []
    cursor = ""
    while True:
        reply = await call.get(f"{target}?limit=2{cursor}")
        assert reply.status == 200, reply.body
        rows += reply.json()["data"]
        if not reply.json()["next_cursor"]:
            return rows
        cursor = f"&cursor={reply.json()['next_cursor']}"


async def test_records_and_webhooks__give_the_same_on_either_engine(router: CellRouter, houses: list[House]) -> None:
    seen = []
    for house in houses:
        number = await house.contact(
            email="ada@example.com", first_name="Ada", contact_custom_fields_input=[{"field_name": "Seats", "field_value": "4"}]
        )
        await house.hook("camp", {"event": "email_sent", "email": "ada@example.com", "at": 9}, apply=False)
        await InboxWorker(router.store(router.placement.cell_of(house.number)), read, house.call.clock).drain()
        await house.request("PATCH", f"/public/v2/contacts/{number}", {"contact_status": "replied"})
        shown = await house.get(number)
        assert await house.differences() == []
        shown |= {"id": 0, "contact_custom_fields": [each | {"id": 0} for each in shown["contact_custom_fields"]]}
        seen.append((shown, await house.timeline(number), await house.states(), len(await house.listed(query="q=ada"))))

    assert seen[0] == seen[1] == seen[2]
    assert (seen[0][2], seen[0][3]) == (["applied"], 1)


async def test_lists_of_all_clients__have_pages_over_both_engines(call: ApiClient, router: CellRouter, houses: list[House]) -> None:
    houses += [await House.of(call, f"client-{number}") for number in range(3, 8)]
    for turn in range(2):
        for house in houses:
            call.clock.move(1)
            await house.hook("camp", {"event": "email_sent", "email": "ada@example.com", "at": turn}, apply=False)
        await call.post("/admin/v1/keys", {"client_id": houses[turn].client_id, "name": "k", "scopes": ["records:read"]})

    clients, deliveries = await pages(call, "/admin/v1/clients"), await pages(call, "/admin/v1/deliveries")

    assert sorted(each["client_id"] for each in clients) == [house.client_id for house in houses]
    assert [each["received_at"] for each in deliveries] == sorted((each["received_at"] for each in deliveries), reverse=True)
    assert len({each["id"] for each in deliveries}) == len(deliveries) == 16
    assert len(await pages(call, "/admin/v1/keys")) == 2


async def test_do_not_contact__is_copied_to_the_other_engine(call: ApiClient, router: CellRouter, houses: list[House]) -> None:
    entries = [{"kind": "email", "value": "ada@example.com", "reason": "requested"}, {"kind": "domain", "value": "quill.example"}]
    asked = {"items": [{"email": address} for address in ("ada@example.com", "bob@quill.example", "eve@example.com")]}

    async def suppressed() -> list[list[bool]]:
        replies = [await house.request("POST", "/public/v2/suppressions/check", asked) for house in houses]
        return [[each["suppressed"] for each in reply.json()["data"]] for reply in replies]

    saved = await call.post("/admin/v1/suppressions", {"entries": entries})
    assert saved.status == 201, saved.body
    listed = await suppressed()
    await call("DELETE", f"/admin/v1/suppressions/{saved.json()['data'][0]['entry']['id']}")

    assert listed == [[True, True, False]] * 3
    assert await suppressed() == [[False, True, False]] * 3


async def test_keys_and_erasures__hold_on_either_engine(
    call: ApiClient, router: CellRouter, houses: list[House], make_client: MakeClient
) -> None:
    guarded = make_client(router, auth="api-key")
    for house in houses:
        key = (await call.post("/admin/v1/keys", {"client_id": house.client_id, "name": "k", "scopes": ["records:read"]})).json()
        rotated = (await call.post(f"/admin/v1/keys/{key['key_id']}/rotate", {})).json()
        assert [(await guarded.get("/public/v2/contacts", x_api_key=each["key"])).status for each in (key, rotated)] == [200, 200]
        number = await house.contact(email="ada@example.com")
        erased = await house.request("DELETE", f"/public/v2/contacts/{number}?erase=true")
        assert erased.status == 200, erased.body
        again = await house.request("POST", "/public/v2/contacts", {"email": "ada@example.com"})
        assert (again.status, again.problem["code"]) == (409, "person_erased")


async def test_deletion__of_a_client_on_the_other_engine_frees_its_id(call: ApiClient, router: CellRouter, houses: list[House]) -> None:
    gone = houses[1]
    await gone.contact(email="ada@example.com")
    await call("DELETE", f"/admin/v1/clients/{gone.client_id}?confirm={gone.client_id}")

    for _ in range(4):
        call.clock.move(60)
        await Maintenance(router.cells[1].store, call.clock, installation=router).round()

    assert await router.home.read(FindPlace(gone.client_id)) == Place(gone.client_id, None, None)
    assert [each["client_id"] for each in await pages(call, "/admin/v1/clients")] == ["client-0", "client-2"]


async def test_cell_of_the_other_engine_that_is_down__stops_its_own_clients_alone(
    call: ApiClient, router: CellRouter, houses: list[House]
) -> None:
    await router.cells[1].close()

    replies = [await house.request("POST", "/public/v2/contacts", {"email": "ada@example.com"}) for house in houses]
    clients = await call.get("/admin/v1/clients")

    assert [reply.status for reply in replies] == [201, 503, 201]
    assert clients.headers["touchbase-unanswered-cells"] == "eu"
    assert len(clients.json()["data"]) == 2
