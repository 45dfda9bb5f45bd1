"""Rules of a move: who may carry it out, how it is given up, and what others see of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.asgi_client import Clock
from tests.cells.conftest import OPEN
from tests.cells.test_moving import (
    EU,
    US,
    Killed,
    Make,
    Mortal,
    addresses,
    clock,
    dump,
    left_of_moves,
    mortal_move,
    move_of,
    select,
    side,
    world,
)
from tests.conftest import ENCRYPTION_KEYS
from tests.isolation.world import ADAPTERS, Side, World

from touchbase.cells import HOME, ID_BITS, ListMoves, ReadDirectory, RemoveCell, TakeMove
from touchbase.clients import BeginDeletion, CreateClient, FindClient, RotateClientId
from touchbase.common.timestamps import SECOND
from touchbase.encryption import EncryptionKeys
from touchbase.errors import ClientMoving, Conflict, StoreUnavailable, WrongState
from touchbase.events.worker import translator
from touchbase.records import Contact, CreateContact
from touchbase.routing import CellRouter
from touchbase.routing import router as routing_router
from touchbase.routing.moving import Moved
from touchbase.routing.moving_copy import Progress
from touchbase.search import IndexRecords
from touchbase.storage import client_rows, open_client_rows, open_store

__all__ = ["addresses", "clock", "mortal_move", "move_of", "side", "world"]
Addresses = dict[int, tuple[str, EncryptionKeys]]


async def freeze(addresses: Addresses, number: int) -> None:
    """Freeze the client, as a move does."""
    rows, _ = await open_client_rows(addresses[HOME][0], number, addresses[HOME][1])
    tables = await rows.tables()
    await rows.write(client_rows.take(number, "0", client_rows.FROZEN))
    await rows.watch([*client_rows.moved_tables(tables), client_rows.client_table(tables)], "0")
    await rows.close()


async def test_frozen__a_client_is_refused_with_503_and_others_in_the_same_batch_are_not(
    side: Side, router: CellRouter, addresses: Addresses, world: World
) -> None:
    other = world.side(router, "other", *await world.join(router, "other"))
    await freeze(addresses, side.number)

    created, renamed, listed, of_other = await asyncio.gather(
        side("POST", "/public/v2/contacts", {"first_name": "refused"}),
        side("PATCH", f"/admin/v1/clients/{side.client_id}", {"name": "refused"}),
        side("GET", "/public/v2/contacts"),
        other("POST", "/public/v2/contacts", {"first_name": "stored"}),
    )

    for refused in (created, renamed):
        assert (refused.status, refused.headers["retry-after"], refused.problem["code"]) == (503, "1", "client_moving")
    assert (listed.status, of_other.status) == (200, 201)


async def test_frozen__webhooks_wait_until_the_client_moved(side: Side, move_of: Make, addresses: Addresses, router: CellRouter) -> None:
    translate = translator(ADAPTERS.translate, await side.call.parts.connections.of(side.number))
    await freeze(addresses, side.number)
    with pytest.raises(ClientMoving):
        await router.work(side.number, 10, translate, side.call.clock())

    await move_of(side.number, EU).run()

    assert (await router.work(side.number, 10, translate, side.call.clock())).taken


async def test_undo__leaves_the_client_where_it_is_and_nothing_in_the_target(
    side: Side, move_of: Make, addresses: Addresses, router: CellRouter
) -> None:
    before = await dump(addresses, HOME, side.number)

    def stop(progress: Progress) -> None:
        if progress.step == "compare":
            raise EOFError

    with pytest.raises(EOFError):
        await move_of(side.number, EU, report=stop).run()
    assert any((await dump(addresses, EU, side.number)).values())
    with pytest.raises(WrongState, match="to another cell"):
        await move_of(side.number, US).run()
    with pytest.raises(WrongState, match="a client moves"):
        await router.write(RemoveCell("eu"))

    await move_of(side.number, -1).undo()

    assert await dump(addresses, HOME, side.number) == before
    assert not any((await dump(addresses, EU, side.number)).values())
    assert await left_of_moves(addresses, side.number) == []
    with pytest.raises(WrongState, match="does not move"):
        await move_of(side.number, -1).undo()


async def test_move__waits_for_a_process_that_is_there_and_takes_over_from_one_that_is_gone(
    side: Side, move_of: Make, router: CellRouter, clock: Clock
) -> None:
    held = await router.home.write(TakeMove(side.number, [side.client_id], HOME, EU, "another", clock()))
    waited: list[str] = []

    await move_of(side.number, EU, report=lambda progress: waited.append(progress.step)).run()

    assert held.token.endswith("another")
    assert waited.count("wait") == 15
    assert await router.home.read(ListMoves()) == []


async def test_move__of_a_process_that_lost_it_writes_nothing_more(
    side: Side, move_of: Make, mortal_move: Callable[..., Awaitable[Moved]], addresses: Addresses, clock: Clock
) -> None:
    before = await dump(addresses, HOME, side.number)

    class Overtaken(Mortal):
        async def call(self, label: str, work: Callable[[], Awaitable[Any]]) -> Any:
            if label == "target replace" and label not in self.labels:
                self.labels.append(label)
                clock.move(20)
                await move_of(side.number, EU).run()
            return await super().call(label, work)

    with pytest.raises(WrongState, match="another process carries this move out"):
        await mortal_move(side.number, EU, Overtaken())

    assert await dump(addresses, EU, side.number) == before


async def test_move__of_a_client_that_is_deleted_meanwhile_is_refused(side: Side, move_of: Make, router: CellRouter, clock: Clock) -> None:
    deleting: list[asyncio.Task[object]] = []

    def delete(progress: Progress) -> None:
        if not deleting:
            deleting.append(asyncio.create_task(router.write(BeginDeletion(side.number, clock()))))

    with pytest.raises(WrongState, match="being deleted"):
        await move_of(side.number, EU, report=delete).run()

    await asyncio.gather(*deleting)
    await move_of(side.number, -1).undo()
    assert await router.home.read(ListMoves()) == []


async def test_move__is_found_by_a_process_that_has_not_read_the_directory_since(
    side: Side, move_of: Make, engine_url: str, world: World, clock: Clock
) -> None:
    stale = CellRouter(await open_store(engine_url, encryption_keys=ENCRYPTION_KEYS), OPEN, lambda: clock() / SECOND)
    await stale.start(follow=False)
    try:
        there = world.side(stale, side.client_id, side.number, side.key)
        for target in (EU, US, HOME):
            await move_of(side.number, target).run()
            world.clock.move(1)
            assert (await there("POST", "/public/v2/contacts", {"first_name": f"in {target}"})).status == 201
            assert (await side.sure("GET", "/public/v2/contacts"))["data"][-1]["first_name"] == f"in {target}"
            assert (await there.sure("GET", "/public/v2/contacts"))["data"][-1]["first_name"] == f"in {target}"
    finally:
        await stale.close()


async def test_move__is_noticed_in_the_former_cell_by_a_process_that_cannot_read_the_directory(
    side: Side, move_of: Make, engine_url: str, world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = CellRouter(await open_store(engine_url, encryption_keys=ENCRYPTION_KEYS), OPEN, lambda: clock() / SECOND)
    await stale.start(follow=False)

    async def fail() -> None:
        raise StoreUnavailable("the home store does not respond")

    try:
        there = world.side(stale, side.client_id, side.number, side.key)
        await move_of(side.number, EU).run()
        monkeypatch.setattr(stale, "refresh", fail)
        created = CreateContact(Contact(side.number, 0, clock(), clock(), first_name="lost"))
        with pytest.raises(ClientMoving):
            await stale.write(created)
        monkeypatch.undo()
        assert (await there("POST", "/public/v2/contacts", {"first_name": "stored"})).status == 201
    finally:
        await stale.close()


async def test_move__to_a_cell_with_lower_ids_lets_it_give_out_higher_ones(
    side: Side, move_of: Make, router: CellRouter, engine_url: str
) -> None:
    await move_of(side.number, US).run()
    there = await router.write(CreateContact(Contact(side.number, 0, 5, 5, first_name="in US")))
    await move_of(side.number, HOME).run()
    await move_of(side.number, EU).run()

    home = await open_store(engine_url, encryption_keys=ENCRYPTION_KEYS)
    made = await home.write(CreateClient("later", "", 5))
    await home.close()

    assert made.number > there.record.id > 2 << ID_BITS
    cells = (await router.home.read(ReadDirectory())).cells
    assert [(cell.number, cell.state) for cell in cells] == [(1, "open"), (2, "open"), (3, "removed"), (4, "removed")]


async def test_undo__leaves_no_words_of_a_contact_that_was_copied_indexed_and_deleted(
    side: Side, mortal_move: Callable[..., Awaitable[Moved]], move_of: Make, addresses: Addresses, router: CellRouter, clock: Clock
) -> None:
    made = await side.sure("POST", "/public/v2/contacts", {"first_name": "forgotten"})
    indexed = router.cells[EU].store

    class Indexed(Mortal):
        async def call(self, label: str, work: Callable[[], Awaitable[Any]]) -> Any:
            if label == "source highest_ids":  # all is copied and compared
                while await indexed.write(IndexRecords(side.number, 1000)):
                    pass
                assert await words_of(addresses[EU], side.number, made["id"])
                await side.sure("DELETE", f"/public/v2/contacts/{made['id']}")
                self.die_at, self.before = "target replace", False
            return await super().call(label, work)

    with pytest.raises(Killed):
        await mortal_move(side.number, EU, Indexed())
    clock.move(20)
    await move_of(side.number, -1).undo()

    assert not await words_of(addresses[EU], side.number, made["id"])


async def words_of(at: tuple[str, EncryptionKeys], client: int, contact: int) -> bool:
    """Whether the full-text index of a store has the contact."""
    key = "rowid" if at[0].startswith("sqlite") else "record"
    rows, _ = await open_client_rows(at[0], client, at[1])
    found = await rows.read(select(f"SELECT 1 FROM search_index WHERE {key} = ?", 2 * contact))
    await rows.close()
    return bool(found)


async def test_home_store_that_hangs__delays_one_request_for_a_moment_and_no_other(
    side: Side, move_of: Make, engine_url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await move_of(side.number, EU).run()
    router = CellRouter(await open_store(engine_url, encryption_keys=ENCRYPTION_KEYS), OPEN, lambda: clock() / SECOND)
    await router.start(follow=False)
    tries = 0

    async def hang(self: CellRouter) -> None:
        nonlocal tries
        tries += 1
        await asyncio.Event().wait()

    monkeypatch.setattr(CellRouter, "refresh", hang)
    monkeypatch.setattr(routing_router, "CATCH_UP_SECONDS", 0)
    clock.move(10)

    for number in range(5):
        await router.write(CreateContact(Contact(side.number, 0, clock(), clock(), first_name=f"stored {number}")))

    assert tries == 1
    await router.close()


async def test_move__takes_former_ids_and_new_keys_along(side: Side, move_of: Make, router: CellRouter) -> None:
    await router.write(RotateClientId(side.number, "renamed", 2**61))

    await move_of(side.number, EU).run()

    for client_id in (side.client_id, "renamed"):
        found = await router.read(FindClient(client_id, side.call.clock()))
        assert found is not None
        assert (found.number, found.client_id) == (side.number, "renamed")
    made = await router.write(CreateClient("another", "", 5, cell="home"))
    assert made.number != side.number
    with pytest.raises(Conflict):
        await router.write(CreateClient(side.client_id, "", 5, cell="home"))
