"""Two processes that move one client: one of them does, and whichever comes late changes nothing."""

from __future__ import annotations

import pytest
from tests.cells.test_moving import EU, US, Make, addresses, clock, dump, move_of, side, world
from tests.isolation.world import Side

from touchbase.cells import HOME, EndMove, ListMoves, TakeMove
from touchbase.encryption import EncryptionKeys
from touchbase.errors import WrongState
from touchbase.routing import CellRouter, moving_plans
from touchbase.routing.moving import ClientMove
from touchbase.storage import client_rows, open_client_rows

__all__ = ["addresses", "clock", "move_of", "side", "world"]
Addresses = dict[int, tuple[str, EncryptionKeys]]


async def test_second_move__leaves_the_client_where_the_first_brought_it(
    side: Side, move_of: Make, addresses: Addresses, router: CellRouter
) -> None:
    before = await dump(addresses, HOME, side.number)
    second = move_of(side.number, EU)
    take, taken = router.home.write, list[object]()

    async def after_the_first(command: object) -> object:
        """Carry out another move of the client to the same cell just before the second begins."""
        if isinstance(command, TakeMove) and not taken:
            taken.append(command)
            await move_of(side.number, EU).run()
        return await take(command)  # type: ignore[arg-type]

    router.home.write = after_the_first  # type: ignore[method-assign, assignment]

    with pytest.raises(WrongState, match="since this began"):
        await second.run()

    assert await dump(addresses, EU, side.number) == before
    assert not any((await dump(addresses, HOME, side.number)).values())
    assert await router.home.read(ListMoves()) == []


async def test_token__is_refused_in_a_store_that_a_later_one_has_taken(side: Side, addresses: Addresses, router: CellRouter) -> None:
    tokens = []
    for own in ("f", "0"):
        move = await router.home.write(TakeMove(side.number, [side.client_id], HOME, EU, own, 7))
        tokens.append(move.token)
        await router.home.write(EndMove(side.number, move.token))
    former, later = tokens
    rows, _ = await open_client_rows(addresses[HOME][0], side.number, addresses[HOME][1])
    try:
        await rows.write(client_rows.take(side.number, later, client_rows.NOTING))
        tables = client_rows.moved_tables(await rows.tables())

        for late in (
            lambda: rows.write(client_rows.take(side.number, former, client_rows.NOTING)),
            lambda: rows.watch(tables, former),
            lambda: rows.unwatch(tables, former),
            lambda: rows.write(client_rows.forget_noted(side.number, former, [1])),
        ):
            with pytest.raises(WrongState, match="another process"):
                await late()  # type: ignore[no-untyped-call]

        assert not await rows.watches(tables)
        await rows.write(client_rows.forget(side.number, former))
        assert await rows.write(client_rows.take(side.number, later, client_rows.NOTING)) == client_rows.NOTING
    finally:
        await rows.close()


async def test_undo_that_comes_late__removes_nothing_of_a_client_that_lives_in_the_target(
    side: Side, move_of: Make, addresses: Addresses, router: CellRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await dump(addresses, HOME, side.number)
    undone = move_of(side.number, -1)
    await router.home.write(TakeMove(side.number, [side.client_id], HOME, US, "f", 7))
    take = ClientMove._take

    async def taken(self: ClientMove, source: int) -> None:
        """Let another process do the whole move after the one that undoes it has taken it."""
        await take(self, source)
        if self is undone:
            await router.home.write(EndMove(side.number, undone.token))
            await move_of(side.number, US).run()

    monkeypatch.setattr(ClientMove, "_take", taken)

    with pytest.raises(WrongState, match="another process"):
        await undone.undo()

    assert await dump(addresses, US, side.number) == before


async def test_removal_of_a_copy__is_refused_where_the_client_lives(side: Side, addresses: Addresses) -> None:
    rows, _ = await open_client_rows(addresses[HOME][0], side.number, addresses[HOME][1])
    try:
        await rows.write(client_rows.take(side.number, "f", client_rows.ARRIVING))

        with pytest.raises(WrongState):
            await rows.write(moving_plans.remove(side.number, "f", None, 10, client_rows.ARRIVING))
    finally:
        await rows.close()
