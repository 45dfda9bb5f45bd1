"""Unipile: webhooks of messages, relations and mails, of API v1 and v2.

A message is ours if its sender is the account; then the person is the attendee who is not. `attendee_public_identifier` may be null,
and the profile's address then ends in LinkedIn's own id. All mails of a mailbox come, so one without `in_reply_to` is no reply.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, batch, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import address, dig, first, flag, text
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.signatures import hmac_timed

_PROFILE = "https://www.linkedin.com/in/"


class Unipile(TableAdapter):
    """Reads Unipile's webhooks."""

    def items(self, data: object) -> object:
        """Return the items with their person as `person`; a sent mail is one item for each recipient."""
        return [item for body in batch(data) for item in _by_person(body)]

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; a message's by sender and network, a mail's by the mail that it answers."""
        event, meaning = normalize_event_name(name), super().meaning(name, item)
        if meaning is m.LINKEDIN_REPLIED and _is_own(item):
            meaning = m.LINKEDIN_SENT
        if meaning.event.startswith("linkedin_") and (text(item.get("account_type")) or "LINKEDIN").upper() != "LINKEDIN":
            return m.OTHER
        if event == "mail_received" and not item.get("in_reply_to"):
            return m.OTHER
        is_named = self.find(item, "email", address) or self.find(item, "linkedin", text)
        return meaning if is_named or meaning is m.ACCOUNT else m.OTHER


def _is_own(item: Item) -> bool:
    own = text(dig(item, "account_info", "user_id"))
    return bool(flag(item.get("is_sender"))) or (own is not None and own == text(dig(item, "sender", "attendee_provider_id")))


def _by_person(body: object) -> list[object]:
    if not isinstance(body, dict):
        return [body]
    if body.get("event") == "mail_sent" and isinstance(recipients := body.get("to_attendees"), list) and recipients:
        return [{**body, "person": recipient} for recipient in recipients]
    person: object = body.get("sender")
    if _is_own(body):
        own = text(dig(body, "sender", "attendee_provider_id"))
        attendees = [attendee for attendee in batch(body.get("attendees")) if text(dig(attendee, "attendee_provider_id")) != own]
        person = attendees[0] if len(attendees) == 1 else None
    person = person or first(body, "user", "from_attendee") or dig(body, "payload", "user") or body
    identifier = text(first(person, "attendee_public_identifier", "public_identifier", "user_public_identifier"))
    profile = (
        text(first(person, "attendee_profile_url", "profile_url", "user_profile_url")) if identifier is None else _PROFILE + identifier
    )
    return [{**body, "person": person, "profile": profile and profile.rstrip("/")}]


ADAPTER = Unipile(
    tool="unipile",
    signature_schemes=(hmac_timed("unipile-signature", "TIME.BODY", part="v0"),),
    shapes=(
        DetectionRule("account_id account_type webhook_name", 95),
        DetectionRule("account_id event webhook_name", 92),
        DetectionRule("type account_id payload.object", 92),
        DetectionRule("event account_id chat_id sender", 90),
        DetectionRule("AccountStatus.account_type", 95),
    ),
    plain_names="mail_sent mail_opened mail_link_clicked tracking_open tracking_click account_status",
    names={
        "message_received": m.LINKEDIN_REPLIED,
        "new_relation": m.LINKEDIN_ACCEPTED,
        "relation_new": m.LINKEDIN_ACCEPTED,
        "mail_received": m.REPLIED,
    },
    other_names=m.OTHER,
    known_only=frozenset({"mail_received"}),
    nameless={"AccountStatus": "account_status"},
    name="event type",
    email="person.identifier payload.user.email",
    time="timestamp date created_at",
    linkedin="profile",
    full_name="person.attendee_name person.full_name person.display_name person.user_full_name",
    message="message_id",
    key="message_id",
    sent=MessagePaths(
        subject="subject",
        text="message body_plain",
        html="body",
        mailbox="from_attendee.identifier account_id",
        thread_id="chat_id",
        message_id="message_id",
    ),
    received=MessagePaths(
        subject="subject",
        text="message body_plain",
        html="body",
        mailbox="to_attendees.0.identifier account_id",
        thread_id="chat_id",
        message_id="message_id",
    ),
    usual_messages=False,
)
