"""Mailshake: webhooks.

A webhook is a pointer: `resource_url`, which only the account's owner can read. It names neither the event nor the
person, so it is only stored and counted. A relay may fetch the resource and forward it: `object` is its type, and a
reply's `type` says whether it is a real reply.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.messages import MessagePaths

_KINDS = {
    "reply": {
        "bounce": m.BOUNCED,
        "out_of_office": m.AUTO_REPLIED,
        "unsubscribe": m.UNSUBSCRIBED,
        "delay_notification": m.DEFERRED,
    },
    "sent_message": {"one_off": m.MANUAL},
}
"""Records whose `type` is more specific than their `object`."""


class Mailshake(TableAdapter):
    """Reads Mailshake's webhooks and records."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table, or by the record's type if that is more specific."""
        kinds = _KINDS.get(normalize_event_name(name), {})
        return kinds.get(normalize_event_name(text(item.get("type")) or "")) or super().meaning(name, item)


ADAPTER = Mailshake(
    tool="mailshake",
    stops_on_bounce=True,
    shapes=(
        DetectionRule("resource_url", 95, starts="https://api.mailshake.com"),
        DetectionRule("resource_url", 60),
        DetectionRule("object recipient.emailAddress campaign", 85, named=True),
        DetectionRule("object recipient.object campaign.object", 85, named=True),
    ),
    plain_names="sent_message open click reply",
    names={"lead": m.STATUS_IN_BODY},
    name="event object",
    email="recipient.emailAddress",
    time="actionDate lastStatusChangeDate openedDate created",
    linkedin="recipient.fields.linkedInUrl",
    first_name="recipient.first",
    last_name="recipient.last",
    full_name="recipient.fullName",
    campaign="campaign.title campaign.id",
    message="externalRawMessageID externalID parent.id",
    key="resource_url",
    label="status",
    sent=MessagePaths(
        subject="subject", text="plainTextBody", html="body", mailbox="from.address", message_id="externalRawMessageID externalID"
    ),
    received=MessagePaths(
        subject="subject", text="plainTextBody", html="body", mailbox="to.0.address", message_id="externalRawMessageID externalID"
    ),
)
