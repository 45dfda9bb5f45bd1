"""Actors: who did something, as responses show it.

Writes store the id of the key or person only; its name is looked up when somebody reads it, so a write costs nothing for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from touchbase.audit import API, CLI, CONSOLE, JOB, MCP, TOUCHBASE, WEBHOOK, via_of
from touchbase.auth.sql import find_key
from touchbase.auth.users import find_user
from touchbase.common.cache import Cache
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.event_log import models as event_log
from touchbase.event_log.models import LoggedEvent
from touchbase.history.events import NO_AUTHOR, Author, StoredEvent
from touchbase.http.schemas import named_enum
from touchbase.sql.store import Store

FRESH: Micros = 60 * SECOND
"""How long a name is cached."""
USER, KEY, TOOL, ANYONE = "user", "key", "tool", "anyone"
_TYPE = named_enum(
    "ActorType",
    "What acted: a person, a key of a service, a tool, a request without a key, or Touchbase itself.",
    (USER, KEY, TOOL, ANYONE, TOUCHBASE),
)
_VIA = named_enum(
    "ActorVia",
    "Way in: the console, a request of the API, an agent by MCP, the command line, a webhook, a job.",
    (CONSOLE, API, MCP, CLI, WEBHOOK, JOB),
)


class Actor(Struct, frozen=True):
    """Who did something. A personal key acts as its person, a job as whoever started it."""

    type: Annotated[str, Meta(extra_json_schema=_TYPE, description="What acted.")]
    id: Annotated[str | None, Meta(description="Of the person or key; null: a tool, or a request without a key.")]
    name: Annotated[str, Meta(description="Of the person, key or tool now; blank: it is gone, or there is none.")]
    via: Annotated[str, Meta(extra_json_schema=_VIA, description="Way in.")]


class ActorNames:
    """Names of people and keys by the ids that writes store, cached for a minute."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._cache: Cache[str, tuple[str, str, str, str]] = Cache(clock, FRESH)
        """Type, id and name of the actor, which of a personal key are its person's, and the key's or person's own name."""

    async def load(self, ids: Iterable[str | None]) -> None:
        """Look up the names that are not cached, for `of`."""
        now = self._clock()
        for actor_id in {*ids}:
            if actor_id not in (None, TOUCHBASE) and self._cache.get(actor_id, now) is None:
                self._cache.put(actor_id, await self._read(actor_id), now)

    async def load_events(self, events: Iterable[StoredEvent]) -> None:
        """Look up the names of those who wrote these events."""
        await self.load(_author(event).key_id for event in events)

    def of(self, author: Author) -> Actor:
        """Return the actor of a request or job; `load` comes before."""
        return self.by(author.key_id, via_of(author.key_id, author.request_id))

    def by(self, actor_id: str | None, via: str) -> Actor:
        """Return the actor of this id; `load` comes before."""
        if actor_id is None or actor_id == TOUCHBASE:
            return Actor(actor_id or ANYONE, None, "", via)
        kind, shown_id, name, _ = self._cache.peek(actor_id) or (_kind(actor_id), actor_id, "", "")
        return Actor(kind, shown_id, name, via)

    def name(self, actor_id: str) -> str:
        """Return the name of a person or key; `load` comes before."""
        cached = self._cache.peek(actor_id)
        return "" if cached is None else cached[3]

    def of_event(self, event: StoredEvent) -> Actor:
        """Return the actor of an event of a record's history; `load_events` comes before."""
        author = _author(event)
        if event.delivery_id is not None or (author.key_id is None and author.request_id is None and event.tool not in ("api", "import")):
            return Actor(TOOL, None, event.tool, WEBHOOK)
        return self.of(author)

    async def of_logged(self, events: Iterable[LoggedEvent]) -> list[Actor]:
        """Return the actor of each event of the log."""
        causes = [event.cause for event in events]
        await self.load(cause.get("key_id") for cause in causes)
        return [self._of_cause(cause) for cause in causes]

    def _of_cause(self, cause: Mapping[str, Any]) -> Actor:
        origin, author = cause.get("origin"), Author(cause.get("key_id"), cause.get("request_id"))
        if origin == event_log.DELIVERY:
            return Actor(TOOL, None, cause.get("tool") or "", WEBHOOK)
        if origin == event_log.JOB and author.key_id is not None:
            return self.by(author.key_id, JOB)
        return self.of(author) if origin == event_log.API else self.by(TOUCHBASE, JOB)

    async def _read(self, actor_id: str) -> tuple[str, str, str, str]:
        own = ""
        if not actor_id.startswith("u"):
            key = await self._store.read(find_key(actor_id))
            own = "" if key is None else key.name
            if key is None or key.user_id is None:
                return KEY, actor_id, own, own
            actor_id = key.user_id
        user = await self._store.read(find_user(actor_id))
        name = "" if user is None else user.name or user.email
        return USER, actor_id, name, own or name


def _author(event: StoredEvent) -> Author:
    return Author(*event.detail.get("by", NO_AUTHOR))


def _kind(actor_id: str) -> str:
    return USER if actor_id.startswith("u") else KEY
