"""Sources of events: the store itself, or the feed of a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol
from urllib.parse import quote

import msgspec

from touchbase.clients.models import Client
from touchbase.common.timestamps import Clock
from touchbase.connections.tools import ApiRequest, ApiResponse, FetchFailed
from touchbase.enrichment.retry_policy import retry_after_of
from touchbase.errors import CursorExpired, Overloaded
from touchbase.event_log.feed import Feed
from touchbase.event_log.models import LoggedEvent, event_id
from touchbase.event_log.reading import read_page, sequence_of
from touchbase.relay.models import Event, EventBatch, RelayStopped, SourceFailed
from touchbase.sql.store import Store

PAGE = 200
Envelopes = Callable[[Store, Client, Sequence[LoggedEvent]], Awaitable[list[Event]]]
"""Returns events with their present records."""
_REFUSED = (400, 401, 403, 404, 410, 422)
"""Responses of the feed that another attempt would get too."""
_AGAIN = "the relay's reader misses events: let it read all records again, then run once with --ignore-checkpoint --after"


class StoreSource:
    """The events of a client, read from its store."""

    def __init__(self, store: Store, client: Client, show: Envelopes, types: list[str] | None = None) -> None:
        self._store, self._client, self._show, self._types = store, client, show, types
        self._feed = Feed(store)

    async def read(self, after: str | None, wait: float) -> EventBatch:
        """Return the events after a cursor; see `Source`."""
        number = self._client.number
        try:
            page = await read_page(self._store, number, sequence_of(after, "--after", []), PAGE, self._types)
            if not page.events and not page.has_more and wait:
                await self._feed.wait({number: page.last}, wait)
                page = await read_page(self._store, number, page.last, PAGE, self._types)
            events = await self._show(self._store, self._client, page.events)
        except CursorExpired as error:
            raise RelayStopped(f"{error.detail} ({_AGAIN} {error.data['valid_cursor']})") from None
        except Overloaded as error:
            raise SourceFailed(error.detail, error.retry_after) from None
        return EventBatch([msgspec.to_builtins(event) for event in events], event_id(page.last), page.has_more)

    async def close(self) -> None:
        """The store belongs to the caller."""


class SendsRequest(Protocol):
    """An HTTP client."""

    async def send(self, base: str, request: ApiRequest) -> ApiResponse:
        """Send a request; raise `FetchFailed`."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class _FeedPage(msgspec.Struct):
    data: list[dict[str, Any]]
    next_cursor: str
    has_more: bool


_page = msgspec.json.Decoder(_FeedPage).decode


class ServerSource:
    """The feed of a server at `base`, read with an API key of the client."""

    def __init__(self, http: SendsRequest, base: str, key: str, clock: Clock, types: str | None = None) -> None:
        self._http, self._base, self._key, self._clock, self._types = http, base, key, clock, types
        self._limit = PAGE

    async def read(self, after: str | None, wait: float) -> EventBatch:
        """Return the events after a cursor; see `Source`."""
        query = f"limit={self._limit}&wait={int(wait)}"
        for name, value in (("after", after), ("types", self._types)):
            query += f"&{name}={quote(value, safe='')}" if value is not None else ""
        headers = {"accept": "application/json"} | ({"x-api-key": self._key} if self._key else {})
        try:
            response = await self._http.send(self._base, ApiRequest("GET", f"/public/v2/events?{query}", headers))
        except FetchFailed as error:
            if "longer than" in str(error):
                self._limit = max(1, self._limit // 4)
            raise SourceFailed(str(error)) from None
        if response.status != 200:
            raise self._failure(response)
        try:
            page = _page(response.body)
        except msgspec.DecodeError:
            raise RelayStopped(f"{self._base}/public/v2/events is no feed of events: is --url the address before /public?") from None
        return EventBatch(page.data, page.next_cursor, page.has_more)

    def _failure(self, response: ApiResponse) -> Exception:
        try:
            problem = msgspec.json.decode(response.body, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError):
            problem = {}
        detail = f"{self._base} answered {response.status}: {problem.get('detail') or 'without a reason'}"[:500]
        if response.status not in _REFUSED:
            return SourceFailed(detail, retry_after_of(response.headers, self._clock()) or 0.0)
        if "valid_cursor" in problem:
            detail = f"{detail} ({_AGAIN} {problem['valid_cursor']})"
        return RelayStopped(detail)

    async def close(self) -> None:
        """Close connections."""
        await self._http.close()
