"""Opt-outs in bodies: members that say that a person wants no mail, and changes of single lists or topics."""

from __future__ import annotations

from collections.abc import Mapping

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import paths, pick
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import dig, flag, text
from touchbase.adapters.kit.parse import unquoted
from touchbase.adapters.kit.status_labels import words

_NEW_STATUS = paths("new_status newStatus subscription_status subscriptionStatus new_value status")
_OUT = frozenset({"unsubscribed", "manual", "opted out", "optedout", "opt out", "do not contact", "suppressed", "never subscribed"})
_IN = frozenset({"contactable", "subscribed", "resubscribed", "opted in"})


def meaning_of_preferences(item: Mapping[str, object]) -> Meaning:
    """Return the meaning of a change of a person's subscriptions: an opt-out of all mail only if the body says all mail, not one topic."""
    content = unquoted(item.get("content"))
    mail = flag(dig(content, "channels", "email"))
    if mail is not None:
        return m.RESUBSCRIBED if mail else m.UNSUBSCRIBED
    if content is not item.get("content") or "topics" in item:
        return m.PREFERENCES
    status = words(pick(item, _NEW_STATUS, text) or "")
    if status == "bounced":
        return m.HARD_BOUNCED
    return m.UNSUBSCRIBED if status in _OUT else m.RESUBSCRIBED if status in _IN else m.PREFERENCES
