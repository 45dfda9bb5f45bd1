"""Outlix: webhooks.

A webhook identifies the lead by id only. Events are parked under that id until an event with an address identifies the person.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, TableAdapter, accept_any_name
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.signatures import hmac_body

ADAPTER = TableAdapter(
    tool="outlix",
    signature_schemes=(hmac_body("x-webhook-signature", prefix="sha256="),),
    shapes=(
        DetectionRule("organization_id event data.lead_id", 92, spelt=accept_any_name),
        DetectionRule("organization_id event timestamp data", 85, spelt=accept_any_name),
        DetectionRule("event data.lead_id timestamp", 80, header="x-webhook-signature", spelt=accept_any_name),
    ),
    names={
        "draft_created": m.OTHER,
        "draft_approved": m.OTHER,
        "draft_sent": m.SENT,
        "pain_card_created": m.OTHER,
        "email_sent": m.SENT,
        "email_opened": m.OPENED,
        "email_clicked": m.CLICKED,
        "email_replied": m.REPLIED,
        "email_bounced": m.BOUNCED,
        "lead_created": m.SAVED,
        "lead_updated": m.SAVED,
        "lead_unsubscribed": m.UNSUBSCRIBED,
        "lead_status_changed": m.STATUS_IN_BODY,
    },
    name="event",
    email="data.email data.lead_email data.lead.email",
    time="timestamp",
    linkedin="data.linkedin_url data.lead.linkedin_url",
    first_name="data.first_name data.lead.first_name",
    last_name="data.last_name data.lead.last_name",
    campaign="data.campaign_name data.campaign_id",
    message="data.message_id data.draft_id",
    label="data.new_status data.status",
    bounce="data.bounce_type data.reason",
    object_type="lead",
    object_id="data.lead_id data.lead.id",
    sent=MessagePaths(subject="data.subject", message_id="data.message_id data.draft_id"),
    received=MessagePaths(subject="data.subject"),
)
