"""What every engine promises of turns that follow each other: nothing is translated for nothing, and what changed in between counts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import msgspec
import pytest
from tests.storage.conftest import AnyStore
from tests.storage.test_contract_inbox import NOON, call, client, sent, state, translate

from touchbase.clients.models import ACTIVE, SUSPENDED
from touchbase.clients.sql.clients import ensure_client, set_client_state
from touchbase.deliveries.delivery import APPLIED, IGNORED, RECEIVED, Delivery
from touchbase.erasure.service import Eraser
from touchbase.history.events import Translation
from touchbase.history.identity_links import Ref
from touchbase.inbox.sql.commands import replay_deliveries
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.sql.store import Store

__all__ = ["client"]
TURN = 10


async def backlog(store: Store, client: int, turns: int = 3) -> list[int]:
    return [(await store.write(call(client, sent(f"p{n}")))).id for n in range(turns * TURN)]


async def states(store: Store, numbers: list[int]) -> Counter[str]:
    return Counter([(await state(store, number)).state for number in numbers])


async def test_work__applies_a_backlog_in_order_and_translates_each_delivery_once(store: Store, client: int) -> None:
    stored = await backlog(store, client, 4)
    observed: list[int] = []

    def counted(delivery: Delivery) -> Translation:
        observed.append(delivery.id)
        return translate(delivery)

    for turn in range(1, 5):
        assert (await store.work(client, TURN, counted, NOON)).taken == TURN
        assert await states(store, stored[: turn * TURN]) == {APPLIED: turn * TURN}
    assert (await store.work(client, TURN, counted, NOON)).taken == 0

    assert observed == sorted(stored)


@pytest.mark.parametrize("limit", [TURN // 2, TURN + 3, 3 * TURN])
async def test_work__takes_as_many_deliveries_as_its_limit_allows(store: Store, client: int, limit: int) -> None:
    stored = await backlog(store, client)
    await store.work(client, TURN, translate, NOON)

    second = await store.work(client, limit, translate, NOON)
    remaining = await store.work(client, 100, translate, NOON)

    assert (second.taken, second.taken + remaining.taken) == (min(limit, 2 * TURN), 2 * TURN)
    assert await states(store, stored) == {APPLIED: len(stored)}


async def test_work__skips_deliveries_that_another_process_took(engine_url: str, open_with: Callable[..., Awaitable[AnyStore]]) -> None:
    first, second_store = [await open_with(engine_url, {}) for _ in range(2)]
    client = (await first.write(ensure_client("acme", NOON))).number
    stored = await backlog(first, client)
    await first.work(client, TURN, translate, NOON)

    await second_store.work(client, TURN - 3, translate, NOON)
    second = await first.work(client, TURN, translate, NOON)
    remaining = await first.work(client, 100, translate, NOON)

    assert (second.taken, second.created, remaining.taken) == (TURN, TURN, 3)
    assert await states(first, stored) == {APPLIED: len(stored)}


async def test_work__takes_no_delivery_of_a_client_suspended_after_the_last_batch(store: Store, client: int) -> None:
    stored = await backlog(store, client)
    await store.work(client, TURN, translate, NOON)

    await store.write(set_client_state(client, SUSPENDED, NOON))
    suspended = await store.work(client, TURN, translate, NOON)
    await store.write(set_client_state(client, ACTIVE, NOON))
    resumed = await store.work(client, 100, translate, NOON)

    assert (suspended.taken, resumed.taken) == (0, 2 * TURN)
    assert await states(store, stored) == {APPLIED: len(stored)}


async def test_replayed_delivery__is_translated_again_although_its_batch_was_prefetched(store: Store, client: int) -> None:
    stored = await backlog(store, client)
    await store.work(client, TURN, translate, NOON)

    def otherwise(delivery: Delivery) -> Translation:
        reported = translate(delivery)
        reported.events[0].first_name = "Otherwise"
        return reported

    await store.write(replay_deliveries(client, tuple(stored[15:18]), NOON))
    # A prefetch that read the queue after the replay has the deliveries behind it, which are applied before it.
    for _ in range(3):
        await store.work(client, TURN, otherwise, NOON)

    named = [
        contact.email for contact in await store.read(list_records(Listing(CONTACT_TYPE, client, 100))) if contact.first_name == "Otherwise"
    ]
    assert {f"p{n}@example.com" for n in (15, 16, 17)} <= set(named)
    assert await states(store, stored[15:18]) == {APPLIED: 3}


async def test_erasure__between_two_batches_removes_the_person_from_prefetched_deliveries(store: Store, client: int) -> None:
    tells = [{**sent("other")[0], "campaign": "looks for p12@example.com"}]
    stored = [(await store.write(call(client, tells if n == 14 else sent(f"p{n}")))).id for n in range(2 * TURN)]
    await store.work(client, TURN, translate, NOON)

    erased: Ref = ("", "email", "p12@example.com")
    await Eraser(store, lambda _: Translation("test", []), lambda: NOON).erase(client, None, (erased,), search=False)
    for _ in range(2):
        await store.work(client, TURN, translate, NOON)

    assert len(await store.read(list_records(Listing(CONTACT_TYPE, client, 100)))) == len(stored) - 1
    assert await states(store, stored) == {APPLIED: len(stored) - 1, IGNORED: 1}
    assert [number for number in stored if (await state(store, number)).body == b""] == [stored[12], stored[14]]


async def test_failing_delivery__harms_no_delivery_of_the_next_batches(store: Store, client: int) -> None:
    stored = [(await store.write(call(client, b"bug" if n == 14 else sent(f"p{n}")))).id for n in range(3 * TURN)]

    for _ in range(4):
        await store.work(client, TURN, translate, NOON)

    assert await states(store, stored) == {APPLIED: len(stored) - 1, RECEIVED: 1}
    assert "a bug of an adapter" in ((await state(store, stored[14])).error or "")


async def test_close__ends_a_running_prefetch(engine_url: str, open_with: Callable[..., Awaitable[AnyStore]]) -> None:
    store = await open_with(engine_url, {})
    client = (await store.write(ensure_client("acme", NOON))).number
    await backlog(store, client)
    await store.work(client, TURN, translate, NOON)

    await store.close()

    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert left == []
    again = await open_with(engine_url, {})
    assert (await again.work(client, 100, translate, NOON)).taken == 2 * TURN


@pytest.mark.parametrize("sizes", [[], [1], [10, 20_000, 10], [9_000, 9_000, 9_000], [20_000, 20_000], [1] * 40])
async def test_work__translates_bodies_of_any_size_in_order(store: Store, client: int, sizes: list[int]) -> None:
    observed: list[int] = []
    bodies = [msgspec.json.encode(sent(f"p{n}")).ljust(size) for n, size in enumerate(sizes)]
    stored = [(await store.write(call(client, body))).id for body in bodies]

    def counted(delivery: Delivery) -> Translation:
        observed.append(delivery.id)
        return translate(delivery)

    assert (await store.work(client, 100, counted, NOON)).taken == len(sizes)
    assert observed == stored


async def test_replayed_delivery__is_applied_before_the_backlog_ends(store: Store, client: int) -> None:
    stored = await backlog(store, client, 9)
    await store.work(client, 2, translate, NOON)

    await store.write(replay_deliveries(client, (stored[0],), NOON))
    for _ in range(40):
        await store.work(client, 2, translate, NOON)

    assert (await states(store, stored[-4:]), (await state(store, stored[0])).state) == ({RECEIVED: 4}, APPLIED)
