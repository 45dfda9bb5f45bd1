"""Intercom: its webhooks in our words.

Event reference: developers.intercom.com, webhook topics and model (read 2026-11-20). The topic's first word
tells the kind: user, lead, contact and visitor are contacts. Topics of tags, subscriptions and of a contact's
companies carry the contact one level lower; a tag is a change, not a field. Conversations, tickets and the
rest are not used. Relays hand on the object alone.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import Call
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UNTOLD, UPDATED, Changes, Item, Shape, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, choices, linked_id
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.signatures import hashed_body
from touchbase.adapters.kit.times import moment, when
from touchbase.history.events import Change, Event

_LINKED = "linked company id"
"""The property under which the id of the company stands that a contact belongs to."""
SHAPES = {
    CONTACT: Shape(
        CONTACT, email=("email",), full_name=("name",), linkedin=("linkedin_url", "linkedin", LINKEDIN),
        employer=(_LINKED,), employer_type=COMPANY, useful=("phone", "role"),
    ),
    COMPANY: Shape(COMPANY, domain=("website",), company=("name",), useful=("industry", "size", "plan")),
}  # fmt: skip
KINDS = {"user": CONTACT, "contact": CONTACT, "lead": CONTACT, "visitor": CONTACT, "granular": CONTACT, "company": COMPANY}
ACTIONS = {
    "created": CREATED, "deleted": DELETED, "archived": DELETED, "archive": DELETED, "updated": UPDATED, "unarchived": UPDATED,
    "unarchive": UPDATED, "merged": UPDATED, "signed_up": UPDATED, "added_email": UPDATED, "subscribed": UPDATED, "unsubscribed": UPDATED,
    "subscribe": UPDATED, "unsubscribe": UPDATED, "attached": UPDATED, "detached": UPDATED,
}  # fmt: skip
_MARKS = frozenset({"workspace_id", "app_id", "custom_attributes", "tag"})
"""Of these an object of Intercom's own has at least one."""
_OF_RECORD = frozenset({"workspace_id", "app_id", "role", "session_count", "companies", "company_id"})
CHANGES: dict[str, Changes] = {
    "signed_up": {"role": ("user", UNTOLD)},
    "subscribed": {"unsubscribed_from_emails": (False, UNTOLD)},
    "unsubscribed": {"unsubscribed_from_emails": (True, UNTOLD)},
}
"""What a topic's last word tells of the change."""


