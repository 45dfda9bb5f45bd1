"""Salesforge: webhooks.

`webhookInfo` has the event's name and time; its `id` is the subscription's. `mailbox` is the client's own, `contact` the lead.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, TableAdapter
from touchbase.adapters.kit.messages import MessagePaths

ADAPTER = TableAdapter(
    tool="salesforge",
    stops_on_bounce=True,
    shapes=(DetectionRule("webhookInfo.type", 95), DetectionRule("webhookInfo.eventTime", 90)),
    plain_names=(
        "email_sent email_opened link_clicked email_clicked email_replied reply_received email_bounced contact_unsubscribed "
        "linkedin_replied label_changed dnc_added"
    ),
    names={"positive_reply": m.status("interested"), "negative_reply": m.status("not_interested")},
    name="webhookInfo.type",
    email="contact.email sequenceEmail.toEmail",
    time="webhookInfo.eventTime",
    linkedin="contact.linkedinUrl contact.linkedin contact.linkedInUrl",
    first_name="contact.firstName",
    last_name="contact.lastName",
    full_name="sequenceEmail.toName",
    campaign="sequence.name sequence.id",
    message="sequenceEmail.emailId",
    label=("label labelChangedData.label labelChangedData.labelName labelChangedData.newLabel labelChangedData.name contact.label"),
    bounce="emailBouncedData.type emailBouncedData.reason",
    sent=MessagePaths(
        subject="sequenceEmail.subject",
        text="sequenceEmail.content.text",
        html="sequenceEmail.content.html",
        mailbox="mailbox.email sequenceEmail.fromEmail",
        message_id="sequenceEmail.emailId",
    ),
    # On a reply `sequenceEmail` is the mail that it answers.
    received=MessagePaths(mailbox="mailbox.email sequenceEmail.fromEmail"),
)
