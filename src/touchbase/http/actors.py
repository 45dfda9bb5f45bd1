"""Actors: who did something, as responses show it.

Writes store the id of the key or person only; its name is looked up when somebody reads it, so a write costs nothing for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta, Struct

from touchbase.auth.sql import find_key
from touchbase.auth.users import find_user
from touchbase.common.cache import Cache
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.history.events import NO_AUTHOR, Author, StoredEvent
from touchbase.http.schemas import named_enum
from touchbase.sql.store import Store

FRESH: Micros = 60 * SECOND
"""How long a name is cached."""
USER, KEY, TOOL, ANYONE = "user", "key", "tool", "anyone"
CONSOLE, API, WEBHOOK, JOB = "console", "api", "webhook", "job"
_TYPE = named_enum("ActorType", "What acted: a person, a key of a service, a tool, or a request without a key.", (USER, KEY, TOOL, ANYONE))
_VIA = named_enum("ActorVia", "By what it acted: the console, a request of the API, a webhook, a job.", (CONSOLE, API, WEBHOOK, JOB))
JOB_REQUEST = "job:"
"""Begins the request id of what a job writes."""


class Actor(Struct, frozen=True):
    """Who did something. A personal key acts as its person, a job as whoever started it."""

    type: Annotated[str, Meta(extra_json_schema=_TYPE, description="What acted.")]
    id: Annotated[str | None, Meta(description="Of the person or key; null: a tool, or a request without a key.")]
    name: Annotated[str, Meta(description="Of the person, key or tool now; blank: it is gone, or there is none.")]
    via: Annotated[str, Meta(extra_json_schema=_VIA, description="By what it acted.")]


class ActorNames:
    """Names of people and keys by the ids that writes store, cached for a minute."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._cache: Cache[str, tuple[str, str, str]] = Cache(clock, FRESH)
        """Type, id and name of the actor; the id of a personal key's is its person's."""

    async def load(self, ids: Iterable[str | None]) -> None:
        """Look up the names that are not cached, for `of`."""
        now = self._clock()
        for actor_id in {*ids}:
            if actor_id is not None and self._cache.get(actor_id, now) is None:
                self._cache.put(actor_id, await self._read(actor_id), now)

    async def load_events(self, events: Iterable[StoredEvent]) -> None:
        """Look up the names of those who wrote these events."""
        await self.load(_author(event).key_id for event in events)

    def of(self, author: Author) -> Actor:
        """Return the actor of a request or job; `load` comes before."""
        is_job = (author.request_id or "").startswith(JOB_REQUEST)
        if author.key_id is None:
            return Actor(ANYONE, None, "", JOB if is_job else API)
        kind, actor_id, name = self._cache.peek(author.key_id) or (_kind(author.key_id), author.key_id, "")
        usual = CONSOLE if author.key_id.startswith("u") else API
        return Actor(kind, actor_id, name, JOB if is_job else usual)

    def of_event(self, event: StoredEvent) -> Actor:
        """Return the actor of an event of a record's history; `load_events` comes before."""
        author = _author(event)
        if event.delivery_id is not None or (author.key_id is None and author.request_id is None and event.tool not in ("api", "import")):
            return Actor(TOOL, None, event.tool, WEBHOOK)
        return self.of(author)

    async def _read(self, actor_id: str) -> tuple[str, str, str]:
        if not actor_id.startswith("u"):
            key = await self._store.read(find_key(actor_id))
            if key is None or key.user_id is None:
                return KEY, actor_id, "" if key is None else key.name
            actor_id = key.user_id
        user = await self._store.read(find_user(actor_id))
        return USER, actor_id, "" if user is None else user.name or user.email


def _author(event: StoredEvent) -> Author:
    return Author(*event.detail.get("by", NO_AUTHOR))


def _kind(actor_id: str) -> str:
    return USER if actor_id.startswith("u") else KEY
