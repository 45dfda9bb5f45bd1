"""Snov.io: webhooks.

The event is an object and an action. The first email is sent as both sent and first_sent. Body keys are known from
integrators only; without a known time key, the time of receipt is used. A reply may have only its two sides: the lead
is the author.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import paths, pick
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter
from touchbase.adapters.kit.extract import personal_address, text
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.history.events import Event

_LEAD = (
    "email email.email prospect.email recipient.email data.email recipient_email prospect_email prospectEmail data.prospect.email"
    " data.recipient.email recipient data.recipient_email data.prospect_email"
)
_WROTE = paths(f"{_LEAD} from_email fromEmail data.from_email")
_REPLIES = frozenset({"email_replied", "email_auto_replied"})


class SnovIo(TableAdapter):
    """Reads Snov.io's webhooks."""

    def named(self, item: Item, webhook: ParsedWebhook) -> str | None:
        """Return object and action as one name."""
        both = [name_text for key in ("event_object", "event_action") if (name_text := text(item.get(key)))]
        return " ".join(both) or None

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return the event of one webhook; a reply's recipient is the client's own address."""
        event = super().read(item, webhook)
        if event.event in _REPLIES:
            event.email = pick(item, _WROTE, personal_address)
        return event


ADAPTER = SnovIo(
    tool="snov_io",
    stops_on_bounce=True,
    shapes=(DetectionRule("event_object event_action", 95),),
    plain_names=(
        "campaign_email_sent campaign_email_first_sent campaign_email_opened campaign_email_clicked campaign_email_link_clicked "
        "campaign_email_bounced campaign_email_unsubscribed campaign_reply_received campaign_reply_first_received "
        "campaign_reply_autoreply_received campaign_li_connection_request_accepted campaign_li_connection_request_sent "
        "campaign_li_inmail_sent prospect_campaign_finished prospect_unsubscribed database_search_task_result"
    ),
    names={
        "campaign_li_reply_received": m.LINKEDIN_REPLIED,
        "campaign_li_reply_first_received": m.LINKEDIN_REPLIED,
        "campaign_li_message_sent": m.LINKEDIN_SENT,
    },
    beginnings={
        "campaign_li_": m.LINKEDIN_OTHER,
        **dict.fromkeys(("found_", "company_found_", "prospect_found_", "email_found_", "email_verification"), m.OTHER),
    },
    name="event_object",
    email=f"{_LEAD} to_email toEmail data.to_email",
    time=(
        "timestamp event_time event_date occurred_at date created_at createdAt received_at sent_at"
        " data.timestamp data.event_time data.date data.created_at data.received_at data.sent_at"
    ),
    linkedin="linkedin_url prospect.linkedin_url recipient.linkedin_url data.linkedin_url data.prospect.linkedin_url",
    first_name="first_name firstName prospect.first_name recipient.first_name data.first_name",
    last_name="last_name lastName prospect.last_name recipient.last_name data.last_name",
    full_name="full_name fullName prospect.name data.name",
    campaign="campaign_name campaign.name campaign campaignName campaign_id data.campaign_name data.campaign.name",
    message="message_id data.message_id",
    bounce="bounce_type reason",
    sent=MessagePaths(
        subject="subject",
        text="message data.message",
        mailbox="sender.email from_email fromEmail data.from_email",
        message_id="message_id data.message_id",
    ),
    received=MessagePaths(subject="subject", text="message data.message", mailbox="sender.email to_email toEmail data.to_email"),
)
