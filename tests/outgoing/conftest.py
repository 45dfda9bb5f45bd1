"""A client with outgoing webhooks: a dispatcher that tests drive, and receivers that answer as tests say."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.asgi_client import ApiClient, Clock, MakeClient
from tests.house import House

from touchbase.outgoing.api.event_objects import AS_IN_API
from touchbase.outgoing.dispatcher import Dispatcher
from touchbase.outgoing.http_client import ReceiverAnswer
from touchbase.outgoing.mail_client import SenderByScheme
from touchbase.outgoing.models import Installation
from touchbase.sql.store import Store

URL = "https://receiver.example/hooks"
PATH = "/public/v2/webhook-endpoints"
SLACK_URL = "https://hooks.slack.example/services/T0/B0/zq093slackqz"
PLACE = Installation("https://touchbase.example", "Touchbase <touchbase@agency.example>", mail_domains=("agency.example",))


@dataclass
class Sent:
    """A request that a receiver got."""

    url: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def sequence(self) -> int:
        return int(self.id.split("_")[1])


@dataclass
class Receivers:
    """All receivers of the tests."""

    answer: Callable[[Sent], int | ReceiverAnswer] = lambda sent: 200
    sent: list[Sent] = field(default_factory=list)

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> ReceiverAnswer:
        sent = Sent(url, dict(headers), body)
        self.sent.append(sent)
        answer = self.answer(sent)
        return ReceiverAnswer(1_000, answer, body="thanks") if isinstance(answer, int) else answer

    def take(self) -> list[Sent]:
        """What was sent since the last call."""
        sent, self.sent = self.sent, []
        return sent


@dataclass
class Webhooks:
    """One client, its receivers and its dispatcher."""

    house: House
    receivers: Receivers
    dispatcher: Dispatcher
    clock: Clock

    async def add(self, **values: Any) -> Any:
        """Add an endpoint; return it as the response shows it."""
        url = {} if values.get("kind") == "email" else {"url": SLACK_URL if values.get("kind") == "slack" else URL}
        reply = await self.house.request("POST", PATH, {**url, **values})
        assert reply.status == 201, reply.body
        return reply.json()

    async def handle(self) -> str:
        """Return the client's name in links to the console."""
        return str((await self.house.request("GET", f"/admin/v1/clients/{self.house.client_id}")).json()["handle"])

    async def ask(self, method: str, path: str, body: object = None, expect: int = 200) -> Any:
        """Send a request about endpoints."""
        reply = await self.house.request(method, f"{PATH}{path}", body)
        assert reply.status == expect, reply.body
        return reply.json() if reply.body else None

    async def ask_of(self, house: House, path: str) -> Any:
        """Get something of the endpoints of a client."""
        reply = await house.request("GET", f"{PATH}{path}")
        assert reply.status == 200, reply.body
        return reply.json()

    async def attempts(self, query: str = "") -> list[Any]:
        reply = await self.house.request("GET", f"/public/v2/webhook-attempts?limit=200&{query}")
        assert reply.status == 200, reply.body
        return reply.json()["data"]

    async def request_of(self, attempt: int) -> Any:
        """Return the request of an attempt as the response shows it."""
        reply = await self.house.request("GET", f"/public/v2/webhook-attempts/{attempt}/request")
        assert reply.status == 200, reply.body
        return reply.json()

    async def reply(self, email: str, at: float = 5, **contact: Any) -> int:
        """Let a new contact reply to a campaign; return its id."""
        number = await self.house.contact(email=email, **contact)
        await self.house.hook("camp", {"event": "email_replied", "email": email, "at": at})
        return number

    async def deliver(self, seconds: float = 0) -> list[Sent]:
        """Let time pass, and send what is due; return what was sent."""
        self.clock.move(seconds)
        self.receivers.take()
        await self.dispatcher.drain()
        return self.receivers.take()

    def restarted(self) -> Dispatcher:
        """Another process, after the lease of the first has ended."""
        self.clock.move(11)
        self.dispatcher = dispatcher_of(self.house.call.parts.store, self.receivers, self.clock)
        return self.dispatcher


def dispatcher_of(store: Store, receivers: Receivers | SenderByScheme, clock: Clock) -> Dispatcher:
    return Dispatcher(store, receivers, clock, AS_IN_API, place=PLACE)


@pytest.fixture
async def webhooks(store: Store, make_client: MakeClient, clock: Clock) -> Webhooks:
    receivers = Receivers()
    dispatcher = dispatcher_of(store, receivers, clock)
    call: ApiClient = make_client(
        store, send_webhook=receivers.post, on_endpoint=dispatcher.wake, webhook_allowed=("http://127.0.0.1:9",), installation=PLACE
    )
    return Webhooks(await House.of(call, "default"), receivers, dispatcher, clock)
