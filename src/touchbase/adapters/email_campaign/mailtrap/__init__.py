"""Mailtrap: webhooks of Email Sending, in batches. There is no event for sent mail: the delivery counts as sent."""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, TableAdapter
from touchbase.adapters.kit.signatures import hmac_body

ADAPTER = TableAdapter(
    tool="mailtrap",
    signature_schemes=(hmac_body("mailtrap-signature"),),
    shapes=(DetectionRule("events.0.sending_stream events.0.event", 95), DetectionRule("event sending_stream", 92)),
    plain_names="open click soft_bounce spam unsubscribe suspension",
    names={"delivery": m.DELIVERED_AS_SENT, "bounce": m.HARD_BOUNCED, "reject": m.OTHER},
    other_names=m.OTHER,
    lists="events",
    name="event",
    email="email",
    time="timestamp",
    campaign="category",
    campaign_id="",
    link="url",
    message="message_id",
    key="event_id",
    usual_messages=False,
)
