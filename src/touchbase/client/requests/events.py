"""Requests of `events`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Request, Text

if TYPE_CHECKING:
    from touchbase.client.models.events import EventPage, EventSamples


def list_events(
    *, after: str | None = None, types: Text | None = None, wait: int | None = None, limit: int | None = None,
) -> Request[EventPage]:
    """Read the events after a cursor, and wait for the next."""
    return Request(
        "list_events", "GET", "/public/v2/events", query={"after": after, "types": types, "wait": wait, "limit": limit}, of_client=True,
    )


def list_event_samples(*, types: Text | None = None, limit: int | None = None) -> Request[EventSamples]:
    """Get samples of events, newest first."""
    return Request("list_event_samples", "GET", "/public/v2/events/samples", query={"types": types, "limit": limit}, of_client=True)


def stream_events(*, after: str | None = None, types: Text | None = None, last_event_id: str | None = None) -> Request[bytes]:
    """Read the events after a cursor as a stream."""
    return Request(
        "list_events", "GET", "/public/v2/events", query={"after": after, "types": types}, headers={"Last-Event-ID": last_event_id,
        "Accept": "text/event-stream"}, of_client=True, answer="bytes",
    )
