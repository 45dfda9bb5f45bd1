"""Fair draining on real stores: what one client has waiting does not hold up another's single delivery."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import SECOND
from touchbase.connections.models import Connection
from touchbase.deliveries.work import WorkReport
from touchbase.errors import Overloaded
from touchbase.history.events import EMAIL_CAMPAIGN, Translation
from touchbase.inbox.fair_scheduler import BATCH_SIZE, SMALL_BATCH_SIZE
from touchbase.inbox.sql.commands import store_delivery
from touchbase.inbox.sql.queries import busy_clients, count_deliveries, get_delivery
from touchbase.inbox.worker import BACKOFF_SECONDS, InboxWorker
from touchbase.sql.store import Store

NOON = 1_790_000_000 * SECOND
BACKLOG = 20_000
AT_ONCE = 1_000


class Clock:
    now = NOON

    def __call__(self) -> int:
        return self.now


def nothing_in_it(request: WebhookRequest) -> Translation:
    return Translation("test", [])


async def client_of(store: Store, name: str) -> int:
    return (await store.write(ensure_client(name, NOON))).number


async def keep(store: Store, client: int, count: int) -> int:
    """Keep so many deliveries; answers the id of the last."""
    last = 0
    for first in range(0, count, AT_ONCE):
        keys = [b"%d" % number for number in range(first, min(count, first + AT_ONCE))]
        results = await asyncio.gather(*(store.write(store_delivery(client, EMAIL_CAMPAIGN, key, b"{}", "", b"[]", NOON)) for key in keys))
        last = results[-1].id
    return last


@pytest.mark.parametrize("expected", [True, False], ids=["kept here", "kept by another process"])
async def test_single_delivery__is_applied_during_a_large_backlog_of_another_client(store: Store, expected: bool) -> None:
    loud, quiet = await client_of(store, "loud"), await client_of(store, "quiet")
    await keep(store, loud, BACKLOG)
    clock = Clock()
    turns: list[int] = []
    came_after = 4

    def on_report(report: WorkReport) -> None:
        turns.append(report.taken)
        clock.now += 100 * report.taken  # what a turn takes: a long one a twentieth of a second
        if len(turns) == came_after:
            tasks.append(asyncio.create_task(come()))
        if report.taken == 1 or len(turns) > 30:
            worker.stop()

    async def come() -> None:
        number.append(await keep(store, quiet, 1))
        if expected:
            worker.wake_client(quiet)

    number: list[int] = []
    tasks: list[asyncio.Task[None]] = []
    worker = InboxWorker(store, nothing_in_it, clock, on_report=on_report)
    async with asyncio.timeout(60):
        await worker.run()

    applied = await store.read(get_delivery(number[0]))
    assert applied is not None
    assert applied.state == "ignored"  # understood, and nothing in it
    # The turn at hand and the next one of the loud client; nobody told of it, it is found at the next look around.
    assert turns.index(1) + 1 - came_after <= (3 if expected else 13)
    assert turns[:2] == [SMALL_BATCH_SIZE, BATCH_SIZE]
    left = await store.read(count_deliveries(loud, state="received"))
    assert left == BACKLOG - (sum(turns) - 1) > BACKLOG // 2  # a turn may follow that of the quiet client before the worker stops


async def test_worker__applies_every_delivery_of_all_clients(store: Store) -> None:
    clients = [await client_of(store, name) for name in ("loud", "also loud", "quiet")]
    for client, count in zip(clients, (2_000, 1_500, 1), strict=True):
        await keep(store, client, count)
    done = 0

    def on_report(report: WorkReport) -> None:
        nonlocal done
        done += report.taken
        if done == 3_501:
            worker.stop()

    worker = InboxWorker(store, nothing_in_it, Clock(), on_report=on_report)
    async with asyncio.timeout(60):
        await worker.run()

    assert [await store.read(count_deliveries(client, state="ignored")) for client in clients] == [2_000, 1_500, 1]


async def test_worker__uses_smaller_batches_under_write_load(store: Store) -> None:
    loud = await client_of(store, "loud")
    await keep(store, loud, 200)
    turns: list[int] = []

    async def callers(client: int) -> Sequence[Connection]:
        await asyncio.gather(*(client_of(store, f"caller-{number}") for number in range(10)))
        return ()

    def on_report(report: WorkReport) -> None:
        turns.append(report.taken)
        if len(turns) == 4:
            worker.stop()

    worker = InboxWorker(store, nothing_in_it, Clock(), connections=callers, on_report=on_report)
    async with asyncio.timeout(60):
        await worker.run()

    assert turns == [SMALL_BATCH_SIZE, *3 * [store.batch_size_under_load]]


BREAKS = [Overloaded("a secret cannot be opened now", retry_after=3600), ZeroDivisionError("we broke")]


class Broken:
    """A client's connections, which cannot be read so many times."""

    def __init__(self, client: int, error: Exception, times: int = 1_000) -> None:
        self.client, self.error, self.left, self.tried = client, error, times, 0
        self.failed = asyncio.Event()

    async def connections(self, client: int) -> Sequence[Connection]:
        if client == self.client and self.left:
            self.left -= 1
            self.tried += 1
            self.failed.set()
            raise self.error
        return ()


@pytest.mark.parametrize("error", BREAKS, ids=type)
async def test_failing_client__delays_no_other_client(store: Store, error: Exception) -> None:
    broken, loaded = Broken(await client_of(store, "broken"), error), await client_of(store, "loaded")
    await keep(store, broken.client, 1)
    await keep(store, loaded, 2_000)
    clock, turns = Clock(), list[int]()

    def on_report(report: WorkReport) -> None:
        turns.append(report.taken)
        clock.now += 100 * report.taken
        worker.wake_client(broken.client)
        if sum(turns) == 2_000:
            worker.stop()

    worker = InboxWorker(store, nothing_in_it, clock, connections=broken.connections, on_report=on_report)
    async with asyncio.timeout(60):
        await worker.run()

    assert turns[:2] == [SMALL_BATCH_SIZE, BATCH_SIZE]
    assert broken.tried == 1


async def test_failing_client__is_retried_after_the_backoff(store: Store) -> None:
    broken = Broken(await client_of(store, "broken"), BREAKS[0], times=1)
    await keep(store, broken.client, 1)
    clock = Clock()
    worker = InboxWorker(store, nothing_in_it, clock, connections=broken.connections, on_report=lambda report: worker.stop())
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(60):
        await broken.failed.wait()
        clock.now += int(BACKOFF_SECONDS * SECOND)
        await running

    assert await store.read(count_deliveries(broken.client, state="ignored")) == 1


@pytest.mark.parametrize("error", BREAKS, ids=type)
async def test_drain__processes_all_clients_except_a_failing_one(store: Store, error: Exception) -> None:
    broken, second = Broken(await client_of(store, "broken"), error), await client_of(store, "other")
    await keep(store, broken.client, 1)
    await keep(store, second, 700)

    report = await InboxWorker(store, nothing_in_it, Clock(), connections=broken.connections).drain()

    assert (report.ended, report.failing, broken.tried) == ({"ignored": 700}, 1, 1)


async def test_worker__stops_at_once_while_it_waits_for_the_store(store: Store) -> None:
    class Full:
        commands_taken = 0

        async def read(self, query: Any) -> Any:
            if isinstance(query, busy_clients):
                event.set()
                raise Overloaded("the disk is full", retry_after=3600)
            return await store.read(query)

    event = asyncio.Event()
    worker = InboxWorker(Full(), nothing_in_it, Clock())  # type: ignore[arg-type]
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(60):
        await event.wait()
        worker.stop()
        await running
