"""Streak: webhooks.

Event reference: streak.readme.io, webhooks (read 2026-11-20); no recorded body was available. Nearly all events are
about boxes, the rows of a pipeline: deals, not people, so they are ignored. Events about a contact or an organisation
are read. Integrators' samples are the bare object without an event name; then a contact is known by its field names.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import parse_time
from touchbase.history.events import Event

SHAPES = {
    "CONTACT": RecordShape(
        CONTACT, email=("emailAddresses", "email"), first_name=("givenName",), last_name=("familyName",), linkedin=(LINKEDIN,),
        useful=("title",),
    ),
    "ORGANIZATION": RecordShape(COMPANY, domain=("domains", "domain"), company=("name",)),
}  # fmt: skip
ACTIONS = {"CREATE": CREATED, "EDIT": UPDATED, "UPDATE": UPDATED, "DELETE": DELETED}
WORDS = ("BOX", "TASK", "COMMENT", "THREAD", "MEETING", "PIPELINE", "STAGE", "CONTACT", "ORGANIZATION", "ORG", "FILE")

_KEYS = frozenset({"boxKey", "pipelineKey", "key"})
_OF_RECORD = frozenset({"lastSavedTimestamp", "creationDate", "teamKey"})
_KEYS_OF_BOX = frozenset({"boxKey", "stageKey", "key"})


class Streak(CrmAdapter):
    """Reads Streak's webhooks."""

    tool = "streak"
    words = ("organization",)
    detection_keys = frozenset({"boxKey", "pipelineKey", "box", "event", *_OF_RECORD})
    status: ClassVar[tuple[str, ...]] = ()

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the upper-case event name with a key, or by the keys of box and pipeline.

        Other CRMs write `CONTACT_UPDATED` too, so without a key only a box, or a Streak-specific action, counts.
        """
        event = text(body.get("event")) or ""
        word, _, action = event.partition("_")
        if event.isupper() and word in WORDS and (word == "BOX" or not _KEYS.isdisjoint(body)):
            return 85
        if "pipelineKey" in body and not _KEYS_OF_BOX.isdisjoint(body):
            return 70
        if _bare(body) is not None or ("boxKey" in body and "key" in body):
            return 60
        return 40 if word in SHAPES and action in ACTIONS else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one object."""
        source = text(body.get("event"))
        word, _, action = (source or _bare(body) or "BOX_").partition("_")
        word = "ORGANIZATION" if word == "ORG" else word
        record = as_dict(body.get(word.lower())) or body
        key, what = text(first(record, "key", "id")), ACTIONS.get(action)
        if word not in SHAPES or what is None:
            return [other_event("ignored", source, word.lower(), key)]
        at = parse_time(first(record, "lastUpdatedTimestamp", "lastSavedTimestamp", "timestamp", "creationTimestamp", "creationDate"))
        item = CrmItem(SHAPES[word], what, word.lower(), key, source, at, record=record)
        if word == "CONTACT":
            item.record = with_linkedin(record, {LINKEDIN: first(record, "socialProfiles", "other")})
        item.status = self.statuses(webhook, item.shape.kind, word.lower())
        return item.events()


def _bare(body: Body) -> str | None:
    """Return the event of a bare object: a snapshot."""
    if "event" in body or "key" not in body or _OF_RECORD.isdisjoint(body):
        return None
    return "CONTACT_EDIT" if "emailAddresses" in body else "ORGANIZATION_EDIT" if "domains" in body else None


ADAPTER = Streak()
