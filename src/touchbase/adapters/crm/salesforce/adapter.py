"""Salesforce: its Outbound Messages (XML) and its change events passed on by a relay (JSON), in our words.

Event reference: the Outbound Messaging and Change Data Capture guides on developer.salesforce.com (read
2026-11-20). Contacts and leads are contacts, accounts are companies; person accounts are contacts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

from touchbase.adapters.crm.salesforce import records, stream
from touchbase.adapters.crm.salesforce.acknowledge import acknowledge
from touchbase.adapters.crm.salesforce.outbound import is_outbound, read_outbound
from touchbase.adapters.crm.salesforce.picked import picked_in, read_picked, what_of
from touchbase.adapters.crm.salesforce.retold import PLACES, is_retold, message_in, read_retold
from touchbase.adapters.interface import Call, ProtocolAnswer
from touchbase.adapters.kit.crm import note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.history.events import Event

_SIGNS = records.SIGNS | stream.SIGNS | frozenset(PLACES)


class Salesforce(CrmAdapter):
    """Reads Salesforce's calls. It is asked about every call, as XML has no keys to show."""

    tool = "salesforce"
    words = ("Contact", "Lead", "Account")
    status: ClassVar[tuple[str, ...]] = ("Status", "Status__c", "Lead_Status__c", "Contact_Status__c", "Account_Status__c")
    demands: ClassVar[Mapping[bytes, Callable[[bytes], ProtocolAnswer | None]]] = {b"<": acknowledge}

    def recognise(self, call: Call) -> int:
        """Certain of XML in Salesforce's namespace and of a change event's header."""
        if call.data is None:
            return 100 if is_outbound(call.request.body) else 0
        return super().recognise(call)

    def translate(self, call: Call) -> list[Event]:
        """All notifications of a message, or all changes of a relay's list."""
        if call.data is None:
            return read_outbound(call.request.body, partial(self.statuses, call))
        return super().translate(call)

    def sure(self, body: Body, call: Call) -> int:
        """A change event, or a record in the form of the REST interface."""
        # Asked about every CRM's calls, so the usual one is out at once.
        if _SIGNS.isdisjoint(body) and not is_retold(body):
            return 0
        if stream.payload_of(body) is not None:
            return 100
        if records.is_trigger(body) or stream.is_topic(body):
            return 90
        if message_in(body) is not None or is_retold(body):
            return 95
        if records.records_in(body) or stream.is_platform_event(body):
            return 85
        return 60 if picked_in(body) is not None else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One change event, or one record."""
        payload, statuses = stream.payload_of(body), partial(self.statuses, call)
        if payload is not None:
            return stream.read_change(payload, statuses)
        if records.is_trigger(body):
            return records.read_trigger(body, statuses)
        if stream.is_topic(body):
            return stream.read_topic(body, statuses)
        if found := records.records_in(body):
            return [event for record in found for event in records.read_as(what_of(body, record), record, statuses)]
        if (picked := picked_in(body)) is not None:
            return read_picked(body, picked, statuses)
        # An event of an organisation's own: what its fields mean is told nowhere.
        own = [note("ignored", "PlatformEvent")] if stream.is_platform_event(body) else []
        return read_retold(body, statuses) or own or [note("unrecognised")]


ADAPTER = Salesforce()
