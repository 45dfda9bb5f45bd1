"""Events with what they are about, as the API shows it at the time of reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from touchbase.clients import Client, ClientSettings
from touchbase.event_log.commands import FindSubjects, Subjects
from touchbase.event_log.event_envelope import envelope
from touchbase.event_log.models import LoggedEvent
from touchbase.history import COMPANY, CONTACT
from touchbase.messages import GetMessages
from touchbase.messages.api.schemas import MessageOut, message_out
from touchbase.records import Company, Contact, GetRecords
from touchbase.records.api.serializers import company_out, contact_out
from touchbase.sql.store import Store


async def envelopes(store: Store, client: Client, events: Sequence[LoggedEvent]) -> list[dict[str, Any]]:
    """Return the envelope of each event, with the present record; `object` is null if the record is gone."""
    objects = await objects_of(store, client.number, client.settings, events)
    return [envelope(event, client.client_id, shown) for event, shown in zip(events, objects, strict=True)]


async def objects_of(store: Store, client: int, settings: ClientSettings, events: Sequence[LoggedEvent]) -> list[Any]:
    """Return what each event is about, as it is now: a record, a message, or an entry or delivery; None if it is gone."""
    shown: dict[tuple[int | None, int | None], Any] = {}
    for kind in (CONTACT, COMPANY):
        numbers = sorted({event.record_id for event in events if event.record_kind == kind and event.record_id is not None})
        if numbers:
            for number, record in (await store.read(GetRecords(client, kind, numbers))).items():
                shown[kind, number] = _out(settings, record)
    subjects = await _subjects(store, client, events)
    messages = await _messages(store, client, events)
    objects: list[Any] = []
    for event in events:
        about = shown.get((event.record_kind, event.record_id)) if event.record_id is not None else _about(event, subjects)
        if "message_id" in event.data:
            about = messages.get(event.data["message_id"])
        objects.append(about)
    return objects


def _out(settings: ClientSettings, record: Contact | Company) -> Any:
    if isinstance(record, Contact):
        return contact_out(record, False, settings)
    return company_out(record, False, settings)


async def _messages(store: Store, client: int, events: Sequence[LoggedEvent]) -> dict[int, MessageOut]:
    numbers = sorted({event.data["message_id"] for event in events if "message_id" in event.data})
    found = (await store.read(GetMessages(client, numbers))) if numbers else {}
    return {number: message_out(message) for number, message in found.items()}


async def _subjects(store: Store, client: int, events: Sequence[LoggedEvent]) -> Subjects:
    entries = sorted({event.data["suppression_id"] for event in events if "suppression_id" in event.data})
    deliveries = sorted({event.data["delivery_id"] for event in events if "delivery_id" in event.data})
    if not entries and not deliveries:
        return Subjects({}, {})
    return await store.read(FindSubjects(client, entries, deliveries))


def _about(event: LoggedEvent, subjects: Subjects) -> dict[str, Any]:
    data = dict(event.data)
    if "suppression_id" in data:
        _, data["value"] = subjects.suppressions.get(data["suppression_id"], (None, None))
    if "delivery_id" in data:
        data["state"], data["error"] = subjects.deliveries.get(data["delivery_id"], (None, None))
    return data
