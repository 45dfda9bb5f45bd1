"""Saleshandy: webhooks.

Names have hyphens. Each event has a time key of its own, not all of which are known: without a known one, the only
other `...At` is used. A sent email contains the lead's latest outcome, which is old, so an outcome is only read from
the event of its change. Events of a mailbox, a sequence or the task list are known by name alone: they may have no
prospect.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.times import parse_time
from touchbase.history.events import Event

_ABOUT_NOBODY = {
    "email_account_disconnected": m.ACCOUNT,
    "email_account_paused": m.ACCOUNT,
    "sequence_paused": m.OTHER,
    "inbox_analyser_test_completed": m.OTHER,
    "task_created": m.OTHER,
    "task_updated": m.OTHER,
    "bulk_task_updated": m.OTHER,
    "call_task_updated": m.OTHER,
    "custom_task_updated": m.OTHER,
    "linkedin_task_updated": m.OTHER,
    "whatsapp_task_updated": m.OTHER,
}
"""Names with hyphens that no other campaign tool uses."""


class Saleshandy(TableAdapter):
    """Reads Saleshandy's webhooks."""

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return the event of one webhook; its time is at the top level, under varying keys."""
        event = super().read(item, webhook)
        if event.occurred_us is None:
            # The sending time of the related email is not the event's time.
            keys = [key for key in item if key.endswith("At") and key != "emailSentAt"]
            times = [at for key in keys if (at := parse_time(item[key])) is not None]
            event.occurred_us = times[0] if len(times) == 1 else None
        return event


ADAPTER = Saleshandy(
    tool="saleshandy",
    stops_on_bounce=True,
    shapes=(
        DetectionRule("event prospect.email sequence.sequenceName", 92),
        DetectionRule("event prospect.email sequence", 88),
        DetectionRule("event prospect.email emailSentAt", 88),
        DetectionRule("event prospect.email", 75, named=True, spelt=lambda name: "-" in name),
        DetectionRule("event", 70, spelt=lambda name: "-" in name and normalize_event_name(name) in _ABOUT_NOBODY),
    ),
    plain_names=(
        "email_sent email_opened email_link_clicked email_clicked link_clicked email_replied reply_received email_bounced "
        "prospect_unsubscribed email_unsubscribed prospect_outcome_updated outcome_updated prospect_finished sequence_finished"
    ),
    names={**_ABOUT_NOBODY},
    name="event",
    email="prospect.email prospect.Email",
    time="timestamp eventAt occurredAt",
    times={
        "email_sent": "emailSentAt email.emailSentAt sentAt",
        "email_opened": "emailOpenedAt email.emailOpenedAt openedAt",
        "email_clicked": "emailLinkClickedAt emailClickedAt linkClickedAt email.emailClickedAt clickedAt",
        "email_replied": "emailRepliedAt repliedAt replyReceivedAt email.emailRepliedAt",
        "email_bounced": "emailBouncedAt bouncedAt email.emailBouncedAt",
        "email_unsubscribed": "unsubscribedAt prospectUnsubscribedAt emailUnsubscribedAt",
        "lead_status_changed": "outcomeUpdatedAt prospectOutcomeUpdatedAt updatedAt",
    },
    linkedin="prospect.linkedIn prospect.linkedInUrl prospect.linkedin prospect.LinkedIn",
    first_name="prospect.firstName prospect.FirstName",
    last_name="prospect.lastName prospect.LastName",
    campaign="sequence.sequenceName sequence.name sequence.id",
    message="messageId email.messageId email.id",
    label="newOutcome outcome latestOutcome prospect.latestOutcome prospect.outcome sequence.latestOutcome",
    bounce="bounceType bounceReason reason",
    sent=MessagePaths(mailbox="sender_email sequence.senderEmail", message_id="messageId email.messageId"),
    received=MessagePaths(text="receivedReplyMessage", mailbox="sender_email sequence.senderEmail"),
)
