"""EmailBison: webhooks.

`event.type` is upper-case on the wire. LEAD_FIRST_CONTACTED comes in addition to EMAIL_SENT for the same email. A
bounce contains a reply from mailer-daemon; an automatic reply is a reply with a flag. Duplicate keys that end in
`_local` or `_est` are not UTC. A relay flattens all levels (`lead_email`, `reply_date_received`). The list of events
has each webhook in `payload`, with its deliveries.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import paths, pick
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter
from touchbase.adapters.kit.extract import personal_address, text
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.history.events import Event

_WORKSPACE = paths("event.workspace_id workspace_id")
_MAIL = paths("data.scheduled_email.id scheduled_email_id")
_FACT = paths("data.campaign_event.id campaign_event_id")
_WRITER = paths("data.reply.from_email_address data.reply.from_email data.reply.from reply_from_email_address")


class EmailBison(TableAdapter):
    """Reads EmailBison's webhooks."""

    def message_item(self, item: Item) -> Item:
        """Return the webhook of an item of the list of events, else the item itself."""
        listed = item.get("payload")
        return listed if isinstance(listed, dict) else item

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return the event of one webhook; its dedupe key is built from ids, because it has no event id."""
        item = self.message_item(item)
        event = super().read(item, webhook)
        fact, mail = pick(item, _FACT, text), pick(item, _MAIL, text)
        if fact and mail:
            event.key = f"{pick(item, _WORKSPACE, text) or ''}:{mail}:{fact}"
        if event.email is None and event.event in ("email_replied", "email_auto_replied"):
            event.email = pick(item, _WRITER, personal_address)
        return event


ADAPTER = EmailBison(
    tool="emailbison",
    stops_on_bounce=True,
    shapes=(
        DetectionRule("event.instance_url event.type", 95),
        DetectionRule("data.scheduled_email event.type", 95),
        DetectionRule("webhook_deliveries payload.event.type", 95),
        DetectionRule("instance_url workspace_id event_type", 95),
        DetectionRule("event.workspace_id event.type data", 90),
        DetectionRule("event data.reply.from_email_address", 90),
        DetectionRule("event.type data.lead", 75, named=True),
    ),
    plain_names=(
        "email_sent lead_first_contacted manual_email_sent email_opened lead_replied contact_replied untracked_reply_received "
        "reply_received email_bounced email_send_failed lead_unsubscribed contact_unsubscribed lead_interested contact_interested "
        "email_account_added email_account_removed email_account_disconnected email_account_reconnected tag_attached tag_removed"
    ),
    names={"contact_first_emailed": m.SENT},
    name="event.type event event_type",
    email="data.lead.email lead_email",
    time=(
        "data.campaign_event.created_at data.reply.date_received data.scheduled_email.sent_at"
        " campaign_event_created_at reply_date_received scheduled_email_sent_at"
    ),
    times={"email_sent": ("data.campaign_event.created_at data.scheduled_email.sent_at campaign_event_created_at scheduled_email_sent_at")},
    first_name="data.lead.first_name lead_first_name",
    last_name="data.lead.last_name lead_last_name",
    campaign="data.campaign.name data.campaign_name data.campaign.id data.campaign_id campaign_name campaign_id",
    message=(
        "data.reply.raw_message_id data.scheduled_email.raw_message_id data.reply.id data.scheduled_email.id data.message_id"
        " reply_raw_message_id scheduled_email_raw_message_id reply_id scheduled_email_id"
    ),
    bounce="data.bounce.type data.bounce.reason data.reply.bounce_type data.reply.text_body reply_text_body",
    automated="data.reply.automated_reply reply_automated_reply",
    sent=MessagePaths(
        subject="data.scheduled_email.email_subject scheduled_email_email_subject",
        text="data.scheduled_email.email_body scheduled_email_email_body",
        mailbox="data.sender_email.email sender_email_email",
        message_id="data.scheduled_email.raw_message_id scheduled_email_raw_message_id",
    ),
    received=MessagePaths(
        subject="data.reply.email_subject reply_email_subject",
        text="data.reply.text_body data.reply_text reply_text_body",
        html="data.reply.html_body reply_html_body",
        mailbox="data.sender_email.email sender_email_email data.reply.primary_to_email_address data.reply.to.0.address",
        message_id="data.reply.raw_message_id reply_raw_message_id data.reply.id reply_id",
        reply_ref={
            "reply_id": "data.reply.id reply_id",
            "sender_id": "data.sender_email.id sender_email_id",
            "to": "data.reply.from_email_address reply_from_email_address",
        },
    ),
)
