"""Saleshandy: its webhook calls in our words.

Names have hyphens, each event has a time key of its own, not all of which are known: where none of those
stands, the call's only other `...At` counts. A sent mail carries the lead's latest outcome along: that is no
news, so an outcome counts only when the event is its change. What is about a mailbox, a sequence or the list of
tasks is known by its name alone: no prospect need be in it.
"""

from __future__ import annotations

from touchbase.adapters.interface import Call
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import Item, Shape, Table, plain
from touchbase.adapters.kit.times import when
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
"""No other tool of campaigns spells names like these with hyphens."""


class Saleshandy(Table):
    """Reads Saleshandy's calls."""

    def read(self, item: Item, call: Call) -> Event:
        """One call; its time is the one that stands at the top, under whatever name."""
        event = super().read(item, call)
        if event.occurred_us is None:
            # When the mail was sent, about which this is, is not when it happened.
            keys = [key for key in item if key.endswith("At") and key != "emailSentAt"]
            times = [at for key in keys if (at := when(item[key])) is not None]
            event.occurred_us = times[0] if len(times) == 1 else None
        return event


ADAPTER = Saleshandy(
    tool="saleshandy",
    shapes=(
        Shape("event prospect.email sequence.sequenceName", 92),
        Shape("event prospect.email sequence", 88),
        Shape("event prospect.email emailSentAt", 88),
        Shape("event prospect.email", 75, named=True, spelt=lambda name: "-" in name),
        Shape("event", 70, spelt=lambda name: "-" in name and plain(name) in _ABOUT_NOBODY),
    ),
    names={
        "email_sent": m.SENT,
        "email_opened": m.OPENED,
        "email_link_clicked": m.CLICKED,
        "email_clicked": m.CLICKED,
        "link_clicked": m.CLICKED,
        "email_replied": m.REPLIED,
        "reply_received": m.REPLIED,
        "email_bounced": m.BOUNCED,
        "prospect_unsubscribed": m.UNSUBSCRIBED,
        "email_unsubscribed": m.UNSUBSCRIBED,
        "prospect_outcome_updated": m.LABELLED,
        "outcome_updated": m.LABELLED,
        "prospect_finished": m.COMPLETED,
        "sequence_finished": m.COMPLETED,
        **_ABOUT_NOBODY,
    },
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
)
