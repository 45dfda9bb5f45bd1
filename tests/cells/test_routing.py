"""Clients of an installation with cells: who uses the API does not see where a client lives."""

from __future__ import annotations

import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.cells.conftest import OPEN
from tests.conftest import ExecuteSql
from tests.house import House
from tests.operations import all_commands, all_queries

from touchbase.cells.models import DRAINING, HOME, ClientPlace
from touchbase.cells.sql import find_place, reserve_place, set_addresses, set_cell_state
from touchbase.clients.sql.clients import create_client, deleting_clients, find_client, list_clients
from touchbase.connections.silence import CallCounts
from touchbase.errors import StoreUnavailable
from touchbase.event_log.sql.queries import find_new_events
from touchbase.idempotency.execute_once import execute_once
from touchbase.inbox.sql.queries import get_delivery, list_deliveries
from touchbase.maintenance import Maintenance
from touchbase.routing.cell_store import CellStore
from touchbase.routing.names import READS, WRITES
from touchbase.routing.router import CellRouter
from touchbase.sql.scope import NO_CLIENT
from touchbase.sql.unanswered import collecting

SENT = {"kind": "email_sent", "at": 1, "identities": []}


@pytest.fixture
def call(router: CellRouter, make_client: MakeClient) -> ApiClient:
    return make_client(router)


async def houses(call: ApiClient, count: int = 6, first: int = 0) -> list[House]:
    """New clients."""
    return [await House.of(call, f"client-{number}") for number in range(first, first + count)]


def cells_of(router: CellRouter, new_houses: list[House]) -> list[int]:
    return [router.placement.cell_of(house.number) for house in new_houses]


async def test_new_clients__live_in_the_cell_with_the_fewest(call: ApiClient, router: CellRouter) -> None:
    new_houses = await houses(call)

    assert sorted(cells_of(router, new_houses)) == [0, 0, 1, 1, 2, 2]
    assert len({house.number for house in new_houses}) == 6


async def test_new_clients__live_in_no_cell_that_is_draining(call: ApiClient, router: CellRouter) -> None:
    await router.write(set_cell_state("eu", DRAINING))
    await router.refresh()

    assert sorted(cells_of(router, await houses(call))) == [0, 0, 0, 2, 2, 2]


async def test_records__of_each_client_are_written_and_read_in_its_cell(call: ApiClient, router: CellRouter) -> None:
    new_houses = await houses(call, 3)

    for house in new_houses:
        number = await house.contact(email=f"ada@{house.client_id}.example")
        assert number >> 44 == router.placement.cell_of(house.number)
        assert [item["id"] for item in await house.listed()] == [number]
        changed = await house.request("PATCH", f"/public/v2/contacts/{number}", {"first_name": "Ada"})
        assert (changed.status, (await house.get(number))["first_name"]) == (200, "Ada")


async def test_cell__is_used_at_its_new_address_as_soon_as_the_directory_has_it(router: CellRouter, cell_urls: list[str]) -> None:
    eu, us = router.cells[1], router.cells[2]
    await eu.store.write(create_client("before", "", 5))  # its connections are open
    assert await names_in(eu) == ["before"]

    await router.home.write(set_addresses([("eu", cell_urls[1])]))
    await router.refresh()

    assert await names_in(eu) == []
    await eu.store.write(create_client("behind", "", 5))
    assert await names_in(us) == ["behind"]


async def names_in(cell: CellStore) -> list[str]:
    return [client.client_id for client in await cell.store.read(list_clients())]


async def test_webhooks__are_stored_and_applied_in_the_cell_of_their_client(call: ApiClient, router: CellRouter) -> None:
    new_houses = await houses(call, 3)

    for number, house in enumerate(new_houses):
        await house.hook("camp", SENT | {"identities": [{"kind": "email", "value": f"p{number}@example.com"}]}, apply=False)

    stored = [[delivery.client for delivery in await store.read(list_deliveries(9))] for store in router.stores().values()]
    assert sorted(stored) == sorted([house.number] for house in new_houses)


