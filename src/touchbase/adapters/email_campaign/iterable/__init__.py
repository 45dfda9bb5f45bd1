"""Iterable: system webhooks. An unsubscription from channels, message types or lists is a part of all mail."""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import dig

_PARTS = ("channelIds", "messageTypeIds", "emailListIds")


class IterableTool(TableAdapter):
    """Reads Iterable's webhooks."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; an opt-out or opt-in of parts says nothing about all mail."""
        is_choice = normalize_event_name(name) in ("emailsubscribe", "emailunsubscribe")
        if is_choice and any(dig(item, "dataFields", part) for part in _PARTS):
            return m.PREFERENCES
        return super().meaning(name, item)


ADAPTER = IterableTool(
    tool="iterable",
    shapes=(DetectionRule("eventName dataFields email", 92),),
    names={
        "emailsend": m.SENT,
        "emailopen": m.OPENED,
        "emailclick": m.CLICKED,
        "emailbounce": m.BOUNCED,
        "emailcomplaint": m.COMPLAINED,
        "emailunsubscribe": m.UNSUBSCRIBED,
        "emailsubscribe": m.RESUBSCRIBED,
    },
    other_names=m.OTHER,
    name="eventName",
    email="email dataFields.email",
    time="dataFields.createdAt",
    campaign="dataFields.campaignName dataFields.campaignId",
    campaign_id="dataFields.campaignId",
    link="dataFields.url",
    message="dataFields.messageId",
    bounce="dataFields.recipientState dataFields.bounceMessage",
    usual_messages=False,
)
