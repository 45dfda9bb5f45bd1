"""Copper: webhooks.

Event reference: developer.copper.com, webhooks, through a published summary (read 2026-11-20). A webhook has up to 30
record ids; an update has the old and new value of each changed attribute. Copper does not retry, so a lost webhook
stays lost. Relays that fetch from Copper post whole records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.crm.copper.fetch import FETCHER, read_record, word_of
from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin_of_fields
from touchbase.adapters.kit.signatures_body import ANY_FIELD
from touchbase.adapters.kit.times import parse_time
from touchbase.connections.tools import Fetcher
from touchbase.history.events import Event

NOISE = frozenset({"date_modified", "date_created", "date_last_contacted", "interaction_count", "assignee_id"})
_PERSON = RecordShape(
    CONTACT, email=("emails", "email"), first_name=("first_name",), last_name=("last_name",), full_name=("name",),
    linkedin=("socials", LINKEDIN), domain=("websites",), company=("company_name",), employer=("company_id",), employer_type="company",
    useful=("title", "company_name"), noise=NOISE,
)  # fmt: skip
SHAPES = {
    "person": _PERSON,
    "lead": _PERSON,
    "company": RecordShape(COMPANY, domain=("email_domain", "websites"), company=("name",), noise=NOISE),
}
EVENTS = {"new": CREATED, "create": CREATED, "update": UPDATED, "delete": DELETED}


class Copper(CrmAdapter):
    """Reads Copper's webhooks."""

    tool = "copper"
    words = ("person", "lead")
    signature_schemes = (ANY_FIELD,)
    fetcher: ClassVar[Fetcher | None] = FETCHER
    detection_keys = frozenset({"updated_attributes", "subscription_id", "ids", "date_modified"})
    status: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "person": ("status", "contact_type_id"),
        "lead": ("status", "status_id"),
        "company": ("status", "contact_type_id"),
    }

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the list of ids with type and event."""
        if word_of(body) is not None:
            return 85
        if "type" not in body or "event" not in body or isinstance(body["event"], dict):
            return 0
        if "subscription_id" in body and "ids" in body:
            return 100
        return 70 if isinstance(body.get("ids"), list) else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one or many records."""
        if (kind := word_of(body)) is not None:
            return read_record(body, kind, self.statuses(webhook, SHAPES[kind].kind, kind), SHAPES, None)
        word, action = text(body.get("type")) or "", text(body.get("event")) or ""
        source, what = f"{word}.{action}", EVENTS.get(action)
        raw_ids = body.get("ids")
        ids = [text(raw_id) for raw_id in (raw_ids if isinstance(raw_ids, list) else [raw_ids])] or [None]
        if word not in SHAPES or what is None:
            return [other_event("ignored" if word and action else "unrecognised", source, word or None, object_id) for object_id in ids]
        if body.get("ids") == []:
            return [other_event("ignored", source, word)]
        changed = _changed(as_dict(body.get("updated_attributes")))
        at = parse_time(first(body, "timestamp"))
        events: list[Event] = []
        for object_id in ids:
            record = {name: pair[0] for name, pair in changed.items()}
            record = with_linkedin_of_fields(record, lambda name: name.startswith("custom_fields."))
            item = CrmItem(
                SHAPES[word], what, word, object_id, source, at, record=record, status=self.statuses(webhook, SHAPES[word].kind, word)
            )
            item.changed = changed if what == UPDATED else None
            item.thin = not changed
            events += item.events()
        return events

    def fetched(self, body: Body, kind: str, word: str, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one fetched person, lead or company."""
        return read_record(body, word, self.statuses(webhook, kind, word), SHAPES, "fetched")


def _changed(attributes: Body) -> dict[str, tuple[object, object]]:
    """Return the changed attributes from their `[old, new]` pairs; custom fields are nested, by id."""
    custom = {f"custom_fields.{number}": pair for number, pair in as_dict(attributes.get("custom_fields")).items()}
    pairs = {name: pair for name, pair in attributes.items() if not (name == "custom_fields" and custom)}
    return {
        name: (pair[1], pair[0]) if isinstance(pair, list) and len(pair) == 2 else (pair, NOT_SENT)  # a single value is the new one
        for name, pair in (pairs | custom).items()
    }


ADAPTER = Copper()
