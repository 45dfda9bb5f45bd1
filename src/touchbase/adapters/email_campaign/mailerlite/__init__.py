"""MailerLite: webhooks, alone or in batches. Times have no zone."""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, TableAdapter
from touchbase.adapters.kit.signatures import hmac_body

ADAPTER = TableAdapter(
    tool="mailerlite",
    signature_schemes=(hmac_body("signature"), hmac_body("x-mailerlite-signature", is_base64=True)),
    shapes=(
        DetectionRule("events.0.type events.0.data.subscriber", 92),
        DetectionRule("events.0.type events.0.subscriber", 90),
        DetectionRule("type data.subscriber", 92, starts="subscriber."),
        DetectionRule("type data.subscriber", 92, starts="campaign."),
        DetectionRule("type subscriber", 88, starts="subscriber."),
        DetectionRule("type subscriber", 88, starts="campaign."),
        DetectionRule("event email fields", 85, starts="subscriber."),
        DetectionRule("event email status", 82, starts="subscriber."),
        DetectionRule("event subscriber", 85, starts="campaign."),
        DetectionRule("events", 85, header="x-mailerlite-signature"),
    ),
    plain_names=(
        "subscriber_created subscriber_updated subscriber_unsubscribed subscriber_bounced subscriber_spam_reported subscriber_deleted "
        "subscriber_added_to_group subscriber_removed_from_group subscriber_automation_triggered campaign_open campaign_click"
    ),
    names={"subscriber_active": m.RESUBSCRIBED, "subscriber_automation_completed": m.OTHER, "campaign_sent": m.OTHER},
    lists="events",
    name="type event",
    email="email data.subscriber.email subscriber.email",
    time="timestamp updated_at data.subscriber.updated_at subscriber.updated_at",
    times={"email_unsubscribed": "unsubscribed_at data.subscriber.unsubscribed_at subscriber.unsubscribed_at"},
    first_name="fields.name data.subscriber.fields.name subscriber.fields.name",
    last_name="fields.last_name data.subscriber.fields.last_name subscriber.fields.last_name",
    campaign="campaign.name data.campaign.name campaign.id data.campaign.id",
    campaign_id="campaign.id data.campaign.id",
    link="link data.link link.url data.link.url url",
    usual_messages=False,
)
