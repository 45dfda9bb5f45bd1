"""Mailjet: event webhooks.

A list if events are grouped, else one object. `sent` means that the receiving server has accepted the email.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import flag


class Mailjet(TableAdapter):
    """Reads Mailjet's webhooks."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; a bounce has a flag for a permanent failure."""
        if normalize_event_name(name) == "bounce" and (is_hard := flag(item.get("hard_bounce"))) is not None:
            return m.HARD_BOUNCED if is_hard else m.SOFT_BOUNCED
        return super().meaning(name, item)


ADAPTER = Mailjet(
    tool="mailjet",
    shapes=(
        DetectionRule("mj_campaign_id event", 95),
        DetectionRule("mj_contact_id event", 95),
        DetectionRule("MessageID event email time", 90),
        DetectionRule("Message_GUID event", 90),
        DetectionRule("customcampaign event", 85),
        DetectionRule("mj_list_id event", 90),
        DetectionRule("CustomID event email", 85, named=True),
        DetectionRule("hard_bounce event email", 85, named=True),
        DetectionRule("MessageID event time", 80, named=True),
        DetectionRule("Parts Sender Recipient", 85),
    ),
    plain_names="sent open click bounce blocked spam unsub",
    names={"typofix": m.OTHER, "parse": m.OTHER},
    nameless={"Parts": "parse"},  # an inbound email (Parse API)
    name="event",
    email="email",
    time="time",
    campaign="customcampaign mj_campaign_id",
    message="MessageID mj_message_id Message_GUID",
    bounce="error_related_to error comment",
    usual_messages=False,
)