async def test_create__refuses_an_id_of_a_client_of_another_cell(call: ApiClient, router: CellRouter) -> None:
    await houses(call, 3)

    refused = [await call.post("/admin/v1/clients", {"client_id": f"client-{number}"}) for number in range(3)]

    assert [reply.status for reply in refused] == [409, 409, 409]
    assert len((await call.get("/admin/v1/clients")).json()["data"]) == 3


async def test_create__puts_a_client_into_the_cell_that_it_names(call: ApiClient, router: CellRouter) -> None:
    response = await call.post("/admin/v1/clients", {"client_id": "acme", "database": "us"})
    unknown = await call.post("/admin/v1/clients", {"client_id": "bolt", "database": "mars"})

    assert response.status == 201, response.body
    assert router.placement.place_of("acme").cell == 2
    assert unknown.status == 422
    assert unknown.json()["errors"][0]["pointer"] == "/database"
    assert "there are home, eu, us" in unknown.json()["errors"][0]["detail"]


async def test_create__goes_on_where_a_process_stopped_after_the_reservation(call: ApiClient, router: CellRouter) -> None:
    await router.home.write(reserve_place("acme", 2))

    response = await call.post("/admin/v1/clients", {"client_id": "acme", "database": "eu"})

    assert response.status == 201, response.body
    place = await router.home.read(find_place("acme"))
    assert (place.cell, place.number is not None) == (2, True)


async def test_create__with_an_idempotency_key_makes_one_client(call: ApiClient, router: CellRouter) -> None:
    replies = [await call.post("/admin/v1/clients", {"name": "Acme"}, idempotency_key="k1") for _ in range(3)]

    assert [reply.status for reply in replies] == [201, 201, 201]
    assert len({reply.json()["client_id"] for reply in replies}) == 1
    assert len((await call.get("/admin/v1/clients")).json()["data"]) == 1


async def test_rotate__keeps_the_former_id_of_a_client_in_a_cell(call: ApiClient, router: CellRouter) -> None:
    new_houses = await houses(call, 3)

    for house in new_houses:
        reply = await call.post(f"/admin/v1/clients/{house.client_id}/rotate-id", {"client_id": f"new-{house.client_id}"})
        assert reply.status == 200, reply.body
        for client_id in (house.client_id, f"new-{house.client_id}"):
            client = await router.read(find_client(client_id, call.clock()))
            assert client.number == house.number
    taken = await call.post("/admin/v1/clients/new-client-0/rotate-id", {"client_id": "new-client-1"})
    assert taken.status == 409


async def test_keys__of_clients_in_cells_authenticate_rotate_and_end(call: ApiClient, router: CellRouter, make_client: MakeClient) -> None:
    new_houses = await houses(call, 3)
    guarded = make_client(router, auth="api-key")

    for house in new_houses:
        key = (await call.post("/admin/v1/keys", {"client_id": house.client_id, "name": "k", "scopes": ["records:read"]})).json()
        assert (await guarded.get("/public/v2/contacts", x_api_key=key["key"])).status == 200
        rotated = (await call.post(f"/admin/v1/keys/{key['key_id']}/rotate", {})).json()
        assert (await guarded.get("/public/v2/contacts", x_api_key=rotated["key"])).status == 200
        assert (await call(method="DELETE", target=f"/admin/v1/keys/{rotated['key_id']}")).status == 204
        call.clock.move(2)  # as long as another process may not have heard of it
        assert (await guarded.get("/public/v2/contacts", x_api_key=rotated["key"])).status == 401
    listed = (await call.get("/admin/v1/keys")).json()["data"]
    assert len(listed) == 6


async def test_key__made_by_another_process_is_found_at_once(router: CellRouter, call: ApiClient, make_client: MakeClient) -> None:
    other_cell_router = CellRouter(router.home, OPEN)
    await other_cell_router.start(follow=False)
    house = (await houses(call, 3))[-1]
    key = (await call.post("/admin/v1/keys", {"client_id": house.client_id, "name": "k", "scopes": ["records:read"]})).json()
    try:
        reply = await make_client(other_cell_router, auth="api-key").get("/public/v2/contacts", x_api_key=key["key"])
    finally:
        for cell in other_cell_router.cells.values():
            await cell.close()

    assert reply.status == 200, reply.body


