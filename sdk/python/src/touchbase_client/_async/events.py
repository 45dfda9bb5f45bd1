"""Follow the events, and go on from the cursor after a broken connection."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

from touchbase_client._async.calls import AsyncGroup
from touchbase_client.errors import TouchbaseError
from touchbase_client.feed import ENDED, Reader, Stream
from touchbase_client.request import Request, Text
from touchbase_client.requests import list_events

if TYPE_CHECKING:
    from touchbase_client._async.client import AsyncTouchbase
    from touchbase_client.models import LogEvent

T = TypeVar("T")


class AsyncFollower(AsyncIterator["LogEvent"]):
    """The events after a cursor, as they happen, without end.

    What passes (broken connections, a server that restarts) is waited for, and logged by the logger `touchbase_client`. Other
    problems are raised, and so is every error before the first answer.
    """

    def __init__(self, client: AsyncTouchbase, after: str | None, types: Text | None, *, stream: bool) -> None:
        self._client = client
        self._reader = Reader(after, types)
        self._events = self._streamed() if stream else self._waited()

    @property
    def cursor(self) -> str | None:
        """The position after the event that was returned last: store it, and give it as `after` to go on from here."""
        return self._reader.cursor

    async def __anext__(self) -> LogEvent:
        return await anext(self._events)

    async def aclose(self) -> None:
        """Stop following."""
        await self._events.aclose()

    async def _waited(self) -> AsyncGenerator[LogEvent, None]:
        await self._begin()
        while True:
            page = await self._patiently(self._reader.page())
            for event in self._reader.passed(page["data"], page["next_cursor"]):
                yield event

    async def _streamed(self) -> AsyncGenerator[LogEvent, None]:
        await self._begin()
        while True:
            stream = Stream(self._reader)
            error: TouchbaseError = ENDED
            try:
                async with aclosing(self._client.stream(self._reader.stream())) as pieces:
                    async for piece in pieces:
                        self._reader.answered()
                        for event in stream.read(piece):
                            yield event
            except TouchbaseError as failure:
                error = failure
            await self._client.sleep(self._reader.pause(error, self._client.retries))

    async def _begin(self) -> None:
        request = self._reader.position()
        if request is not None:
            self._reader.cursor = (await self._patiently(request))["next_cursor"]

    async def _patiently(self, request: Request[T]) -> T:
        while True:
            try:
                answer = (await self._client.send(request)).data
            except TouchbaseError as error:
                await self._client.sleep(self._reader.pause(error, self._client.retries))
            else:
                self._reader.answered()
                return answer


class AsyncEventsGroup(AsyncGroup):
    """What reads more than one page of events."""

    def follow(self, after: str | None = "latest", *, types: Text | None = None, stream: bool = False) -> AsyncFollower:
        """Return the events after a cursor, as they happen, without end.

        `after`: `latest`, or the `cursor` of an earlier follower, or None for all that are stored. `stream`: by server-sent events
        in place of requests that wait.
        """
        return AsyncFollower(self._client, after, types, stream=stream)

    async def iterate(self, after: str | None = None, *, types: Text | None = None) -> AsyncIterator[LogEvent]:
        """Return the events that are stored now, oldest first."""
        has_more = True
        while has_more:
            page = (await self._client.send(list_events(after=after, types=types, limit=100))).data
            for event in page["data"]:
                yield event
            after, has_more = page["next_cursor"], page["has_more"]
