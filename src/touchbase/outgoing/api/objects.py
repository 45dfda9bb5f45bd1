"""The present record of an event, as the API shows it."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from touchbase.clients import ClientSettings
from touchbase.history import CONTACT
from touchbase.outgoing.models import Record
from touchbase.records import GetCompany, GetContact
from touchbase.records.api.serializers import company_out, contact_out
from touchbase.sql.store import Store

_SETTINGS = ClientSettings()
"""Any client's: they matter for the FLAT form only."""


async def shown_record(store: Store, client: int, record: Record) -> dict[str, Any] | None:
    """Return a record with its custom fields as a list; None if there is none any more."""
    kind, number = record
    if kind == CONTACT:
        contact = await store.read(GetContact(client, number))
        return None if contact is None else to_builtins(contact_out(contact, False, _SETTINGS))
    company = await store.read(GetCompany(client, number))
    return None if company is None else to_builtins(company_out(company, False, _SETTINGS))
