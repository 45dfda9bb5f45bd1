"""A fake HubSpot on loopback, whose app sends webhooks of each change; and a client that is connected with it."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.asgi_client import ApiClient, Clock, MakeClient
from tests.enrichment.fake_tool_api import ADAPTERS, FakeApi, FakeResponse, ReceivedRequest, fake_api
from tests.house import House
from tests.outgoing.conftest import PATH, PLACE

from touchbase.clients.sql.clients import find_client
from touchbase.common.timestamps import to_text
from touchbase.connections.sql.connections import list_connections
from touchbase.enrichment.http_client import HttpClient
from touchbase.enrichment.worker import FetchWorker
from touchbase.inbox.worker import InboxWorker
from touchbase.outgoing.api.event_objects import AS_IN_API
from touchbase.outgoing.blocklists import BlocklistClient
from touchbase.outgoing.dispatcher import Dispatcher
from touchbase.outgoing.http_client import WebhookClient
from touchbase.outgoing.hubspot_client import HubSpotClient
from touchbase.outgoing.mail_client import MailClient, SenderByScheme
from touchbase.sql.store import Store

APP, PORTAL = 50780459, 40117
TOKEN = "pat-eu1-zq201hubqz"
PROPERTY = "touchbase_status"
CONNECTIONS = "/admin/v1/clients/default/connections"
_CLIENTS = itertools.count(1)
_EVENT_IDS = itertools.count(7_000)


@dataclass
class FakeHubSpot:
    """Contacts with their properties, and the webhooks that are not sent yet."""

    clock: Clock
    contacts: dict[str, dict[str, str]] = field(default_factory=dict)
    calls: list[dict[str, Any]] = field(default_factory=list)
    answer: Callable[[ReceivedRequest], FakeResponse | None] = lambda request: None
    """Another response than usual; None: the usual one."""
    behind_seconds: int = 0
    """How much later than the request HubSpot says that a program's change was made."""
    api: FakeApi = field(init=False)

    def respond(self, request: ReceivedRequest) -> FakeResponse:
        if (other_answer := self.answer(request)) is not None:
            return other_answer
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return 401, {"status": "error", "message": "Authentication credentials not found.", "category": "INVALID_AUTHENTICATION"}
        *_, place, number = request.path.split("/")
        if place == "properties" or request.path.startswith("/crm/v3/properties/contacts/"):
            return (200, {"name": number}) if number == PROPERTY else (404, {"status": "error", "message": "no such property"})
        if number not in self.contacts:
            return 404, {"status": "error", "message": "resource not found", "category": "OBJECT_NOT_FOUND"}
        for name, value in request.json()["properties"].items():
            self.set(number, name, value, "INTEGRATION", str(APP))
        return 200, {"id": number, "properties": self.contacts[number]}

    def set(self, number: str, name: str, value: str, source: str = "CRM_UI", source_id: str = "userId:98499705") -> None:
        """Set a property; a webhook follows unless it has this value already."""
        if self.contacts[number].get(name) != value:
            self.contacts[number][name] = value
            new_change = self.change(number, name, value, source, source_id)
            new_change["occurredAt"] += self.behind_seconds * 1_000 if source == "INTEGRATION" else 0
            self.calls.append(new_change)

    def change(self, number: str, name: str, value: str, source: str = "CRM_UI", source_id: str = "userId:98499705") -> dict[str, Any]:
        """One event of a webhook."""
        return {
            "eventId": next(_EVENT_IDS), "subscriptionId": 7562680, "portalId": PORTAL, "appId": APP, "occurredAt": self.clock() // 1_000,
            "subscriptionType": "contact.propertyChange", "attemptNumber": 0, "objectId": int(number), "propertyName": name,
            "propertyValue": value, "changeSource": source, "sourceId": source_id,
        }  # fmt: skip


