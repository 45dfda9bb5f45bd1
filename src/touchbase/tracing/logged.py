"""The trace of the task that writes a log line. Loads nothing of OpenTelemetry."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Current:
    """A trace in progress: tasks that outlive it keep the object, and then find no id in it."""

    trace_id: str


CURRENT: ContextVar[Current | None] = ContextVar("touchbase.trace", default=None)


def current_trace_id() -> str:
    """Return the id of the trace that the running task belongs to; blank if there is none."""
    span = CURRENT.get()
    return "" if span is None else span.trace_id
