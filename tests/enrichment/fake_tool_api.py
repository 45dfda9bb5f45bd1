"""A small server that speaks the shapes of tools' APIs, on a socket of this machine, and a clock and worker to ask it with."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from touchbase.adapters.registry import load_adapters
from touchbase.clients.commands import EnsureClient
from touchbase.common.timestamps import SECOND
from touchbase.connections.commands import AddConnection, ListConnections, ListFetching
from touchbase.connections.fetch_state import FetchState
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.enrichment.http_client import HttpClient
from touchbase.enrichment.worker import FetchWorker
from touchbase.events.worker import InboxWorker
from touchbase.history.dedupe_keys import body_key
from touchbase.inbox.commands import StoreDelivery
from touchbase.sql.store import Store

NOON = 1_790_000_000 * SECOND
TOKEN = "a-token-that-nobody-may-see"
ADAPTERS = load_adapters()


@dataclass
class Asked:
    """One request as the server got it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


Answer = tuple[int, object] | tuple[int, object, dict[str, str]]
Say = Callable[[Asked], Answer]


@dataclass
class Api:
    """What the server was asked, and what it says; `base` is its address."""

    say: Say
    asked: list[Asked] = field(default_factory=list)
    base: str = ""
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, path, _ = head[0].split(" ")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
            one = Asked(method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))
            self.asked.append(one)
            status, body, *more = self.say(one)
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            fields = {"content-length": str(len(data)), "connection": "close", **(more[0] if more else {})}
            writer.write(
                f"HTTP/1.1 {status} X\r\n".encode() + b"".join(f"{n}: {v}\r\n".encode() for n, v in fields.items()) + b"\r\n" + data
            )
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def api(say: Say, tls: ssl.SSLContext | None = None) -> AsyncIterator[Api]:
    """A server that answers with `say`."""
    made = Api(say)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    made.base = f"{'https' if tls else 'http'}://127.0.0.1:{made.port}"
    async with server:
        yield made


class Clock:
    """Moves only when a test moves it, or somebody sleeps by it."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> int:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += int(seconds * SECOND)

    async def sleep(self, seconds: float) -> None:
        self.move(seconds)


@dataclass
class Shop:
    """One client of one store, with the two workers, on a clock of its own."""

    store: Store
    client: int
    clock: Clock
    inbox: InboxWorker
    fetch: FetchWorker
    outcomes: list[tuple[str, int]]

    async def connect(self, tool: str, base: str, token: str = TOKEN, **settings: Any) -> None:
        decided = ConnectionSettings(**settings, api_base=base)
        await self.store.write(AddConnection(Connection(self.client, "crm", tool, NOON, NOON, [], decided, token)))

    async def receive(self, body: object, query: str = "", **headers: str) -> int:
        """A webhook call comes in and is applied."""
        data = json.dumps(body).encode()
        key = body_key("crm", query, str(self.clock()), data)
        kept = await self.store.write(
            StoreDelivery(self.client, "crm", key, json.dumps(headers).encode(), query, data, self.clock(), None, False)
        )
        await self.inbox.drain()
        return kept.id

    async def work(self) -> int:
        """Both workers do what is due, a few seconds later."""
        self.clock.move(3)
        calls = await self.fetch.drain()
        await self.inbox.drain()
        return calls

    async def fetching(self, tool: str) -> FetchState:
        (found,) = [one for one in await self.store.read(ListFetching(self.client)) if one.tool == tool]
        return found


async def open_shop(store: Store, caller: HttpClient, name: str = "acme") -> Shop:
    client = (await store.write(EnsureClient(name, NOON))).number
    clock, outcomes = Clock(), list[tuple[str, int]]()

    async def connections(number: int) -> list[Connection]:
        return await store.read(ListConnections(number))

    inbox = InboxWorker(store, ADAPTERS.translate, clock, connections=connections)
    fetch = FetchWorker(
        store, ADAPTERS, caller.send, clock, on_fetched=lambda told: outcomes.append((told.outcome, told.records)), sleep=clock.sleep
    )
    return Shop(store, client, clock, inbox, fetch, outcomes)


@asynccontextmanager
async def shop_asking(store: Store, say: Say) -> AsyncIterator[tuple[Shop, Api]]:
    """A shop whose worker may ask this server."""
    async with asyncio.timeout(120), api(say) as server:
        caller = HttpClient("touchbase/test", [server.base])
        try:
            yield await open_shop(store, caller), server
        finally:
            await caller.close()
