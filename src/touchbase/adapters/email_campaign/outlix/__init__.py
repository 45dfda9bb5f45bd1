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
    plain_names=(
        "draft_sent email_sent email_opened email_clicked email_replied email_bounced lead_created lead_updated lead_unsubscribed "
        "lead_status_changed"
    ),
    names={"draft_created": m.OTHER, "draft_approved": m.OTHER, "pain_card_created": m.OTHER},
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
