"""Replyify: webhooks.

Both ends of the email are named: a received email is from the lead, a sent one to the lead. Later processing of a reply
is about its author.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import paths, pick
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, accept_any_name, normalize_event_name
from touchbase.adapters.kit.extract import personal_address
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.history.events import Event

_FROM, _TO = paths("data.from_email data.email"), paths("data.to_email data.email")
_ABOUT_AN_ANSWER = frozenset({"reply_archived", "reply_categorized", "reply_forwarded"})


class Replyify(TableAdapter):
    """Reads Replyify's webhooks."""

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return the event of one webhook; the direction decides which end is the lead."""
        event = super().read(item, webhook)
        incoming = (
            event.event in ("email_replied", "email_auto_replied") or normalize_event_name(event.source_event or "") in _ABOUT_AN_ANSWER
        )
        event.email = pick(item, _FROM if incoming else _TO, personal_address)
        return event


ADAPTER = Replyify(
    tool="replyify",
    shapes=(
        DetectionRule("event data", 92, header="x-replyify-event"),
        DetectionRule("workspace_id event data.reply_id", 88, spelt=accept_any_name),
        DetectionRule("workspace_id event data.contact_id timestamp", 80, named=True),
        DetectionRule("eventType data.from_email data.to_email", 75, spelt=accept_any_name),
        DetectionRule("event data.from_email data.to_email", 75, spelt=accept_any_name),
        DetectionRule("event data.from_email timestamp", 65, named=True),
        DetectionRule("event data.to_email timestamp", 65, named=True),
    ),
    plain_names=(
        "email_sent message_sent message_received reply_received reply_sent reply_forwarded reply_categorized reply_archived "
        "contact_created email_opened email_clicked email_bounced"
    ),
    names={"email_received": m.REPLIED},
    name="event eventType",
    email="",
    time="timestamp data.timestamp data.received_at data.sent_at",
    first_name="data.first_name",
    last_name="data.last_name",
    campaign="data.campaign_name data.campaign_id",
    message="data.message_id data.reply_id data.id",
    bounce="data.bounce_type data.reason",
    automated="data.automated_reply data.is_auto_reply",
    signature_schemes=(hmac_body("x-replyify-signature", prefix="sha256="),),
    sent=MessagePaths(
        subject="data.subject",
        text="data.sent_response data.body_text",
        html="data.body_html",
        mailbox="data.from_email",
        message_id="data.message_id",
    ),
    received=MessagePaths(
        subject="data.subject",
        text="data.body_text",
        html="data.body_html",
        mailbox="data.to_email",
        category="data.category_name",
        message_id="data.message_id",
    ),
)
