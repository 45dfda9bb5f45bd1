"""Many endpoints: their results share transactions, their reads of the log are one, and clients' writes are not refused for them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from tests.outgoing.conftest import URL, Webhooks
from tests.outgoing.unsent import TOKEN

from touchbase.clients.sql.clients import ensure_client
from touchbase.errors import Overloaded
from touchbase.event_log.models import LoggedEvent, LoggedPage
from touchbase.event_log.sql.queries import list_logged_events
from touchbase.outgoing.line import EndpointQueue
from touchbase.outgoing.models import Attempt, Endpoint, EndpointProgress, Pending, Secret, Served
from touchbase.outgoing.results import AT_ONCE, Results
from touchbase.outgoing.rounds import LONGEST_PAUSE, shortest
from touchbase.outgoing.shared_reads import LogReader
from touchbase.outgoing.sql.dispatch import lead_shards, list_attempts, read_served, store_progress
from touchbase.outgoing.sql.endpoints import add_endpoint
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Row, Select
from touchbase.sql.store import Store

NOW = 1_000_000


def attempt(client: int, endpoint: int, sequence: int) -> Attempt:
    return Attempt(client, endpoint, sequence, "contact.created", NOW, 1, "delivered", 204, 5)


def progress(client: int, endpoint: int, position: int, token: str = TOKEN) -> Any:
    return store_progress(client, endpoint, token, NOW, position, attempts=[attempt(client, endpoint, position)])


@pytest.fixture
async def client(store: Store) -> int:
    return (await store.write(ensure_client("acme", NOW, NOW))).number


async def add(store: Store, client: int) -> int:
    endpoint = await store.write(add_endpoint(Endpoint(client, 0, URL, NOW, NOW, secrets=[Secret("whsec_")], state_us=NOW)))
    return endpoint.id


async def position(store: Store, client: int, endpoint: int) -> int:
    [served] = await store.read(read_served(client, [endpoint]))
    return served.progress.position


async def test_progress_of_many__is_stored_for_each_that_is_led(store: Store, client: int) -> None:
    other_client = (await store.write(ensure_client("globex", NOW, NOW))).number
    first, second, third = [await add(store, client) for _ in range(3)]
    others = await add(store, other_client)
    await store.write(lead_shards(TOKEN, NOW, NOW + 10))

    values = [
        progress(client, first, 1), progress(client, second, 2, "another"), progress(client, 999, 3), progress(other_client, others, 4),
        progress(client, third, 5),
    ]  # fmt: skip
    results = await asyncio.gather(*map(store.write, values))

    assert results == [True, False, False, True, True]
    assert [await position(store, client, item) for item in (first, second, third)] == [1, 0, 5]
    assert await position(store, other_client, others) == 4
    assert {(first_attempt.endpoint_id, first_attempt.sequence) for first_attempt in await store.read(list_attempts(client, 10))} == {
        (first, 1),
        (third, 5),
    }


async def test_progress_of_one_endpoint_twice__is_stored_in_order(store: Store, client: int) -> None:
    endpoint = await add(store, client)
    await store.write(lead_shards(TOKEN, NOW, NOW + 10))
    failed = progress(client, endpoint, 1)
    failed.save = [Pending(1, (1, 1), 1, NOW, NOW + 5)]
    delivered = progress(client, endpoint, 3)
    delivered.remove = [1]

    assert await asyncio.gather(store.write(failed), store.write(delivered)) == [True, True]

    [served] = await store.read(read_served(client, [endpoint]))
    assert (served.progress.position, served.pending) == (3, [])


async def test_served_endpoints__are_read_with_what_waits_for_each(store: Store, client: int) -> None:
    first, second = [await add(store, client) for _ in range(2)]
    await store.write(lead_shards(TOKEN, NOW, NOW + 10))
    for endpoint, sequences in ((first, (3, 1, 2)), (second, (2,))):
        command = progress(client, endpoint, 3)
        command.save = [Pending(item, None, 1, NOW, NOW + 5) for item in sequences]
        assert await store.write(command)

    served = await store.read(read_served(client, [second, first, 999]))

    assert {item.endpoint.id: [entry.sequence for entry in item.pending] for item in served} == {first: [1, 2, 3], second: [2]}


@pytest.mark.parametrize("count", [2, 100])
def test_progress_of_many__takes_as_many_statements_as_that_of_one(count: int) -> None:
    assert steps_of([progress(1, endpoint, 5) for endpoint in range(count)]) == steps_of([progress(1, 0, 5)])


def steps_of(commands: list[Any]) -> int:
    """Return how many statements store these, all of them led by this process."""
    ids, steps = Ids(), 0
    ids.fill("webhook_attempt", 1, 1_000)
    plan = store_progress.operation.run(commands, ids, None)
    rows: list[Row] | None = None
    with contextlib.suppress(StopIteration):
        while True:
            step = next(plan) if rows is None else plan.send(rows)
            steps += not isinstance(step, Execute) or bool(step.rows)
            rows = [(f"shard {number:02}", TOKEN) for number in range(32)] if isinstance(step, Select) else [*getattr(step, "rows", ())]
    return steps


async def test_new_event__is_read_once_for_all_endpoints_of_the_client(webhooks: Webhooks, monkeypatch: pytest.MonkeyPatch) -> None:
    store = webhooks.house.call.parts.store
    for number in range(5):
        await webhooks.add(types=["contact.created"] if number < 3 else [])
    await webhooks.deliver()
    reads: list[Any] = []
    full = store.read

    async def read(query: Any) -> Any:
        reads.append(query)
        return await full(query)

    monkeypatch.setattr(store, "read", read)
    await webhooks.house.contact(email="ada@example.com")

    assert len(await webhooks.deliver()) == 5
    requested = [(item.after_sequence, item.types) for item in reads if isinstance(item, list_logged_events) and item.after_sequence == 0]
    assert sorted(requested, key=str) == [(0, None), (0, ["contact.created"])]


class Log:
    """A store whose reads end when a test lets them."""

    def __init__(self) -> None:
        self.positions: list[int | None] = []
        self.ends = asyncio.Semaphore(0)
        self.error: Exception | None = None

    async def read(self, query: list_logged_events) -> LoggedPage:
        self.positions.append(query.after_sequence)
        await self.ends.acquire()
        if self.error is not None:
            raise self.error
        return LoggedPage([], 9, 9, 1)


def endpoint_of(number: int, client: int = 1) -> Endpoint:
    return Endpoint(client, number, URL, 0, 0)


async def test_log_reader__shares_a_read_also_if_one_gives_up_or_it_fails() -> None:
    log: Any = Log()
    reader = LogReader(log)
    requested = ((endpoint_of(1), 5), (endpoint_of(2), 5), (endpoint_of(3), 6), (endpoint_of(1, 2), 5))
    tasks = [asyncio.create_task(reader.after(*item)) for item in requested]
    await asyncio.sleep(0)
    tasks[0].cancel()
    for _ in range(3):
        log.ends.release()
    await asyncio.wait(tasks)
    assert [task.cancelled() or task.result().last for task in tasks] == [True, 9, 9, 9]
    assert log.positions == [5, 6, 5]

    log.error = Overloaded("the store is away")
    log.ends.release()
    failed = await asyncio.gather(reader.after(endpoint_of(1), 5), reader.after(endpoint_of(2), 5), return_exceptions=True)
    log.error = None
    log.ends.release()

    assert [type(item) for item in failed] == [Overloaded, Overloaded]
    assert (await reader.after(endpoint_of(1), 5)).last == 9


class Queue:
    """A store that notes how many commands wait at once, and refuses those of some endpoints."""

    def __init__(self) -> None:
        self.waiting = self.most = 0
        self.refused: set[int] = set()
        self.stored: list[int] = []

    async def write(self, command: Any) -> bool:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await asyncio.sleep(0)
        self.waiting -= 1
        if command.id in self.refused:
            raise Overloaded("the queue is full")
        self.stored.append(command.id)
        return True


def line_with_news(number: int) -> EndpointQueue:
    line = EndpointQueue(Served(endpoint_of(number), "acme", EndpointProgress(), []), NOW)
    line.newest = 1
    line.add_page([LoggedEvent(1, "contact.created", NOW, 1, 1, sequence=1)], 1, NOW)
    item = line.take(NOW)
    assert item is not None
    line.succeeded(item, attempt(1, number, 1), NOW)
    return line


def test_line__sends_a_failed_event_after_the_stored_position_once() -> None:
    """A process that was killed left the row of a failure, and a position before it: the log is read from there."""
    line = EndpointQueue(Served(endpoint_of(1), "acme", EndpointProgress(), [Pending(1, (1, 1), 1, NOW, NOW)]), NOW)
    line.newest = 1
    item = line.take(NOW)
    assert item is not None
    line.succeeded(item, attempt(1, 1, 1), NOW)

    line.add_page([LoggedEvent(1, "contact.created", NOW, 1, 1, sequence=1)], 1, NOW)

    assert line.take(NOW) is None
    assert line.unstored(NOW).position == 1


async def test_results_of_many__leave_the_queue_of_the_store_to_requests() -> None:
    queue: Any = Queue()
    left: list[EndpointQueue] = []
    results = Results(queue, TOKEN, lambda: NOW, left.append)
    for number in range(2 * AT_ONCE + 5):
        results.of(line_with_news(number))

    assert await results.flush()
    assert (queue.most, len(queue.stored), left) == (AT_ONCE, 2 * AT_ONCE + 5, [])


async def test_results_that_are_refused__wait_with_those_behind_them() -> None:
    queue: Any = Queue()
    results = Results(queue, TOKEN, lambda: NOW, lambda line: None)
    lines = [line_with_news(number) for number in range(AT_ONCE + 5)]
    for line in lines:
        results.of(line)
    queue.refused = {3}

    with pytest.raises(Overloaded):
        await results.flush()
    assert sorted(queue.stored) == [number for number in range(AT_ONCE) if number != 3]
    queue.refused = set()

    assert await results.flush()
    assert sorted(queue.stored) == [*range(AT_ONCE + 5)]
    assert not any(line.has_news for line in lines)


def test_long_round__is_not_followed_by_a_long_pause() -> None:
    assert shortest(0.0) == 0.01
    assert shortest(0.02) == pytest.approx(0.1)
    assert shortest(4.0) == 4 + LONGEST_PAUSE
