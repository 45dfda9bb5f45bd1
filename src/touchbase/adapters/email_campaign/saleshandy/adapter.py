"""Saleshandy: its webhook calls in our words.

Names have hyphens, each event has a time key of its own. A sent mail carries the lead's latest outcome
along: that is no news, so an outcome counts only when the event is its change.
"""

from __future__ import annotations

from touchbase.adapters.kit import meaning as m
from touchbase.adapters.kit.table import Shape, Table

ADAPTER = Table(
    tool="saleshandy",
    shapes=(
        Shape("event prospect.email sequence.sequenceName", 92),
        Shape("event prospect.email sequence", 88),
        Shape("event prospect.email emailSentAt", 88),
        Shape("event prospect.email", 75, named=True, spelt=lambda name: "-" in name),
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
        "lead_status_changed": "outcomeUpdatedAt updatedAt",
    },
    linkedin="prospect.linkedIn prospect.linkedInUrl prospect.linkedin prospect.LinkedIn",
    first_name="prospect.firstName prospect.FirstName",
    last_name="prospect.lastName prospect.LastName",
    campaign="sequence.sequenceName sequence.name sequence.id",
    message="messageId email.messageId email.id",
    label="latestOutcome outcome newOutcome prospect.latestOutcome prospect.outcome",
    bounce="bounceType bounceReason reason",
)
