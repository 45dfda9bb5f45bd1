"""What names mean by their words, rule by rule."""

from __future__ import annotations

import pytest

from touchbase.adapters.kit.event_types import meaning_of

RULES = {
    "linkedin_replied": ["linkedin_reply", "LinkedInMessageReplied", "MESSAGE_REPLY_RECEIVED", "inmail reply received"],
    "linkedin_invite_accepted": ["linkedinInviteAccepted", "CONNECTION_REQUEST_ACCEPTED", "accept_invite", "connection-accepted",
        "linked_in_messenger.campaign_connected"],
    "linkedin_invite_sent": ["connection-request-sent", "invite.sent", "connection_sent", "linkedin_connect"],
    "linkedin_sent": ["linkedin_message_sent", "INMAIL_SENT", "inMailSent", "linkedin_reply_sent"],
    "linkedin_other": [
        "linkedin.visit", "profile_view", "linkedin_invite_failed", "connection_request_withdrawn", "connection_request_received",
        "linkedinSendFailed", "linkedin_finished_without_reply", "linkedin_not_replied",
        "linkedin_reply_archived", "linkedin_reply_drafted",
    ],
    "email_resubscribed": ["resubscribe", "subscribed", "customer subscribed", "opted_in"],
    "email_preferences_changed": ["group_resubscribed", "group_unsubscribe", "contact.mailingList.unsubscribed",
        "updated_email_preferences", "cio_subscription_preferences_changed", "mautic.lead_channel_subscription_changed"],
    "contact_saved": ["contact.created", "subscriber.updated", "newUser", "lead_added", "mautic.lead_post_save_new",
        "form_response_received", "FORM_RESPONSE", "lead.added_to_campaign"],
    "email_unsubscribed": ["unsubscribe", "EMAIL_UNSUBSCRIBED", "unsub", "prospect_opt_out", "opted-out", "leadUnsubscribed",
        "emailUnSubscribe", "unsubscribe form submitted"],
    "email_spam_complaint": ["spam", "spamreport", "complaint", "email.complained", "abuse"],
    "email_bounced": ["bounce", "EMAIL_BOUNCED", "hardBounced", "invalid_email", "undeliverable", "email_mailbox_not_found"],
    "email_auto_replied": [
        "auto_reply_received", "autoreplied", "automatic_response", "out of office", "OOO", "vacation_reply", "autoresponder",
    ],
    "manual_email_sent": ["reply_sent", "response sent", "manual_email_sent", "conversation.admin.replied", "reply.draft.sent"],
    "other": [
        "reply_forwarded", "reply drafted", "reply categorised", "tag_added_to_lead",
         "task_completed", "campaign paused", "campaign_paused_by_bounce_shield",
         "whatsappMessageSent", "whatsapp_message_replied", "smsReplied", "SMS_SENT", "voicemail_sent", "voice note delivered",
         "reply_classified", "linkedin_reply_categorized", "message_status_update",
         "reply.archived", "reply.deleted", "reply.assigned", "reply_scheduled", "reply_draft_created", "ai_reply_generated", "reply.read",
         "reply.label.removed",
         "awaiting_reply", "needs_reply", "test_email_sent", "lead_sent_to_crm", "sendToAnotherCampaign",
         "blocklist.entry_removed", "contact.removed_from_blacklist", "do_not_contact_removed", "unsubscribe.removed",
         "removed_from_unsubscribe_list", "lead_unmarked_as_interested", "spam_test_completed", "spam_score_updated", "not_spam",
         "blocklisted_domain_added", "domain_blacklisted", "email_status_updated",
         "task_status_changed", "campaign_status_changed", "email.status.updated",
         "sequence status changed", "label_removed", "lead_category_removed", "do_not_contact_removed", "lead.unsubscribed.removed",
         "removed_from_blocklist", "opt_out_removed", "unsubscribe_failed", "marked_as_not_spam",
         "Survey Response Received", "contact_form.message_received", "chat message received", "ticket.replied",
         "review_replied", "invoice.sent", "order.processed", "document.completed", "ticket.closed", "Deal Closed Lost", "form.spam",
         "conversation.closed", "payment_processed", "campaign_closed",
         "calendar_invite.sent", "user.invited", "pushSend", "webPushOpen", "inAppSend", "emailSendSkip",
         "users.messages.pushnotification.Send", "notification.sent", "Lead Sent to CRM", "gift.sent", "letter.delivered",
         "pushBounce", "unsubscribed from push", "subscriber.added_to_group", "contact.deleted", "booking.requested", "booking.paid",
         "meeting reminder",
    ],
    "email_replied": ["replied", "email_reply", "ALL_POSITIVE_REPLIES", "response received", "message.received", "EmailReplied",
        "ticket email replied"],
    "lead_status_changed": [
        "lead_not_interested", "interested", "LEAD_POSITIVE", "meeting booked", "demo_booked", "wrongPerson", "lead_closed", "deal.won",
        "maybe later", "category_updated", "leadStatusChanged", "label.changed", "stage changed", "lead_out_of_office", "marked as OOO",
        "reply_category_changed", "replyLabelAdded", "MEETING_ENDED", "lead_no_show",
    ],
    "meeting_booked": ["meeting.created", "invitee.created", "BOOKING_CREATED", "appointment.scheduled", "new booking"],
    "meeting_canceled": ["meeting_cancelled", "invitee.canceled", "BOOKING_REJECTED", "appointment.canceled", "canceled booking"],
    "meeting_rescheduled": ["meeting.rescheduled", "BOOKING_RESCHEDULED", "appointment_moved", "rescheduled_appointment"],
    "meeting_no_show": ["meeting_no_show", "booking.noShow", "appointment no-show"],
    "email_clicked": ["click", "link_clicked", "EMAIL_LINK_CLICK"],
    "email_opened": ["open", "EmailOpened", "email.opened", "Opens",
        "linked_in_messenger.campaign_email_opened"],
    "email_delivered": ["delivered", "Delivery"],
    "email_send_failed": ["failed", "email_not_delivered", "not sent", "dropped", "rejected", "reject", "blocked", "email.delivery_failed",
        "Blocks"],
    "email_deferred": ["deferred", "delayed", "email.delivery_delayed"],
    "email_sent": ["sent", "EMAIL_SENT", "send", "processed", "request", "lead_first_contacted", "MessageSent", "automated_email_sent",
        "newsletter sent", "Sends", "linkedin.email_sent", "notification email sent", "follow_up_sent"],
    "account_event": [
        "email_account_disconnected", "warmup_disabled", "mailbox_error", "sendLimitReached",
        "LINKEDIN_DISCONNECTED", "linkedin_account_connection_lost", "linkedin_account_reconnected",
        "linkedin_account_connected", "LinkedinAccountError", "email_account_paused",
        "warmup_reply_received", "warmup_email_sent", "account_closed",
        "linkedin_account_connected", "email_account_status_updated", "mailbox.status_changed",
        "bounce_rate_exceeded", "spam_rate_alert", "reply_rate_dropped",
    ],
    "campaign_completed": ["campaign_completed", "sequence finished", "finished_without_reply"],
    "unknown": [
        "", " ", "hello", "POSTMAN", "replying_machine", "opening hours", "clickbait", "lead_processed",
        "customer.subscription.updated", "subscription.updated", "accepted"],
}  # fmt: skip


