"""Blocks of ids: a process that creates much reserves rarely, and rows of several processes stay in the order of their creation."""

from __future__ import annotations

import apsw
from hypothesis import example, given
from hypothesis import strategies as st

from touchbase.clients.sql.clients import ensure_client
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.writes import Creation
from touchbase.sql.ids import LASTS, SMALLEST_BLOCK, SOON, Ids
from touchbase.sql.store import Store
from touchbase.storage.batch import reserve
from touchbase.storage.sqlite.connection import write
from touchbase.stores import open_store


class Seconds:
    """A clock that the test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def next_block(ids: Ids, first: int, taken: int | None = None) -> int:
    """Reserve the next block and take its ids, or so many of them; return its size."""
    (size,) = ids.missing({"contact": 1}).values()
    ids.fill("contact", first, size)
    ids.cut({"contact": size if taken is None else taken})
    return size


def test_missing__asks_for_ten_times_as_many_while_blocks_are_soon_used_up() -> None:
    ids = Ids(Seconds())

    sizes = [next_block(ids, first) for first in (0, 10**8, 2 * 10**8, 3 * 10**8)]

    assert sizes == [SMALLEST_BLOCK, 10 * SMALLEST_BLOCK, 100 * SMALLEST_BLOCK, 1_000 * SMALLEST_BLOCK]


def test_missing__asks_for_a_small_block_after_one_that_lasted() -> None:
    clock = Seconds()
    ids = Ids(clock)
    next_block(ids, 0)
    next_block(ids, 10**8)

    clock.now += SOON + 1

    assert next_block(ids, 2 * 10**8) == SMALLEST_BLOCK


def test_missing__discards_the_rest_of_a_block_after_a_minute() -> None:
    clock = Seconds()
    ids = Ids(clock)
    next_block(ids, 0)
    next_block(ids, 10**8, taken=1)
    assert ids.missing({"contact": 1}) == {}

    clock.now += LASTS + 1

    assert ids.missing({"contact": 1}) == {"contact": SMALLEST_BLOCK}


def test_missing__asks_for_what_one_batch_needs_if_that_is_more() -> None:
    assert Ids().missing({"contact": SMALLEST_BLOCK + 1}) == {"contact": SMALLEST_BLOCK + 1}


def test_missing__counts_the_blocks_of_each_name_by_themselves() -> None:
    ids = Ids(Seconds())
    next_block(ids, 0)

    assert ids.missing({"company": 1}) == {"company": SMALLEST_BLOCK}


async def new_contact(store: Store, number: int) -> int:
    """Create a contact; return its id."""
    client = await store.write(ensure_client("acme", 1))
    contact = Contact(client.number, 0, 1, 1, email=f"{number}@example.com", email_key=f"{number}@example.com")
    return (await store.write(create_contact(Creation(contact)))).record.id


async def test_restarted_store__continues_with_the_next_id(engine_url: str) -> None:
    ids = []
    for number in range(10):
        store = await open_store(engine_url)
        ids.append(await new_contact(store, number))
        await store.close()

    assert ids == list(range(ids[0], ids[0] + 10))


async def test_store_that_was_killed__loses_its_block_and_no_id_is_used_twice(engine_url: str) -> None:
    killed, second = await open_store(engine_url), await open_store(engine_url)
    lost = await new_contact(killed, 1)
    try:
        ids = [await new_contact(second, number) for number in (2, 3)]
        await second.close()
        third = await open_store(engine_url)
        ids.append(await new_contact(third, 4))
        await third.close()
    finally:
        await killed.close()  # after the others have stopped: what it has left is not the last block
    last = await open_store(engine_url)
    ids.append(await new_contact(last, 5))
    await last.close()

    begin = lost + SMALLEST_BLOCK
    assert ids == [begin, begin + 1, begin + 2, begin + 3]


PROCESSES = st.integers(0, 2)
STEPS = st.one_of(
    st.tuples(st.just("take"), PROCESSES, st.integers(1, 3 * SMALLEST_BLOCK)),
    st.tuples(st.sampled_from(["stop", "kill", "lose_response"]), PROCESSES, st.just(1)),
    st.tuples(st.just("wait"), st.just(0), st.sampled_from([1, int(SOON) + 1, int(LASTS) + 1])),
)


@given(st.lists(STEPS, max_size=30))
@example(
    [("take", 0, SMALLEST_BLOCK), ("take", 0, 1), ("lose_response", 0, 1), ("take", 1, SMALLEST_BLOCK), ("take", 0, 3 * SMALLEST_BLOCK)]
)
def test_any_order_of_takes_stops_and_kills__uses_no_id_twice(steps: list[tuple[str, int, int]]) -> None:
    connection, clock = apsw.Connection(":memory:"), Seconds()
    connection.execute("CREATE TABLE id_block (name TEXT PRIMARY KEY, next INTEGER); INSERT INTO id_block VALUES ('contact', 1)")
    cursor = connection.cursor()
    processes = [Ids(clock) for _ in range(3)]
    taken: list[int] = []
    for step, number, count in steps:
        ids = processes[number]
        if step == "wait":
            clock.now += count
        elif step == "take":
            for name, short in ids.missing({"contact": count}).items():
                ids.fill(name, write(cursor, reserve(name, short, ids.give_up(name))), short)
            taken += [ids.take("contact") for _ in range(count)]
        elif step == "lose_response":
            write(cursor, reserve("contact", SMALLEST_BLOCK, ids.give_up("contact")))
        else:
            if step == "stop":
                write(cursor, reserve("contact", 0, ids.give_up("contact")))
            processes[number] = Ids(clock)
    connection.close()

    assert len(taken) == len(set(taken))
