"""Turns: how long a client with little to say waits for those with much."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from touchbase.common.timestamps import SECOND
from touchbase.inbox.fair_scheduler import BATCH_SIZE, BATCH_TIME, SMALL_BATCH_SIZE, FairScheduler


class Inbox:
    """Waiting deliveries by client, and a worker that takes them in turns; a delivery takes a hundred microseconds."""

    def __init__(self, waiting: dict[int, int]) -> None:
        self.waiting = dict(waiting)
        self.turns = FairScheduler()
        self.taken: list[tuple[int, int]] = []
        """Each turn: whose it was, and how many deliveries it took."""
        for client in waiting:
            self.turns.add(client)

    def come(self, client: int, count: int = 1) -> None:
        """Deliveries of a client arrive."""
        self.waiting[client] = self.waiting.get(client, 0) + count
        self.turns.add(client)

    def turn(self, client: int) -> None:
        limit = self.turns.begin(client)
        count = min(limit, self.waiting[client])
        self.waiting[client] -= count
        self.turns.end(client, limit, count, count * 100)
        self.taken.append((client, count))

    def round(self) -> None:
        for client in self.turns.round():
            self.turn(client)


QUIET = 99


@given(st.dictionaries(st.integers(1, 12), st.integers(0, 1_000_000), max_size=12), st.integers(0, 6), st.integers(0, 12))
def test_any_backlogs__delay_a_single_delivery_by_at_most_one_long_batch(backlogs: dict[int, int], rounds: int, place: int) -> None:
    inbox = Inbox(backlogs)
    for _ in range(rounds):
        inbox.round()

    # It comes at any moment of a round.
    under_way = inbox.turns.round()
    before = len(inbox.taken)
    for number, client in enumerate(under_way):
        if number == place:
            inbox.come(QUIET)
        inbox.turn(client)
    inbox.come(QUIET, 1 - inbox.waiting.get(QUIET, 0))
    inbox.round()

    place_of_quiet = [client for client, _ in inbox.taken].index(QUIET)
    waited_for = inbox.taken[before:place_of_quiet]
    assert [count for _, count in waited_for if count > SMALL_BATCH_SIZE][1:] == []
    assert len(waited_for) <= 2 * len(backlogs) + 1


def test_backlog_of_a_million__delays_a_delivery_of_another_client_by_one_batch() -> None:
    inbox = Inbox({1: 1_000_000})
    inbox.round()
    inbox.round()
    assert inbox.taken[-1] == (1, BATCH_SIZE)

    inbox.come(QUIET)
    inbox.round()

    assert inbox.taken[-2:] == [(QUIET, 1), (1, BATCH_SIZE)]


def test_loaded_clients__alternate_until_all_are_done() -> None:
    inbox = Inbox({1: 2_000, 2: 3_000, 3: 500})

    while inbox.turns:
        inbox.round()

    assert set(inbox.waiting.values()) == {0}
    long_turns = [client for client, count in inbox.taken if count == BATCH_SIZE]
    assert long_turns == [1, 2, 1, 2, 1, 2, 2, 2]


def test_constantly_active_client__does_not_starve_a_loaded_one() -> None:
    inbox = Inbox({1: 10_000})
    for _ in range(30):
        inbox.come(2)
        inbox.round()

    assert inbox.waiting == {1: 0, 2: 0}


def test_new_delivery_of_a_loaded_client__adds_no_second_batch_to_the_round() -> None:
    inbox = Inbox({1: 100_000})
    inbox.round()
    inbox.come(1)

    assert inbox.turns.round() == [1]


def test_slow_deliveries__shorten_the_next_batch() -> None:
    turns = FairScheduler()
    turns.add(1)
    limit = turns.begin(1)
    turns.end(1, limit, limit, SECOND)

    assert turns.begin(1) == limit * BATCH_TIME // SECOND
    turns.end(1, 8, 8, 3600 * SECOND)
    assert turns.begin(1) == 1
