"""Loops: webhooks.

`contact.unsubscribed` also comes with each hard bounce and deletion; it stops mail in each case. Lists are a part of all mail. The
header `webhook-id` is the event's id.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.signatures import standard_webhooks
from touchbase.history.events import Event


class Loops(TableAdapter):
    """Reads Loops's webhooks."""

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return the event of one webhook, with the event's id from its header."""
        event = super().read(item, webhook)
        event.key = text(webhook.headers.get("webhook-id"))
        return event


ADAPTER = Loops(
    tool="loops",
    signature_schemes=(standard_webhooks(),),
    shapes=(DetectionRule("eventName webhookSchemaVersion", 95), DetectionRule("eventName contactIdentity", 92)),
    names={
        "campaign_email_sent": m.SENT,
        "loop_email_sent": m.SENT,
        "transactional_email_sent": m.OTHER,
        "email_delivered": m.DELIVERED,
        "email_opened": m.OPENED,
        "email_clicked": m.CLICKED,
        "email_hardbounced": m.HARD_BOUNCED,
        "email_softbounced": m.SOFT_BOUNCED,
        "email_spamreported": m.COMPLAINED,
        "email_unsubscribed": m.UNSUBSCRIBED,
        "email_resubscribed": m.RESUBSCRIBED,
        "contact_unsubscribed": m.UNSUBSCRIBED,
        "contact_created": m.SAVED,
        "contact_deleted": m.OTHER,
        "contact_mailinglist_subscribed": m.PREFERENCES,
        "contact_mailinglist_unsubscribed": m.PREFERENCES,
        "testing_testevent": m.OTHER,
    },
    name="eventName",
    email="contactIdentity.email contact.email",
    time="eventTime",
    first_name="contact.firstName",
    last_name="contact.lastName",
    campaign="campaignId loopId",
    campaign_id="campaignId loopId",
    link="link.url url",
    message="email.id",
    sent=MessagePaths(subject="email.subject", message_id="email.id"),
    usual_messages=False,
)
