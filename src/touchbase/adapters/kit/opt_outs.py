"""Opt-outs in bodies: members that say that a person wants no mail, and changes of single lists or topics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import paths, pick
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import dig, flag, text
from touchbase.adapters.kit.parse import unquoted
from touchbase.adapters.kit.status_labels import words
from touchbase.adapters.kit.times import parse_time

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


_HINT = re.compile(r"opt|unsub|contact|mail|dnc|list|suppress", re.IGNORECASE)
_OF = r"(?: (?:of|from|to)(?: (?:all|any|the))?(?: (?:e ?mails?|marketing|mailings?|communications?|newsletters?)){0,2})?"
_MEMBER = re.compile(
    r"(?:(?:hs|is|has|was|contact|lead|person|global|globally|marketing|x|e ?mails?|address) ){0,4}"
    rf"(?:(?:e?mail)?opt(?:ed)? ?out{_OF}|opting out|unsub(?:scribed?)?{_OF}|do ?not ?(?:contact|e ?mail|bulk ?e ?mail)|dnc|black ?listed"
    r"|suppressed)"
    r"(?: (?:e ?mail|all|status|flag|c|at|on|date|time)){0,3}"
)
"""Names of members that say by themselves that a person wants no mail, in words."""
_TOPIC = re.compile(r"hs e?mail ?optout \d{1,20}")
"""HubSpot's opt-outs of one type of subscription."""
_TRUE = frozenset(
    {"true", "yes", "y", "1", "x", "on", "checked", "unsubscribed", "unsubscribe", "opted out", "opt out", "do not contact", "dnc"}
)
_FALSE = frozenset({"false", "no", "n", "0", "off", "unchecked", "subscribed", "opted in", ""})
_BOUNCED = "2"
"""Mautic's reason of a `doNotContact` entry for an address that bounces."""


def opt_out_in(members: Iterable[tuple[str, object]]) -> tuple[str, Meaning] | None:
    """Return the first member that says that a person wants no mail, with the meaning; None if none says so."""
    for name, value in members:
        if _HINT.search(name) is not None and value not in (None, "", False) and (said := _said(name, value)) not in (None, False):
            return name, m.HARD_BOUNCED if said == _BOUNCED else m.UNSUBSCRIBED
    return None


def is_opt_in(name: str, value: object, previous: object) -> bool:
    """Return whether a change of a member from yes to no takes back that a person wants no mail."""
    return is_opt_out_member(name) and value is not None and _flag(value) is False and _flag(previous) is True


def is_opt_out_member(name: str) -> bool:
    """Return whether a member says by its name that a person wants no mail: `is_unsubscribed`, `DNC`; not `DoNotCall`."""
    return _HINT.search(name) is not None and _MEMBER.fullmatch(words(name)) is not None


def is_opt_out_of_topic(name: str) -> bool:
    """Return whether a member says whether a person wants one type of mail."""
    return name.startswith("hs_email_optout_") and _TOPIC.fullmatch(words(name)) is not None


def _said(name: str, value: object) -> object:
    if not is_opt_out_member(name):
        return None
    if isinstance(value, list):
        entries = [entry for entry in value if isinstance(entry, dict) and text(entry.get("channel")) in (None, "email")]
        reasons = {text(entry.get("reason")) for entry in entries}
        return None if not entries else _BOUNCED if reasons == {_BOUNCED} else True
    return _flag(value) or parse_time(value) is not None


def _flag(value: object) -> bool | None:
    """Return a member's value as a flag; None if it is neither yes nor no."""
    plain = str(value).lower() if isinstance(value, bool) else (text(value) or "").lower()
    return True if plain in _TRUE else False if plain in _FALSE else None
