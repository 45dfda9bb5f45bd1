"""W3C Trace Context: what is read, and what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.tracing.trace_context import MAX_STATE, SpanName, parse_traceparent, span_of_headers, span_of_text, stored_text, traceparent

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
FIRST = SpanName(0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PARENT, FIRST),
        (PARENT[:-2] + "ff", FIRST._replace(flags=3)),
        ("cc" + PARENT[2:], FIRST),
        ("cc" + PARENT[2:] + "-what-will-be", FIRST),
        (PARENT + "-more", None),
        ("cc" + PARENT[2:] + "more", None),
        ("ff" + PARENT[2:], None),
        (PARENT.upper(), None),
        ("00-" + "0" * 32 + PARENT[35:], None),
        (PARENT[:36] + "0" * 16 + "-01", None),
        (PARENT[:-1], None),
        (PARENT + "\n", None),
        ("", None),
    ],
)
def test_traceparent__is_read_as_the_standard_says(text: str, expected: SpanName | None) -> None:
    assert parse_traceparent(text) == expected


NAMES = st.builds(SpanName, st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.integers(0, 3), st.just(""))


@given(NAMES, st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), max_size=MAX_STATE + 9))
def test_any_span__is_read_back_as_it_was_stored(name: SpanName, state: str) -> None:
    assert parse_traceparent(traceparent(name)) == name
    assert span_of_text(stored_text(name._replace(state=state))) == name._replace(state=state if len(state) <= MAX_STATE else "")


@given(st.text())
def test_any_text__is_a_span_or_none(text: str) -> None:
    result = span_of_text(text)

    assert result is None or result.trace_id


def test_headers__with_two_parents_name_no_span() -> None:
    values = [(b"traceparent", PARENT.encode()), (b"tracestate", b"a=1"), (b"tracestate", b"b=2")]

    assert span_of_headers(values) == FIRST._replace(state="a=1,b=2")
    assert span_of_headers([*values, (b"tracestate", b"c=" + b"3" * MAX_STATE)]) == FIRST
    assert span_of_headers([*values, values[0]]) is None
    assert span_of_headers(values[1:]) is None
