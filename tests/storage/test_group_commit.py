"""Group commit on every engine: who shares a transaction, and who fails alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from tests.operations import handler
from tests.storage.conftest import Opener

from touchbase.common.fair_quota import FairQuota
from touchbase.do_not_contact.sql.entries import save_entries
from touchbase.errors import NotFound, Overloaded, StoreBusy, StoreUnavailable
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, find_record, list_records
from touchbase.records.writes import Creation
from touchbase.sql.ids import Ids
from touchbase.sql.operation import MAX_COMMANDS, Command, weight_of, weight_of_all
from touchbase.sql.statement import Execute, Plan, Select, SerializationConflict, Statement
from touchbase.storage.batch import MAX_FIELDS, FairQueue, client_of, settle
from touchbase.storage.postgres.engine import WRITERS

PUT = Statement(
    "put", (("name", "text"), ("next", "bigint")), "INSERT INTO id_block (name, next) SELECT * FROM p WHERE true RETURNING next"
)


def not_executed(calls: Sequence[object], ids: Ids) -> Plan[list[object]]:
    raise NotImplementedError


class Put(Command[int]):
    """Stores a name that must be new: a second time breaks a constraint that no handler foresees."""

    operation = handler(not_executed)

    name: str
    number: int = 0


class Count(Command[int]):
    """Answers how many names there are that begin with `like`."""

    like: str


class Toys:
    """Handlers that remember the groups they were given."""

    def __init__(self) -> None:
        self.groups: list[int] = []
        self.handlers = {Put: handler(self.put), Count: handler(self.count)}

    def put(self, commands: Sequence[Put], ids: Ids) -> Plan[list[object]]:
        self.groups.append(len(commands))
        rows = yield Execute(PUT, [(command.name, command.number) for command in commands])
        return [row[0] for row in rows]

    def count(self, commands: Sequence[Count], ids: Ids) -> Plan[list[object]]:
        answers: list[object] = []
        for command in commands:
            rows = yield Select("SELECT count(*) FROM id_block WHERE name LIKE ?", (command.like + "%",))
            answers.append(rows[0][0])
        return answers


class Hold(Command[None]):
    """Keeps the thread that writes busy until the gate opens."""

    gate: threading.Event = msgspec.field(default_factory=threading.Event)
    begun: threading.Event = msgspec.field(default_factory=threading.Event)


def _hold(commands: Sequence[Hold], ids: Ids) -> Plan[list[object]]:
    for command in commands:
        command.begun.set()
        command.gate.wait(30)
    yield Select("SELECT 1", ())
    return [None] * len(commands)


HOLD = {Hold: handler(_hold)}


async def test_group_commit__puts_concurrent_commands_into_one_transaction(engine_url, open_with) -> None:
    toys = Toys()
    store = await open_with(engine_url, toys.handlers)

    answers = await asyncio.gather(*(store.write(Put(f"name{n}", n)) for n in range(100)))

    assert answers == list(range(100))
    assert max(toys.groups) >= 99  # the thread of SQLite may have taken the first one at once


async def test_group_commit__puts_commands_that_arrive_during_a_flush_into_the_next_one(sqlite_url, open_with) -> None:
    toys, hold = Toys(), Hold()
    store = await open_with(sqlite_url, {**toys.handlers, **HOLD})
    first = asyncio.ensure_future(store.write(hold))
    await asyncio.to_thread(hold.begun.wait)

    others = [asyncio.ensure_future(store.write(Put(f"name{n}"))) for n in range(MAX_COMMANDS + 10)]
    await asyncio.sleep(0)
    waiting = store.queue_depth
    hold.gate.set()
    await asyncio.gather(first, *others)

    assert waiting == MAX_COMMANDS + 10
    assert toys.groups == [MAX_COMMANDS, 10]


async def test_group_commit__fails_only_the_failing_command(engine_url, open_with) -> None:
    toys = Toys()
    store = await open_with(engine_url, toys.handlers)
    await store.write(Put("taken"))

    answers = await asyncio.gather(*(store.write(Put("taken" if n == 13 else f"name{n}", n)) for n in range(40)), return_exceptions=True)

    broken = answers.pop(13)
    assert isinstance(broken, Exception)
    assert answers == [n for n in range(40) if n != 13]
    assert await store.write(Count("name")) == 39


async def test_group_commit__stores_a_contact_once_when_another_command_of_the_group_fails(engine_url, open_with) -> None:
    toys = Toys()

    def poisoned(commands: Sequence[Any], ids: Ids) -> Plan[list[object]]:
        answers = yield from real.run(commands, ids, None)
        if any(command.creation.record.first_name == "poison" for command in commands):
            raise ZeroDivisionError
        return answers

    real = create_contact.operation
    store = await open_with(engine_url, {**toys.handlers, create_contact: handler(poisoned, real.needs, clients=real.clients)})
    people = ["Ada", "poison", "Grace", "Joan"]

    answers = await asyncio.gather(
        *(store.write(create_contact(Creation(Contact(1, 0, 5, 5, first_name=name), [("seat", "12")]))) for name in people),
        return_exceptions=True,
    )

    records = await store.read(list_records(Listing(CONTACT_TYPE, 1, 10)))
    assert [type(answer).__name__ for answer in answers] == ["Created", "ZeroDivisionError", "Created", "Created"]
    assert [[(f.name, f.value) for f in answer.record.custom_fields] for answer in answers if answer is not answers[1]] == [
        [("seat", "12")]
    ] * 3
    assert sorted((c.first_name, [f.value for f in c.custom_fields]) for c in records) == [
        ("Ada", ["12"]), ("Grace", ["12"]), ("Joan", ["12"]),
    ]  # fmt: skip


async def test_group_commit__handles_a_known_error_without_a_second_transaction(engine_url, open_with) -> None:
    groups: list[int] = []

    def some_fail(commands: Sequence[Put], ids: Ids) -> Plan[list[object]]:
        groups.append(len(commands))
        yield Execute(PUT, [(c.name, c.number) for c in commands if c.number >= 0])
        return [NotFound("no such thing") if c.number < 0 else c.number for c in commands]

    store = await open_with(engine_url, {Put: handler(some_fail), Count: handler(Toys().count)})

    answers = await asyncio.gather(*(store.write(Put(f"name{n}", n if n % 2 else -1)) for n in range(10)), return_exceptions=True)

    assert [type(answer) for answer in answers] == [NotFound, int] * 5
    assert await store.write(Count("name")) == 5
    assert sum(groups) == 10


async def test_write_queue__refuses_new_commands_when_full_and_writes_the_accepted_ones(postgres_url, open_with) -> None:
    toys = Toys()
    store = await open_with(postgres_url, toys.handlers, queue_limit=5)

    answers = await asyncio.gather(*(store.write(Put(f"name{n}", n)) for n in range(8)), return_exceptions=True)

    assert answers[:5] == [0, 1, 2, 3, 4]
    assert [type(answer) for answer in answers[5:]] == [StoreBusy] * 3
    assert await store.write(Count("name")) == 5


async def test_write_queue__refuses_when_full_while_the_sqlite_thread_is_busy(sqlite_url, open_with) -> None:
    toys, hold = Toys(), Hold()
    store = await open_with(sqlite_url, {**toys.handlers, **HOLD}, queue_limit=5)
    first = asyncio.ensure_future(store.write(hold))
    await asyncio.to_thread(hold.begun.wait)

    waiting = [asyncio.ensure_future(store.write(Put(f"name{n}", n))) for n in range(5)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded) as refused:
        await store.write(Put("too many"))
    hold.gate.set()

    assert refused.value.retry_after >= 1
    assert await asyncio.gather(first, *waiting) == [None, 0, 1, 2, 3, 4]


async def test_group_commit__survives_a_cancelled_command(engine_url, open_with) -> None:
    toys = Toys()
    store = await open_with(engine_url, toys.handlers)
    writes = [asyncio.ensure_future(store.write(Put(f"name{n}", n))) for n in range(6)]
    await asyncio.sleep(0)

    writes[2].cancel()
    answers = await asyncio.gather(*writes, return_exceptions=True)

    assert isinstance(answers[2], asyncio.CancelledError)
    assert answers[:2] + answers[3:] == [0, 1, 3, 4, 5]
    assert await store.write(Put("afterwards", 7)) == 7


class TakeId(Command[int]):
    """Takes an id of a contact and then perhaps breaks."""

    breaks: bool = False


async def test_ids__are_unique_even_after_a_rollback(engine_url, open_with) -> None:
    values: list[int] = []

    def take_ids(commands: Sequence[TakeId], ids: Ids) -> Plan[list[object]]:
        mine = [ids.take("contact") for _ in commands]
        values.extend(mine)
        yield Execute(PUT, [(f"id{number}", number) for number in mine])
        if any(command.breaks for command in commands):
            raise ZeroDivisionError
        return list(mine)

    handlers = {TakeId: handler(take_ids, lambda commands: {"contact": len(commands)})}
    store = await open_with(engine_url, handlers)
    await asyncio.gather(*(store.write(TakeId(breaks=n == 3)) for n in range(9)), return_exceptions=True)
    again = await open_with(engine_url, handlers)

    await asyncio.gather(*(again.write(TakeId()) for _ in range(9)))

    assert len(values) == len(set(values))
    assert len(values) > 18


async def test_group_commit__retries_after_a_serialization_conflict(engine_url, open_with) -> None:
    attempts: list[int] = []

    def meets(commands: Sequence[Put], ids: Ids) -> Plan[list[object]]:
        attempts.append(len(commands))
        rows = yield Execute(PUT, [(command.name, command.number) for command in commands])
        if len(attempts) < 3:
            raise SerializationConflict
        return [row[0] for row in rows]

    store = await open_with(engine_url, {Put: handler(meets)})

    answer = await store.write(Put("name", 5))

    assert answer == 5
    assert attempts == [1, 1, 1]


async def test_group_commit__gives_up_after_repeated_serialization_conflicts(engine_url, open_with) -> None:
    def meets(commands: Sequence[Put], ids: Ids) -> Plan[list[object]]:
        yield Execute(PUT, [(command.name, command.number) for command in commands])
        raise SerializationConflict

    store = await open_with(engine_url, {Put: handler(meets), Count: handler(Toys().count)})

    with pytest.raises(Overloaded):
        await store.write(Put("name"))

    assert await store.write(Count("name")) == 0


def out_of_memory(*_: object, **__: object) -> None:
    raise MemoryError


async def test_group_commit__refuses_a_command_out_of_memory_and_writes_the_next(engine_url, open_with) -> None:
    toys = Toys()

    def hungry(commands: Sequence[Count], ids: Ids) -> Plan[list[object]]:
        if commands[0].like == "hungry":
            raise MemoryError
        return (yield from toys.count(commands, ids))

    store = await open_with(engine_url, {**toys.handlers, Count: handler(hungry)})

    with pytest.raises(Overloaded, match="out of memory"):
        await store.write(Count("hungry"))

    assert await store.write(Put("name", 5)) == 5
    assert await store.write(Count("name")) == 1


async def test_postgresql_writer__continues_after_a_failed_batch(postgres_url, open_with, monkeypatch) -> None:
    store = await open_with(postgres_url, Toys().handlers)
    monkeypatch.setattr("touchbase.storage.postgres.writer.run_batch", out_of_memory)

    for number in range(2 * WRITERS):
        with pytest.raises(Overloaded):
            async with asyncio.timeout(30):
                await store.write(Put(f"name{number}"))
    monkeypatch.undo()

    async with asyncio.timeout(30):
        assert await store.write(Put("name", 5)) == 5


async def test_postgresql_reader__continues_after_a_failed_batch(postgres_url, open_with, monkeypatch) -> None:
    store = await open_with(postgres_url, {})
    monkeypatch.setattr("touchbase.storage.postgres.read_batching.run_batch", out_of_memory)

    for _ in range(4):
        with pytest.raises(Overloaded):
            async with asyncio.timeout(30):
                await store.read(find_record(1, CONTACT_TYPE, 1))
    monkeypatch.undo()

    async with asyncio.timeout(30):
        assert await store.read(find_record(1, CONTACT_TYPE, 1)) is None


class PutOf(Put):
    """A name of a client, so that it takes a unit of the client's share of the queue."""

    client: int = 1


