"""Blocks of ids: a process that creates much reserves rarely, and rows of several processes stay in the order of their creation."""

from touchbase.sql.ids import LARGEST_BLOCK, LASTS, SMALLEST_BLOCK, SOON, Ids


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

    assert sizes == [SMALLEST_BLOCK, 10 * SMALLEST_BLOCK, LARGEST_BLOCK, LARGEST_BLOCK]


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
