"""Events with their objects, and the records of their persons, as the API shows them at the time of reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import to_builtins

from touchbase.clients.models import Client, ClientSettings
from touchbase.event_log.models import LoggedEvent, LoggedPage, Subjects, envelope
from touchbase.event_log.sql.queries import find_subjects
from touchbase.history.events import COMPANY, CONTACT
from touchbase.http.actors import ActorNames
from touchbase.http.schemas import fitting
from touchbase.messages.api.schemas import MessageOut, message_out
from touchbase.messages.sql.plans import get_messages
from touchbase.outgoing.models import Record
from touchbase.outgoing.shared_reads import Shown
from touchbase.records.api.resource_type import company_out, contact_out
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import find_record, get_records
from touchbase.sql.store import Store

FIRST_MESSAGES = 20
"""Messages that are read before their size is looked at."""
MOST_MESSAGES = 1_000
_UNREAD: Any = object()
"""In place of a record or message that was not read, because the page has enough bytes without it."""


async def envelopes(
    store: Store, client: Client, events: Sequence[LoggedEvent], actors: ActorNames, page_bytes: int = 0
) -> list[dict[str, Any]]:
    """Return the envelope of each event, with the present record; `object` is null if the record is gone.

    With `page_bytes` only the first events, at least one, if what they are about has more bytes.
    """
    objects = await objects_of(store, client.number, client.settings, events, page_bytes)
    of = await actors.of_logged(events)
    return [envelope(event, client.client_id, shown, actor) for event, shown, actor in zip(events, objects, of, strict=False)]


async def encoded_envelopes(
    store: Store, client: Client, page: LoggedPage, actors: ActorNames, page_bytes: int
) -> tuple[list[tuple[LoggedEvent, msgspec.Raw]], int]:
    """Return the events of a page that fit into its bytes, encoded, and the sequence after which the next page begins."""
    bodies = fitting(await envelopes(store, client, page.events, actors, page_bytes), page_bytes)
    last = page.last if len(bodies) == len(page.events) else page.events[len(bodies) - 1].sequence
    return [*zip(page.events, bodies, strict=False)], last


async def objects_of(store: Store, client: int, settings: ClientSettings, events: Sequence[LoggedEvent], page_bytes: int = 0) -> list[Any]:
    """Return each event's present object: a record, a message, an entry or delivery; None if it is gone.

    With `page_bytes` the list ends before the first object that was not read for its bytes.
    """
    shown: dict[tuple[int | None, int | None], Any] = {}
    for kind in (CONTACT, COMPANY):
        numbers = [*dict.fromkeys(event.record_id for event in events if event.record_kind == kind and event.record_id is not None)]
        if numbers:
            for number, record in (await store.read(get_records(client, kind, numbers, page_bytes))).items():
                shown[kind, number] = _UNREAD if record is None else _out(settings, record)
    subjects = await _subjects(store, client, events)
    messages = await _messages(store, client, events, page_bytes)
    objects: list[Any] = []
    for event in events:
        about = shown.get((event.record_kind, event.record_id)) if event.record_id is not None else _about(event, subjects)
        if "message_id" in event.data:
            about = messages.get(event.data["message_id"])
        if about is _UNREAD:
            break
        objects.append(about)
    return objects


def _out(settings: ClientSettings, record: Contact | Company) -> Any:
    if isinstance(record, Contact):
        return contact_out(record, False, settings)
    return company_out(record, False, settings)


async def _messages(store: Store, client: int, events: Sequence[LoggedEvent], page_bytes: int) -> dict[int, MessageOut]:
    numbers = [*dict.fromkeys(event.data["message_id"] for event in events if "message_id" in event.data)]
    shown: dict[int, MessageOut] = dict.fromkeys(numbers, _UNREAD)
    left, wanted = page_bytes, FIRST_MESSAGES if page_bytes else MOST_MESSAGES
    while numbers and (left > 0 or not page_bytes):
        batch, numbers = numbers[:wanted], numbers[wanted:]
        messages = await store.read(get_messages(client, batch))
        size = 1 + sum(len(message.text or "") + len(message.html or "") for message in messages.values())
        left -= size
        wanted = max(1, min(MOST_MESSAGES, left * len(batch) // size)) if page_bytes else wanted
        for number in batch:
            if number in messages:
                shown[number] = message_out(messages[number])
            else:
                del shown[number]
    return shown


async def _subjects(store: Store, client: int, events: Sequence[LoggedEvent]) -> Subjects:
    entries = sorted({event.data["suppression_id"] for event in events if "suppression_id" in event.data})
    deliveries = sorted({event.data["delivery_id"] for event in events if "delivery_id" in event.data})
    if not entries and not deliveries:
        return Subjects({}, {})
    return await store.read(find_subjects(client, entries, deliveries))


def _about(event: LoggedEvent, subjects: Subjects) -> dict[str, Any]:
    data = dict(event.data)
    if "suppression_id" in data:
        _, data["value"] = subjects.suppressions.get(data["suppression_id"], (None, None))
    if "delivery_id" in data:
        data["state"], data["error"] = subjects.deliveries.get(data["delivery_id"], (None, None))
    return data


_SETTINGS = ClientSettings()
"""Any client's: they matter for the FLAT form only."""


async def _objects(store: Store, client: int, events: Sequence[LoggedEvent]) -> list[Any]:
    return [to_builtins(shown) for shown in await objects_of(store, client, _SETTINGS, events)]


async def _record(store: Store, client: int, record: Record) -> dict[str, Any] | None:
    kind, number = record
    if kind == CONTACT:
        contact = await store.read(find_record(client, CONTACT_TYPE, number))
        return None if contact is None else to_builtins(contact_out(contact, False, _SETTINGS))
    company = await store.read(find_record(client, COMPANY_TYPE, number))
    return None if company is None else to_builtins(company_out(company, False, _SETTINGS))


AS_IN_API = Shown(_objects, _record)
"""Custom fields are a list."""
