"""Presence of servers: each renews a row in its store, so that `doctor` need not guess from its own settings.

The rows are leases beside those of the processes that send webhooks; one that has ended is a server that does not run any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator
from secrets import token_hex

import msgspec

from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.errors import Overloaded
from touchbase.outgoing.sql.statements import DROP_LEASE, SAVE_LEASE
from touchbase.sql.operation import command, query
from touchbase.sql.statement import Execute, Plan, Select
from touchbase.sql.store import Store

LOG = logging.getLogger("touchbase.server")
LEASE: Micros = 60 * SECOND
RENEW_SECONDS = 20.0
_NAMED = "server "


class ServerFacts(msgspec.Struct, frozen=True):
    """Facts about a running server."""

    version: str
    address: str
    """Where it listens."""
    open_mode: bool
    """Whether requests need no key."""
    host: str
    pid: int
    started_us: Micros


@command(background=True)
def note_presence(token: str, facts: ServerFacts, at: Micros, until_us: Micros) -> Plan[None]:
    """Store a server's facts until a time, and remove rows that have ended; a time that has passed removes its own."""
    name = _NAMED + token
    yield Execute(SAVE_LEASE, [(name, msgspec.json.encode(facts).decode(), until_us)])
    ended = yield Select("SELECT name FROM dispatch_lease WHERE name LIKE ? AND until_us <= ?", (f"{_NAMED}%", at))
    if ended:
        yield Execute(DROP_LEASE, sorted((row[0],) for row in ended))


@query
def list_servers(at: Micros) -> Plan[list[ServerFacts]]:
    """The servers that run at this time, in the order of their addresses."""
    rows = yield Select("SELECT token FROM dispatch_lease WHERE name LIKE ? AND until_us > ?", (f"{_NAMED}%", at))
    servers: dict[tuple[str, str, int], ServerFacts] = {}
    for facts in sorted((msgspec.json.decode(token, type=ServerFacts) for (token,) in rows), key=lambda server: server.started_us):
        servers.setdefault((facts.address, facts.host, facts.pid), facts)  # each process of a server has a row
    return [servers[key] for key in sorted(servers)]


def facts_of(version: str, listener: socket.socket, *, open_mode: bool, pid: int | None, at: Micros) -> ServerFacts:
    """Return the facts of a server that listens; `pid`: of the process that started its processes, if there are several."""
    host, port = listener.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    return ServerFacts(version, address, open_mode, socket.gethostname(), pid or os.getpid(), at)


@contextlib.asynccontextmanager
async def present(store: Store, facts: ServerFacts, clock: Clock) -> AsyncIterator[None]:
    """Renew a server's row while the context lasts."""
    token = token_hex(8)
    renewing = asyncio.create_task(_renew(store, token, facts, clock), name="presence")
    try:
        yield
    finally:
        renewing.cancel()
        with contextlib.suppress(asyncio.CancelledError, Overloaded):
            await renewing
        with contextlib.suppress(Overloaded):
            await store.write(note_presence(token, facts, clock(), 0))


async def _renew(store: Store, token: str, facts: ServerFacts, clock: Clock) -> None:
    while True:
        try:
            await store.write(note_presence(token, facts, clock(), clock() + LEASE))
        except Overloaded:
            LOG.debug("the server's row is renewed later")
        except Exception:
            LOG.exception("the server's row could not be renewed; it is tried again")
        await asyncio.sleep(RENEW_SECONDS)
