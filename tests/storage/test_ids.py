"""Blocks of ids: a process that creates much reserves rarely, one that creates little leaves small gaps."""

from touchbase.sql.ids import FIRST_BLOCK, LARGEST_BLOCK, Ids


def blocks(ids: Ids, rounds: int) -> list[int]:
    """Return how many ids each of the next blocks has, when every id is taken."""
    sizes, first = [], 1
    for _ in range(rounds):
        (size,) = ids.missing({"contact": 1}).values()
        ids.fill("contact", first, size)
        ids.cut({"contact": size})
        sizes.append(size)
        first += size
    return sizes


def test_missing__asks_for_ten_times_as_many_with_each_block_up_to_a_million() -> None:
    assert blocks(Ids(), 5) == [FIRST_BLOCK, 10 * FIRST_BLOCK, LARGEST_BLOCK, LARGEST_BLOCK, LARGEST_BLOCK]


def test_missing__asks_for_what_one_batch_needs_if_that_is_more() -> None:
    assert Ids().missing({"contact": FIRST_BLOCK + 1}) == {"contact": FIRST_BLOCK + 1}


def test_missing__counts_the_blocks_of_each_name_by_themselves() -> None:
    ids = Ids()
    blocks(ids, 3)

    assert ids.missing({"company": 1}) == {"company": FIRST_BLOCK}
