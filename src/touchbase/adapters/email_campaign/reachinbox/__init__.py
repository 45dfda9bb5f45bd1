"""ReachInbox: webhooks.

Flat, one event per webhook. A sent event has a reply's text key as well: only the event name decides what happened.
"""

from __future__ import annotations

from touchbase.adapters.kit.declarative import DetectionRule, TableAdapter
from touchbase.adapters.kit.messages import MessagePaths

ADAPTER = TableAdapter(
    tool="reachinbox",
    stops_on_bounce=True,
    shapes=(
        DetectionRule("user_webhook_id event", 95),
        DetectionRule("event lead_email email_account", 85, named=True),
        DetectionRule("event lead_email campaign_id", 80, named=True),
    ),
    plain_names=(
        "email_sent email_opened email_clicked link_clicked reply_received email_bounced lead_interested lead_not_interested "
        "lead_unsubscribed email_unsubscribed auto_reply_received campaign_completed sequence_completed"
    ),
    name="event",
    email="lead_email",
    time="timestamp",
    first_name="lead_first_name",
    last_name="lead_last_name",
    campaign="campaign_name campaign_id",
    message="message_id email_id",
    bounce="bounce_type bounce_reason",
    sent=MessagePaths(text="email_sent_body", mailbox="email_account", message_id="message_id"),
    received=MessagePaths(text="email_replied_body", mailbox="email_account"),
)
