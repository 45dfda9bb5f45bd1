"""SendGrid: event webhook.

A webhook is a list of events of many kinds and people. A sender's custom arguments are next to the system's keys.
`type` distinguishes a bounce from a block; the address is the email's recipient, in any form.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.signatures_public_key import ecdsa_timed_body
from touchbase.adapters.kit.status_labels import bounce_kind
from touchbase.common.timestamps import SECOND, Micros

RETRIED: Micros = (24 * 3600 + 300) * SECOND
"""Maximum age of a signature: retries continue for 24 hours with the first attempt's signature."""
_OWN_NAMES = frozenset({"spamreport", "group_unsubscribe", "group_resubscribe"})
"""Event names that no other tool uses."""


class SendGrid(TableAdapter):
    """Reads SendGrid's events."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; a bounce is hard unless it says otherwise, a block is not."""
        if normalize_event_name(name) == "bounce":
            kind = bounce_kind(item.get("type"), item.get("status"), item.get("reason"))
            return m.SOFT_BOUNCED if kind == "soft" else m.HARD_BOUNCED
        return super().meaning(name, item)


ADAPTER = SendGrid(
    tool="sendgrid",
    signature_schemes=(
        ecdsa_timed_body(
            "x-twilio-email-event-webhook-signature", "x-twilio-email-event-webhook-timestamp", RETRIED, "24 hours, for retries"
        ),
    ),
    shapes=(
        DetectionRule("sg_event_id event", 95),
        DetectionRule("sg_message_id event", 90),
        DetectionRule("event email smtp-id", 85, named=True),
        DetectionRule("event email", 85, header="x-twilio-email-event-webhook-signature"),
        DetectionRule("asm_group_id event email", 85, named=True),
        DetectionRule("useragent event email timestamp", 75, named=True),
        DetectionRule("event email timestamp", 75, spelt=_OWN_NAMES.__contains__),
        DetectionRule("envelope from to charsets", 85),
        DetectionRule("envelope from to SPF", 85),
    ),
    plain_names=(
        "processed delivered deferred open click bounce dropped unsubscribe group_unsubscribe group_resubscribe spamreport "
        "account_status_change"
    ),
    names={"blocked": m.SOFT_BOUNCED, "inbound": m.INBOUND_EMAIL},
    nameless={"envelope": "inbound"},  # an inbound email (Inbound Parse)
    name="event",
    email="email",
    time="timestamp",
    campaign="marketing_campaign_name marketing_campaign_id singlesend_name singlesend_id",
    message="sg_message_id smtp-id",
    key="sg_event_id",
    usual_messages=False,
)
