"""The queue of writes is shared: a client that floods it leaves room for others, on every engine."""

from __future__ import annotations

import asyncio

import pytest

from touchbase.clients.sql.clients import ensure_client
from touchbase.errors import Overloaded
from touchbase.history.events import EMAIL_CAMPAIGN
from touchbase.inbox.sql.commands import StoredDelivery, store_delivery
from touchbase.inbox.sql.queries import count_deliveries
from touchbase.records.models import Company, Contact
from touchbase.records.operations import create_company, create_contact
from touchbase.records.writes import Creation
from touchbase.sql.operation import MAX_COMMANDS, Command
from touchbase.storage.batch import client_of

LOUD, QUIET = 1, 2
ROOM = 200
FLOOD = 6 * MAX_COMMANDS


def call(client: int, number: int) -> store_delivery:
    return store_delivery(client, EMAIL_CAMPAIGN, b"%d" % number, b"{}", "", b"{}", 5)


async def settled(writes: list[asyncio.Future[StoredDelivery]]) -> list[object]:
    async with asyncio.timeout(60):
        return await asyncio.gather(*writes, return_exceptions=True)


async def test_write_queue__leaves_room_for_one_client_while_another_floods_it(engine_url, open_with) -> None:
    store = await open_with(engine_url, {}, queue_limit=ROOM)
    for name in ("loud", "quiet"):
        await store.write(ensure_client(name, 5))

    # No writer gets a word in while these are queued: nothing here waits.
    flood = [asyncio.ensure_future(store.write(call(LOUD, number))) for number in range(3 * ROOM)]
    few = [asyncio.ensure_future(store.write(call(QUIET, number))) for number in range(10)]
    loud, quiet = await settled(flood), await settled(few)

    refused = [answer for answer in loud if isinstance(answer, Overloaded)]
    assert all(isinstance(answer, StoredDelivery) for answer in quiet)
    assert len(loud) - len(refused) in range(ROOM // 2, ROOM)
    assert {answer.detail for answer in refused} == {"too many writes of this client are waiting; send this again in a moment"}
    assert min(answer.retry_after for answer in refused) >= 1
    # What was refused is not kept, and what was kept is no less than was said.
    stored = [await store.read(count_deliveries(client)) for client in (LOUD, QUIET)]
    assert stored == [len(loud) - len(refused), 10]


async def test_write_queue__frees_the_room_that_a_flood_took(engine_url, open_with) -> None:
    store = await open_with(engine_url, {}, queue_limit=ROOM)

    counts = []
    for wave in range(3):
        writes = [asyncio.ensure_future(store.write(call(LOUD, wave * 1000 + number))) for number in range(2 * ROOM)]
        counts.append(sum(isinstance(answer, StoredDelivery) for answer in await settled(writes)))

    assert min(counts) >= ROOM // 2


async def test_write_queue__gives_turns_to_a_client_that_comes_after_a_flood(engine_url, open_with) -> None:
    store = await open_with(engine_url, {})
    for name in ("loud", "quiet"):
        await store.write(ensure_client(name, 5))

    flood = [asyncio.ensure_future(store.write(call(LOUD, number))) for number in range(FLOOD)]
    quiet = asyncio.ensure_future(store.write(call(QUIET, 1)))
    await settled([*flood, quiet])

    # Ids are taken in the order in which writers take commands; the writers of PostgreSQL end their batches in any order.
    earlier = sum(delivery.result().id < quiet.result().id for delivery in flood)
    assert earlier < 2 * MAX_COMMANDS


@pytest.mark.parametrize(
    ("command", "client"),
    [
        (call(7, 1), 7),
        (create_contact(Creation(Contact(7, 0, 5, 5))), 7),
        (create_company(Creation(Company(7, 0, 5, 5, "example.com"))), 7),
        (ensure_client("new", 5), None),
    ],
)
def test_client_of__returns_the_client_of_a_command(command: Command[object], client: int | None) -> None:
    assert client_of(command) == client
