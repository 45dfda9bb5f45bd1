"""The state of a reader of events, and server-sent events as bytes become events; no I/O."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from touchbase_client.errors import ConnectionFailed, RateLimited, ServerFault, UnexpectedAnswer, problem_of
from touchbase_client.request import Request, Text
from touchbase_client.requests import list_events, stream_events
from touchbase_client.retries import Retries

if TYPE_CHECKING:
    from touchbase_client.models import EventPage, LogEvent

LATEST = "latest"
WAIT_SECONDS = 25
PAGE = 100
STATUSES = {"unauthorized": 401, "forbidden": 403, "insufficient_scope": 403, "client_suspended": 403, "not_found": 404}
"""Status of the problem that ends a stream; a stream has none of its own."""
_CURSOR = "the cursor is "
LOG = logging.getLogger("touchbase_client")
ENDED = ConnectionFailed("the stream ended.")
"""What the end of a stream counts as: a server that stops ends its streams."""


def passes(error: Exception) -> bool:
    """Return whether this error is one that passes."""
    if isinstance(error, UnexpectedAnswer):
        return error.status >= 500
    return isinstance(error, ConnectionFailed | RateLimited | ServerFault)


@dataclass(slots=True)
class Reader:
    """Where a reader of events is."""

    cursor: str | None
    types: Text | None
    wait: int = WAIT_SECONDS
    connected: bool = False
    """Whether there was an answer: from then on errors that pass are waited for without end."""
    failed: int = 0
    """Failures since the last answer."""

    def position(self) -> Request[EventPage] | None:
        """Return the request for the present end of the log, where `latest` must become a cursor before anything can be missed."""
        return list_events(after=LATEST, limit=1) if self.cursor == LATEST else None

    def page(self) -> Request[EventPage]:
        """Return the request for the next page."""
        return list_events(after=self.cursor, types=self.types, wait=self.wait, limit=PAGE)

    def stream(self) -> Request[bytes]:
        """Return the request for a stream of events."""
        return stream_events(after=self.cursor, types=self.types)

    def answered(self) -> None:
        """Note that there was an answer."""
        self.connected, self.failed = True, 0

    def pause(self, error: Exception, retries: Retries) -> float:
        """Return the seconds to wait after an error that passes, and log it; raise every other."""
        if not self.connected or not passes(error):
            raise error
        self.failed += 1
        seconds = retries.pause(self.failed, random.random())  # noqa: S311 - spreads requests, guards nothing
        LOG.warning("following events: %s Going on after %s in %.1f s.", error, self.cursor, seconds)
        return seconds

    def passed(self, events: list[LogEvent], end: str) -> Iterator[LogEvent]:
        """Yield events; `cursor` is that of the event which the caller has."""
        for event in events:
            self.cursor = event["data"]["id"]
            yield event
        self.cursor = end


@dataclass(slots=True)
class Lines:
    """Splits pieces of bytes into lines."""

    incomplete: bytes = b""

    def of(self, piece: bytes) -> Iterator[str]:
        """Yield the lines that are complete now."""
        *lines, self.incomplete = (self.incomplete + piece).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r").decode()


@dataclass(slots=True)
class Stream:
    """Server-sent events of Touchbase. Source: https://html.spec.whatwg.org/multipage/server-sent-events.html."""

    reader: Reader
    lines: Lines = field(default_factory=Lines)
    kind: str = ""
    data: list[str] = field(default_factory=list)

    def read(self, piece: bytes) -> Iterator[LogEvent]:
        """Yield the events that are complete now; raise the problem with which the server ends the stream."""
        for line in self.lines.of(piece):
            name, _, value = line.partition(":")
            if line == "":
                yield from self._ended()
            elif name == "" and value.strip().startswith(_CURSOR):
                self.reader.cursor = value.strip().removeprefix(_CURSOR)
            elif name == "event":
                self.kind = value.removeprefix(" ")
            elif name == "data":
                self.data.append(value.removeprefix(" "))

    def _ended(self) -> Iterator[LogEvent]:
        kind, data = self.kind, "\n".join(self.data)
        self.kind, self.data = "", []
        if not data:
            return
        value: Mapping[str, Any] = json.loads(data)
        if kind == "error":
            raise problem_of(STATUSES.get(str(value.get("code")), 503), value)
        event = cast("LogEvent", value)
        self.reader.cursor = event["data"]["id"]
        yield event
