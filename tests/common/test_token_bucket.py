"""Token buckets: what they give over any time, and what they tell whoever is not given anything."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from touchbase.common.timestamps import SECOND
from touchbase.common.token_bucket import BoundedCache, TokenBucket

NOON = 1_790_000_000 * SECOND

RATES = st.floats(0.01, 1e8)
WINDOWS = st.integers(1, 3600)
# How much is asked for, and how many microseconds later; a clock may be put back.
STEPS = st.lists(st.tuples(st.integers(1, 5_000), st.integers(-10 * SECOND, 10 * SECOND)), max_size=60)


@given(rate=RATES, window=WINDOWS, steps=STEPS)
def test_token_bucket__never_gives_more_than_the_burst_plus_rate_times_time(rate: float, window: int, steps: list[tuple[int, int]]) -> None:
    bucket = TokenBucket("test", rate, window, NOON)
    now, given_out, passed, largest = NOON, 0, 0, 0.0
    for cost, later in steps:
        now += later
        passed += max(0, later)
        if bucket.take(cost, now):
            given_out += cost
            largest = max(largest, cost)

    # What is dearer than a full bucket is given by a full one, which then owes the rest.
    assert given_out <= max(bucket.burst, largest) + rate * passed / SECOND + 1e-3


@given(rate=RATES, window=WINDOWS, steps=STEPS, cost=st.integers(1, 5_000))
@example(rate=0.1, window=1, steps=[(2, 0), (1, SECOND)], cost=2)
def test_token_bucket_wait__is_long_enough(rate: float, window: int, steps: list[tuple[int, int]], cost: int) -> None:
    bucket = TokenBucket("test", rate, window, NOON)
    now = NOON
    for item, later in steps:
        now += later
        bucket.take(item, now)

    if not bucket.take(cost, now):
        wait = bucket.wait(cost)
        assert wait >= 1
        assert bucket.take(cost, now + wait * SECOND)


@given(rate=st.integers(1, 1000), window=st.integers(1, 60), taken=st.integers(1, 100_000))
def test_token_bucket_left__is_exactly_the_available_amount(rate: int, window: int, taken: int) -> None:
    bucket = TokenBucket("test", rate, window, NOON)
    bucket.take(taken, NOON)
    left = bucket.left

    assert not bucket.take(left + 1, NOON)
    assert left == 0 or bucket.take(left, NOON)


def test_token_bucket_full_in__is_the_exact_time_to_full() -> None:
    bucket = TokenBucket("test", 10, 2, NOON)
    bucket.take(15, NOON)

    assert (bucket.left, bucket.full_in) == (5, 2)
    assert not bucket.is_full(NOON + SECOND)
    assert bucket.is_full(NOON + 2 * SECOND)
    assert bucket.take(20, NOON + 2 * SECOND)
    assert not bucket.take(1, NOON + 2 * SECOND)


def test_token_bucket__refills_after_the_clock_goes_back() -> None:
    bucket = TokenBucket("test", 10, 1, NOON)
    bucket.take(10, NOON)

    assert not bucket.take(1, NOON - 3600 * SECOND)
    assert bucket.take(10, NOON - 3599 * SECOND)


def test_token_bucket_error__states_the_limit_and_the_retry_time() -> None:
    bucket = TokenBucket("rows", 100, 10, NOON)
    bucket.take(1000, NOON)

    refusal = bucket.error("too many rows", 250)

    assert refusal.detail == "too many rows: at most 100 a second, or 1000 at once after a pause; try again in 3 s"
    assert (refusal.policy, refusal.quota, refusal.window, refusal.retry_after) == ("rows", 1000, 10, 3)


@pytest.mark.parametrize("taken", [0, 1])
def test_bounded_cache__holds_at_most_its_limit_of_buckets(taken: int) -> None:
    buckets: BoundedCache[int, TokenBucket] = BoundedCache(lambda name, now: TokenBucket("test", 1, 60, now), TokenBucket.is_full, most=50)

    for name in range(1000):
        buckets.of(name, NOON).take(taken, NOON)

    assert len(buckets.by_name) <= 50


def test_bounded_cache__evicts_full_buckets_before_used_ones() -> None:
    buckets: BoundedCache[int, TokenBucket] = BoundedCache(lambda name, now: TokenBucket("test", 1, 60, now), TokenBucket.is_full, most=50)
    buckets.of(7, NOON).take(60, NOON)

    for name in range(100, 200):
        buckets.of(name, NOON)

    assert not buckets.of(7, NOON).take(1, NOON)
