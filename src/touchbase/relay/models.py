"""Interfaces of a relay: event log, sink, position, and the failures of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from touchbase.errors import TouchbaseError

Event = dict[str, Any]
"""An event in its envelope, as the feed has it."""


class RelayStopped(TouchbaseError):
    """A person must decide how the relay goes on; another attempt would end the same way."""


class SourceFailed(Exception):
    """Events could not be read now; `retry_after`: seconds, if the source names them."""

    def __init__(self, why: str, retry_after: float = 0.0) -> None:
        super().__init__(why)
        self.retry_after = retry_after


class SinkFailed(Exception):
    """The sink did not take an event; `sent`: how many of the batch it has taken before."""

    def __init__(self, why: str, sent: int, retry_after: float = 0.0) -> None:
        super().__init__(why)
        self.sent = sent
        self.retry_after = retry_after


class RelayPosition(msgspec.Struct, frozen=True):
    """The last event that a sink has, or that was read and left out by its type."""

    cursor: str
    client_id: str

    @property
    def sequence(self) -> int:
        """The number in the cursor."""
        return int(self.cursor.removeprefix("evt_"))


def position_of(event: Event) -> RelayPosition:
    """Return the position after an event; raises `ValueError` for something else."""
    try:
        position = msgspec.convert({"cursor": event["data"]["id"], "client_id": event["data"]["client_id"]}, RelayPosition)
        _ = position.sequence
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise ValueError("not an event of the feed") from error
    return position


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events after a cursor, in order."""

    events: Sequence[Event]
    cursor: str
    """Up to which the log was read; later than the last event if types are left out."""
    has_more: bool


class EventLogSource(Protocol):
    """Where events come from."""

    async def read(self, after: str | None, wait: float) -> EventBatch:
        """Return the events after a cursor, waiting for the first; raises `SourceFailed`, and `RelayStopped` if events are missing."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


class Sink(Protocol):
    """Where events go."""

    name: str
    """For messages; without a password."""
    has_position: bool
    """Whether the sink itself knows the last event that it has."""

    async def position(self) -> RelayPosition | None:
        """Return the last event that the sink has; None if it has none or does not know; raises `SinkFailed` and `RelayStopped`."""
        ...

    async def send(self, events: Sequence[Event]) -> None:
        """Return once the sink has stored these events, in their order; raises `SinkFailed` and `RelayStopped`."""
        ...

    async def close(self) -> None:
        """Release files and connections."""
        ...
