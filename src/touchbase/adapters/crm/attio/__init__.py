"""Attio: webhooks.

Event reference: docs.attio.com, webhooks (read 2026-11-20). Events are thin: ids only, neither values nor a time.
Object ids differ between workspaces, so the user appends `?object=people` or `?object=companies` to the webhook URL,
one webhook each, or lists the object ids in the connection (`objects`); without either, the kind is unknown. Relays
that fetch from Attio post whole records, which show their kind.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.crm.attio.fetch import FETCHER, is_record, object_of, read_record
from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter, chosen_kind
from touchbase.adapters.kit.crm_values import as_dict, query_parameter
from touchbase.adapters.kit.extract import dig, first, objects, text
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.adapters.kit.times import parse_time
from touchbase.connections.models import IGNORE
from touchbase.connections.tools import Fetcher
from touchbase.history.events import Event

KINDS = {"people": CONTACT, "person": CONTACT, "contact": CONTACT, "companies": COMPANY, "company": COMPANY}
OBJECTS = {CONTACT: "people", COMPANY: "companies"}
SHAPES = {CONTACT: RecordShape(CONTACT), COMPANY: RecordShape(COMPANY)}
ACTIONS = {"record.created": CREATED, "record.updated": UPDATED, "record.deleted": DELETED, "record.merged": UPDATED}
OTHERS = frozenset(
    {
        "list-entry", "list-attribute", "object-attribute", "note-content", "workspace-member", "call-recording", "activity-record",
        "entry-attribute",
    }
)  # fmt: skip
"""Attio's other event names that no other tool uses."""


class Attio(CrmAdapter):
    """Reads Attio's webhooks."""

    tool = "attio"
    words = ("people", "companies")
    detection_keys = frozenset({"events", "event_type", "values", "record", "attio-signature", "x-attio-signature"})
    signature_schemes = (hmac_body("attio-signature"), hmac_body("x-attio-signature"))
    fetcher: ClassVar[Fetcher | None] = FETCHER
    status: ClassVar[tuple[str, ...]] = ("status",)
    """The slug of the status attribute, in a fetched record."""

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the ids of each event, else by Attio's signature header."""
        if is_record(as_dict(body.get("record"))):
            return 90
        if dig(body, "id", "workspace_id") is not None and ("event_type" in body or is_record(body)):
            return 100
        if body.keys() == {"webhook_id", "events"} and body["events"] == []:
            return 70
        if "webhook_id" in body and any("event_type" in event for event in objects(body.get("events"))):
            return 100
        if any(_names_record(record) or _is_about_other_object(record) for record in (body, *objects(body.get("events")))):
            return 90
        return 70 if "attio-signature" in webhook.headers or "x-attio-signature" in webhook.headers else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return all events of a webhook. An older form is one event without the list. A body may also be one record."""
        if (record := next((record for record in (body, as_dict(body.get("record"))) if is_record(record)), None)) is not None:
            return self._record(record, webhook)
        listed = body.get("events")
        if not isinstance(listed, list):
            return self._events_of(body, webhook, "")
        events: list[Event] = []
        for place, item in enumerate(listed):
            events += (
                self._events_of(item, webhook, f":{place}" if place else "") if isinstance(item, dict) else [other_event("unrecognised")]
            )
        return events

    def fetched(self, body: Body, kind: str, word: str, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one fetched person or company."""
        return read_record(body, kind, word, self.statuses(webhook, kind, word), "fetched")

    def _events_of(self, body: Body, webhook: ParsedWebhook, place: str) -> list[Event]:
        source, ids = text(body.get("event_type")), as_dict(body.get("id"))
        object_id, record_id = text(ids.get("object_id")), text(ids.get("record_id"))
        if source is None:
            return [other_event("unrecognised")]
        if source not in ACTIONS:
            return [other_event("ignored", source, object_id, record_id)]
        word = _word(webhook, object_id, text(first(body, "object")) or object_id)
        kind = KINDS.get(word)
        if kind is None:
            return [other_event("ignored" if word == IGNORE else "unrecognised", source, object_id, record_id)]
        sent = text(webhook.headers.get("idempotency-key"))
        word = OBJECTS[kind]
        item = CrmItem(
            SHAPES[kind], ACTIONS[source], word, record_id, source, parse_time(body.get("created_at")), sent and sent + place, changed={}
        )
        item.thin = True
        if (attribute := text(ids.get("attribute_id"))) is not None:
            # Attio sends which attribute changed, but not the new value.
            item.changed = {attribute: (None, NOT_SENT)}
        merged = source == "record.merged"
        events = item.merged(text(body.get("duplicate_record_id"))) if merged else item.events()
        for event in events:
            event.custom = {}
        return events

    def _record(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        object_id = text(dig(body, "id", "object_id"))
        word = _word(webhook, object_id, object_of(body))
        kind = KINDS.get(word)
        if kind is None:
            return [other_event("ignored", None, object_id, text(dig(body, "id", "record_id")))]
        return read_record(body, kind, OBJECTS[kind], self.statuses(webhook, kind, OBJECTS[kind]), None)


def _names_record(body: Body) -> bool:
    """Return whether a body is an event about a record, also without Attio's workspace id."""
    return text(body.get("event_type")) in ACTIONS and dig(body, "id", "record_id") is not None


def _is_about_other_object(body: Body) -> bool:
    """Return whether a body is another Attio event, known by its name, its id or, in the older form, the collection."""
    word = (text(body.get("event_type")) or "").rpartition(".")[0]
    return word in OTHERS or (word != "" and f"{word}_id" in as_dict(body.get("id"))) or (word == "entry" and "collection_id" in body)


def _word(webhook: ParsedWebhook, object_id: str | None, otherwise: str | None) -> str:
    """Return the object's kind: from the webhook URL, the connection, or else the webhook itself."""
    return (query_parameter(webhook.request.query, "object") or chosen_kind(webhook, object_id) or otherwise or "").lower()


ADAPTER = Attio()
