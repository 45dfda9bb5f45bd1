"""Reply.io: webhooks.

A webhook has one event in `event`, the person in `contact_fields` and, inside a sequence, the sequence in
`sequence_fields`. `event.id` is unique per event. Older subscriptions write names in one word, `EmailReplied`. A
category that a user gives a reply is a status and no second reply. An event resent from Reply.io's log has its blocks
in `payload`.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, TableAdapter
from touchbase.adapters.kit.messages import MessagePaths

ADAPTER = TableAdapter(
    tool="reply_io",
    stops_on_bounce=True,
    shapes=(
        DetectionRule("event.subscription_id event.type", 95),
        DetectionRule("contact_fields event.type", 92),
        DetectionRule("subscription.workspaceId event.type payload.contact", 92),
        DetectionRule("event.type event.date event.id event.user_id", 85),
    ),
    plain_names=(
        "email_sent email_opened link_clicked email_link_clicked email_replied auto_reply_received email_auto_reply email_bounced "
        "email_unsubscribed contact_opted_out email_spam_reported meeting_booked meeting_completed meeting_cancelled "
        "meeting_rescheduled sequence_completed sequence_finished contact_finished email_account_connection_lost "
        "email_account_reconnected email_account_error"
    ),
    names={"reply_categorized": m.STATUS_IN_BODY, "linkedin_reply_categorized": m.STATUS_IN_BODY, "contact_called": m.OTHER},
    beginnings={"sequence_": m.OTHER, "call_": m.OTHER},
    name="event.type",
    email="contact_fields.email contact_fields.Email payload.contact.email",
    time="event.date event.timestamp",
    times={"email_replied": "event.date event.timestamp reply_date"},
    linkedin=(
        "contact_fields.linkedin_profile contact_fields.linkedInProfile contact_fields.linkedin_url contact_fields.linkedIn"
        " contact_fields.linkedin_profile_url payload.contact.linkedInProfile"
    ),
    first_name="contact_fields.first_name contact_fields.firstName payload.contact.firstName",
    last_name="contact_fields.last_name contact_fields.lastName payload.contact.lastName",
    full_name="contact_fields.full_name contact_fields.fullName payload.contact.fullName",
    campaign="sequence_fields.name sequence_fields.sequence_name sequence_fields.id sequence_fields.sequence_id payload.sequence.id",
    message="email_fields.message_id email_fields.id payload.data.replyMessageId",
    key="event.id loaded_key",
    label=(
        "reply_fields.category reply_fields.category_name reply_fields.classification category category_name"
        " reply_category reply_category_name new_category inbox_category inbox_category_name event.category"
    ),
    bounce="bounce_type bounce_fields.type bounce_reason bounce_fields.reason error_message",
    sent=MessagePaths(
        subject="email_fields.subject", text="email_text", mailbox="email_account_fields.email", message_id="email_fields.message_id"
    ),
    received=MessagePaths(
        subject="reply_fields.subject email_fields.subject",
        text="reply_text email_text",
        mailbox="email_account_fields.email",
        category="reply_fields.category reply_fields.category_name reply_fields.classification",
        message_id="payload.data.replyMessageId",
    ),
)
