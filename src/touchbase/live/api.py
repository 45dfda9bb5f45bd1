"""HTTP resource of live changes: one stream over all clients that a person may see.

A notice names what changed and by whom; it has no data. A reader shows it by reading again, so a stream that begins anew repeats nothing:
after `ready` everything that is shown is read again. A reader that falls behind gets one `many` for a client in place of its notices.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from msgspec import Meta, Struct

from touchbase.attention.plans import list_items
from touchbase.audit import CONSOLE
from touchbase.auth.authentication import READ, Principal
from touchbase.clients.models import ACTIVE
from touchbase.clients.sql.clients import list_active_clients
from touchbase.common.timestamps import SECOND, to_text
from touchbase.conversations.drafts import list_writers
from touchbase.errors import TouchbaseError
from touchbase.event_log.feed import ChangedClients, Feed
from touchbase.event_log.models import LoggedEvent
from touchbase.event_log.sql.queries import find_new_events, list_changes
from touchbase.history.events import CONTACT, Author
from touchbase.http.actors import Actor
from touchbase.http.endpoint import OPERATOR, Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import Time, encode
from touchbase.outgoing.api.events import FEED, KEEP_ALIVE_SECONDS, STREAM, disconnected, first_of

TAG = Tag("Live", "What changes, over all clients that a person may see, while it changes.")
PATH = "/team/v1/stream"
CHECK_SECONDS = 0.5
"""Time between two looks at whether the key, the session or its person has ended; if another process ended it, `FRESH` is added."""
PAUSE_SECONDS = 0.25
"""Time between two pieces of a stream: each reads the store, and one key may have many streams open while its client is busy."""
PRESENCE_SECONDS = 3.0
"""Time between two looks at who writes an answer."""
MOST = 100
"""Notices of one client in a piece of the stream; more of them are one `many`."""
MANY, ATTENTION, ACCESS, PRESENCE = "many", "attention.changed", "access.changed", "presence"


class Notice(Struct, kw_only=True, omit_defaults=True):
    """Something changed."""

    type: Annotated[str, Meta(description=f"The type of an event, or `{MANY}`, `{ATTENTION}`, `{ACCESS}` or `{PRESENCE}`.")]
    client_id: str | None = None
    record: Annotated[str | None, Meta(description="`contact` or `company`.")] = None
    record_id: int | None = None
    actor: Annotated[Actor | None, Meta(description="Who changed it; left out: a webhook, or Touchbase.")] = None
    occurred_at: Time | None = None


class Reader:
    """One open stream: who reads it, the clients that they may see, and how far each client's log was read.

    Who may see all clients has no list of them here: there may be very many, and the feed has one for all streams.
    """

    def __init__(self, call: Call, principal: Principal) -> None:
        self._call = call
        self._principal = principal
        self._parts = call.api.dependencies
        self._feed = call.api[FEED]
        self._clients: frozenset[int] = frozenset()
        """The clients of who may see some."""
        self._seen = 0
        """The hash of the clients that could be seen at the last look."""
        self._positions: dict[int, int] = {}
        self._changed: ChangedClients | None = None
        """Who may see all clients; None: some."""
        self._attention: list[object] = []
        self._looked_for_writers = self._parts.clock()

    @property
    def holder(self) -> int:
        """The number by which places of the feed are shared out: a client's, or below zero a person's."""
        user = self._principal.user
        if user is not None:
            return -1 - int(user.id[1:], 16)
        return OPERATOR if self._principal.client is None else self._principal.client

    async def ended(self) -> None:
        """Return when the reader may see other clients; raise when the key, the session or its person ends."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            principal = await self._call.api.principal_again(self._call.headers, self._call.needed, self._call.scope)
            if _sight(principal) != _sight(self._principal):
                self._principal = principal
                return

    async def look_at_clients(self) -> list[Notice]:
        """Read the clients that the reader may see; return a notice if they have changed."""
        visible = await self._call.visible(self._principal)
        clients = frozenset(visible if visible is not None else await self._parts.store.read(list_active_clients()))
        previous, self._seen = self._seen, hash(clients)
        if visible is None:
            self._clients, self._positions = frozenset(), {}
            self._changed = self._changed or await self._feed.follow_all()
        else:
            new = dict.fromkeys(clients - self._positions.keys(), -1)
            newest = await self._parts.store.read(find_new_events(new)) if new else {}
            self._clients, self._changed = clients, None
            self._positions = {client: self._positions.get(client, newest.get(client, 0)) for client in clients}
        return [Notice(type=ACCESS)] if previous != self._seen else []

    async def look_at_attention(self) -> list[Notice]:
        """Read the attention list; return a notice if it has changed."""
        clients = None if self._changed is not None else sorted(self._clients)
        items = await self._parts.store.read(list_items(clients, self._parts.clock()))
        before, self._attention = (
            self._attention,
            [(item.key, item.count, item.id, item.about, item.snoozed_until_us) for item in items],
        )
        return [Notice(type=ATTENTION)] if before != self._attention else []

    async def writers(self) -> list[Notice]:
        """Return which other people have written on an answer since the last look; nothing for a key."""
        user, clients = self._principal.user, None if self._changed is not None else sorted(self._clients)
        if user is None:
            return []
        # A draft is stored a moment after its time.
        since, self._looked_for_writers = self._looked_for_writers - SECOND, self._parts.clock()
        writers = [writer for writer in await self._parts.store.read(list_writers(clients, since)) if writer.user_id != user.id]
        shown = await self._call.api.clients.of(writer.client for writer in writers)
        await self._call.api.actors.load(writer.user_id for writer in writers)
        return [
            Notice(
                type=PRESENCE, client_id=shown[client].client_id, record="contact", record_id=contact_id,
                actor=self._call.api.actors.by(user_id, CONSOLE),
            )
            for client, contact_id, user_id in writers
            if client in shown
        ]  # fmt: skip

    async def changes(self) -> list[Notice]:
        """Return the events logged since the last look."""
        spans = await self._spans()
        clients = {number: client for number, client in (await self._call.api.clients.of(spans)).items() if client.state == ACTIVE}
        few = {client: (since, last) for client, (since, last) in spans.items() if client in clients and last - since <= MOST}
        notices = [Notice(type=MANY, client_id=clients[client].client_id) for client in sorted(clients.keys() - few.keys())]
        events = await self._parts.store.read(list_changes(few)) if few else []
        await self._call.api.actors.load(_author(event).key_id for event in events)
        return notices + [self._notice(event, clients[event.client].client_id) for event in events]

    async def _spans(self) -> dict[int, tuple[int, int]]:
        """Take the clients with new events: client -> the sequence after which they begin, and the last one."""
        if self._changed is not None:
            return self._feed.take(self._changed)
        newest = await self._parts.store.read(find_new_events(self._positions)) if self._positions else {}
        spans = {client: (self._positions[client], last) for client, last in newest.items()}
        self._positions.update(newest)
        return spans

    async def wait(self, seconds: float) -> None:
        """Return when there is something new, or after so many seconds."""
        await self._feed.wait(self._positions if self._changed is None else self._changed, seconds)

    def _notice(self, event: LoggedEvent, client_id: str) -> Notice:
        author = _author(event)
        return Notice(
            type=event.type, client_id=client_id, record_id=event.record_id,
            record=None if event.record_kind is None else "contact" if event.record_kind == CONTACT else "company",
            actor=None if author.key_id is None else self._call.api.actors.of(author), occurred_at=to_text(event.at),
        )  # fmt: skip


