"""Affinity: webhooks of API version 1.

Event reference: the webhooks section of the Affinity API reference, and the help centre's page of webhook payloads
(read 2026-11-20). A list entry is about the person or organisation in it: `body.entity.id` is the record, neither
`body.id` (the entry) nor `body.entity_id` (which differs in the vendor's own example).
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_text, status_text
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import parse_time
from touchbase.history.events import Event

PERSON, ORGANIZATION = "person", "organization"
SHAPES = {
    PERSON: RecordShape(
        CONTACT,
        email=("primary_email", "emails"),
        first_name=("first_name",),
        last_name=("last_name",),
        linkedin=(LINKEDIN,),
        employer=("current_organization_ids", "organization_ids"),
        employer_type="organization",
    ),
    ORGANIZATION: RecordShape(COMPANY, domain=("domain", "domains"), company=("name",)),
}
ENTITY_TYPES = {"0": PERSON, "1": ORGANIZATION, PERSON: PERSON, ORGANIZATION: ORGANIZATION, "company": ORGANIZATION}
PERSONS_OWN = frozenset({"first_name", "last_name", "primary_email"})
_MARKS = frozenset({"organization_ids", "person_ids"})
ACTIONS = {"created": CREATED, "updated": UPDATED, "deleted": DELETED, "merged": UPDATED}
_AROUND = ("list_entry", "field_value")
OBJECT_TYPES = (
    "person", "organization", "company", "list", "list_entry", "field", "field_value", "opportunity", "note", "file", "reminder", "sample",
)  # fmt: skip


class Affinity(CrmAdapter):
    """Reads Affinity's webhooks."""

    tool = "affinity"
    words = ("person", "organization")
    detection_keys = frozenset({"sent_at", "body", *_MARKS})
    status: ClassVar[tuple[str, ...]] = ()
    """Ids of the list fields that are the client's status."""

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the three keys of every webhook, and by the type."""
        if _alone(body) is not None:
            return 70
        word = (text(body.get("type")) or "").partition(".")[0]
        if "sent_at" not in body:
            return 70 if word in _AROUND and dig(body, "body", "entity_id") is not None else 0
        return (95 if word in OBJECT_TYPES else 30) if "body" in body else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the event of a person, an organisation, a list entry or a field value."""
        if (kind := _alone(body)) is not None:
            item = CrmItem(SHAPES[kind], UPDATED, kind, text(body.get("id")), record=body)
            item.status = self.statuses(webhook, item.shape.kind, kind)
            return item.events()
        source, inner = text(body.get("type")), as_dict(body.get("body"))
        if source is None:
            return [other_event("unrecognised")]
        word, _, action = source.partition(".")
        # The newer name of the same record type.
        word = ORGANIZATION if word == "company" else word
        at = parse_time(body.get("sent_at"))
        if word == "sample":
            return [other_event("handshake", source)]
        if word in SHAPES and action in ACTIONS:
            record = as_dict(inner.get("company")) or inner if action == "merged" else inner
            item = CrmItem(SHAPES[word], ACTIONS[action], word, text(record.get("id")), source, at, record=record)
            return _merged(item, inner) if action == "merged" else item.events()
        if word in _AROUND:
            return self._around(source, inner, at, webhook)
        return [other_event("ignored" if word in OBJECT_TYPES else "unrecognised", source, word, text(inner.get("id")))]

    def _around(self, source: str, inner: Body, at: int | None, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of a record that was added to or removed from a list, or of a changed field value."""
        entity = as_dict(inner.get("entity"))
        kind = _kind(entity, inner)
        object_id = text(first(entity, "id") or first(inner, "entity_id"))
        if kind is None:
            return [other_event("ignored", source, source.partition(".")[0], object_id)]
        gone = source.endswith(".deleted")
        name, value = "list_id", inner.get("list_id")
        if source.startswith("field_value."):
            raw = inner.get("value")
            name, value = text(inner.get("field_id")) or "field_id", status_text(raw) or as_text(raw)
        item = CrmItem(SHAPES[kind], UPDATED, kind, object_id, source, at, record=entity)
        item.status = self.statuses(webhook, item.shape.kind, kind)
        if source.startswith("field_value.") and not gone:
            item.record = with_linkedin(entity, {text(dig(inner, "field", "name")) or "": inner.get("value")})
        item.changed = {name: (None, value) if gone else (value, NOT_SENT)}
        return item.events()


def _alone(body: Body) -> str | None:
    """Return the record type of a bare record that a relay has fetched; None for other bodies."""
    if "id" not in body or "sent_at" in body:
        return None
    if "primary_email" in body and "organization_ids" in body:
        return PERSON
    return ORGANIZATION if "person_ids" in body and ("domain" in body or "domains" in body) else None


def _kind(entity: Body, inner: Body) -> str | None:
    """Return person or organisation. Person-only fields take precedence over `type`, which for a person says internal or external."""
    if not PERSONS_OWN.isdisjoint(entity):
        return PERSON
    raw = inner.get("entity_type")
    return ENTITY_TYPES.get(text(entity.get("type") if raw is None else raw) or "")


def _merged(item: CrmItem, inner: Body) -> list[Event]:
    """Return the surviving record, which is in `company`, and the merged one."""
    item.changed = {}
    return item.merged(text(dig(inner, "removed_company", "id")))


ADAPTER = Affinity()
