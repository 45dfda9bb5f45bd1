"""Postmark: webhooks.

The address is `Recipient`, for bounces and complaints `Email`. There is no sent event: delivered counts as sent. A
bounce's `Type` may be an unsubscribe or a machine's answer, and a subscription change may be a bounce: both are
classified accordingly.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
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


class Postmark(TableAdapter):
    """Reads Postmark's webhooks."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning by the record's type, and for bounces and subscriptions by their own type."""
        event_name = normalize_event_name(name)
        if event_name == "bounce":
            return _BOUNCES.get(normalize_event_name(text(item.get("Type")) or ""), m.BOUNCED)
        if event_name == "subscriptionchange":
            suppressed = flag(item.get("SuppressSending"))
            if not suppressed:
                # Only an explicit false removes "do not contact".
                return m.OTHER if suppressed is None else m.RESUBSCRIBED
            return _SUPPRESSIONS.get(normalize_event_name(text(item.get("SuppressionReason")) or ""), m.UNSUBSCRIBED)
        return self.listed(event_name) or m.OTHER


ADAPTER = Postmark(
    tool="postmark",
    shapes=(
        DetectionRule("RecordType MessageID", 95),
        DetectionRule("RecordType", 85),
        DetectionRule("BouncedAt MessageID TypeCode", 90),
        DetectionRule("DeliveredAt MessageID Recipient", 90),
        DetectionRule("OriginalLink MessageID Recipient", 90),
        DetectionRule("FirstOpen MessageID Recipient", 90),
        DetectionRule("FromFull MessageID ToFull", 90),
        DetectionRule("Type MessageID Email", 80),
    ),
    plain_names="open click spamcomplaint",
    names={"delivery": m.DELIVERED_AS_SENT},
    # Older webhooks, and inbound emails.
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
