"""Times in all the forms that tools write them in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.adapters.kit.times import Unzoned, in_zone, parse_time
from touchbase.common.timestamps import from_datetime, from_text

MOMENT = from_text("2026-11-20T09:30:00Z")
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2199, 1, 1))
RECENT = st.datetimes(datetime(2001, 9, 10), datetime(2199, 1, 1))
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@pytest.mark.parametrize(
    ("written", "micros"),
    [
        ("2026-11-20T09:30:00Z", 0),
        ("2026-11-20T09:30:00z", 0),
        ("  2026-11-20T09:30:00Z ", 0),
        ("2026-11-20T09:30:00+00:00", 0),
        ("2026-11-20T10:30:00+0100", 0),
        ("2026-11-20T10:30:00+01", 0),
        ("2026-11-20T04:00:00-05:30", 0),
        ("2026-11-20T09:30:00", 0),
        ("2026-11-20 09:30:00", 0),
        ("2026-11-20 09:30:00 UTC", 0),
        ("2026-11-20T09:30Z", 0),
        ("2026-11-20T09:30:00.1Z", 100_000),
        ("2026-11-20T09:30:00.123456Z", 123_456),
        ("2026-11-20T09:30:00.1234567Z", 123_456),
        ("2026-11-20T09:30:00.999999999+00:00", 999_999),
        ("2026-11-20 09:30:00,25", 250_000),
        ("Fri, 20 Nov 2026 10:30:00 +0100", 0),
        ("20 Nov 2026 09:30 GMT", 0),
        ("Fri Nov 20 2026 10:30:00 GMT+0100 (Central European Standard Time)", 0),
        ("Fri Nov 20 2026 09:30:00 GMT+0000", 0),
        ("11/20/2026 9:30:00 AM", 0),
        ("11/20/2026 9:30", 0),
        ("20/11/2026 09:30:00", 0),
        ("20/11/2026, 09:30", 0),
        ("20.11.2026 09:30", 0),
        ("20. 11. 2026, 9:30:00", 0),
    ],
)
def test_parse_time__reads_written_times(written: str, micros: int) -> None:
    assert parse_time(written) == MOMENT + micros


@pytest.mark.parametrize(
    "written",
    ["2026-12-31T23:59:60Z", "2026-12-31 23:59:60", "2027-01-01T05:29:60+05:30", "Thu, 31 Dec 2026 23:59:60 +0000"],
)
def test_leap_second__is_the_first_second_of_the_next_day(written: str) -> None:
    assert parse_time(written) == from_text("2027-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("1/2/2026 12:00:00 AM", "2026-01-02T00:00:00Z"),
        ("1/2/2026 12:05 pm", "2026-01-02T12:05:00Z"),
        ("2/2/2026", "2026-02-02T00:00:00Z"),
        ("3.4.2026", "2026-04-03T00:00:00Z"),
    ],
)
def test_parse_time__reads_american_times_by_am_and_pm_and_those_with_points_by_the_day(written: str, same: str) -> None:
    assert parse_time(written) == from_text(same)


@pytest.mark.parametrize(
    "written", ["3/4/2026 10:00:00", "13/13/2026 10:00", "11/20/2026 13:00 PM", "11/20/2026 0:10 AM", "20/11/2026 9:30 AM", "32.1.2026"]
)
def test_parse_time__is_none_if_day_and_month_are_not_certain(written: str) -> None:
    assert parse_time(written) is None


def test_leap_second__retains_its_fraction() -> None:
    assert parse_time("2026-12-31T23:59:60.25Z") == from_text("2026-12-31T23:59:60.25Z") == from_text("2027-01-01T00:00:00.25Z")


@pytest.mark.parametrize("written", ["2026-12-31T12:34:60Z", "2026-12-31T23:59:61Z", "2026-12-31T23:60:00Z"])
def test_parse_time__is_none_for_an_impossible_second(written: str) -> None:
    assert parse_time(written) is None
    with pytest.raises(ValueError, match=r"must be in 0\.\.59"):
        from_text(written)


@pytest.mark.parametrize(
    ("counted", "micros"),
    [
        (1_795_167_000, 0),
        ("1795167000", 0),
        (1_795_167_000.153125, 153_125),
        ("1795167000.1531259", 153_125),
        (1_795_167_000_250, 250_000),
        ("1795167000250", 250_000),
        (1_795_167_000_250_001, 250_001),
        ("/Date(1795167000250+0100)/", 250_000),
        ("/Date(1795167000250)/", 250_000),
    ],
)
def test_parse_time__reads_epoch_counts(counted: object, micros: int) -> None:
    assert parse_time(counted) == MOMENT + micros


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, "", " ", "soon", "2026", "20261120", "2026-13-01T00:00:00Z", "2026-11-31", "2026-11-20T25:00:00Z", 0, -1, 42,
        999_999_999, "0", 10**30, 1e300, float("nan"), float("inf"), [], {}, b"2026-11-20", "9999-12-31T23:59:59-10:00",
        "0001-01-01T00:00:00+10:00", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00", "0001-01-01", "0001-01-01T00:00:00-08:00",
        "/Date(-62135596800000)/", "/Date(999999999999999)/", "32 Nov 2026 09:30 GMT", "Fri Nov 32 2026 09:30:00 GMT+0000",
        "20 Xyz 2026 09:30 GMT", "\N{FULLWIDTH DIGIT TWO}026-11-20T09:30:00Z",
    ],
)  # fmt: skip
def test_parse_time__is_none_for_values_that_are_no_time(value: object) -> None:
    assert parse_time(value) is None


@given(MOMENTS, OFFSETS)
def test_parse_time__round_trips_any_moment_with_any_offset(moment: datetime, offset: timezone) -> None:
    aware = moment.replace(tzinfo=UTC)
    there = aware.astimezone(offset)

    assert parse_time(there.isoformat()) == from_datetime(aware)
    assert parse_time(there.strftime("%Y-%m-%dT%H:%M:%S.%f%z").zfill(31)) == from_datetime(aware)


@given(MOMENTS, st.sampled_from("T "), st.integers(0, 7))
def test_parse_time__truncates_fractions_to_microseconds(moment: datetime, between: str, digits: int) -> None:
    fraction = f"{moment.microsecond:06d}7"[:digits]
    written = moment.replace(microsecond=0).isoformat(sep=between) + (f".{fraction}" if fraction else "")

    expected = from_datetime(moment.replace(microsecond=int(f"{fraction}000000"[:6])))

    assert parse_time(f"{written}Z") == parse_time(f"{written}+0000") == parse_time(written) == expected


@given(RECENT)
def test_parse_time__round_trips_recent_moments_in_any_unit(moment: datetime) -> None:
    micros = from_datetime(moment)
    seconds, millis = micros // 1_000_000, micros // 1_000

    assert parse_time(seconds) == parse_time(str(seconds)) == seconds * 1_000_000
    assert parse_time(millis) == parse_time(str(millis)) == parse_time(f"/Date({millis}-0800)/") == millis * 1_000
    assert parse_time(micros) == parse_time(str(micros)) == parse_time(f"{seconds}.{micros % 1_000_000:06d}") == micros


@given(st.text() | st.integers() | st.floats() | st.none() | st.binary() | st.lists(st.integers()))
def test_parse_time__accepts_any_value(value: object) -> None:
    assert parse_time(value) is None or isinstance(parse_time(value), int)


@pytest.mark.parametrize("written", ["2026-11-20T09:30:00", "2026-11-20 09:30:00.25", "2026-11-20", "20 Nov 2026 09:30"])
def test_parse_time__marks_a_time_without_a_zone(written: str) -> None:
    assert type(parse_time(written)) is Unzoned


@pytest.mark.parametrize(
    "counted", ["2026-11-20T09:30:00Z", "2026-11-20 09:30 GMT", "Fri, 20 Nov 2026 09:30:00 -0000", "2026-11-20T09:30+01", 1_795_167_000]
)
def test_parse_time__does_not_mark_a_time_with_a_zone_or_an_epoch_count(counted: object) -> None:
    assert type(parse_time(counted)) is int


@given(MOMENTS, st.sampled_from(["Asia/Kolkata", "Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia", "UTC"]))
def test_in_zone__stays_within_26_hours_of_utc(moment: datetime, zone: str) -> None:
    utc = from_datetime(moment.replace(tzinfo=UTC))

    found = in_zone(utc, zone)

    assert found is not None
    assert abs(found - utc) <= 26 * 3600 * 1_000_000


@pytest.mark.parametrize("zone", ["", "Nowhere", "../UTC", "Europe", "a\0b", "x" * 300])
def test_in_zone__is_none_for_an_unknown_zone(zone: str) -> None:
    assert in_zone(MOMENT, zone) is None
