"""What an event is about, and the records of its person, as the API shows them."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from touchbase.clients import ClientSettings
from touchbase.event_log import LoggedEvent
from touchbase.event_log.api.objects import objects_of
from touchbase.history import CONTACT
from touchbase.outgoing.attempts import Shown
from touchbase.outgoing.models import Record
from touchbase.records import GetCompany, GetContact
from touchbase.records.api.serializers import company_out, contact_out
from touchbase.sql.store import Store

_SETTINGS = ClientSettings()
"""Any client's: they matter for the FLAT form only."""


async def _object(store: Store, client: int, event: LoggedEvent) -> Any:
    [shown] = await objects_of(store, client, _SETTINGS, [event])
    return to_builtins(shown)


async def _record(store: Store, client: int, record: Record) -> dict[str, Any] | None:
    kind, number = record
    if kind == CONTACT:
        contact = await store.read(GetContact(client, number))
        return None if contact is None else to_builtins(contact_out(contact, False, _SETTINGS))
    company = await store.read(GetCompany(client, number))
    return None if company is None else to_builtins(company_out(company, False, _SETTINGS))


AS_IN_API = Shown(_object, _record)
"""Custom fields are a list."""
