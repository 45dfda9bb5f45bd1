"""Salesloft: webhooks.

The event's name is only in the header `x-salesloft-event`; the body is the resource that changed. Email resources
identify the person by id; person resources map ids to addresses. An updated email has its whole history, so only facts
with a time of their own, and final ones, are read from it. If a relay has lost the header, links to Salesloft's API
identify the tool, and the keys the resource type.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import at, paths, pick
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import flag, objects, text
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.history.events import Event

_RECIPIENT = paths("recipient.id person.id person_id recipient_id")
_API = "https://api.salesloft.com/"
_LINKED = frozenset({"recipient", "person", "owner", "user", "creator", "account", "cadence"})
_WITHOUT_HEADER = 85


class Salesloft(TableAdapter):
    """Reads Salesloft's webhooks."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.detection_keys |= _LINKED

    def recognise(self, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the header, else by links to Salesloft's API."""
        return super().recognise(webhook) or (_WITHOUT_HEADER if any(map(_is_linked, objects(webhook.data))) else 0)

    def named(self, item: Item, webhook: ParsedWebhook) -> str | None:
        """Return the name in the header, else the resource's change."""
        name = text(webhook.headers.get("x-salesloft-event"))
        if name is not None or not _is_linked(item):
            return name
        return "person_updated" if "email_address" in item else "email_updated" if "recipient" in item else "updated"

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning by the resource: a person, a meeting, or a bounced or sent email."""
        event_name = normalize_event_name(name)
        if event_name in ("person_created", "person_updated"):
            return m.UNSUBSCRIBED if flag(item.get("do_not_contact")) else m.SAVED
        if event_name in ("email_updated", "email_with_body_and_subject_updated"):
            if item.get("bounced") is True or text(item.get("status")) == "bounced":
                return m.BOUNCED
            return m.SENT if item.get("sent_at") else m.OTHER
        if event_name == "meeting_updated" and flag(item.get("no_show")):
            return m.status("no_show")
        return self.listed(name) or m.OTHER

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return the event of one resource; the object is always the person."""
        event = super().read(item, webhook)
        is_person = normalize_event_name(event.source_event or "").startswith("person_")
        event.object_id = text(item.get("id")) if is_person else pick(item, _RECIPIENT, text)
        event.object_type = "person" if event.object_id else None
        event.message_id = None if is_person else event.message_id
        return event


def _is_linked(item: Item) -> bool:
    links = (at(item, (key, "_href")) for key in _LINKED & item.keys())
    return any(isinstance(link, str) and link.startswith(_API) for link in links)


ADAPTER = Salesloft(
    tool="salesloft",
    stops_on_bounce=True,
    signature_schemes=(hmac_body("x-salesloft-signature", digest="sha1"),),
    shapes=(DetectionRule("", 95, header="x-salesloft-event"),),
    plain_names="email_sent email_opened email_replied email_bounced link_clicked email_clicked meeting_booked",
    name="event",
    email="email_address recipient_email_address recipient.email_address person.email_address recipient_email",
    time="updated_at created_at",
    times={"email_sent": "sent_at updated_at"},
    linkedin="linkedin_url person.linkedin_url",
    first_name="first_name person.first_name",
    last_name="last_name person.last_name",
    campaign="cadence.name cadence.id",
    message="id",
    bounce="error_message",
    sent=MessagePaths(subject="subject", text="body", message_id="id"),
    # A reply's resource is the mail that it answers: its body is not the reply's.
    received=MessagePaths(subject="subject"),
    usual_messages=False,
)
