"""Outboundry: webhooks.

An event name with `data`, which contains lead and campaign. The list of names is incomplete: an unknown name is
classified by its words. Campaigns mix email and LinkedIn: an ambiguous event is assigned by the campaign's type.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import at
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, accept_any_name, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.messages import MessagePaths

_ON_LINKEDIN = {m.SENT: m.LINKEDIN_SENT, m.REPLIED: m.LINKEDIN_REPLIED}


class Outboundry(TableAdapter):
    """Reads Outboundry's webhooks."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table or the words; in a LinkedIn campaign only a name that says so is about an email."""
        meaning = super().meaning(name, item)
        if "mail" in normalize_event_name(name) or at(item, ("data", "campaign", "campaign_type")) != "linkedin":
            return meaning
        return _ON_LINKEDIN.get(meaning, meaning)


ADAPTER = Outboundry(
    tool="outboundry",
    shapes=(
        DetectionRule("event data.lead.email data.campaign.id timestamp", 70, spelt=accept_any_name),
        DetectionRule("event data.lead.email data.campaign", 65, spelt=accept_any_name),
        # With a hyphen, the vendor's spelling: the other keys alone are common among unknown tools.
        DetectionRule("event data.lead.email timestamp", 60, spelt=lambda name: "-" in name),
        DetectionRule("event company_id data.lead timestamp", 80, spelt=accept_any_name),
        DetectionRule("event data.lead data.actionData", 80, spelt=accept_any_name),
    ),
    plain_names=(
        "email_sent email_opened email_clicked email_replied lead_replied email_bounced lead_unsubscribed lead_status_changed "
        "invite_sent invite_accepted invite_withdrawn"
    ),
    names={"message_sent": m.LINKEDIN_SENT, "message_replied": m.LINKEDIN_REPLIED, "message_received": m.LINKEDIN_REPLIED},
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
    linkedin="data.lead.profile_url data.lead.linkedin_url data.lead.linkedinUrl",
    first_name="data.lead.first_name data.lead.firstName",
    last_name="data.lead.last_name data.lead.lastName",
    full_name="data.lead.name",
    campaign="data.campaign.name data.campaign.id",
    message="data.message_id data.email.message_id data.email.id",
    label="data.lead.status data.status data.new_status data.lead.latest_status",
    bounce="data.bounce_type data.reason",
    sent=MessagePaths(mailbox="data.sender.email", message_id="data.message_id data.email.message_id"),
    received=MessagePaths(mailbox="data.sender.email"),
)
