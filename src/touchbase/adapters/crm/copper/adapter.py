"""Copper: its webhooks in our words.

Event reference: developer.copper.com, webhooks, through a published summary (read 2026-11-20). A call names
up to 30 records by id; an update brings old and new value of each changed attribute. Nothing is sent twice,
so what gets lost on the way is lost. Relays that have asked Copper post whole records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.crm.copper.fetch import FETCHER, read_record, word_of
from touchbase.adapters.interface import Call
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UNTOLD, UPDATED, Item, Shape, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.custom_fields import with_linkedin_of_fields
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.linkedin import LINKEDIN
from touchbase.adapters.kit.signatures_body import ANY_FIELD
from touchbase.adapters.kit.times import when
from touchbase.connections.tools import Fetcher
from touchbase.history.events import Event

NOISE = frozenset({"date_modified", "date_created", "date_last_contacted", "interaction_count", "assignee_id"})
_PERSON = Shape(
    CONTACT, email=("emails", "email"), first_name=("first_name",), last_name=("last_name",), full_name=("name",),
    linkedin=("socials", LINKEDIN), domain=("websites",), company=("company_name",), employer=("company_id",), employer_type="company",
    useful=("title", "company_name"), noise=NOISE,
)  # fmt: skip
SHAPES = {
    "person": _PERSON,
    "lead": _PERSON,
    "company": Shape(COMPANY, domain=("email_domain", "websites"), company=("name",), noise=NOISE),
}
EVENTS = {"new": CREATED, "create": CREATED, "update": UPDATED, "delete": DELETED}


class Copper(CrmAdapter):
    """Reads Copper's webhook calls."""

    tool = "copper"
    words = ("person", "lead")
    proofs = (ANY_FIELD,)
    fetcher: ClassVar[Fetcher | None] = FETCHER
    signs = frozenset({"updated_attributes", "subscription_id", "ids", "date_modified"})
    status: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "person": ("status", "contact_type_id"),
        "lead": ("status", "status_id"),
        "company": ("status", "contact_type_id"),
    }

    def sure(self, body: Body, call: Call) -> int:
        """Known by the list of ids beside type and event."""
        if word_of(body) is not None:
            return 85
        if "type" not in body or "event" not in body or isinstance(body["event"], dict):
            return 0
        if "subscription_id" in body and "ids" in body:
            return 100
        return 70 if isinstance(body.get("ids"), list) else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One event about one or many records."""
        if (kind := word_of(body)) is not None:
            return read_record(body, kind, self.statuses(call, SHAPES[kind].kind, kind), SHAPES, None)
        word, action = text(body.get("type")) or "", text(body.get("event")) or ""
        source, what = f"{word}.{action}", EVENTS.get(action)
        told = body.get("ids")
        ids = [text(one) for one in (told if isinstance(told, list) else [told])] or [None]
        if word not in SHAPES or what is None:
            return [note("ignored" if word and action else "unrecognised", source, word or None, one) for one in ids]
        if body.get("ids") == []:
            return [note("ignored", source, word)]
        changed = _changed(as_dict(body.get("updated_attributes")))
        at = when(first(body, "timestamp"))
        events: list[Event] = []
        for one in ids:
            record = {name: pair[0] for name, pair in changed.items()}
            record = with_linkedin_of_fields(record, lambda name: name.startswith("custom_fields."))
            item = Item(SHAPES[word], what, word, one, source, at, record=record, status=self.statuses(call, SHAPES[word].kind, word))
            item.changed = changed if what == UPDATED else None
            item.thin = not changed
            events += item.events()
        return events

    def fetched(self, body: Body, kind: str, word: str, call: Call) -> list[Event]:
        """One person, lead or company that we have asked for."""
        return read_record(body, word, self.statuses(call, kind, word), SHAPES, "fetched")


def _changed(attributes: Body) -> dict[str, tuple[object, object]]:
    """The changed attributes from their `[old, new]` pairs; custom fields stand one level lower, by number."""
    custom = {f"custom_fields.{number}": pair for number, pair in as_dict(attributes.get("custom_fields")).items()}
    pairs = {name: pair for name, pair in attributes.items() if not (name == "custom_fields" and custom)}
    return {
        name: (pair[1], pair[0]) if isinstance(pair, list) and len(pair) == 2 else (pair, UNTOLD)  # a lone value is the new one
        for name, pair in (pairs | custom).items()
    }


ADAPTER = Copper()
