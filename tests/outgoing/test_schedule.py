"""The schedules of attempts and probes, for any number of failures."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from touchbase.common.timestamps import DAY, SECOND
from touchbase.outgoing.line import JITTER, LONGEST_PROBE, LONGEST_RETRY_AFTER, OPEN_AFTER, SCHEDULE, next_attempt, next_probe

times = st.integers(0, 2**52)


@given(attempts=st.integers(1, 40), now=times, retry_after=st.integers(0, 30 * DAY))
def test_attempt__is_as_late_as_the_schedule_and_the_receiver_say(attempts: int, now: int, retry_after: int) -> None:
    at = next_attempt(attempts, now, retry_after)

    if attempts >= len(SCHEDULE):
        assert at is None
        return
    assert at is not None
    requested, planned = min(retry_after, LONGEST_RETRY_AFTER), SCHEDULE[attempts]
    assert max(requested, planned) <= at - now <= max(requested, planned * (1 + JITTER) + 1)


@given(failures=st.integers(OPEN_AFTER, 10**6), now=times)
def test_probe__comes_within_a_minute_and_never_sooner_after_more_failures(failures: int, now: int) -> None:
    at = next_probe(failures, now)

    assert SECOND <= at - now <= LONGEST_PROBE
    assert next_probe(failures + 1, now) >= at


def test_schedule__has_the_ten_attempts_of_the_documentation() -> None:
    assert [wait // SECOND for wait in SCHEDULE] == [0, 5, 300, 1_800, *(hours * 3_600 for hours in (2, 5, 10, 14, 20, 24))]
