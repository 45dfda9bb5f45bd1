"""Intercom: webhooks.

Event reference: developers.intercom.com, webhook topics and model (read 2026-11-20). The topic's first word is the
kind: user, lead, contact and visitor are contacts. Topics of tags, subscriptions and of a contact's companies nest the
contact; a tag is a change, not a field. Conversations, tickets and other topics are ignored. Relays forward the bare
object.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import (
    COMPANY,
    CONTACT,
    CREATED,
    DELETED,
    NOT_SENT,
    PREFERENCES,
    UPDATED,
    Changes,
    CrmItem,
    RecordShape,
    other_event,
)
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, display_name, linked_id, option_text
from touchbase.adapters.kit.extract import dig, first, objects, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.history.events import Event, PropertyChange

_LINKED = "linked company id"
"""The property for the id of a contact's company."""
SHAPES = {
    CONTACT: RecordShape(
        CONTACT, email=("email",), full_name=("name",), linkedin=("linkedin_url", "linkedin", LINKEDIN),
        employer=(_LINKED,), employer_type=COMPANY, useful=("phone", "role"),
    ),
    COMPANY: RecordShape(COMPANY, domain=("website",), company=("name",), useful=("industry", "size", "plan")),
}  # fmt: skip
KINDS = {"user": CONTACT, "contact": CONTACT, "lead": CONTACT, "visitor": CONTACT, "granular": CONTACT, "company": COMPANY}
ACTIONS = {
    "created": CREATED, "deleted": DELETED, "archived": DELETED, "archive": DELETED, "updated": UPDATED, "unarchived": UPDATED,
    "unarchive": UPDATED, "merged": UPDATED, "signed_up": UPDATED, "added_email": UPDATED, "subscribed": UPDATED, "unsubscribed": UPDATED,
    "subscribe": UPDATED, "unsubscribe": UPDATED, "attached": UPDATED, "detached": UPDATED,
}  # fmt: skip
_MARKS = frozenset({"workspace_id", "app_id", "custom_attributes", "tag"})
"""Every Intercom object has at least one of these keys."""
_OF_RECORD = frozenset({"workspace_id", "app_id", "role", "session_count", "companies", "company_id"})
CHANGES: dict[str, Changes] = {
    "signed_up": {"role": ("user", NOT_SENT)},
    "subscribed": {"unsubscribed_from_emails": (False, NOT_SENT)},
    "unsubscribed": {"unsubscribed_from_emails": (True, NOT_SENT)},
}
"""Meaning of a topic's last word."""
_SUBSCRIBING = ("subscribed", "unsubscribed", "subscribe", "unsubscribe")
"""Of one type of subscription, where the body names it; else of all mails."""


class Intercom(CrmAdapter):
    """Reads Intercom's webhooks."""

    tool = "intercom"
    signature_schemes = (hmac_body("x-hub-signature", digest="sha1", prefix="sha1="),)
    detection_keys = frozenset({"topic", *_MARKS})
    status: ClassVar[tuple[str, ...]] = ()

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the type of every notification."""
        if body.get("type") == "notification_event":
            return 100
        if _alone(body) is not None:
            return 70
        return 70 if isinstance(body.get("topic"), str) and isinstance(dig(body, "data", "item"), dict) else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one notification."""
        topic = text(body.get("topic"))
        if (words := _alone(body)) is not None:
            record = _person(body) if words[0] == CONTACT else body
            about = CrmItem(
                SHAPES[words[0]], UPDATED, words[0], text(record.get("id")), None, parse_time(record.get("updated_at")), record=record
            )
            about.status = self.statuses(webhook, words[0], words[0])
            return _topic_events(about, words, body)
        if topic is None:
            return [other_event("unrecognised")]
        if topic == "ping":
            return [other_event("handshake", topic)]
        words = topic.split(".")
        item, kind, what = as_dict(dig(body, "data", "item")), KINDS.get(words[0]), ACTIONS.get(words[-1])
        if kind is None or what is None:
            return [other_event("ignored", topic, kind or words[0], text(item.get("id")))]
        at, key = parse_time(body.get("created_at")), text(body.get("id"))
        events: list[Event] = []
        for part, record in _parts(item) if words[:2] == ["company", "contact"] else [(kind, item if kind == COMPANY else _person(item))]:
            # Users, leads and contacts share one kind of object and id; the name depends on the topic's age.
            about = CrmItem(
                SHAPES[part], what, part, text(record.get("id")), topic, at, key, record, status=self.statuses(webhook, part, part)
            )
            if what != DELETED:
                about.at = at or first_time(record, "updated_at")
            events += _topic_events(about, words, item)
        return events or [other_event("ignored", topic, kind)]


