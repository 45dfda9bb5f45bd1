"""Names of events that say nothing about a person: a tool's test call, its own set-up, groups and steps, a shop's orders.

A webhook that no adapter understands raises an alarm, because a reply may be in it. These names raise none. A name is one of them only if
all of its words are listed for one reason, so that no word of a reply, a bounce, an opt-out or a status can be in it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from touchbase.adapters.kit.status_labels import words


class NameRule(NamedTuple):
    """A name has one of `keys`, one of `verbs` if there are any, and no word that is not in the rule."""

    reason: str
    keys: frozenset[str]
    verbs: frozenset[str]
    fillers: frozenset[str]


def _rule(reason: str, keys: str, verbs: str, fillers: str) -> NameRule:
    return NameRule(reason, frozenset(keys.split()), frozenset(verbs.split()), frozenset(f"{fillers} {_LINKING}".split()))


_LINKING = "a an the to from in into of has been was were is and by on"
_PEOPLE = "subscriber subscribers contact contacts lead leads prospect prospects person people profile profiles customer customers"
_GROUPS = "group groups segment segments folder automation automations workflow workflows course courses lesson funnel"
_RULES = (
    _rule(
        "a test call of the tool",
        keys="test tests testing ping pong heartbeat dummy",
        verbs="",
        fillers="webhook webhooks hook hooks event events notification url endpoint connection payload request api integration com",
    ),
    _rule(
        "a confirmation of the tool's own subscription to this address",
        keys="webhook webhooks hook hooks endpoint",
        verbs="created added registered activated enabled verified verification confirmed confirmation validated validation installed",
        fillers="url event subscription api",
    ),
    _rule(
        "a change of groups in the tool",
        keys=_GROUPS,
        verbs="added add adding removed remove removing joined join left leave entered enter exited exit moved move assigned applied",
        fillers=_PEOPLE,
    ),
    _rule(
        "a group, step or automation of the tool itself",
        keys=f"{_GROUPS} checkpoint journey step",
        verbs="created updated changed renamed started triggered reached published",
        fillers="subscriber subscribers",
    ),
    _rule(
        "a campaign of the tool itself",
        keys="campaign campaigns sequence sequences cadence cadences template templates broadcast broadcasts",
        verbs="created create updated update edited changed renamed launched started paused resumed stopped archived unarchived activated "
        "deactivated deleted duplicated published scheduled",
        fillers="draft email",
    ),
    _rule(
        "an order of a shop",
        keys="order orders cart carts checkout checkouts product products invoice invoices payment payments refund refunds fulfillment "
        "fulfillments inventory coupon coupons discount discounts shipment shipments transaction transactions purchase purchases variant "
        "variants collection collections",
        verbs="created create updated update edited changed paid cancelled canceled fulfilled partially completed placed refunded shipped "
        "restored abandoned succeeded pending processing received captured authorized delete deleted",
        fillers="item items line level levels draft shop store customer customers partial",
    ),
)
_REASON_NAMES = {
    "a step of a mail that has not reached anybody": ("attempted", "drafted", "converted", "held", "queued", "suspension", "suspended"),
    "a person's use of the tool's own inbox": (
        "message read", "message seen", "message reaction", "message edited", "message delivered", "mail moved", "typing started",
    ),
    "a step of the tool's own": ("checkpoint", "tagging", "opportunity status"),
    "a notice about the tool's own account": (
        "account logged in", "account logged out", "domain dns error", "system alert", "quota exceeded",
    ),
}  # fmt: skip
_REASONS = {name: reason for reason, names in _REASON_NAMES.items() for name in names}
_MAX_NAME_LENGTH = 200


def reason_to_ignore(name: str) -> str | None:
    """Return the subject of an event name that is about no person; None if something may be lost."""
    return _reason(name) if len(name) <= _MAX_NAME_LENGTH else None


def is_ping(data: object) -> bool:
    """Return whether a body is the call of a test button or of a set-up: it is empty, or has the hook's own id alone."""
    return data in ({}, []) or (isinstance(data, dict) and (data.keys() <= {"webhook_id", "hook_id"} or [*data] in (["ping"], ["test"])))


@lru_cache(maxsize=2_048)
def _reason(name: str) -> str | None:
    plain = words(name)
    parts = frozenset(plain.split())
    for rule in _RULES:
        if parts & rule.keys and (not rule.verbs or parts & rule.verbs) and parts <= rule.keys | rule.verbs | rule.fillers:
            return rule.reason
    return _REASONS.get(plain)
