"""Fake tool API on a local socket, and a client of a store with the inbox and fetch workers that call it."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from touchbase.adapters.registry import load_adapters
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import SECOND
from touchbase.connections.fetch_state import FetchState
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.connections.sql.connections import add_connection, list_connections
from touchbase.connections.sql.fetching import list_fetching
from touchbase.enrichment.http_client import HttpClient
from touchbase.enrichment.worker import FetchWorker
from touchbase.history.dedupe_keys import body_key
from touchbase.inbox.sql.commands import store_delivery
from touchbase.inbox.worker import InboxWorker
from touchbase.sandbox.pool import Sandbox
from touchbase.sql.store import Store

NOON = 1_790_000_000 * SECOND
TOKEN = "a-token-that-nobody-may-see"
ADAPTERS = load_adapters()


@dataclass
class ReceivedRequest:
    """One request as the fake API received it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


FakeResponse = tuple[int, object] | tuple[int, object, dict[str, str]]
Respond = Callable[[ReceivedRequest], FakeResponse]


@dataclass
class FakeApi:
    """A fake API: its received requests, and the function that responds; `base` is its URL."""

    respond: Respond
    requests: list[ReceivedRequest] = field(default_factory=list)
    base: str = ""
    port: int = 0
    drips: bool = False
    """Whether responses begin and never end."""
    received: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, path, _ = head[0].split(" ")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
            received_request = ReceivedRequest(method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))
            self.requests.append(received_request)
            self.received.set()
            if self.drips:
                writer.write(b"HTTP/1.1 200 X\r\ncontent-length: 9\r\n\r\n{")
                await reader.read()
                return
            status, body, *more = self.respond(received_request)
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
async def fake_api(respond: Respond, tls: ssl.SSLContext | None = None) -> AsyncIterator[FakeApi]:
    """Serve a fake API that responds with `respond`."""
    new_fake_api = FakeApi(respond)
    server = await asyncio.start_server(new_fake_api.serve, "127.0.0.1", 0, ssl=tls)
    new_fake_api.port = server.sockets[0].getsockname()[1]
    new_fake_api.base = f"{'https' if tls else 'http'}://127.0.0.1:{new_fake_api.port}"
    async with server:
        yield new_fake_api


class Clock:
    """A clock that only tests and its own `sleep` advance."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> int:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += int(seconds * SECOND)

    async def sleep(self, seconds: float) -> None:
        self.move(seconds)


@dataclass
class FetchSetup:
    """One client of a store, with both workers on one test clock."""

    store: Store
    client: int
    clock: Clock
    inbox: InboxWorker
    fetch: FetchWorker
    outcomes: list[tuple[str, int]]
    sandbox: Sandbox

    async def connect(self, tool: str, base: str, token: str = TOKEN, **settings: Any) -> None:
        decided = ConnectionSettings(**settings, api_base=base)
        await self.store.write(add_connection(Connection(self.client, "crm", tool, NOON, NOON, [], decided, token)))

    async def receive(self, body: object, query: str = "", **headers: str) -> int:
        """Store a webhook and apply it; return the delivery id."""
        data = json.dumps(body).encode()
        key = body_key("crm", query, str(self.clock()), data)
        delivery = await self.store.write(
            store_delivery(self.client, "crm", key, json.dumps(headers).encode(), query, data, self.clock(), None, False)
        )
        await self.inbox.drain()
        return delivery.id

    async def work(self) -> int:
        """Advance 3 seconds and run both workers; return the number of API requests."""
        self.clock.move(3)
        calls = await self.fetch.drain()
        await self.inbox.drain()
        return calls

    async def fetching(self, tool: str) -> FetchState:
        (result,) = [item for item in await self.store.read(list_fetching(self.client)) if item.tool == tool]
        return result


async def open_setup(store: Store, caller: HttpClient, name: str = "acme") -> FetchSetup:
    client = (await store.write(ensure_client(name, NOON))).number
    clock, outcomes, sandbox = Clock(), list[tuple[str, int]](), Sandbox("fetch")

    async def connections(number: int) -> list[Connection]:
        return await store.read(list_connections(number))

    inbox = InboxWorker(store, ADAPTERS.translate, clock, connections=connections)
    fetch = FetchWorker(
        store,
        ADAPTERS,
        caller.send,
        clock,
        on_fetched=lambda reported: outcomes.append((reported.outcome, reported.records)),
        sleep=clock.sleep,
        sandbox=sandbox,
    )
    return FetchSetup(store, client, clock, inbox, fetch, outcomes, sandbox)


@asynccontextmanager
async def setup_with_api(store: Store, respond: Respond) -> AsyncIterator[tuple[FetchSetup, FakeApi]]:
    """Open a setup whose fetch worker may call a fake API with these responses."""
    async with asyncio.timeout(120), fake_api(respond) as server:
        caller = HttpClient("touchbase/test", [server.base])
        setup = await open_setup(store, caller)
        try:
            yield setup, server
        finally:
            setup.sandbox.close()
            await caller.close()