def _alone(body: Body) -> list[str] | None:
    """Return the topic's words for a bare object that a relay has unwrapped; None for other bodies."""
    if "topic" in body or "event" in body or _MARKS.isdisjoint(body):
        return None
    kind = text(body.get("type"))
    if kind == "contact_tag" and "contact" in body:
        return [CONTACT, "tag", "created"]
    is_theirs = kind in KINDS and "id" in body and not _OF_RECORD.isdisjoint(body)
    return [KINDS[kind], "updated"] if kind is not None and is_theirs else None


def _topic_events(about: CrmItem, words: list[str], item: Body) -> list[Event]:
    """Return the events of a topic about a contact or a company, by its words."""
    action = words[-1]
    about.restored = action.startswith("unarchive")
    if "tag" in words or (action in ("attached", "detached") and about.shape.kind == CONTACT):
        about.what = UPDATED
        about.changed = _tag(item, action) if "tag" in words else _company(item, action)
        if "tag" not in words:
            about.record = {**about.record, _LINKED: text(dig(item, "company", "id")) if action == "attached" else None}
        events = about.events()
        for event in events:
            # A contact has many tags and companies: as one field each would overwrite the one before.
            event.custom = {}
        return events
    if action == "merged":
        about.changed = {}
        return about.merged(text(dig(about.record, "merged_from", "id")))
    topics = _topics(about, item) if action in _SUBSCRIBING else []
    about.changed = {} if topics else CHANGES.get(action)
    events = about.events()
    if topics and events[0].about is not None:
        value = f"{action.removesuffix('d')}d"
        events.append(about.mark(PREFERENCES, *(PropertyChange(f"subscription {name}", value) for name in topics)))
    if ("email" in words or action == "added_email") and (address := events[0].email) is not None:
        # The contact is complete; only the topic says what has changed.
        events[0].changed = [PropertyChange("email", address)]
    if about.what != DELETED and about.object_id is not None:
        events[0].custom |= _attributes(as_dict(about.record))
    return events


def _topics(about: CrmItem, item: Body) -> list[str]:
    """Return the types of subscription that a change is about; none if the contact is opted out of all mails."""
    if about.shape.kind != CONTACT or about.record.get("unsubscribed_from_emails") is True:
        return []
    topics = [as_dict(item.get("subscription_type")), *objects(dig(item, "subscription_types", "data"))]
    return [name for topic in topics if (name := display_name(topic) or text(topic.get("id"))) is not None]


def _parts(item: Body) -> list[tuple[str, Body]]:
    """Return the company and the contact that were linked or unlinked; both are complete."""
    return [(kind, record) for kind, record in ((COMPANY, as_dict(item.get("company"))), (CONTACT, _person(item))) if "id" in record]


def _person(item: Body) -> Body:
    """Return the contact that an item is or contains, with its LinkedIn URL."""
    is_person = KINDS.get(text(item.get("type")) or "") == CONTACT
    below = () if is_person else ("contact", "user", "lead", "visitor")
    inner = next((person for name in below if (person := as_dict(item.get(name)))), item)
    profiles = as_dict(inner.get("social_profiles"))
    record = with_linkedin(inner, as_dict(inner.get("custom_attributes")), {LINKEDIN: first(profiles, "data", "social_profiles")})
    listed = dig(inner, "companies", "data") or dig(inner, "companies", "companies") or inner.get("companies")
    return record | {_LINKED: linked_id(listed) if isinstance(listed, list) else None}


def _tag(item: Body, action: str) -> Changes:
    tag = text(dig(item, "tag", "name"))
    return {"tag": (None, tag) if action == "deleted" else (tag, NOT_SENT)}


def _company(item: Body, action: str) -> Changes:
    company = text(dig(item, "company", "name")) or text(dig(item, "company", "id"))
    return {"company": (None, company) if action == "detached" else (company, NOT_SENT)}


def _attributes(record: Body) -> dict[str, str | None]:
    """Return the custom attributes, by their names."""
    attributes = as_dict(first(record, "custom_attributes", "custom_data"))
    read = {name: option_text(value) for name, value in attributes.items() if name}
    return {name: shown for name, shown in read.items() if (shown is not None and len(shown) <= 1000) or attributes[name] is None}


ADAPTER = Intercom()
