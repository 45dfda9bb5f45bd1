"""Snov.io: its webhook calls in our words.

The event is an object and what happened to it. The first mail fires as sent and as first_sent. No time
was seen in a body; where none of the usual keys has one, the time of receipt counts.
"""

from __future__ import annotations

from touchbase.adapters.kit import meaning as m
from touchbase.adapters.kit.reading import text
from touchbase.adapters.kit.table import Item, Shape, Table
from touchbase.domain.ports import Call


class SnovIo(Table):
    """Reads Snov.io's calls."""

    def named(self, item: Item, call: Call) -> str | None:
        """Object and action as one name."""
        both = [found for key in ("event_object", "event_action") if (found := text(item.get(key)))]
        return " ".join(both) or None


ADAPTER = SnovIo(
    tool="snov_io",
    shapes=(Shape("event_object event_action", 95),),
    names={
        "campaign_email_sent": m.SENT,
        "campaign_email_first_sent": m.SENT,
        "campaign_email_opened": m.OPENED,
        "campaign_email_clicked": m.CLICKED,
        "campaign_email_link_clicked": m.CLICKED,
        "campaign_email_bounced": m.BOUNCED,
        "campaign_email_unsubscribed": m.UNSUBSCRIBED,
        "campaign_reply_received": m.REPLIED,
        "campaign_reply_first_received": m.REPLIED,
        "prospect_campaign_finished": m.COMPLETED,
    },
    beginnings={"found_": m.OTHER, "email_verification": m.OTHER},
    name="event_object",
    email=(
        "email email.email prospect.email recipient.email data.email recipient_email prospect_email prospectEmail data.prospect.email"
        " data.recipient.email recipient to_email toEmail data.recipient_email data.prospect_email data.to_email"
    ),
    time=(
        "timestamp event_time event_date occurred_at date created_at createdAt sent_at"
        " data.timestamp data.event_time data.date data.created_at data.sent_at"
    ),
    linkedin="linkedin_url prospect.linkedin_url recipient.linkedin_url data.linkedin_url data.prospect.linkedin_url",
    first_name="first_name firstName prospect.first_name recipient.first_name data.first_name",
    last_name="last_name lastName prospect.last_name recipient.last_name data.last_name",
    full_name="full_name fullName prospect.name data.name",
    campaign="campaign_name campaign.name campaign campaignName campaign_id data.campaign_name data.campaign.name",
    message="message_id data.message_id",
    bounce="bounce_type reason",
)
