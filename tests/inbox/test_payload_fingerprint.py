"""Shapes: short texts, equal for calls that look alike, without values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from touchbase.inbox.payload_fingerprint import fingerprint_of, fingerprint_parts


def test_a_shape_is_the_event_and_the_keys_in_order() -> None:
    assert fingerprint_parts(fingerprint_of("deal.creation", ["portalId", "eventId"])) == ("deal.creation", ["eventId", "portalId"])


def test_calls_of_one_kind_have_one_shape_whatever_numbers_their_keys_are() -> None:
    assert fingerprint_of("x", ["1", "22", "a1"]) == fingerprint_of("x", ["a1", "7-8"])


def test_what_was_never_kept_has_no_parts() -> None:
    assert fingerprint_parts(None) == fingerprint_parts(fingerprint_of(None, [])) == (None, [])


@given(some.one_of(some.none(), some.text()), some.lists(some.text()))
def test_any_shape_is_short_and_can_be_kept(event: str | None, keys: list[str]) -> None:
    shape = fingerprint_of(event, keys)

    assert len(shape) < 700
    assert "\0" not in shape
    assert shape.encode()
    assert shape.count("\n") == 1
