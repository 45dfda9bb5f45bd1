"""W3C Trace Context: headers that name a span, and the text that a delivery stores.

Source: https://www.w3.org/TR/trace-context/
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(slots=True)
class Current:
    """A trace in progress: tasks that outlive it keep the object, and then find no id in it."""

    trace_id: str


CURRENT: ContextVar[Current | None] = ContextVar("touchbase.trace", default=None)


def current_trace_id() -> str:
    """Return the id of the trace that the running task belongs to; blank if there is none."""
    span = CURRENT.get()
    return "" if span is None else span.trace_id


SAMPLED = 1
MAX_STATE = 512
"""Characters of a `tracestate` up to which it is passed on and stored, the standard's minimum. A longer one is dropped."""
_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]*)?", re.ASCII)
_INVALID_VERSION = "ff"
_KNOWN_FLAGS = 3
"""Sampled, and random trace id; others mean nothing yet."""


class SpanName(NamedTuple):
    """Name of a span of another process, or of this one earlier."""

    trace_id: int
    span_id: int
    flags: int
    state: str = ""


def parse_traceparent(text: str) -> SpanName | None:
    """Return the span that a `traceparent` names; None for a malformed one."""
    match = _TRACEPARENT.fullmatch(text)
    if match is None or match[1] == _INVALID_VERSION or (match[1] == "00" and match[5] is not None):
        return None
    name = SpanName(int(match[2], 16), int(match[3], 16), int(match[4], 16) & _KNOWN_FLAGS)
    return name if name.trace_id and name.span_id else None


def span_of_headers(headers: Iterable[tuple[bytes, bytes]]) -> SpanName | None:
    """Return the span that a request comes from; None without a valid `traceparent`, and if there are several."""
    parents, states = [], []
    for name, value in headers:
        if name == b"traceparent":
            parents.append(value)
        elif name == b"tracestate":
            states.append(value)
    if len(parents) != 1 or (parent_span := parse_traceparent(parents[0].decode("latin-1").strip(" \t"))) is None:
        return None
    state = b",".join(states).decode("latin-1")
    return parent_span._replace(state=state if len(state) <= MAX_STATE else "")


def traceparent(name: SpanName) -> str:
    """Return the header that names a span."""
    return f"00-{name.trace_id:032x}-{name.span_id:016x}-{name.flags:02x}"


def stored_text(name: SpanName) -> str:
    """Return the text that a delivery stores: `traceparent`, and after a space `tracestate`, if it is not too long."""
    state = name.state if len(name.state) <= MAX_STATE else ""
    return f"{traceparent(name)} {state}" if state else traceparent(name)


def span_of_text(text: str) -> SpanName | None:
    """Return the span of a stored text."""
    parent, _, state = text.partition(" ")
    parent_span = parse_traceparent(parent)
    return None if parent_span is None else parent_span._replace(state=state)
