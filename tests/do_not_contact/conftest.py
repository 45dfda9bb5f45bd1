"""A client of the application whose only tool sends our own events, and what tests of the lists share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from tests.asgi_client import START, ApiClient, MakeClient
from tests.asgi_client import Response as Reply

from touchbase.adapters.interface import WebhookRequest
from touchbase.common.timestamps import SECOND
from touchbase.history.events import Event, Translation
from touchbase.inbox.worker import InboxWorker
from touchbase.sql.store import Store

CONTACTS = "/public/v2/contacts"
LIST = "/public/v2/suppressions"
INSTALLATION = "/admin/v1/suppressions"
JANE = "jane@example.com"


def read(request: WebhookRequest) -> Translation:
    """A tool whose bodies are our own events."""
    return Translation("instantly", [Event(**item) for item in msgspec.json.decode(request.body, type=list[dict[str, Any]])])


def event(name: str, email: str | None = JANE, second: int = 1, **more: Any) -> dict[str, Any]:
    """An e-mail event; its time is the clock's start at second 100."""
    return {"event": f"email_{name}", "email": email, "occurred_us": START + (second - 100) * SECOND, **more}


@dataclass
class DoNotContact:
    """The calls of these tests."""

    call: ApiClient

    async def receive(self, *events: dict[str, Any], channel: str = "emailcampaign") -> None:
        """Receive one webhook and apply it."""
        reply = await self.call("POST", f"/public/{channel}-webhook/default", raw=msgspec.json.encode(events))
        assert reply.status == 200
        await self.work()

    async def work(self) -> None:
        await InboxWorker(self.call.parts.store, read, self.call.clock).drain()

    async def replay(self, delivery: int) -> None:
        """Apply a stored delivery again."""
        assert (await self.call.post(f"/admin/v1/deliveries/{delivery}/replay")).status == 202
        await self.work()

    async def add(self, *entries: dict[str, Any], path: str = LIST, **headers: str) -> Any:
        """Put entries on a list; return what became of them."""
        reply = await self.call.post(path, {"entries": list(entries)}, **headers)
        assert reply.status in (200, 201), reply
        return reply.json()

    async def entries(self, query: str = "", path: str = LIST) -> list[dict[str, Any]]:
        reply = await self.call.get(f"{path}{query}")
        assert reply.status == 200, reply
        return list(reply.json()["data"])

    async def listed(self, query: str = "") -> dict[str | None, str]:
        """The reasons of the entries, by address."""
        return {entry["value"]: entry["reason"] for entry in await self.entries(query)}

    async def check(self, *items: dict[str, Any], path: str = LIST) -> list[dict[str, Any]]:
        reply = await self.call.post(f"{path}/check", {"items": list(items)})
        assert reply.status == 200, reply
        return list(reply.json()["data"])

    async def reasons(self, *items: dict[str, Any]) -> list[str | None]:
        return [item["reason"] for item in await self.check(*items)]

    async def remove(self, value: str) -> None:
        [first] = [entry for entry in await self.entries() if entry["value"] == value]
        assert (await self.call("DELETE", f"{LIST}/{first['id']}")).status == 204

    async def contact(self, **fields: Any) -> Reply:
        return await self.call.post("/public/v2/contacts", fields)


@pytest.fixture
def dnc(store: Store, make_client: MakeClient) -> DoNotContact:
    """The calls on a fresh store, once for each engine."""
    return DoNotContact(make_client(store, read=read))