async def test_inbox__of_all_clients_is_one_list_with_pages(call: ApiClient, router: CellRouter) -> None:
    new_houses = await houses(call, 3)
    for turn in range(3):
        for house in new_houses:
            call.clock.move(1)
            await house.hook("camp", SENT | {"at": turn}, apply=False)

    ids, received, cursor = [], [], ""
    while True:
        page = (await call.get(f"/admin/v1/deliveries?limit=2{cursor}")).json()
        ids += [delivery["id"] for delivery in page["data"]]
        received += [delivery["received_at"] for delivery in page["data"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"

    assert len(set(ids)) == len(ids) == 9
    assert received == sorted(received, reverse=True)


async def test_do_not_contact__of_the_installation_applies_in_every_cell(call: ApiClient, router: CellRouter) -> None:
    new_houses = await houses(call, 3)
    entry = {"kind": "email", "value": "ada@example.com", "reason": "requested"}

    async def suppressed() -> list[bool]:
        replies = [
            await house.request("POST", "/public/v2/suppressions/check", {"items": [{"email": "ada@example.com"}]}) for house in new_houses
        ]
        return [reply.json()["data"][0]["suppressed"] for reply in replies]

    saved = await call.post("/admin/v1/suppressions", {"entries": [entry]})
    assert saved.status == 201, saved.body
    listed = await suppressed()
    await call("DELETE", f"/admin/v1/suppressions/{saved.json()['data'][0]['entry']['id']}")

    assert listed == [True, True, True]
    assert await suppressed() == [False, False, False]


async def test_do_not_contact__of_a_restored_home_store_replaces_later_copies(
    call: ApiClient, router: CellRouter, execute_sql: ExecuteSql
) -> None:
    new_houses = await houses(call, 3)
    entries = [{"kind": "email", "value": "ada@example.com"}, {"kind": "email", "value": "bob@example.com"}]
    await call.post("/admin/v1/suppressions", {"entries": entries[:1]})
    await call.post("/admin/v1/suppressions", {"entries": entries[1:]})
    await execute_sql("DELETE FROM installation_suppression WHERE value = 'bob@example.com'")
    await execute_sql("UPDATE id_block SET next = next - 1 WHERE name = 'installation_list'")

    await router.copy_list()  # a process that runs during the restoration asks for what is later
    after = CellRouter(router.home, OPEN)
    await after.start(follow=False)
    requested = {"items": [{"email": entry["value"]} for entry in entries]}
    replies = [await house.request("POST", "/public/v2/suppressions/check", requested) for house in new_houses]
    for cell in after.cells.values():
        await cell.close()

    assert [[item["suppressed"] for item in reply.json()["data"]] for reply in replies] == [[True, False]] * 3


async def test_deletion__frees_the_id_of_a_client_in_a_cell(call: ApiClient, router: CellRouter) -> None:
    house = (await houses(call, 2))[-1]
    assert router.placement.cell_of(house.number) != HOME
    await call("DELETE", f"/admin/v1/clients/{house.client_id}?confirm={house.client_id}")
    assert [client.number for client in await router.read(deleting_clients())] == [house.number]

    for _ in range(4):
        call.clock.move(60)
        await Maintenance(router.cells[router.placement.cell_of(house.number) or 1].store, call.clock, installation=router).round()

    assert await router.home.read(find_place(house.client_id)) == ClientPlace(house.client_id, None, None)
    assert (await call.post("/admin/v1/clients", {"client_id": house.client_id})).status == 201


class TestDown:
    """The cell eu cannot be used."""

    @pytest.fixture
    async def three_houses(self, call: ApiClient, router: CellRouter) -> list[House]:
        three_houses = await houses(call, 3)
        await router.cells[1].close()
        return three_houses

    async def test_its_clients_get_503_and_others_go_on(self, call: ApiClient, router: CellRouter, three_houses: list[House]) -> None:
        replies = {
            router.placement.cell_of(house.number): await house.request("POST", "/public/v2/contacts", {"email": "ada@example.com"})
            for house in three_houses
        }

        assert {cell: reply.status for cell, reply in replies.items()} == {0: 201, 1: 503, 2: 201}
        assert replies[1].headers["retry-after"] == "5"
        assert "eu" in replies[1].json()["detail"]

    async def test_a_list_of_all_clients_names_it(self, call: ApiClient, router: CellRouter, three_houses: list[House]) -> None:
        reply = await call.get("/admin/v1/clients")

        assert reply.status == 200
        assert len(reply.json()["data"]) == 2
        assert reply.headers["touchbase-unanswered-databases"] == "eu"

    async def test_a_question_of_a_program_is_refused(self, router: CellRouter, three_houses: list[House]) -> None:
        with pytest.raises(StoreUnavailable):
            await router.read(list_deliveries(5))

    async def test_what_may_be_there_is_not_said_to_be_missing(self, router: CellRouter, three_houses: list[House]) -> None:
        with collecting(), pytest.raises(StoreUnavailable):
            await router.read(get_delivery(2**50))

    async def test_events_of_others_are_noticed(self, call: ApiClient, router: CellRouter, three_houses: list[House]) -> None:
        for house in three_houses:
            await house.request("POST", "/public/v2/contacts", {"email": "ada@example.com"})

        new_events = await router.read(find_new_events({house.number: 0 for house in three_houses}))

        assert set(new_events) == {house.number for house in three_houses if router.placement.cell_of(house.number) != 1}

    async def test_the_server_is_ready_and_says_which_cell_is_down(self, router: CellRouter, three_houses: list[House]) -> None:
        await router.check()

        router.cells[1]._note("it does not answer")
        assert router.warnings == ["database eu cannot be used, its clients get 503: it does not answer"]

    async def test_calls_of_other_clients_are_counted(self, call: ApiClient, router: CellRouter, three_houses: list[House]) -> None:
        counts = CallCounts(call.clock)
        counts.record([(house.number, "crm", "hubspot", call.clock()) for house in three_houses])

        await counts.flush(router)

        assert [router.placement.cell_of(waiting.client) for waiting in counts.take()] == [1]

    async def test_new_clients_live_elsewhere(self, call: ApiClient, router: CellRouter, three_houses: list[House]) -> None:
        router.cells[1]._note("it does not answer")

        assert 1 not in cells_of(router, await houses(call, 4, first=3))


def test_routes__there_is_one_for_each_command_and_query() -> None:
    """What names no client is asked of all cells, divided, or one that only the workers of a cell send, to its own store."""
    kinds = [*all_commands(), *all_queries()]
    # A keyed command goes where the one within goes.
    routed = {execute_once, *WRITES, *READS, *(kind for kind in kinds if kind.operation.merge or kind.operation.divide)}
    spanning = {kind for kind in kinds if kind.operation.scope is not None or kind.operation.unnamed != NO_CLIENT}

    unrouted = sorted(kind.__name__ for kind in spanning - routed)

    assert unrouted == [
        "add_erasures", "any_key", "any_object", "busy_clients", "check_encryption", "claim_check", "claim_removals",
        "client_numbers", "clients_above_limits", "clients_to_archive", "clients_to_link", "copy_shared", "due_answers",
        "due_counts", "due_fetches", "due_job_files", "due_jobs", "due_judgements", "end_removals", "endpoint_versions",
        "erasures_in_files", "expired_responses", "forget_attempts", "forget_changes_before", "lead_shards", "list_oldest",
        "movable_page", "newest_client", "next_to_index", "notification_positions", "old_dedupe_keys", "read_directory",
        "read_shared", "reencrypt_batch", "replace_lost", "reserve_place", "retire_keys", "shared_versions", "store_first_key",
        "wanted_bodies",
    ]  # fmt: skip
