"""A client of a store, driven as its users and tools do: API writes through the service, calls through the inbox."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgspec

from touchbase.adapters.interface import WebhookRequest
from touchbase.clients.models import Client
from touchbase.clients.sql.clients import ensure_client, find_client
from touchbase.common.timestamps import SECOND, Micros, to_text
from touchbase.consistency.service import Verified, verify
from touchbase.erasure.service import Eraser
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import COMPANY, CONTACT, VIA_API, Event, StoredEvent, Translation
from touchbase.history.status_words import PLAIN
from touchbase.inbox.sql.commands import replay_deliveries, store_delivery
from touchbase.inbox.sql.queries import list_deliveries
from touchbase.inbox.worker import InboxWorker
from touchbase.records.api.schemas import CompanyRequest, ContactRequest
from touchbase.records.create import create_record, creation_of
from touchbase.records.models import Company, Contact
from touchbase.records.operations import update_company, update_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, find_record, find_united, list_records
from touchbase.records.timelines import TimelineChange, timeline
from touchbase.records.update import RecordChange, update_of
from touchbase.sql.store import Store

NOON = 1_790_000_000
"""In seconds; what tests say of times is seconds from here."""
_COUNT = itertools.count(1)
CHANNELS = {"camp": "email_campaign", "plain": "email_campaign", "bare": "email_campaign"}
"""Channels of the campaign tools; all others are CRMs."""


def us(seconds: int) -> Micros:
    """Seconds from noon as the service's time."""
    return (NOON + seconds) * SECOND


def seconds(at: Micros | None) -> int | None:
    """The service's time as seconds from noon; a part of a second shows as a wrong second."""
    return None if at is None else at // SECOND - NOON if at % SECOND == 0 else -(10**9) - at % SECOND


@dataclass(frozen=True)
class Named:
    """A custom field of a request."""

    field_name: str
    field_value: str


@dataclass
class Seen:
    """A record as the interface shows it, and its timeline."""

    kind: str
    id: int
    shown: dict[str, Any]
    custom: dict[str, str]
    timeline: list[tuple[StoredEvent, list[TimelineChange]]]
    """Oldest first."""

    @property
    def entries(self) -> list[tuple[str, str, int | None]]:
        """Tool, event and time of each entry, oldest first."""
        events = [event for event, _ in self.timeline]
        return [("api", "", seconds(e.received_us)) if e.via == VIA_API else (e.tool, e.event, seconds(e.occurred_us)) for e in events]

    def sum(self) -> dict[str, str | None]:
        """What the timeline adds up to; fails where an entry's `previous` is not what the one before it left."""
        values: dict[str, str | None] = {}
        for event, changes in self.timeline:
            for change in changes:
                assert change.previous == values.get(change.field), (event.event, change, values.get(change.field))
                values[change.field] = change.value
        return {name: value for name, value in values.items() if value is not None}

    def timeline_values(self) -> dict[str, str | None]:
        """What the timeline must add up to: every value that is shown."""
        shown = self.shown
        values = {f"{self.kind}_status": shown["status"]}
        names = ("email", "linkedin_url", "first_name", "last_name", "origin") if self.kind == "contact" else ("domain", "name")
        values |= {name: shown[name] for name in names} | self.custom
        if self.kind == "contact":
            times = {"first_campaign_email_sent": "first_sent", "last_campaign_email_sent": "last_sent", "last_reply_received": "replied"}
            values |= {name: None if shown[mine] is None else to_text(us(shown[mine])) for name, mine in times.items()}
            values["company_id"] = None if shown["company_id"] is None else str(shown["company_id"])
        return {name: value for name, value in values.items() if value is not None}


def read(request: WebhookRequest) -> Translation:
    """Tools whose bodies are our own events, with an attempt counter beside them."""
    body = msgspec.json.decode(request.body)
    return Translation(body["tool"], [_event(said) for said in body["events"]])


def _event(said: dict[str, Any]) -> Event:
    value = dict(said)
    occurred = value.pop("occurred", None)
    event: Event = msgspec.convert(value, Event)
    event.occurred_us = None if occurred is None else us(occurred)
    return event


