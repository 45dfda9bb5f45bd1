"""A client of the application whose only tool sends our own events with messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from tests.asgi_client import START, ApiClient, MakeClient

from touchbase.adapters.interface import WebhookRequest
from touchbase.common.timestamps import SECOND
from touchbase.history.events import Event, MessageContent, Translation
from touchbase.inbox.worker import InboxWorker
from touchbase.messages.models import Message
from touchbase.messages.sql.plans import list_messages
from touchbase.sql.store import Store

JANE = "jane@example.com"
PATH = "/public/v2/messages"


def read(request: WebhookRequest) -> Translation:
    """A tool whose bodies are our own events; `message` has the content of the message, `message_id` its id, `tool` another tool."""
    document = msgspec.json.decode(request.body, type=list[dict[str, Any]])
    tool = next((item.pop("tool") for item in document if "tool" in item), "instantly")
    return Translation(tool, [Event(**{**item, "message": _content(item)}) for item in document])


def _content(value: dict[str, Any]) -> MessageContent | None:
    content = value.get("message")
    return None if content is None else MessageContent(**{"message_id": value.get("message_id"), **content})


def mail(
    name: str = "replied", email: str | None = JANE, second: int = 1, content: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """A mail; its time is the clock's start at second 100."""
    at = START + (second - 100) * SECOND
    return {"event": f"email_{name}", "email": email, "occurred_us": at, "message": content or {"text": "Yes, please"}, **more}


@dataclass
class Messages:
    """The calls of these tests."""

    call: ApiClient

    async def receive(self, *events: dict[str, Any], channel: str = "emailcampaign") -> None:
        """Receive one webhook and apply it."""
        reply = await self.call("POST", f"/public/{channel}-webhook/default", raw=msgspec.json.encode(events))
        assert reply.status == 200
        await self.work()

    async def work(self) -> None:
        await InboxWorker(self.call.parts.store, read, self.call.clock).drain()

    async def stored(self, client: int = 1) -> list[Message]:
        return await self.call.parts.store.read(list_messages(client, 50))


@pytest.fixture
def messages(store: Store, make_client: MakeClient) -> Messages:
    """The calls on a fresh store, once for each engine."""
    return Messages(make_client(store, read=read))
