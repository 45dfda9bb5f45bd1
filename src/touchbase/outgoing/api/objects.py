"""What an event is about, and the records of its person, as the API shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins

from touchbase.clients.models import ClientSettings
from touchbase.event_log.models import LoggedEvent
from touchbase.history.events import CONTACT
from touchbase.outgoing.api.event_objects import objects_of
from touchbase.outgoing.models import Record
from touchbase.outgoing.shown import Shown
from touchbase.records.api.serializers import company_out, contact_out
from touchbase.records.commands import GetCompany, GetContact
from touchbase.sql.store import Store

_SETTINGS = ClientSettings()
"""Any client's: they matter for the FLAT form only."""


async def _objects(store: Store, client: int, events: Sequence[LoggedEvent]) -> list[Any]:
    return [to_builtins(shown) for shown in await objects_of(store, client, _SETTINGS, events)]


async def _record(store: Store, client: int, record: Record) -> dict[str, Any] | None:
    kind, number = record
    if kind == CONTACT:
        contact = await store.read(GetContact(client, number))
        return None if contact is None else to_builtins(contact_out(contact, False, _SETTINGS))
    company = await store.read(GetCompany(client, number))
    return None if company is None else to_builtins(company_out(company, False, _SETTINGS))


AS_IN_API = Shown(_objects, _record)
"""Custom fields are a list."""