class World:
    """One new client of a store, its clock, and what can be done to it."""

    def __init__(self, store: Store, client: int, client_id: str) -> None:
        self.store, self.number, self._client_id = store, client, client_id
        self.now = -1_000_000

    @classmethod
    async def new(cls, store: Store) -> World:
        client_id = f"model-{next(_COUNT)}"
        return cls(store, (await store.write(ensure_client(client_id, us(-1_000_000)))).number, client_id)

    async def client(self) -> Client:
        client = await self.store.read(find_client(self._client_id))
        assert client is not None
        return client

    async def post(self, at: int, on_duplicate: str = "error", custom: dict[str, str] | None = None, **fields: Any) -> int:
        """Create a contact, or a company where a domain is given; answers the record's id."""
        self.now, client = max(self.now, at), await self.client()
        named = [{"field_name": name, "field_value": value} for name, value in (custom or {}).items()]
        if "domain" in fields:
            company = msgspec.convert(fields | {"company_custom_fields": named}, CompanyRequest)
            return (await create_record(self.store, creation_of(COMPANY_TYPE, company, client, us(at), on_duplicate), client)).record.id
        contact = msgspec.convert(fields | {"contact_custom_fields_input": named}, ContactRequest)
        return (await create_record(self.store, creation_of(CONTACT_TYPE, contact, client, us(at), on_duplicate), client)).record.id

    async def patch(
        self, at: int, number: int, custom: Mapping[str, str | None] | None = MappingProxyType({}), *, company: bool = False, **fields: Any
    ) -> None:
        """Change a record, wherever it has gone since; without `custom` its custom fields are all taken away."""
        self.now = max(self.now, at)
        change = RecordChange(fields, None if custom is None else [Named(*pair) for pair in custom.items()])  # type: ignore[arg-type]
        number = await self.store.read(find_united(self.number, COMPANY if company else CONTACT, number)) or number
        if company:
            await self.store.write(update_company(update_of(COMPANY_TYPE, await self.client(), number, change, us(at))))
        else:
            await self.store.write(update_contact(update_of(CONTACT_TYPE, await self.client(), number, change, us(at))))

    async def keep(self, received: int, tool: str, *events: dict[str, Any], attempt: int = 1) -> int:
        """Receive a call; it waits in the inbox."""
        self.now = max(self.now, received)
        body = msgspec.json.encode({"tool": tool, "attempt": attempt, "events": events})
        channel = CHANNELS.get(tool, "crm")
        # Each call is a delivery of its own, so that its facts are recognised and not its bytes.
        number = str(next(_COUNT))
        key = body_key(channel, "", f"idempotency-key: {number}", body)
        headers = msgspec.json.encode({"idempotency-key": number})
        return (await self.store.write(store_delivery(self.number, channel, key, headers, "", body, us(received)))).id

    async def work(self, turn: int = 50) -> None:
        """Apply all that waits."""
        await InboxWorker(self.store, read, lambda: us(self.now), batch_size=turn).drain()

    async def call(self, received: int, tool: str, *events: dict[str, Any], attempt: int = 1) -> int:
        """Receive a call and apply it at once."""
        number = await self.keep(received, tool, *events, attempt=attempt)
        await self.work()
        return number

    async def replay(self, *deliveries: int) -> None:
        """Replay these deliveries, or all."""
        expected = sorted(deliveries) or sorted(delivery.id for delivery in await self.store.read(list_deliveries(200, self.number)))
        await self.store.write(replay_deliveries(self.number, expected, us(self.now)))
        await self.work()

    async def erase(self, at: int, email: str) -> None:
        """Erase a person by an address."""
        self.now = max(self.now, at)
        eraser = Eraser(self.store, read, lambda: us(self.now))
        await eraser.search(await eraser.erase(self.number, refs=[("", "email", email)]))
        await self.work()

    async def records(self) -> list[Seen]:
        """All records as the interface shows them."""
        companies = [
            await self._seen("company", record.id)
            for record in await self.store.read(list_records(Listing(COMPANY_TYPE, self.number, 200)))
        ]
        domains = {company.id: company.shown["domain"] for company in companies}
        people = [
            await self._seen("contact", record.id)
            for record in await self.store.read(list_records(Listing(CONTACT_TYPE, self.number, 200)))
        ]
        for person in people:
            person.shown["company"] = domains.get(person.shown["company_id"])
        return [*companies, *people]

    async def record_with(self, **wanted: Any) -> Seen:
        """The one record with these shown values."""
        [result] = [record for record in await self.records() if all(record.shown.get(name) == value for name, value in wanted.items())]
        return result

    async def _seen(self, kind: str, number: int) -> Seen:
        query = find_record(self.number, CONTACT_TYPE, number) if kind == "contact" else find_record(self.number, COMPANY_TYPE, number)
        record: Contact | Company | None = await self.store.read(query)
        assert record is not None
        shown: dict[str, Any] = {"status": record.status, "previous": record.previous_status, "changed": seconds(record.status_changed_us)}
        if isinstance(record, Contact):
            names = ("email", "linkedin_url", "first_name", "last_name", "origin", "company_id")
            times = {"first_sent": record.first_sent_us, "last_sent": record.last_sent_us, "replied": record.last_reply_us}
            shown |= {name: seconds(value) for name, value in times.items()}
        else:
            names = ("domain", "name")
        shown |= {name: getattr(record, name) for name in names}
        custom = {custom_field.name: custom_field.value for custom_field in record.custom_fields if custom_field.value is not None}
        reported, _, _ = await timeline(self.store, record, 1_000, None, PLAIN)
        return Seen(kind, number, shown, custom, [(item.event, item.changed) for item in reversed(reported)])

    async def differences(self) -> list[str]:
        """What `touchbase verify` finds."""
        return [str(item) async for item in verify(self.store, self.number, Verified(), bodies=True)]

    async def states(self) -> set[str]:
        """The states in which deliveries have ended."""
        return {delivery.state for delivery in await self.store.read(list_deliveries(200, self.number))}
