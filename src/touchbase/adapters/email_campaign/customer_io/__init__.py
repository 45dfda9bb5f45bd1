"""Customer.io: reporting webhooks.

What an event is about (`object_type`) and what happened (`metric`) make its name. A change of preferences is JSON in a text: a topic
is a part of all mail, the channel `email` is all of it.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import dig, flag, text
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.parse import unquoted
from touchbase.adapters.kit.signatures import hmac_timed

_PREFERENCES = "customer_cio_subscription_preferences_changed"


class CustomerIo(TableAdapter):
    """Reads Customer.io's webhooks."""

    def named(self, item: Item, webhook: ParsedWebhook) -> str | None:
        """Return the event's object and its metric as one name."""
        parts = [text(item.get("object_type")), text(item.get("metric"))]
        return "_".join(part for part in parts if part) or None

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; of preferences by the channel of all mail, if it is named."""
        if normalize_event_name(name) == _PREFERENCES:
            is_on = flag(dig(unquoted(dig(item, "data", "content")), "channels", "email"))
            return m.PREFERENCES if is_on is None else m.RESUBSCRIBED if is_on else m.UNSUBSCRIBED
        return super().meaning(name, item)


ADAPTER = CustomerIo(
    tool="customer_io",
    signature_schemes=(hmac_timed("x-cio-signature", "v0:TIME:BODY", time_header="x-cio-timestamp"),),
    shapes=(DetectionRule("object_type metric event_id", 95), DetectionRule("object_type metric data.identifiers", 92)),
    plain_names=(
        "email_sent email_delivered email_opened email_clicked email_bounced email_failed email_dropped email_deferred email_spammed "
        "email_unsubscribed customer_unsubscribed customer_subscribed"
    ),
    names={"email_undeliverable": m.SEND_FAILED, _PREFERENCES: m.PREFERENCES},
    other_names=m.OTHER,
    name="",
    email="data.recipient data.email_address data.identifiers.email",
    time="timestamp",
    campaign="data.campaign_id data.broadcast_id data.newsletter_id",
    campaign_id="data.campaign_id data.broadcast_id data.newsletter_id",
    link="data.href",
    message="data.delivery_id",
    key="event_id",
    bounce="data.failure_message",
    sent=MessagePaths(subject="data.subject", message_id="data.delivery_id"),
    usual_messages=False,
)
