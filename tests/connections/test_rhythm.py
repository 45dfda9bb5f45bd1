"""Rhythm of connections: months of simulated calls; when a silence is recognised, and that nothing else is one."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.common.timestamps import DAY, SECOND, Micros, from_text
from touchbase.connections.rhythm import HOUR, MISSING, WEEK, Rhythm, keep_from
from touchbase.connections.silence import CallCounts

MONDAY = from_text("2026-06-01T00:00:00Z")
Rate = Callable[[int, int, int], float]
"""Calls of an hour: of the day, of the weekday (Monday is 0), and of the week since the beginning."""


def steady(hour: int, day: int, week: int) -> float:
    return 15


def slow(hour: int, day: int, week: int) -> float:
    return 1


def office(hour: int, day: int, week: int) -> float:
    return 12 if 8 <= hour < 17 and day < 5 else 0


def no_weekend(hour: int, day: int, week: int) -> float:
    return 6 if day < 5 else 0


def slump(hour: int, day: int, week: int) -> float:
    """Office hours; a third of the calls in two weeks of holidays."""
    return office(hour, day, week) / (3 if week in (10, 11) else 1)


def summer_time(hour: int, day: int, week: int) -> float:
    """Office hours that come an hour earlier from one week on, and an hour later again from another."""
    return office(hour + 1 if 9 <= week < 17 else hour, day, week)


def burst(hour: int, day: int, week: int) -> float:
    return 50 if hour == 7 else 0


RATES = (steady, slow, office, no_weekend, slump, summer_time, burst)


def calls_of(rate: Rate, weeks: int, seed: int) -> list[Micros]:
    """The times of calls from a Monday on, at random within their hours."""
    random, times = Random(seed), list[Micros]()
    for hour in range(weeks * WEEK):
        day, week = divmod(hour // 24, 7)[::-1]
        usual, at = rate(hour % 24, day, week), 0.0
        while usual and (at := at + random.expovariate(usual)) < 1:
            times.append(MONDAY + hour * HOUR + int(at * HOUR))
    return times


def rhythm_at(times: list[Micros], last: int) -> Rhythm:
    """The rhythm after the call with this index."""
    first = bisect.bisect_left(times, keep_from(times[last]) * HOUR)
    return Rhythm(Counter(at // HOUR for at in times[first : last + 1]))


def alarms(times: list[Micros]) -> list[tuple[Micros, Micros]]:
    """The pauses (last call, when it is called silent) that are long enough to be called a silence."""
    results = []
    for index, (at, after) in enumerate(pairwise(times)):
        if after - at > 2 * HOUR and (silent := rhythm_at(times, index).silent_from(at)) is not None and silent <= after:
            results.append((at, silent))
    return results


def missing_from(rate: Rate, since: Micros) -> Micros:
    """When `MISSING` calls should have come after this time."""
    hour, left = since // HOUR, float(MISSING)
    while left > 0:
        passed = hour - MONDAY // HOUR
        left -= rate(passed % 24, passed // 24 % 7, 0) * (1 - (since % HOUR) / HOUR if hour == since // HOUR else 1)
        hour += 1
    return hour * HOUR


@pytest.mark.parametrize("rate", [item for item in RATES if item is not slow], ids=lambda rate: rate.__name__)
def test_silent_from__finds_no_silence_in_half_a_year_of_calls(rate: Rate) -> None:
    assert alarms(calls_of(rate, 26, seed=1)) == []


@pytest.mark.slow
def test_silent_from__finds_no_silence_in_other_half_years_either(subtests: pytest.Subtests) -> None:
    for rate in RATES:
        for seed in range(2, 5):
            with subtests.test(rate=rate.__name__, seed=seed):
                assert alarms(calls_of(rate, 26, seed)) == []


@pytest.mark.parametrize("rate", [item for item in RATES if item not in (slow, slump, summer_time)], ids=lambda rate: rate.__name__)
def test_silent_from__recognises_a_silence_within_hours_of_the_twentieth_missing_call(rate: Rate, subtests: pytest.Subtests) -> None:
    times = calls_of(rate, 12, seed=1)
    for day in range(8 * 7, 10 * 7):
        for hour in (3, 11, 16):
            with subtests.test(day=day, hour=hour):
                since = times[(last := bisect.bisect_left(times, MONDAY + day * DAY + hour * HOUR) - 1)]
                silent = rhythm_at(times, last).silent_from(since)
                assert silent is not None
                assert missing_from(rate, since) - HOUR <= silent <= missing_from(rate, since) + 4 * HOUR
                assert silent >= since + 2 * HOUR


def test_silent_from__waits_for_monday_after_office_hours() -> None:
    times = calls_of(office, 8, seed=1)
    friday = MONDAY + 7 * 7 * DAY + 4 * DAY + 17 * HOUR
    last = bisect.bisect_left(times, friday) - 1

    silent = rhythm_at(times, last).silent_from(times[last])

    assert silent is not None
    assert friday + 2 * DAY + 15 * HOUR < silent < friday + 2 * DAY + 19 * HOUR, "between 8 and 12 o'clock on Monday"


def test_silent_from__counts_only_from_the_time_since_which_checks_were_made() -> None:
    times = calls_of(steady, 4, seed=1)
    rhythm, restarted = rhythm_at(times, len(times) - 1), times[-1] + 12 * HOUR

    silent = rhythm.silent_from(restarted)

    assert silent is not None
    assert silent > restarted + 2 * HOUR


def test_silent_from__knows_nothing_before_two_weeks_and_of_rare_calls() -> None:
    young = calls_of(steady, 2, seed=1)
    rare = [MONDAY + week * 7 * DAY for week in range(26)]

    assert rhythm_at(young, len(young) - 1).silent_from(young[-1]) is None
    assert rhythm_at(rare, len(rare) - 1).silent_from(rare[-1]) is None
    assert Rhythm({}).silent_from(MONDAY) is None


def test_usual__leaves_the_highest_week_out() -> None:
    nine = MONDAY // HOUR + 9
    counts = {nine + week * WEEK: 4 for week in range(6)} | {nine + 3 * WEEK: 9_000, nine + 5 * WEEK + 1: 1}

    assert Rhythm(counts).usual(nine + 6 * WEEK) == 4


def test_usual_interval__is_that_of_the_hour() -> None:
    times = calls_of(office, 8, seed=1)
    rhythm = rhythm_at(times, len(times) - 1)

    assert 240 < (rhythm.usual_interval_seconds(MONDAY + 56 * DAY + 10 * HOUR) or 0) < 420
    assert rhythm.usual_interval_seconds(MONDAY + 56 * DAY + 2 * HOUR) is None
    assert 450 < rhythm.week < 630


_CALLS = st.lists(
    st.tuples(st.integers(1, 2), st.sampled_from(("crm", "email_campaign")), st.sampled_from(("a", "b")), st.integers(0, 400 * 3600)),
    max_size=60,
)


@given(calls=_CALLS, parts=st.lists(st.integers(0, 3), min_size=60, max_size=60))
def test_counts__of_any_partition_of_the_calls_add_up_to_the_same(calls: list[tuple[int, str, str, int]], parts: list[int]) -> None:
    received = [(client, channel, tool, MONDAY + second * SECOND) for client, channel, tool, second in calls]
    processes = [CallCounts(lambda: MONDAY) for _ in range(4)]

    for call, part in zip(received, parts, strict=False):
        processes[part].record([call])

    assert _added(processes) == _added([_counted(received)])


def _counted(calls: Iterable[tuple[int, str, str, Micros]]) -> CallCounts:
    call_counts = CallCounts(lambda: MONDAY)
    call_counts.record(calls)
    return call_counts


def _added(processes: list[CallCounts]) -> tuple[Counter[tuple[object, ...]], dict[tuple[object, ...], Micros]]:
    """What the store has after the writes of these processes."""
    hours, last = Counter[tuple[object, ...]](), dict[tuple[object, ...], Micros]()
    for command in (item for process in processes for item in process.take()):
        for hour, count in command.hours.items():
            hours[command.client, *hour] += count
        for key, at in command.last_us.items():
            last[command.client, *key] = max(at, last.get((command.client, *key), at))
    return hours, last
