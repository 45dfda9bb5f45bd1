"""Write-back: requests to HubSpot for an event, with the contact's status at the time of sending.

So a replay or a late attempt never brings an old status back. A status that HubSpot has set is not written back; Touchbase's own
changes that HubSpot reports are recognised by its adapter (`adapters/crm/hubspot/written.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from secrets import token_hex
from typing import Any

from touchbase.event_log.models import EventType, LoggedEvent, event_id
from touchbase.outgoing import hubspot
from touchbase.outgoing.content import TEST, OutgoingMessage, unsent
from touchbase.outgoing.hubspot_client import hubspot_of, why_not_written
from touchbase.outgoing.models import SKIPPED, UNREACHABLE, Endpoint
from touchbase.outgoing.samples import CONTACT as SAMPLE
from touchbase.outgoing.sql.dispatch import find_write_back
from touchbase.sql.store import Store

TYPES = (EventType.CONTACT_STATUS_CHANGED.value, EventType.CONTACT_MERGED.value)
"""The events that write: a merge may give the contact objects of HubSpot that have another status."""
NOT_WRITTEN = f"only {' and '.join(TYPES)} write to HubSpot"
SAMPLE_ID = "101"
_JSON = {"content-type": "application/json"}
NO_CONTACT = "the contact does not exist any more"
NOT_KNOWN = "no webhook or fetched record of HubSpot was about this contact; once one was, a replay of the event writes the status"
THEIRS = "HubSpot has set this status itself"


async def write_of(store: Store, endpoint: Endpoint, event: LoggedEvent, contact: Mapping[str, Any] | None) -> OutgoingMessage:
    """Return the write for an event about a contact; `contact` is the record as the API shows it, None if it is gone."""
    message_id = f"{event_id(event.sequence)}_{endpoint.id}"
    if contact is None or event.type not in TYPES:
        return unsent(message_id, event.type, SKIPPED, NOT_WRITTEN if event.type not in TYPES else NO_CONTACT)
    target = await store.read(find_write_back(endpoint.client, contact["id"], hubspot.TOOL, hubspot.OBJECT))
    objects = [link for link in target.objects if hubspot.is_id(link)]
    if not objects:
        return unsent(message_id, event.type, SKIPPED, NOT_KNOWN)
    if target.is_theirs:
        return unsent(message_id, event.type, SKIPPED, THEIRS)
    return await _write(store, endpoint, (message_id, event.type), objects, contact)


async def test_write(store: Store, endpoint: Endpoint, *, is_preview: bool) -> OutgoingMessage:
    """Return a test, which reads the property and writes nothing; for a preview the write for a fictitious person."""
    message_id = f"test_{token_hex(12)}"
    if is_preview:
        return await _write(store, endpoint, (message_id, TYPES[0]), [SAMPLE_ID], SAMPLE)
    connection = await hubspot_of(store, endpoint.client)
    if (why := why_not_written(connection)) is not None or connection is None:
        return unsent(message_id, TEST, UNREACHABLE, why or "")
    return OutgoingMessage(message_id, TEST, b"", {}, hubspot.test_target(endpoint.client, connection.settings.written_property or ""))


async def _write(
    store: Store, endpoint: Endpoint, named: tuple[str, str], objects: list[str], contact: Mapping[str, Any]
) -> OutgoingMessage:
    connection = await hubspot_of(store, endpoint.client)
    if (why := why_not_written(connection)) is not None or connection is None:
        return unsent(*named, UNREACHABLE, why or "")
    values, name = endpoint.settings.get("values", {}), connection.settings.written_property or ""
    body = hubspot.status_body(name, contact.get("contact_status"), values)
    return OutgoingMessage(*named, body, _JSON, hubspot.write_target(endpoint.client, objects))
