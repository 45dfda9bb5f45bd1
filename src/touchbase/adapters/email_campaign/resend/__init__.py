"""Resend: webhooks.

The event's time is the outer `created_at`; the one in `data` is the email's. The header `svix-id` is the event's id and
does not change on retries. An email of several recipients is one webhook. A bounce's kind may be only in its message. A
change of the suppression list has the reason.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import paths, pick
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, batch, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import dig, flag, text
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.signatures import standard_webhooks
from touchbase.history.events import Event

_UNSUBSCRIBED, _ORIGIN = paths("data.unsubscribed"), paths("data.origin")
_UNCLEAR_NAMES = ("email.opened", "email.clicked")
"""Events that do not say which of several recipients it was."""
_SUPPRESSED = {"bounce": m.HARD_BOUNCED, "complaint": m.COMPLAINED}


class Resend(TableAdapter):
    """Reads Resend's webhooks."""

    def items(self, data: object) -> object:
        """Return one item for each recipient."""
        return [item for body in batch(data) for item in _by_recipient(body)]

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return the event of one webhook, with the event's id from its header."""
        event = super().read(item, webhook)
        event.key = text(webhook.headers.get("svix-id"))
        return event

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; an unsubscribe is known from the contact's change or the reason of its suppression."""
        event_name, origin = normalize_event_name(name), pick(item, _ORIGIN, text)
        if event_name in ("contact_created", "contact_updated") and pick(item, _UNSUBSCRIBED, flag):
            return m.UNSUBSCRIBED
        if name in _UNCLEAR_NAMES and isinstance(to := dig(item, "data", "to"), list) and len(to) > 1:
            return m.OTHER
        if event_name == "suppression_added":
            return _SUPPRESSED.get(origin or "", m.UNSUBSCRIBED)
        if event_name == "suppression_removed" and origin == "bounce":
            # A working address says nothing about its owner's opt-out.
            return m.OTHER
        return super().meaning(name, item)


def _by_recipient(body: object) -> list[object]:
    to = dig(body, "data", "to")
    if not isinstance(body, dict) or not isinstance(to, list) or text(body.get("type")) in _UNCLEAR_NAMES:
        return [body]
    return [{**body, "data": {**body["data"], "to": [recipient]}} for recipient in to] or [body]


ADAPTER = Resend(
    tool="resend",
    signature_schemes=(standard_webhooks("svix-"), standard_webhooks()),
    shapes=(
        DetectionRule("type data.email_id created_at", 92),
        DetectionRule("type data", 90, header="svix-id"),
        DetectionRule("type", 80, header="svix-id", named=True),
        DetectionRule("type data.email_id", 80, named=True),
        DetectionRule("type data.to created_at", 80, named=True),
        DetectionRule("type data.unsubscribed data.email created_at", 80, named=True),
        DetectionRule("type data.audience_id created_at", 80, named=True),
        DetectionRule("type data.records data.region created_at", 80, named=True),
        DetectionRule("type data.origin data.email created_at", 80, named=True),
    ),
    plain_names=(
        "email_sent email_delivered email_delivery_delayed email_opened email_clicked email_bounced email_complained email_failed "
        "email_suppressed contact_deleted"
    ),
    names={
        "email_scheduled": m.OTHER,
        "email_received": m.INBOUND_EMAIL,
        "contact_created": m.OTHER,
        "contact_updated": m.OTHER,
        "suppression_added": m.UNSUBSCRIBED,
        "suppression_removed": m.RESUBSCRIBED,
        "domain_created": m.ACCOUNT,
        "domain_updated": m.ACCOUNT,
        "domain_deleted": m.ACCOUNT,
    },
    name="type",
    email="data.to.0 data.to data.email",
    time="created_at",
    first_name="data.first_name",
    last_name="data.last_name",
    campaign="data.broadcast_id",
    message="data.email_id",
    bounce="data.bounce.type data.bounce.subType data.bounce.message",
    sent=MessagePaths(subject="data.subject", mailbox="data.from", message_id="data.message_id data.email_id"),
)
