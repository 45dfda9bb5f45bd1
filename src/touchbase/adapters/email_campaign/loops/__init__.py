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
    plain_names=(
        "campaign_email_sent loop_email_sent email_delivered email_opened email_clicked email_hardbounced email_softbounced "
        "email_spamreported email_unsubscribed email_resubscribed contact_unsubscribed contact_created contact_deleted "
        "contact_mailinglist_subscribed contact_mailinglist_unsubscribed"
    ),
    names={"transactional_email_sent": m.OTHER, "testing_testevent": m.OTHER},
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
