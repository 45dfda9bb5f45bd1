"""UniSender Go: webhooks. Events stand in a list inside a list, the kind of event in `status`; times have no zone and are UTC."""

from __future__ import annotations

from touchbase.adapters.email_campaign.unisender_go.signature import UNISENDER
from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter
from touchbase.history.events import Event


class UnisenderGo(TableAdapter):
    """Reads UniSender Go's webhooks."""

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return one event; its time is UTC, whatever the client's zone is."""
        event = super().read(item, webhook)
        event.occurred_us = None if event.occurred_us is None else int(event.occurred_us)
        return event


ADAPTER = UnisenderGo(
    tool="unisender_go",
    signature_schemes=(UNISENDER,),
    shapes=(DetectionRule("events_by_user auth", 95), DetectionRule("events_by_user", 92)),
    names={
        "sent": m.SENT,
        "delivered": m.DELIVERED,
        "opened": m.OPENED,
        "clicked": m.CLICKED,
        "hard_bounced": m.HARD_BOUNCED,
        "soft_bounced": m.SOFT_BOUNCED,
        "unsubscribed": m.UNSUBSCRIBED,
        "subscribed": m.RESUBSCRIBED,
        "spam": m.COMPLAINED,
        "transactional_spam_block": m.OTHER,
    },
    other_names=m.OTHER,
    lists="events_by_user events",
    name="event_data.status event_name",
    email="event_data.email",
    time="event_data.event_time",
    campaign="event_data.metadata.campaign_id",
    link="event_data.url",
    message="event_data.job_id",
    bounce="event_data.delivery_info.delivery_status",
    usual_messages=False,
)
