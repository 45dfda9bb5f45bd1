"""A client driven over HTTP: requests, webhooks of tools whose bodies are our own events, and `touchbase verify`."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from tests.asgi_client import ApiClient, MakeClient, Response

from touchbase.adapters.interface import WebhookRequest
from touchbase.clients.sql.clients import find_client
from touchbase.common.timestamps import SECOND, from_text
from touchbase.consistency.service import Verified, verify
from touchbase.history.events import Event, Translation
from touchbase.inbox.sql.commands import replay_deliveries
from touchbase.inbox.sql.queries import list_deliveries
from touchbase.inbox.worker import InboxWorker
from touchbase.sql.store import Store

CLIENT = 1
CAMPAIGN, CRM = "emailcampaign", "crm"
NOON = from_text("2026-11-20T09:30:00Z")
"""Where the tests' clock begins; tests say times in seconds from it."""
_COUNT = itertools.count(1)


def read(request: WebhookRequest) -> Translation:
    """Tools whose bodies are our own events."""
    body = msgspec.json.decode(request.body)
    return Translation(body["tool"], [_event(event) for event in body["events"]])


def _event(said: dict[str, Any]) -> Event:
    value = dict(said)
    at = value.pop("at", None)
    event: Event = msgspec.convert(value, Event)
    event.occurred_us = None if at is None else NOON + int(at * SECOND)
    return event


@dataclass
class House:
    """One client."""

    call: ApiClient
    client_id: str = "default"
    number: int = CLIENT

    @classmethod
    async def of(cls, call: ApiClient, client_id: str) -> House:
        """A new client beside others, at the time at which the tests' clock began."""
        call.clock.now = NOON
        await call.settings(client_id)
        client = await call.parts.store.read(find_client(client_id))
        assert client is not None
        return cls(call, client_id, client.number)

    async def request(self, method: str, target: str, body: object = None, **headers: str) -> Response:
        """Send a request of this client."""
        return await self.call(method, target, body, x_client_id=self.client_id, **headers)

    async def contact(self, **fields: Any) -> int:
        """Create a contact; return its id."""
        reply = await self.request("POST", "/public/v2/contacts", fields or {"origin": "test"})
        assert reply.status == 201, reply.body
        return reply.json()["id"]

    async def company(self, domain: str, **fields: Any) -> int:
        """Create a company; return its id."""
        reply = await self.request("POST", "/public/v2/companies", {"domain": domain, **fields})
        assert reply.status == 201, reply.body
        return reply.json()["id"]

    async def get(self, number: int, kind: str = "contacts") -> Any:
        """Get a record."""
        reply = await self.request("GET", f"/public/v2/{kind}/{number}")
        assert reply.status == 200, reply.body
        return reply.json()

    async def listed(self, kind: str = "contacts", query: str = "") -> list[Any]:
        """List records."""
        reply = await self.request("GET", f"/public/v2/{kind}?limit=200&{query}")
        assert reply.status == 200, reply.body
        return reply.json()["data"]

    async def delete(self, number: int, kind: str = "contacts") -> Any:
        """Delete a record."""
        reply = await self.request("DELETE", f"/public/v2/{kind}/{number}")
        assert reply.status == 200, reply.body
        return reply.json()

    async def restore(self, number: int, kind: str = "contacts") -> Any:
        """Restore a record."""
        reply = await self.request("POST", f"/public/v2/{kind}/{number}/restore")
        assert reply.status == 200, reply.body
        return reply.json()

    async def merge(self, number: int, *others: int, kind: str = "contacts", **more: Any) -> Any:
        """Merge records into one."""
        reply = await self.request("POST", f"/public/v2/{kind}/{number}/merge", {"with": others, **more})
        assert reply.status == 200, reply.body
        return reply.json()

    async def undo(self, number: int, merge: int, kind: str = "contacts") -> Any:
        """Undo a merge."""
        reply = await self.request("POST", f"/public/v2/{kind}/{number}/merge/{merge}/undo")
        assert reply.status == 200, reply.body
        return reply.json()["data"]

    async def timeline(self, number: int, kind: str = "contacts") -> list[str]:
        """The events of a record, oldest first."""
        reply = await self.request("GET", f"/public/v2/{kind}/{number}/timeline?limit=200")
        assert reply.status == 200, reply.body
        return [item["event"] for item in reversed(reply.json()["data"])]

    async def hook(self, tool: str, *events: dict[str, Any], apply: bool = True) -> None:
        """Receive a webhook; the tools `camp` and `plain` are campaign tools, others CRMs."""
        channel = CAMPAIGN if tool in ("camp", "plain") else CRM
        body = msgspec.json.encode({"tool": tool, "events": events})
        reply = await self.call("POST", f"/public/{channel}-webhook/{self.client_id}", raw=body, idempotency_key=str(next(_COUNT)))
        assert reply.status == 200, reply.body
        if apply:
            await self.work()

    async def work(self) -> None:
        """Apply the waiting webhooks."""
        await InboxWorker(self.call.parts.store, read, self.call.clock).drain()

    async def replay(self) -> None:
        """Replay all webhooks."""
        expected = sorted(delivery.id for delivery in await self.call.parts.store.read(list_deliveries(200, self.number)))
        await self.call.parts.store.write(replay_deliveries(self.number, expected, self.call.clock()))
        await self.work()

    async def states(self) -> list[str]:
        """The states of all webhooks, the first received first."""
        deliveries = await self.call.parts.store.read(list_deliveries(200, self.number))
        return [delivery.state for delivery in sorted(deliveries, key=lambda item: item.id)]

    async def differences(self) -> list[str]:
        """What `touchbase verify` finds."""
        return [str(item) async for item in verify(self.call.parts.store, self.number, Verified(), bodies=True)]


@pytest.fixture
def house(store: Store, make_client: MakeClient) -> House:
    """A new client of a store of each engine."""
    return House(make_client(store, read=read))
