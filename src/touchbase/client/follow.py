"""Follow the events with the synchronous client, and go on from the cursor after a broken connection."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

from touchbase.client.calls import Group, Sender
from touchbase.client.errors import TouchbaseError
from touchbase.client.feed import ENDED, Reader, Stream
from touchbase.client.request import Request, Text
from touchbase.client.requests.events import list_events

if TYPE_CHECKING:
    from touchbase.client.models import LogEvent

T = TypeVar("T")


class Follower(Iterator["LogEvent"]):
    """The events after a cursor, as they happen, without end.

    What passes (broken connections, a server that restarts) is waited for, and logged by the logger `touchbase.client`. Other
    problems are raised, and so is every error before the first answer.
    """

    def __init__(self, sender: Sender, after: str | None, types: Text | None, *, stream: bool) -> None:
        self._sender = sender
        self._reader = Reader(after, types)
        self._events = self._streamed() if stream else self._waited()

    @property
    def cursor(self) -> str | None:
        """The position after the event that was returned last: store it, and give it as `after` to go on from here."""
        return self._reader.cursor

    def __next__(self) -> LogEvent:
        return next(self._events)

    def close(self) -> None:
        """Stop following."""
        self._events.close()

    def _waited(self) -> Generator[LogEvent, None, None]:
        self._begin()
        while True:
            page = self._patiently(self._reader.page())
            yield from self._reader.passed(page["data"], page["next_cursor"])

    def _streamed(self) -> Generator[LogEvent, None, None]:
        self._begin()
        while True:
            stream = Stream(self._reader)
            error: TouchbaseError = ENDED
            try:
                with closing(self._sender.stream(self._reader.stream())) as pieces:
                    for piece in pieces:
                        self._reader.answered()
                        yield from stream.read(piece)
            except TouchbaseError as found:
                error = found
            self._sender.sleep(self._reader.pause(error, self._sender.retries))

    def _begin(self) -> None:
        request = self._reader.position()
        if request is not None:
            self._reader.cursor = (self._patiently(request))["next_cursor"]

    def _patiently(self, request: Request[T]) -> T:
        while True:
            try:
                answer = (self._sender.send(request)).data
            except TouchbaseError as error:
                self._sender.sleep(self._reader.pause(error, self._sender.retries))
            else:
                self._reader.answered()
                return answer


class EventsGroup(Group):
    """What reads more than one page of events."""

    def follow(self, after: str | None = "latest", *, types: Text | None = None, stream: bool = False) -> Follower:
        """Return the events after a cursor, as they happen, without end.

        `after`: `latest`, or the `cursor` of an earlier follower, or None for all that are stored. `stream`: by server-sent events
        in place of requests that wait.
        """
        return Follower(self.sender, after, types, stream=stream)

    def iterate(self, after: str | None = None, *, types: Text | None = None) -> Iterator[LogEvent]:
        """Return the events that are stored now, oldest first."""
        has_more = True
        while has_more:
            page = (self.sender.send(list_events(after=after, types=types, limit=100))).data
            yield from page["data"]
            after, has_more = page["next_cursor"], page["has_more"]
