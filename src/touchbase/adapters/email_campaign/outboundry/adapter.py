"""Outboundry: its webhook calls in our words.

An event's name beside `data`, which holds lead and campaign. The names were not seen in full: one that is
not in the table is read by its words.
"""

from __future__ import annotations

from touchbase.adapters.kit import meaning as m
from touchbase.adapters.kit.table import Shape, Table, any_name

ADAPTER = Table(
    tool="outboundry",
    shapes=(
        Shape("event data.lead.email data.campaign.id timestamp", 70, spelt=any_name),
        Shape("event data.lead.email data.campaign", 65, spelt=any_name),
        Shape("event data.lead.email timestamp", 60, spelt=any_name),
    ),
    names={
        "email_sent": m.SENT,
        "email_opened": m.OPENED,
        "email_clicked": m.CLICKED,
        "email_replied": m.REPLIED,
        "lead_replied": m.REPLIED,
        "email_bounced": m.BOUNCED,
        "lead_unsubscribed": m.UNSUBSCRIBED,
        "lead_status_changed": m.LABELLED,
    },
    name="event",
    email="data.lead.email",
    time="timestamp data.timestamp data.occurred_at data.created_at",
    times={
        "email_sent": "data.sent_at",
        "email_opened": "data.opened_at",
        "email_clicked": "data.clicked_at",
        "email_replied": "data.replied_at data.received_at",
        "email_bounced": "data.bounced_at",
        "email_unsubscribed": "data.unsubscribed_at",
    },
    linkedin="data.lead.linkedin_url data.lead.linkedinUrl",
    first_name="data.lead.first_name data.lead.firstName",
    last_name="data.lead.last_name data.lead.lastName",
    full_name="data.lead.name",
    campaign="data.campaign.name data.campaign.id",
    message="data.message_id data.email.message_id data.email.id",
    label="data.lead.status data.status data.new_status",
    bounce="data.bounce_type data.reason",
)
