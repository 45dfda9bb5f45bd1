"""QuickMail: webhooks. Keys are flattened with dots (`prospect.email`); there is no time: the receipt counts."""

from __future__ import annotations

from touchbase.adapters.kit.declarative import DetectionRule, TableAdapter
from touchbase.adapters.kit.messages import MessagePaths

ADAPTER = TableAdapter(
    tool="quickmail",
    shapes=(DetectionRule("event_name prospect.email journey", 95), DetectionRule("event_name prospect.email inbox", 85)),
    plain_names="sent open click reply bounce unsubscribe journey_completed checkpoint tagging opportunity_status",
    name="event_name",
    email="prospect.email",
    time="",
    first_name="prospect.first_name",
    last_name="prospect.last_name",
    full_name="prospect.full_name",
    campaign="campaign.name campaign.id",
    step="step.index",
    label="journey.label",
    sent=MessagePaths(mailbox="inbox.email"),
    received=MessagePaths(mailbox="inbox.email"),
)
