"""Shapes: short texts, equal for calls that look alike, without values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from touchbase.deliveries.payload_fingerprint import fingerprint_of, fingerprint_parts


def test_fingerprint_of__joins_the_event_and_the_sorted_keys() -> None:
    assert fingerprint_parts(fingerprint_of("deal.creation", ["portalId", "eventId"])) == ("deal.creation", ["eventId", "portalId"])


def test_fingerprint_of__is_equal_for_keys_that_differ_only_in_numbers() -> None:
    assert fingerprint_of("x", ["1", "22", "a1"]) == fingerprint_of("x", ["a1", "7-8"])


def test_fingerprint_parts__of_none_are_empty() -> None:
    assert fingerprint_parts(None) == fingerprint_parts(fingerprint_of(None, [])) == (None, [])


@given(st.one_of(st.none(), st.text()), st.lists(st.text()))
def test_fingerprint_of__any_input_is_short_and_storable(event: str | None, keys: list[str]) -> None:
    shape = fingerprint_of(event, keys)

    assert len(shape) < 700
    assert "\0" not in shape
    assert shape.encode()
    assert shape.count("\n") == 1
