"""Shares of a common room: the greedy leave some of it, whoever they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from touchbase.common.fair_quota import FairQuota


def fill(shares: FairQuota, client: int) -> int:
    """How many places a client gets that takes what it can."""
    count = 0
    while shares.acquire(client):
        count += 1
    return count


def test_fair_quota__one_client_leaves_a_quarter_and_several_leave_some() -> None:
    shares = FairQuota(1000)

    assert [fill(shares, client) for client in range(1, 5)] == [750, 188, 47, 12]
    assert shares.acquire(99)


def test_fair_quota__gives_alternating_clients_equal_shares() -> None:
    shares = FairQuota(1000)
    held = dict.fromkeys(range(4), 0)

    for _ in range(1000):
        for client in held:
            held[client] += shares.acquire(client)

    assert max(held.values()) - min(held.values()) <= 1
    assert 900 < sum(held.values()) < 1000


@given(st.integers(1, 40), st.lists(st.tuples(st.integers(1, 4), st.booleans()), max_size=200))
def test_fair_quota__never_exceeds_capacity_and_admits_a_new_client_while_there_is_space(room: int, steps: list[tuple[int, bool]]) -> None:
    shares, held = FairQuota(room), dict.fromkeys(range(1, 5), 0)
    for client, takes in steps:
        if takes:
            held[client] += shares.acquire(client)
        elif held[client]:
            shares.release(client)
            held[client] -= 1
        assert shares.used == sum(held.values()) <= room

    newcomer = shares.acquire(99)

    assert newcomer == (sum(held.values()) < room)
