"""Times, keys and encodings."""

from __future__ import annotations

import gzip
import zlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.common.content_encoding import MOST_PIECES, decoded, decoded_size
from touchbase.common.timestamps import DAY, EARLIEST, LATEST, from_text, has_passed, to_text
from touchbase.errors import UnrecognisedPayload
from touchbase.history.dedupe_keys import body_key, event_key, event_time
from touchbase.history.events import Event, PropertyChange


@given(st.integers(EARLIEST, LATEST))
def test_to_text__any_time_is_read_back_unchanged(at: int) -> None:
    text = to_text(at)

    assert text.endswith("Z")
    assert from_text(text) == at


def test_to_text__is_utc_with_microseconds_only_if_not_zero() -> None:
    assert to_text(0) == "1970-01-01T00:00:00Z"
    assert to_text(1_500_000) == "1970-01-01T00:00:01.500000Z"
    assert from_text("1970-01-01T02:00:00+02:00") == 0
    assert datetime.fromtimestamp(1.5, UTC).isoformat() == "1970-01-01T00:00:01.500000+00:00"


@pytest.mark.parametrize(("now", "passed"), [(100, False), (109, False), (110, True), (99, True), (-DAY, True)])
def test_has_passed__is_true_when_the_clock_goes_back(now: int, passed: bool) -> None:
    assert has_passed(10, 100, now) is passed


@pytest.mark.parametrize(("occurred", "taken"), [(None, 100), (50, 50), (100 + DAY, 100 + DAY), (101 + DAY, 100), (-5, -5)])
def test_event_time__replaces_a_missing_or_far_future_time_by_the_time_of_receipt(occurred: int | None, taken: int) -> None:
    assert event_time(occurred, 100, DAY) == taken


def test_body_key__differs_by_channel_query_and_event_header() -> None:
    keys = {
        body_key("crm", "", "", b"{}"),
        body_key("email_campaign", "", "", b"{}"),
        body_key("crm", "event=Contact.create", "", b"{}"),
        body_key("crm", "", "x-tool-event:a", b"{}"),
    }

    assert len(keys) == 4
    assert body_key("crm", "", "", b"{}") in keys


def test_event_key__with_a_tools_event_id_ignores_other_values() -> None:
    first = Event("email_sent", 5, email="ann@example.com", key="evt_1")
    again = Event("email_sent", 6, email="ann@example.com", key="evt_1", campaign="Q4")

    assert event_key("tool", first, "1") == event_key("tool", again, "2")
    assert event_key("tool", first, "1") != event_key("other", first, "1")


def test_event_key__without_an_event_id_depends_on_the_values() -> None:
    event = Event("contact.updated", 5, object_id="7", changed=[PropertyChange("stage", "won")])
    same = Event("contact.updated", 5, object_id="7", changed=[PropertyChange("stage", "won")])
    other_event = Event("contact.updated", 5, object_id="7", changed=[PropertyChange("stage", "lost")])

    assert event_key("tool", event, "1") == event_key("tool", same, "2")
    assert event_key("tool", event, "1") != event_key("tool", other_event, "1")


def test_event_key__without_a_time_differs_for_each_webhook() -> None:
    event = Event("lead_status_changed", None, email="ann@example.com", status="interested")

    assert event_key("tool", event, "1") == event_key("tool", event, "1")
    assert event_key("tool", event, "1") != event_key("tool", event, "2")


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(b"hello", mtime=0)),
        ("gzip", gzip.compress(b"hel", mtime=0) + gzip.compress(b"lo", mtime=0)),
        ("gzip", gzip.compress(b"hello", mtime=0) + bytes(512)),
        ("deflate", zlib.compress(b"hello")),
        ("", b"hello"),
    ],
)
def test_decoded__decompresses_every_supported_encoding(encoding: str, packed: bytes) -> None:
    assert decoded(encoding, packed) == b"hello"
    assert decoded_size(encoding, packed) == 5


@pytest.mark.parametrize(
    ("encoding", "packed", "reason"),
    [
        ("gzip", b"not gzip", "cannot be decompressed"),
        ("gzip", gzip.compress(b"hello", mtime=0)[:-9], "is truncated"),
        ("br", b"hello", "encoded with br"),
        ("gzip", gzip.compress(b"hello", mtime=0) + b"more", "cannot be decompressed"),
        ("gzip", gzip.compress(b"hello", mtime=0) * (MOST_PIECES + 1), "more than 16 members"),
        ("gzip", gzip.compress(bytes(200_000), mtime=0), "more than 100000 bytes"),
        ("gzip", gzip.compress(bytes(100_000), mtime=0) + gzip.compress(b"x", mtime=0), "more than 100000 bytes"),
    ],
)
def test_decoded__refuses_an_undecodable_body_with_a_reason(encoding: str, packed: bytes, reason: str) -> None:
    with pytest.raises(UnrecognisedPayload, match=reason):
        decoded(encoding, packed, largest=100_000)


def test_decoded_size__ends_above_the_most_and_counts_a_broken_body_up_to_its_break() -> None:
    assert 100_000 < decoded_size("gzip", gzip.compress(bytes(10_000_000), mtime=0), 100_000) <= 200_000
    assert decoded_size("gzip", gzip.compress(bytes(10_000_000), mtime=0)[:-9]) > 9_000_000
    assert decoded_size("gzip", b"not gzip") == 0
    assert decoded_size("br", b"hello") == 5


def test_decoded__accepts_a_body_of_exactly_the_limit() -> None:
    assert decoded("gzip", gzip.compress(bytes(100_000)), largest=100_000) == bytes(100_000)