async def test_writer__refuses_all_waiting_commands_when_it_cannot_take_a_batch(
    engine_url: str, open_with: Opener, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    toys = Toys()
    store = await open_with(engine_url, {**toys.handlers, PutOf: toys.handlers[Put]})

    async with asyncio.timeout(30):
        with monkeypatch.context() as broken:
            broken.setattr(FairQueue, "take_batch", fails)
            answers = await asyncio.gather(*map(store.write, refused_writes()), return_exceptions=True)
        name = await store.write(PutOf("written", 5))

    assert {type(answer) for answer in answers} == {StoreUnavailable}
    assert all(str(answer).endswith("now: the server's log says why") for answer in answers)
    assert "a fault of the writer" in caplog.text
    assert (name, await store.write(Count("refused"))) == (5, 0)


async def test_writer__answers_every_command_after_an_error_between_queue_and_transaction(
    engine_url: str, open_with: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    toys = Toys()
    store = await open_with(engine_url, {**toys.handlers, PutOf: toys.handlers[Put]})

    async with asyncio.timeout(30):
        with monkeypatch.context() as broken:
            broken.setattr(FairQuota, "release", fails)
            answers = await asyncio.gather(*map(store.write, refused_writes()), return_exceptions=True)
        name = await store.write(PutOf("written", 5))

    refusals = [answer for answer in answers if isinstance(answer, StoreUnavailable)]
    assert await store.write(Count("refused")) == answers.count(0) == len(answers) - len(refusals)
    assert name == 5


def refused_writes() -> list[Put]:
    """Commands of two types, more than one batch."""
    return [*(PutOf(f"refused{number}") for number in range(2 * MAX_COMMANDS)), Put("refused")]


def fails(*_: object) -> None:
    raise LookupError("a fault of the writer")


@pytest.mark.parametrize("body", [5, None])
async def test_command_that_cannot_be_weighed__is_refused_alone(engine_url: str, open_with: Opener, body: object) -> None:
    class Odd(Command[int]):
        body: object
        client: int = 1

    toys = Toys()
    odd_handler = handler(toys.put, weight=lambda odd: (len(odd.body), 1, 0))
    store = await open_with(engine_url, {**toys.handlers, Odd: odd_handler}, queue_limit=2)

    async with asyncio.timeout(30):
        for number in range(4):  # more than the client's share of the queue
            odd, name = await asyncio.gather(store.write(Odd(body)), store.write(Put(f"name{number}", 5)), return_exceptions=True)

            assert (type(odd), name) == (TypeError, 5)


@pytest.mark.parametrize("outcomes", [[1], [1, 2, 3], []])
async def test_settle__answers_every_waiter_when_results_are_missing(outcomes: list[object]) -> None:
    waiters = [asyncio.get_running_loop().create_future() for _ in range(2)]

    settle(waiters, outcomes)

    for waiter in waiters:
        with pytest.raises(RuntimeError, match=f"2 commands had {len(outcomes)} results"):
            waiter.result()


async def test_settle__answers_the_waiters_behind_a_stop_iteration() -> None:
    waiters = [asyncio.get_running_loop().create_future() for _ in range(2)]

    settle(waiters, [StopIteration(), 5])

    assert waiters[1].result() == 5
    with pytest.raises(RuntimeError, match="StopIteration"):
        waiters[0].result()


async def test_close__writes_queued_commands_and_refuses_later_ones(engine_url, open_with) -> None:
    toys = Toys()
    store = await open_with(engine_url, toys.handlers)
    writes = [asyncio.ensure_future(store.write(Put(f"name{n}", n))) for n in range(300)]
    await asyncio.sleep(0)

    await store.close()

    assert await asyncio.gather(*writes) == list(range(300))
    with pytest.raises(Overloaded):
        await store.write(Put("too late"))


def queue_of(*commands: Command[object]) -> FairQueue[int]:
    queue: FairQueue[int] = FairQueue()
    for number, command in enumerate(commands):
        queue.append(client_of(command), command, weight_of(command), number)
    return queue


def test_take_batch__spreads_large_deliveries_over_several_groups() -> None:
    class Heavy(Command[None]):
        operation = handler(not_executed, weight=lambda heavy: (len(heavy.body), 1, 0))
        body: bytes

    heavy = Heavy(bytes(7 * 1024 * 1024))
    waiting = queue_of(*[heavy] * 5)

    groups = [len(waiting.take_batch()[0]) for _ in range(3)]

    assert groups == [2, 2, 1]


def test_take_batch__spreads_commands_with_many_custom_fields_over_several_groups() -> None:
    class Wide(Command[None]):
        operation = handler(not_executed, weight=lambda wide: (0, 1, len(wide.custom)))
        custom: dict[str, str]

    class WideBatch(Command[None]):
        operation = handler(not_executed, weight=lambda batch: weight_of_all(batch.commands))
        commands: list[Command[None]]

    wide = Wide(dict.fromkeys(map(str, range(MAX_FIELDS // 2)), "x"))
    waiting = queue_of(wide, wide, wide, WideBatch([wide, wide]), Put("x"), wide)

    groups = [len(waiting.take_batch()[0]) for _ in range(3)]

    assert groups == [2, 1, 2]
    assert len(waiting.take_batch()[0]) == 1


def test_take_batch__has_one_command_that_changes_many_records() -> None:
    change = save_entries(1, [], 0)
    waiting = queue_of(Put("x"), change, change, Put("y"), Put("z"))

    groups = [len(waiting.take_batch()[0]) for _ in range(4)]

    assert groups == [3, 1, 1, 0]


class Wide(Command[None]):
    operation = handler(not_executed, weight=lambda wide: (0, 1, len(wide.custom)))
    client: int
    name: str
    custom: dict[str, str] = msgspec.field(default_factory=dict)


FIELDS = dict.fromkeys(map(str, range(MAX_FIELDS // 2)), "x")
LOUD, QUIET, OTHER = 1, 2, 3


def test_take_batch__has_commands_of_all_clients_in_turns() -> None:
    names = ["a1", "a2", "a3", "b1", "b2", "c1"]
    waiting = queue_of(*(Wide("abc".index(name[0]), name) for name in names))

    batch, _, _ = waiting.take_batch()

    assert [command.name for command in batch] == ["a1", "b1", "c1", "a2", "b2", "a3"]
    assert len(waiting) == 0


def test_take_batch__leaves_out_what_does_not_fit_and_takes_the_small_commands_of_others() -> None:
    wide = [Wide(LOUD, f"wide{n}", FIELDS) for n in range(6)]
    small = [Wide(QUIET, f"small{n}") for n in range(3)]
    waiting = queue_of(*wide, *small)

    batches = [[command.name for command in waiting.take_batch()[0]] for _ in range(3)]

    assert batches == [["wide0", "small0", "wide1", "small1", "small2"], ["wide2", "wide3"], ["wide4", "wide5"]]


def test_take_batch__begins_with_a_client_that_had_no_command_in_the_one_before() -> None:
    clients = [client for client in (LOUD, QUIET, OTHER) for _ in range(2)]
    waiting = queue_of(*(Wide(client, f"{client}", FIELDS) for client in clients))

    batches = [[command.client for command in waiting.take_batch()[0]] for _ in range(3)]

    assert batches == [[LOUD, QUIET], [OTHER, LOUD], [QUIET, OTHER]]