@dataclass
class Hub:
    """A client, its HubSpot and its dispatcher."""

    house: House
    hubspot: FakeHubSpot
    dispatcher: Dispatcher
    inbox: InboxWorker
    fetch: FetchWorker

    @property
    def writes(self) -> list[tuple[str, dict[str, str]]]:
        """The writes that HubSpot got: id of the contact, properties."""
        got = [request for request in self.hubspot.api.requests if request.method == "PATCH"]
        return [(request.path.rpartition("/")[2], request.json()["properties"]) for request in got]

    async def connect(self, token: str = TOKEN, **settings: Any) -> None:
        body = {
            "channel": "crm",
            "tool": "hubspot",
            "access_token": token,
            "settings": {"api_base": self.hubspot.api.base, "written_property": PROPERTY, **settings},
        }
        reply = await self.house.request("POST", f"/admin/v1/clients/{self.house.client_id}/connections", body)
        assert reply.status == 201, reply.body

    async def change_connection(self, **values: Any) -> None:
        reply = await self.house.request("PATCH", f"{CONNECTIONS}/crm/hubspot", values)
        assert reply.status == 200, reply.body

    async def add(self, **values: Any) -> Any:
        reply = await self.house.request("POST", PATH, {"kind": "hubspot", **values})
        assert reply.status == 201, reply.body
        return reply.json()

    async def ask(self, method: str, path: str, body: object = None, expect: int = 200) -> Any:
        reply = await self.house.request(method, f"{PATH}{path}", body)
        assert reply.status == expect, reply.body
        return reply.json() if reply.body else None

    async def contact(self, number: str, email: str, **fields: Any) -> int:
        """A contact that HubSpot has too, and has sent a webhook about; returns our id."""
        contact = await self.house.contact(email=email, **fields)
        self.hubspot.contacts[number] = {"email": email}
        await self.receive([self.hubspot.change(number, "email", email)])
        return contact

    async def receive(self, calls: list[dict[str, Any]]) -> None:
        """Let HubSpot send a webhook."""
        reply = await self.house.call("POST", f"/public/crm-webhook/{self.house.client_id}", calls)
        assert reply.status == 200, reply.body
        await self.inbox.drain()

    async def reply(self, email: str) -> None:
        """Let a campaign tool tell of a reply; nothing is applied yet."""
        at = to_text(self.house.call.clock())
        body = {
            "timestamp": at,
            "event_type": "reply_received",
            "lead_email": email,
            "campaign_id": "1",
            "email_account": "sam@example.net",
        }
        reply = await self.house.call("POST", f"/public/emailcampaign-webhook/{self.house.client_id}", body)
        assert reply.status == 200, reply.body

    async def begin(self) -> None:
        """Go on with a new client and an empty HubSpot."""
        call, name = self.house.call, f"client-{next(_CLIENTS)}"
        await call.settings(name)
        client = await call.parts.store.read(find_client(name))
        assert client is not None
        self.house = House(call, name, client.number)
        self.hubspot.contacts, self.hubspot.calls, self.hubspot.answer = {}, [], lambda request: None
        self.hubspot.api.requests.clear()

    async def hear(self) -> None:
        """Let HubSpot send what it has to tell."""
        calls, self.hubspot.calls = self.hubspot.calls, []
        if calls:
            await self.receive(calls)

    async def set_status(self, number: int, status: str | None) -> None:
        self.house.call.clock.move(1)
        reply = await self.house.request("PATCH", f"/public/v2/contacts/{number}", {"contact_status": status})
        assert reply.status == 200, reply.body

    async def status(self, number: int) -> str | None:
        return (await self.house.get(number)).get("contact_status")

    async def deliver(self, seconds: float = 1) -> int:
        """Let time pass and write what is due; return the number of requests to HubSpot."""
        self.house.call.clock.move(seconds)
        before = len(self.hubspot.api.requests)
        await self.dispatcher.drain()
        return len(self.hubspot.api.requests) - before

    async def attempts(self) -> list[Any]:
        reply = await self.house.request("GET", "/public/v2/webhook-attempts?limit=200")
        assert reply.status == 200, reply.body
        return reply.json()["data"]


@asynccontextmanager
async def hub_of(store: Store, make_client: MakeClient, clock: Clock) -> AsyncIterator[Hub]:
    """Open a client that may be connected with a fake HubSpot."""
    hubspot = FakeHubSpot(clock)
    async with fake_api(hubspot.respond) as hubspot.api:
        http = HttpClient("touchbase/test", [hubspot.api.base])
        clients = (HubSpotClient(store, http.send, http.close), BlocklistClient(store, http.send, http.close))
        sender = SenderByScheme(WebhookClient("touchbase/test"), MailClient("", "", ()), *clients)
        dispatcher = Dispatcher(store, sender, clock, AS_IN_API, place=PLACE)
        call: ApiClient = make_client(
            store, senders=ADAPTERS, send_webhook=sender.post, on_endpoint=dispatcher.wake, fetch_allowed=(hubspot.api.base,)
        )
        house = await House.of(call, "default")
        inbox = InboxWorker(store, ADAPTERS.translate, clock, connections=lambda number: store.read(list_connections(number)))
        fetch = FetchWorker(store, ADAPTERS, http.send, clock)
        try:
            yield Hub(house, hubspot, dispatcher, inbox, fetch)
        finally:
            await sender.close()


def text_of(result: object) -> str:
    return json.dumps(result)