def _sight(principal: Principal) -> tuple[object, ...]:
    """Return the rights that decide which clients a caller may see."""
    return principal.client, principal.clients, principal.scopes


def _author(event: LoggedEvent) -> Author:
    return Author(event.cause.get("key_id"), event.cause.get("request_id"))


async def stream(call: Call) -> Response:
    """Handle `GET` of the stream."""
    principal, feed = await call.principal(of_several=True), call.api[FEED]
    call.parameters().done()
    reader = Reader(call, principal)
    # Refused here, while a problem can still be sent; `_pieces` takes the place.
    with feed.place(reader.holder):
        await reader.look_at_clients()
        await reader.look_at_attention()
    headers = [(b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]
    return Response(content_type=STREAM, headers=headers, stream=_pieces(call, reader, feed))


async def _pieces(call: Call, reader: Reader, feed: Feed) -> AsyncIterator[bytes]:
    """Yield notices until the HTTP client is gone, the key or session ends, or the server stops."""
    loop = asyncio.get_running_loop()
    gone, ended = asyncio.ensure_future(disconnected(call)), asyncio.ensure_future(reader.ended())
    try:
        with feed.place(reader.holder):
            yield b"retry: 2000\nevent: ready\ndata: {}\n\n"
            looked = looked_for_writers = loop.time()
            while not gone.done() and not feed.stopping.is_set():
                left = min(looked + KEEP_ALIVE_SECONDS, looked_for_writers + PRESENCE_SECONDS) - loop.time()
                await first_of(reader.wait(left), gone, ended)
                if gone.done() or feed.stopping.is_set():
                    break
                notices: list[Notice] = []
                if ended.done():
                    ended.result()
                    ended = asyncio.ensure_future(reader.ended())
                    looked = 0.0
                if is_due := loop.time() >= looked + KEEP_ALIVE_SECONDS:
                    looked = loop.time()
                    notices = await reader.look_at_clients() + await reader.look_at_attention()
                if loop.time() >= looked_for_writers + PRESENCE_SECONDS:
                    looked_for_writers = loop.time()
                    notices += await reader.writers()
                notices += await reader.changes()
                if notices or is_due:
                    yield b"".join(b"event: change\ndata: %s\n\n" % encode(notice) for notice in notices) or b": nothing new\n\n"
                    await first_of(asyncio.sleep(PAUSE_SECONDS), gone, ended)
    except TouchbaseError as error:
        yield b"event: error\ndata: %s\n\n" % encode({"code": error.code, "detail": error.detail, **error.data})
    finally:
        gone.cancel()
        ended.cancel()


ROUTES = [
    Route(
        "GET", PATH, stream, scope=READ, operation_id="stream_changes", tag=TAG, summary="Be told what changes",
        description="Server-sent events over all clients that a key or person may see, for pages that people look at; programs read the "
        "events of each client instead. It begins with `ready`. Each `change` has `type`, `client_id`, `record`, `record_id`, `actor` and "
        f"`occurred_at` as JSON, and no data: read again what is shown. Beside the types of events there are `{MANY}` (more than {MOST} "
        f"changes of a client at once), `{ATTENTION}`, `{ACCESS}` (other clients can be seen now) and, for people, "
        f"`{PRESENCE}` (`actor` writes an answer to the contact). After a new connection read again "
        "everything that is shown: nothing is repeated. It ends with `error` when the key or session does.",
        success=(Success(200, "Changes as they happen.", media=("text/event-stream",)),),
    ),
]  # fmt: skip
