"""SendGrid: its event webhook in our words.

A call is a list of events of many kinds and people. A sender's own arguments stand beside the system's
keys. `type` tells a bounce from a block; the address is where the mail went, whatever it looks like.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import Item, Shape, Table, plain
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.signatures_public_key import ecdsa_timed_body
from touchbase.adapters.kit.status_labels import bounce_kind
from touchbase.common.timestamps import SECOND, Micros

RETRIED: Micros = (24 * 3600 + 300) * SECOND
"""How long after its signature a call may come: it is tried again for 24 hours, and the signature stays the first one's."""
_OWN_NAMES = frozenset({"spamreport", "group_unsubscribe", "group_resubscribe"})
"""Names that no other tool has."""


class SendGrid(Table):
    """Reads SendGrid's events."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """By the table; a bounce is for good unless it says otherwise, a block is not."""
        if plain(name) == "bounce":
            kind = bounce_kind(item.get("type"), item.get("status"), item.get("reason"))
            return m.SOFT_BOUNCED if kind == "soft" else m.HARD_BOUNCED
        return super().meaning(name, item)


ADAPTER = SendGrid(
    tool="sendgrid",
    proofs=(
        ecdsa_timed_body(
            "x-twilio-email-event-webhook-signature", "x-twilio-email-event-webhook-timestamp", RETRIED, "24 hours, for retries"
        ),
    ),
    shapes=(
        Shape("sg_event_id event", 95),
        Shape("sg_message_id event", 90),
        Shape("event email smtp-id", 85, named=True),
        Shape("event email", 85, header="x-twilio-email-event-webhook-signature"),
        Shape("asm_group_id event email", 85, named=True),
        Shape("useragent event email timestamp", 75, named=True),
        Shape("event email timestamp", 75, spelt=_OWN_NAMES.__contains__),
        Shape("envelope from to charsets", 85),
        Shape("envelope from to SPF", 85),
    ),
    names={
        "processed": m.SENT,
        "delivered": m.DELIVERED,
        "deferred": m.DEFERRED,
        "open": m.OPENED,
        "click": m.CLICKED,
        "bounce": m.BOUNCED,
        "blocked": m.SOFT_BOUNCED,
        "dropped": m.SEND_FAILED,
        "unsubscribe": m.UNSUBSCRIBED,
        "group_unsubscribe": m.UNSUBSCRIBED,
        "group_resubscribe": m.RESUBSCRIBED,
        "spamreport": m.COMPLAINED,
        "account_status_change": m.ACCOUNT,
        "inbound": m.CAME_IN,
    },
    nameless={"envelope": "inbound"},  # a mail that came in (Inbound Parse)
    name="event",
    email="email",
    time="timestamp",
    campaign="marketing_campaign_name marketing_campaign_id singlesend_name singlesend_id",
    message="sg_message_id smtp-id",
    key="sg_event_id",
)
