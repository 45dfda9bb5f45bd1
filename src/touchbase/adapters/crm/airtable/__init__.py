"""Airtable: the notifications of its webhooks, which name a base and no record.

Reference: airtable.com, webhooks overview. The changes behind a notification are a list that is read by a cursor, which nothing here
keeps: the script of an automation sends changed records instead, which the generic adapter reads.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import text
from touchbase.history.events import Event


class Airtable(CrmAdapter):
    """Recognises Airtable's notifications."""

    tool = "airtable"
    detection_keys = frozenset({"base", "x-airtable-content-mac"})

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the ids of base and webhook."""
        base, hook = (text(as_dict(body.get(name)).get("id")) or "" for name in ("base", "webhook"))
        return 95 if base.startswith("app") and hook.startswith("ach") else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return that nothing can be read; the name says what to do instead."""
        return [other_event("unrecognised", "notification without records: send them by an automation", "base")]


ADAPTER = Airtable()