def test_meaning_of__maps_a_name_by_its_words(subtests: pytest.Subtests) -> None:
    for event, name in [(event, name) for event, names in RULES.items() for name in names]:
        with subtests.test(name):
            assert meaning_of(name).event == event


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("lead_not_interested", "not_interested"), ("lead.interested", "interested"), ("meetingBooked", "meeting_booked"),
        ("demo booked", "meeting_booked"),
        ("wrong_person", "wrong_person"), ("closed", "closed"), ("maybe_later", "maybe_later"), ("lead_out_of_office", "out_of_office"),
        ("lead_no_show", "no_show"), ("meeting_completed", "meeting_completed"), ("lead_neutral", "neutral"), ("blacklisted",
        "do_not_contact"), ("blocklist.entry_added", "do_not_contact"), ("deal.closed", "closed"),
        ("dnc_added", "do_not_contact"), ("lead_status_changed", None), ("contact.status.updated", None),
        ("status_changed", None),
    ],
)  # fmt: skip
def test_meaning_of__reads_the_status_from_the_name(name: str, status: str | None) -> None:
    assert (meaning_of(name).event, meaning_of(name).status) == ("lead_status_changed", status)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("hard_bounce", "hard"), ("softBounce", "soft"), ("bounced", None), ("invalid", "hard"), ("failed_permanent", "hard")],
)
def test_meaning_of__reads_the_bounce_kind_from_the_name(name: str, kind: str | None) -> None:
    assert meaning_of(name).kind == kind
