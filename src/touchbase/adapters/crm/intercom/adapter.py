"""Intercom: its webhooks in our words.

Event reference: developers.intercom.com, webhook topics and model (read 2026-11-20). The topic's first word
tells the kind: user, lead, contact and visitor are contacts. Topics of tags carry the contact one level
lower; a tag is a change, not a field. Conversations, tickets and the rest are not used.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UNTOLD, UPDATED, Changes, Item, Shape, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.proof import hashed_body
from touchbase.adapters.kit.reading import dig, first, text
from touchbase.adapters.kit.times import when
from touchbase.domain.events import Event
from touchbase.domain.ports import Call

SHAPES = {
    CONTACT: Shape(
        CONTACT, email=("email",), full_name=("name",), linkedin=("linkedin_url", "linkedin"), useful=("phone", "role"),
    ),
    COMPANY: Shape(COMPANY, domain=("website",), company=("name",), useful=("industry", "size", "plan")),
}  # fmt: skip
KINDS = {"user": CONTACT, "contact": CONTACT, "lead": CONTACT, "visitor": CONTACT, "company": COMPANY}
ACTIONS = {
    "created": CREATED, "deleted": DELETED, "archived": DELETED, "updated": UPDATED, "unarchived": UPDATED, "merged": UPDATED,
    "signed_up": UPDATED, "added_email": UPDATED, "subscribed": UPDATED, "unsubscribed": UPDATED,
}  # fmt: skip


class Intercom(CrmAdapter):
    """Reads Intercom's webhook calls."""

    tool = "intercom"
    proofs = (hashed_body("x-hub-signature", digest="sha1", prefix="sha1="),)
    signs = frozenset({"topic"})
    status: ClassVar[tuple[str, ...]] = ()

    def sure(self, body: Body, call: Call) -> int:
        """Known by the type that every notification has."""
        if body.get("type") == "notification_event":
            return 100
        return 70 if isinstance(body.get("topic"), str) and isinstance(dig(body, "data", "item"), dict) else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One notification."""
        topic = text(body.get("topic"))
        if topic is None:
            return [note("unrecognised")]
        if topic == "ping":
            return [note("handshake", topic)]
        words = topic.split(".")
        item, kind, what = as_dict(dig(body, "data", "item")), KINDS.get(words[0]), ACTIONS.get(words[-1])
        record = as_dict(item.get("contact") or item.get("user") or item.get("lead") or item.get(words[0])) if "tag" in words else item
        # Users, leads and contacts are one kind of object with one kind of id; the topic's age decides its name.
        word, object_id = kind or words[0], text(record.get("id"))
        if kind is None or what is None or (kind == COMPANY and "contact" in words):
            return [note("ignored", topic, word, object_id)]
        about = Item(
            SHAPES[kind], what, word, object_id, topic, when(body.get("created_at")), text(body.get("id")), record,
            status=self.statuses(call, kind, word),
        )  # fmt: skip
        about.restored = words[-1] == "unarchived"
        if "tag" in words:
            about.what, about.changed = UPDATED, _tag(item, words[-1])
            events = about.events()
            for event in events:
                # A contact has many tags: as one field each would drive out the one before.
                event.custom = {}
            return events
        if words[-1] == "merged":
            about.changed = {}
            return about.merged(text(dig(record, "merged_from", "id")))
        if words[-1] == "signed_up":
            about.changed = {"role": ("user", UNTOLD)}
        events = about.events()
        if what != DELETED and about.changed is None and object_id is not None:
            events[0].custom |= _attributes(record)
        return events


def _tag(item: Body, action: str) -> Changes:
    tag = text(dig(item, "tag", "name"))
    return {"tag": (None, tag) if action == "deleted" else (tag, UNTOLD)}


def _attributes(record: Body) -> dict[str, str | None]:
    """The client's own attributes, by the names that the client gave them."""
    attributes = as_dict(first(record, "custom_attributes", "custom_data"))
    return {name: told for name, value in attributes.items() if name and (told := text(value)) is not None and len(told) <= 1000}


ADAPTER = Intercom()
