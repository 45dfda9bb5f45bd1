"""Mailchimp: its audience webhooks in our words.

Form fields with bracketed names. These hooks tell of no single mail and no reply: an audience's members
leave, are cleaned, or change. `fired_at` has no zone and is taken as UTC.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import Item, Shape, Table, paths, pick, plain
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import text

_TYPES = frozenset({"subscribe", "unsubscribe", "profile", "upemail", "cleaned", "campaign"})
_REASON, _ACTION, _STATUS = paths("data.reason"), paths("data.action"), paths("status")
_MEMBERS = {"unsubscribed": m.UNSUBSCRIBED, "cleaned": m.HARD_BOUNCED}


class Mailchimp(Table):
    """Reads Mailchimp's calls."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """By the type, and for those that leave by why they did."""
        known, reason = plain(name), pick(item, _REASON, text)
        if known == "member":
            return _MEMBERS.get(pick(item, _STATUS, text) or "", m.SAVED)
        if known == "cleaned":
            return m.COMPLAINED if reason == "abuse" else m.HARD_BOUNCED
        if known == "unsubscribe":
            if reason == "abuse":
                return m.COMPLAINED
            # Taken off the list by its owner: the person has asked for nothing.
            return m.OTHER if pick(item, _ACTION, text) in ("delete", "archive") else m.UNSUBSCRIBED
        return m.OTHER


ADAPTER = Mailchimp(
    tool="mailchimp",
    shapes=(
        Shape("fired_at type data.list_id", 95),
        Shape("fired_at type data", 85),
        Shape("type data.list_id", 85, spelt=_TYPES.__contains__),
        Shape("unique_email_id email_address list_id", 80),
    ),
    names={},
    nameless={"unique_email_id": "member"},
    name="type",
    email="data.email data.new_email data.merges.EMAIL email_address",
    time="fired_at last_changed",
    first_name="data.merges.FNAME merge_fields.FNAME",
    last_name="data.merges.LNAME merge_fields.LNAME",
    campaign="data.campaign_id",
)
