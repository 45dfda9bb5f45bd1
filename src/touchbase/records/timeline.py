"""The timeline of a record: every event in its history, newest first, and what each of them changed."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.history.events import COMPANY, CONTACT, StoredEvent
from touchbase.history.last_writer_wins import Place
from touchbase.records.company import Company
from touchbase.records.contact import Contact
from touchbase.records.explain import FieldChange, explain
from touchbase.records.queries import GetHistory
from touchbase.sql.store import Store


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One event and what it changed in the order of time."""

    event: StoredEvent
    changed: list[FieldChange]


async def timeline(store: Store, record: Contact | Company, limit: int, before: Place | None) -> tuple[list[TimelineEntry], Place | None]:
    """A page of a record's timeline, and the place of its last event, behind which the next, older one begins."""
    kind = CONTACT if isinstance(record, Contact) else COMPANY
    history = await store.read(GetHistory(record.client, kind, record.id))
    told = [TimelineEntry(event, changed) for event, changed in explain(record, history)]
    if before is not None:
        told = [each for each in told if each.event.place < before]
    page = told[:limit]
    more = len(told) > limit
    return page, page[-1].event.place if more else None