class Intercom(CrmAdapter):
    """Reads Intercom's webhook calls."""

    tool = "intercom"
    proofs = (hashed_body("x-hub-signature", digest="sha1", prefix="sha1="),)
    signs = frozenset({"topic", *_MARKS})
    status: ClassVar[tuple[str, ...]] = ()

    def sure(self, body: Body, call: Call) -> int:
        """Known by the type that every notification has."""
        if body.get("type") == "notification_event":
            return 100
        if _alone(body) is not None:
            return 70
        return 70 if isinstance(body.get("topic"), str) and isinstance(dig(body, "data", "item"), dict) else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One notification."""
        topic = text(body.get("topic"))
        if (words := _alone(body)) is not None:
            record = _person(body) if words[0] == CONTACT else body
            about = Item(SHAPES[words[0]], UPDATED, words[0], text(record.get("id")), None, when(record.get("updated_at")), record=record)
            about.status = self.statuses(call, words[0], words[0])
            return _told(about, words, body)
        if topic is None:
            return [note("unrecognised")]
        if topic == "ping":
            return [note("handshake", topic)]
        words = topic.split(".")
        item, kind, what = as_dict(dig(body, "data", "item")), KINDS.get(words[0]), ACTIONS.get(words[-1])
        if kind is None or what is None:
            return [note("ignored", topic, kind or words[0], text(item.get("id")))]
        at, key = when(body.get("created_at")), text(body.get("id"))
        events: list[Event] = []
        for part, record in _parts(item) if words[:2] == ["company", "contact"] else [(kind, item if kind == COMPANY else _person(item))]:
            # Users, leads and contacts are one kind of object with one kind of id; the topic's age decides its name.
            about = Item(SHAPES[part], what, part, text(record.get("id")), topic, at, key, record, status=self.statuses(call, part, part))
            if what != DELETED:
                about.at = at or moment(record, "updated_at")
            events += _told(about, words, item)
        return events or [note("ignored", topic, kind)]


def _alone(body: Body) -> list[str] | None:
    """What a topic would have said of an object that a relay has taken out of its notification."""
    if "topic" in body or "event" in body or _MARKS.isdisjoint(body):
        return None
    kind = text(body.get("type"))
    if kind == "contact_tag" and "contact" in body:
        return [CONTACT, "tag", "created"]
    is_theirs = kind in KINDS and "id" in body and not _OF_RECORD.isdisjoint(body)
    return [KINDS[kind], "updated"] if kind is not None and is_theirs else None


def _told(about: Item, words: list[str], item: Body) -> list[Event]:
    """The events of a topic about a contact or a company, by its words."""
    action = words[-1]
    about.restored = action.startswith("unarchive")
    if "tag" in words or (action in ("attached", "detached") and about.shape.kind == CONTACT):
        about.what = UPDATED
        about.changed = _tag(item, action) if "tag" in words else _company(item, action)
        if "tag" not in words:
            about.record = {**about.record, _LINKED: text(dig(item, "company", "id")) if action == "attached" else None}
        events = about.events()
        for event in events:
            # A contact has many tags and companies: as one field each would drive out the one before.
            event.custom = {}
        return events
    if action == "merged":
        about.changed = {}
        return about.merged(text(dig(about.record, "merged_from", "id")))
    about.changed = CHANGES.get(action)
    events = about.events()
    if ("email" in words or action == "added_email") and (address := events[0].email) is not None:
        # The contact is told whole; what of it has changed, only the topic says.
        events[0].changed = [Change("email", address)]
    if about.what != DELETED and about.object_id is not None:
        events[0].custom |= _attributes(as_dict(about.record))
    return events


def _parts(item: Body) -> list[tuple[str, Body]]:
    """A company and a contact that are linked or parted: both are told whole."""
    return [(kind, record) for kind, record in ((COMPANY, as_dict(item.get("company"))), (CONTACT, _person(item))) if "id" in record]


def _person(item: Body) -> Body:
    """The contact that an item is, or holds one level lower, with its LinkedIn address among the others."""
    is_one = KINDS.get(text(item.get("type")) or "") == CONTACT
    below = () if is_one else ("contact", "user", "lead", "visitor")
    inner = next((found for name in below if (found := as_dict(item.get(name)))), item)
    profiles = as_dict(inner.get("social_profiles"))
    record = with_linkedin(inner, as_dict(inner.get("custom_attributes")), {LINKEDIN: first(profiles, "data", "social_profiles")})
    listed = dig(inner, "companies", "data") or dig(inner, "companies", "companies") or inner.get("companies")
    return record | {_LINKED: linked_id(listed) if isinstance(listed, list) else None}


def _tag(item: Body, action: str) -> Changes:
    tag = text(dig(item, "tag", "name"))
    return {"tag": (None, tag) if action == "deleted" else (tag, UNTOLD)}


def _company(item: Body, action: str) -> Changes:
    company = text(dig(item, "company", "name")) or text(dig(item, "company", "id"))
    return {"company": (None, company) if action == "detached" else (company, UNTOLD)}


def _attributes(record: Body) -> dict[str, str | None]:
    """The client's own attributes, by the names that the client gave them."""
    attributes = as_dict(first(record, "custom_attributes", "custom_data"))
    read = {name: choices(value) for name, value in attributes.items() if name}
    return {name: told for name, told in read.items() if (told is not None and len(told) <= 1000) or attributes[name] is None}


ADAPTER = Intercom()
