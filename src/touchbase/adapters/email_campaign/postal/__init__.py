"""Postal: webhooks of an own mail server. `MessageSent` is a delivery; there is no other event for sent mail, so it counts as sent."""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import dig
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.signatures_public_key import rsa_body


class Postal(TableAdapter):
    """Reads Postal's webhooks."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; a failed delivery is a hard bounce if it is final, and incoming mail is nobody's."""
        if dig(item, "payload", "message", "direction") == "incoming":
            return m.INBOUND_EMAIL
        is_final = normalize_event_name(name) == "messagedeliveryfailed" and dig(item, "payload", "status") == "HardFail"
        return m.HARD_BOUNCED if is_final else super().meaning(name, item)


ADAPTER = Postal(
    tool="postal",
    signature_schemes=(rsa_body("x-postal-signature", "sha1"),),
    shapes=(
        DetectionRule("event payload uuid", 92, named=True),
        DetectionRule("event payload", 92, header="x-postal-signature"),
        DetectionRule("event payload.message.token", 92),
    ),
    names={
        "messagesent": m.DELIVERED_AS_SENT,
        "messagedelayed": m.DEFERRED,
        "messagedeliveryfailed": m.SEND_FAILED,
        "messageheld": m.OTHER,
        "messagebounced": m.BOUNCED,
        "messagelinkclicked": m.CLICKED,
        "messageloaded": m.OPENED,
        "domaindnserror": m.ACCOUNT,
    },
    other_names=m.OTHER,
    name="event",
    email="payload.original_message.to payload.message.to",
    time="timestamp",
    campaign="payload.message.tag payload.original_message.tag",
    link="payload.url",
    message="payload.message.message_id payload.original_message.message_id",
    key="uuid",
    bounce="payload.details payload.output",
    sent=MessagePaths(subject="payload.message.subject", mailbox="payload.message.from", message_id="payload.message.message_id"),
    usual_messages=False,
)
