"""Mailgun: current and legacy webhooks.

The current format is JSON with `signature` and `event-data`, or the bare content of the latter; the legacy one is flat
form fields, in which a sender's variables of the same name make lists. There is no sent event: delivered counts as
sent. `failed` is a bounce if its severity is permanent, a delay if temporary, and neither if Mailgun itself has
suppressed the email. `rejected` has its recipient only in the email's header.

Signature: HMAC of a timestamp and a random token, all three in the body. The body itself is not signed, so only the
timestamp limits replay of a captured signature. A retry has the timestamp of the first attempt, and the last retry comes
after more than eight hours: the usual window would lose events during a server outage. Repeated events are deduplicated.
Legacy webhooks are forms with the three at the top level; a subaccount's webhooks also have its parent's signature.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import paths, pick
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.signatures import Scheme, equals_any, hmac_digest, is_recent, window_of
from touchbase.adapters.kit.signatures_body import fields
from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.models import Arrival

RETRIED: Micros = 12 * 3600 * SECOND
"""Maximum age of a signature: 10 + 10 + 15 + 30 minutes and 1 + 2 + 4 hours of retries, plus transmission."""


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    top = fields(arrival)
    nested = top.get("signature")
    signed = nested if isinstance(nested, dict) else top
    at, token = text(signed.get("timestamp")), text(signed.get("token"))
    if at is None or token is None or not is_recent(at, now, past=window_of(arrival, RETRIED)):
        return False
    wanted = hmac_digest(secret, (at + token).encode()).hex()
    return equals_any([text(signed.get(name)) for name in ("signature", "parent-signature")], wanted)


MAILGUN = Scheme(
    "`signature` in the body: HMAC-SHA256 in hex over its `timestamp` and `token`; 12 hours, for retries",
    _check,
    reads_body=True,
    window=RETRIED,
)


_SEVERITY = paths("event-data.severity severity")
_SUPPRESSED = frozenset({"suppress-unsubscribe", "suppress-complaint"})
_REASON = paths("event-data.reason reason")
_FAILED = {"permanent": m.HARD_BOUNCED, "temporary": m.DEFERRED}


class Mailgun(TableAdapter):
    """Reads Mailgun's webhooks."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table, and for failures by their severity."""
        event_name = normalize_event_name(name)
        # Suppressed because of an earlier unsubscribe or complaint: the address itself is valid.
        if event_name in ("failed", "permanent_fail") and pick(item, _REASON, text) in _SUPPRESSED:
            return m.SEND_FAILED
        if event_name == "failed":
            return _FAILED.get((pick(item, _SEVERITY, text) or "").lower(), m.BOUNCED)
        return self.listed(name) or m.OTHER


ADAPTER = Mailgun(
    tool="mailgun",
    signature_schemes=(MAILGUN,),
    shapes=(
        DetectionRule("event-data.event", 95),
        DetectionRule("event-data", 85),
        DetectionRule("token event recipient timestamp", 90),
        DetectionRule("message-headers event recipient", 85),
        DetectionRule("Message-Id event recipient", 85),
        DetectionRule("recipient event timestamp signature", 80, named=True),
        DetectionRule("log-level event recipient", 90),
        DetectionRule("recipient-domain event recipient", 85),
        DetectionRule("user-variables event recipient timestamp", 80, named=True),
        DetectionRule("token event timestamp signature", 78, named=True),
        DetectionRule("body-plain recipient sender", 85),
        DetectionRule("body-mime recipient sender", 85),
    ),
    plain_names="opened clicked permanent_fail temporary_fail rejected dropped unsubscribed complained",
    names={
        "delivered": m.DELIVERED_AS_SENT,
        "failed": m.HARD_BOUNCED,
        "bounced": m.HARD_BOUNCED,
        "stored": m.INBOUND_EMAIL,
    },
    nameless={"body-plain": "stored", "body-mime": "stored"},  # an email that a route forwards
    name="event-data.event event event.0",
    email="event-data.recipient recipient recipient.0 event-data.message.headers.to message.headers.to",
    time="event-data.timestamp timestamp timestamp.1 timestamp.0",
    campaign="event-data.campaigns.0.name event-data.campaigns.0.id campaigns.0.name campaigns.0.id campaign-name campaign-id",
    message="event-data.message.headers.message-id message.headers.message-id Message-Id message-id",
    key="event-data.id signature.token token token.1 id",
    sent=MessagePaths(
        subject="event-data.message.headers.subject message.headers.subject",
        mailbox="event-data.message.headers.from message.headers.from event-data.envelope.sender envelope.sender",
        message_id="event-data.message.headers.message-id message.headers.message-id Message-Id message-id",
    ),
    usual_messages=False,
)
