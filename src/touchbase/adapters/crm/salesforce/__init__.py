"""Salesforce: Outbound Messages (XML), and change events forwarded by a relay (JSON).

Event reference: the Outbound Messaging and Change Data Capture guides on developer.salesforce.com (read 2026-11-20).
Contacts and leads are contacts, accounts are companies; person accounts are contacts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

from touchbase.adapters.crm.salesforce import records, stream
from touchbase.adapters.crm.salesforce.outbound import acknowledge, is_outbound, read_outbound
from touchbase.adapters.crm.salesforce.relayed import PLACES, is_relayed, message_in, read_relayed
from touchbase.adapters.crm.salesforce.selected_fields import read_selected_fields, selected_fields_in, what_of
from touchbase.adapters.interface import ParsedWebhook, ProtocolResponse
from touchbase.adapters.kit.crm import other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.history.events import Event

_SIGNS = records.SIGNS | stream.SIGNS | frozenset(PLACES)


class Salesforce(CrmAdapter):
    """Reads Salesforce's webhooks. It is always a candidate, because XML has no keys to index."""

    tool = "salesforce"
    words = ("Contact", "Lead", "Account")
    status: ClassVar[tuple[str, ...]] = ("Status", "Status__c", "Lead_Status__c", "Contact_Status__c", "Account_Status__c")
    protocol_bodies: ClassVar[Mapping[bytes, Callable[[bytes], ProtocolResponse | None]]] = {b"<": acknowledge}

    def recognise(self, webhook: ParsedWebhook) -> int:
        """Return the confidence: certain for XML in Salesforce's namespace and for a change event's header."""
        return 100 if is_outbound(webhook.request.body) else super().recognise(webhook)

    def translate(self, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of all notifications of a message, or of all changes in a relay's list."""
        if is_outbound(webhook.request.body):
            return read_outbound(webhook.request.body, partial(self.statuses, webhook))
        return super().translate(webhook)

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence for a change event, or a record in the REST API's format."""
        # Fast path: this adapter is a candidate for every CRM webhook.
        if _SIGNS.isdisjoint(body) and not is_relayed(body):
            return 0
        if stream.payload_of(body) is not None:
            return 100
        if records.is_trigger(body) or stream.is_topic(body):
            return 90
        if message_in(body) is not None or is_relayed(body):
            return 95
        if records.records_in(body) or stream.is_platform_event(body):
            return 85
        return 60 if selected_fields_in(body) is not None else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one change event or record."""
        payload, statuses = stream.payload_of(body), partial(self.statuses, webhook)
        if payload is not None:
            return stream.read_change(payload, statuses)
        if records.is_trigger(body):
            return records.read_trigger(body, statuses)
        if stream.is_topic(body):
            return stream.read_topic(body, statuses)
        if changes := records.records_in(body):
            return [event for record in changes for event in records.read_as(what_of(body, record), record, statuses)]
        if (picked := selected_fields_in(body)) is not None:
            return read_selected_fields(body, picked, statuses)
        # A custom platform event: its fields have no known meaning.
        own = [other_event("ignored", "PlatformEvent")] if stream.is_platform_event(body) else []
        return read_relayed(body, statuses) or own or [other_event("unrecognised")]


ADAPTER = Salesforce()
