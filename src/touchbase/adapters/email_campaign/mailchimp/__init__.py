"""Mailchimp: audience webhooks.

Form fields with bracketed names. There are no events of single emails or replies: an audience's members leave, are
cleaned, or change. `fired_at` has no zone and is read as UTC.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import paths, pick
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import text

_TYPES = frozenset({"subscribe", "unsubscribe", "profile", "upemail", "cleaned", "campaign"})
_REASON, _ACTION, _STATUS = paths("data.reason"), paths("data.action"), paths("status")
_MEMBERS = {"unsubscribed": m.UNSUBSCRIBED, "cleaned": m.HARD_BOUNCED}


class Mailchimp(TableAdapter):
    """Reads Mailchimp's webhooks."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning by the type, and for unsubscribes by their reason."""
        event_name, reason = normalize_event_name(name), pick(item, _REASON, text)
        if event_name == "member":
            return _MEMBERS.get(pick(item, _STATUS, text) or "", m.SAVED)
        if event_name == "cleaned":
            return m.COMPLAINED if reason == "abuse" else m.HARD_BOUNCED
        if event_name == "unsubscribe":
            if reason == "abuse":
                return m.COMPLAINED
            # Removed by the list's owner: not a request of the person.
            return m.OTHER if pick(item, _ACTION, text) in ("delete", "archive") else m.UNSUBSCRIBED
        return m.OTHER


ADAPTER = Mailchimp(
    tool="mailchimp",
    shapes=(
        DetectionRule("fired_at type data.list_id", 95),
        DetectionRule("fired_at type data", 85),
        DetectionRule("type data.list_id", 85, spelt=_TYPES.__contains__),
        DetectionRule("unique_email_id email_address list_id", 80),
    ),
    nameless={"unique_email_id": "member"},
    name="type",
    email="data.email data.new_email data.merges.EMAIL email_address",
    time="fired_at last_changed",
    first_name="data.merges.FNAME merge_fields.FNAME",
    last_name="data.merges.LNAME merge_fields.LNAME",
    campaign="data.campaign_id",
    usual_messages=False,
)
