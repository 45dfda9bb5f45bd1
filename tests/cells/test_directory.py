"""The directory of cells in the home store: who lives where, on both engines."""

from __future__ import annotations

import pytest

from touchbase.cells.models import DRAINING, OPEN, Cell, ClientPlace, Directory
from touchbase.cells.sql import (
    add_cell,
    confirm_place,
    find_key_place,
    find_place,
    forget_places,
    place_key,
    raise_ids,
    read_directory,
    release_place,
    remove_cell,
    reserve_place,
    set_addresses,
    set_cell_state,
)
from touchbase.clients.sql.clients import create_client, rotate_client_id
from touchbase.errors import Conflict, NotFound, WrongState
from touchbase.sql.store import Store

ADDRESS = "postgresql://touchbase:goldfinch@db.example/eu"


async def eu(store: Store) -> Cell:
    return await store.write(add_cell("eu", ADDRESS, 7))


async def test_add_cell__numbers_cells_from_one_and_stores_the_address_encrypted(store: Store, execute_sql) -> None:
    first, second = await eu(store), await store.write(add_cell("us", ADDRESS, 8))

    listed = (await store.read(read_directory())).cells

    assert list(listed) == [first, second]
    assert [(cell.number, cell.name, cell.address, cell.state) for cell in listed] == [(1, "eu", ADDRESS, OPEN), (2, "us", ADDRESS, OPEN)]
    assert all("goldfinch" not in row[0] for row in await execute_sql("SELECT address FROM cell"))
    assert "goldfinch" not in repr(first)


async def test_add_cell__refuses_a_second_one_of_the_same_name(store: Store) -> None:
    await eu(store)

    with pytest.raises(Conflict, match="database 'eu' already"):
        await eu(store)


async def test_set_addresses__changes_all_or_none(store: Store) -> None:
    former = await eu(store)
    revision = (await store.read(read_directory())).revision
    with pytest.raises(NotFound, match="no database 'mars'"):
        await store.write(set_addresses([("eu", f"{ADDRESS}2"), ("mars", ADDRESS)]))
    assert list((await store.read(read_directory())).cells) == [former]

    await store.write(set_addresses([("eu", f"{ADDRESS}2")]))

    assert [cell.address for cell in (await store.read(read_directory(revision))).cells] == [f"{ADDRESS}2"]


async def test_remove_cell__refuses_while_clients_live_there_and_never_gives_the_number_again(store: Store) -> None:
    await eu(store)
    await store.write(reserve_place("acme", 1))
    with pytest.raises(WrongState, match="clients live in 'eu'"):
        await store.write(remove_cell("eu"))
    await store.write(release_place("acme"))

    await store.write(remove_cell("eu"))

    with pytest.raises(NotFound):
        await store.write(remove_cell("eu"))
    assert (await eu(store)).number == 2


async def test_set_cell_state__of_an_unknown_cell_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound, match="databases list"):
        await store.write(set_cell_state("eu", DRAINING))


async def test_read_directory__tells_what_was_written_since_a_revision(store: Store) -> None:
    await eu(store)
    before = await store.read(read_directory())
    await store.write(reserve_place("acme", 1))
    await store.write(confirm_place("acme", 5))
    await store.write(place_key("0123456789ab", 5))

    changed = await store.read(read_directory(before.revision))

    assert (changed.cells, list(changed.places), list(changed.keys)) == ([], [ClientPlace("acme", 5, 1)], [("0123456789ab", 5)])
    assert await store.read(read_directory(changed.revision)) == Directory(changed.revision)
    assert (await store.read(read_directory())).cells[0].clients == 1


async def test_reserve_place__keeps_an_id_for_one_client_of_all_cells(store: Store) -> None:
    home = await store.write(create_client("home-client", "", 1))
    await store.write(rotate_client_id(home.number, "home-client-2", 10**15))
    await store.write(reserve_place("acme", 1))
    await store.write(confirm_place("acme", 5))

    for taken in ("acme", "home-client", "home-client-2"):
        with pytest.raises(Conflict, match="exists already"):
            await store.write(reserve_place(taken, 2))
    assert await store.write(reserve_place("home-client", 0, home.number)) == ClientPlace("home-client", home.number, 0)


async def test_reserve_place__goes_on_with_a_client_that_was_never_created(store: Store) -> None:
    await store.write(reserve_place("acme", 1))

    again = await store.write(reserve_place("acme", 2))

    assert again == ClientPlace("acme", None, 1)


async def test_release_place__frees_a_reservation_and_no_client(store: Store) -> None:
    await store.write(reserve_place("acme", 1))
    await store.write(reserve_place("bolt", 1))
    await store.write(confirm_place("bolt", 5))

    await store.write(release_place("acme"))
    await store.write(release_place("bolt"))

    assert await store.read(find_place("acme")) == ClientPlace("acme", None, None)
    assert await store.read(find_place("bolt")) == ClientPlace("bolt", 5, 1)


async def test_forget_places__frees_the_ids_and_keys_of_a_deleted_client(store: Store) -> None:
    for client_id in ("acme", "acme-2"):
        await store.write(reserve_place(client_id, 1, 5))
    await store.write(place_key("0123456789ab", 5))
    assert await store.read(find_key_place("0123456789ab")) is not None
    before = await store.read(read_directory())

    await store.write(forget_places(5))

    changed = await store.read(read_directory(before.revision))
    assert sorted(changed.places, key=str) == [ClientPlace("acme", None, None), ClientPlace("acme-2", None, None)]
    assert await store.read(find_key_place("0123456789ab")) is None
    assert await store.write(reserve_place("acme", 2)) == ClientPlace("acme", None, 2)


async def test_raise_ids__lets_a_cell_give_out_ids_of_its_own_range(store: Store) -> None:
    cell = await eu(store)

    await store.write(raise_ids(cell.first_id))
    client = await store.write(create_client("acme", "", 1))
    await store.write(raise_ids(cell.first_id))
    next_made = await store.write(create_client("bolt", "", 1))

    assert cell.first_id < client.number < next_made.number < cell.first_id + 2**20
