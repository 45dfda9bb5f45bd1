"""Events, a source of them and sinks that remember, for tests of the relay."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from touchbase.relay.models import Event, EventBatch, RelayPosition, SinkFailed


def event(number: int, client_id: str = "acme") -> Event:
    data: dict[str, Any] = {"id": f"evt_{number}", "client_id": client_id, "object": {"id": number}, "changed": {}, "cause": {}}
    return {"type": "contact.created", "timestamp": "2026-11-26T09:00:00Z", "data": data}


def number_of(first_event: Event) -> int:
    return int(first_event["data"]["id"].removeprefix("evt_"))


@dataclass
class ListSource:
    """A log of so many events, read in pages; the types of events without a number in `wanted` are left out."""

    count: int
    page: int = 3
    wanted: Callable[[int], bool] = lambda number: True
    client_id: str = "acme"
    is_read: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a reader waits for the next event."""

    async def read(self, after: str | None, wait: float) -> EventBatch:
        first = 0 if after is None else self.count if after == "latest" else int(after.removeprefix("evt_"))
        if first >= self.count and wait:
            self.is_read.set()
            await asyncio.Event().wait()
        numbers = range(first + 1, self.count + 1)
        chosen = [number for number in numbers if self.wanted(number)][: self.page]
        last = chosen[-1] if len(chosen) == self.page else max(first, self.count)
        return EventBatch([event(number, self.client_id) for number in chosen], f"evt_{last}", last < self.count)

    async def close(self) -> None:
        pass


@dataclass
class ListSink:
    """Remembers what it takes; `fails`: asked before each event, True refuses it."""

    fails: Callable[[int], bool] = lambda number: False
    has_position: bool = False
    got: list[int] = field(default_factory=list)
    name: str = "a list"

    async def position(self) -> RelayPosition | None:
        return RelayPosition(f"evt_{self.got[-1]}", "acme") if self.has_position and self.got else None

    async def send(self, events: Sequence[Event]) -> None:
        for place, first_event in enumerate(events):
            if self.fails(number_of(first_event)):
                raise SinkFailed("it is busy", place)
            self.got.append(number_of(first_event))

    async def close(self) -> None:
        pass
