"""Postmark: its webhooks in our words.

The address is `Recipient`, on bounces and complaints `Email`. There is no sent event: delivered stands
for it. A bounce's `Type` may be an unsubscription or a machine's answer, and a change of subscription
may be a bounce: both are read as what they are.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import Item, Shape, Table, plain
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import flag, text

_BOUNCES = {
    "hardbounce": m.HARD_BOUNCED,
    "bademailaddress": m.HARD_BOUNCED,
    "softbounce": m.SOFT_BOUNCED,
    "transient": m.SOFT_BOUNCED,
    "dnserror": m.SOFT_BOUNCED,
    "blocked": m.SOFT_BOUNCED,
    "spamnotification": m.SOFT_BOUNCED,
    "virusnotification": m.SOFT_BOUNCED,
    "dmarcpolicy": m.SOFT_BOUNCED,
    "unsubscribe": m.UNSUBSCRIBED,
    "subscribe": m.RESUBSCRIBED,
    "spamcomplaint": m.COMPLAINED,
    "autoresponder": m.AUTO_REPLIED,
    "challengeverification": m.AUTO_REPLIED,
    "addresschange": m.AUTO_REPLIED,
    "inbounderror": m.OTHER,
    "smtpapierror": m.SEND_FAILED,
    "templaterenderingfailed": m.SEND_FAILED,
}
_SUPPRESSIONS = {"hardbounce": m.HARD_BOUNCED, "spamcomplaint": m.COMPLAINED, "manualsuppression": m.UNSUBSCRIBED}


class Postmark(Table):
    """Reads Postmark's calls."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """By the record's type, and for bounces and subscriptions by their own."""
        known = plain(name)
        if known == "bounce":
            return _BOUNCES.get(plain(text(item.get("Type")) or ""), m.BOUNCED)
        if known == "subscriptionchange":
            suppressed = flag(item.get("SuppressSending"))
            if not suppressed:
                # Only a plain no lifts "do not contact".
                return m.OTHER if suppressed is None else m.RESUBSCRIBED
            return _SUPPRESSIONS.get(plain(text(item.get("SuppressionReason")) or ""), m.UNSUBSCRIBED)
        return self.names.get(known, m.OTHER)


ADAPTER = Postmark(
    tool="postmark",
    shapes=(
        Shape("RecordType MessageID", 95),
        Shape("RecordType", 85),
        Shape("BouncedAt MessageID TypeCode", 90),
        Shape("DeliveredAt MessageID Recipient", 90),
        Shape("OriginalLink MessageID Recipient", 90),
        Shape("FirstOpen MessageID Recipient", 90),
        Shape("FromFull MessageID ToFull", 90),
        Shape("Type MessageID Email", 80),
    ),
    names={
        "delivery": m.DELIVERED_AS_SENT,
        "open": m.OPENED,
        "click": m.CLICKED,
        "spamcomplaint": m.COMPLAINED,
    },
    # Older calls, and mails that came in.
    nameless={
        "BouncedAt": "Bounce",
        "DeliveredAt": "Delivery",
        "OriginalLink": "Click",
        "FirstOpen": "Open",
        "SuppressSending": "SubscriptionChange",
        "FromFull": "Inbound",
        "Type": "Bounce",
    },
    name="RecordType",
    email="Recipient Email",
    time="DeliveredAt ReceivedAt BouncedAt ChangedAt",
    message="MessageID",
    key="ID",
    bounce="Type Name Details Description",
)
