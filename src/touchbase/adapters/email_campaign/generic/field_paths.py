"""Paths of fields in unknown tools' bodies, ordered by reliability across the known tools."""

from __future__ import annotations

from touchbase.adapters.kit.body_paths import paths
from touchbase.adapters.kit.declarative import LINKS, STEPS

NAME = paths(
    "event_type event event.type webhook_event webhookInfo.type meta.eventName RecordType method tracking_type type "
    "event-data.event action event_name event.name event_name.0 activity_type webhook_type topic trigger metric notificationType "
    "hook.event triggerEvent trigger_event triggerType trigger_type eventKey event_key notification_type"
)
EVENT_NAME = tuple(path for path in NAME if any("event" in str(key).lower() for key in path)) + paths("trigger action topic")
"""Paths that hold nothing but an event's name: of several names the first one with a meaning counts."""

PEOPLE = (
    "lead", "leadProfile", "sequence_lead", "prospect", "contact", "contact_fields", "outreach_target", "recipient", "receiver",
    "person", "subscriber", "customer", "contactIdentity", "identifiers", "object", "profileInfo", "contactInfo", "invitee", "attendee",
    "booker", "target",
)  # fmt: skip
"""Objects that represent the person; a person's fields are searched for at the top level and then in these."""

LEAD = paths(
    "sl_lead_email lead_email contact_email targetLeadEmail leadCorrespondence.targetLeadEmail prospect_email "
    "contact_email_address subscriber_email person_email customer_email invitee_email guest_email attendee_email work_email lead "
    "prospect contact subscriber"
)
ADDRESS = ("email", "email_address", "emailAddress", "enriched_email", "mail", "email_id")
NOTICE_TO = paths("to_email to.0 to.0.email to.0.address to.email to.address to")
"""Recipient of a mail server's notice, which is the client's own address."""
RECIPIENT = paths(
    "bounce.bouncedRecipients.0.emailAddress complaint.complainedRecipients.0.emailAddress delivery.recipients.0 "
    "bounce.recipients.0.address complaint.recipients.0 "
    "deliveryDelay.delayedRecipients.0.emailAddress failed_recipient original_recipient bounced_recipient bounced_email recipient "
    "rcpt_to to_email email_to rcpt recipient_email"
)
SEVERAL = paths(
    "bounce.bouncedRecipients bounce.recipients complaint.complainedRecipients complaint.recipients delivery.recipients "
    "deliveryDelay.delayedRecipients recipients to mail.destination envelope.to message.to"
)
"""Paths of lists of recipients: each one gets an event."""
TO = paths(
    "to.0 to.0.email to.0.address to.email to.address to message.to original_message.to event_data.to recipients.0.email recipients.0 "
    "mail.destination.0 envelope.to.0 object.to event_message.0.email_info.to.0.email_address.address"
)
PLAIN = paths("email email_address e_mail address mail")
MEETING_START = paths(
    "start_time startTime start_at startAt starts_at start start.dateTime start_date meeting_start meeting_start_time meeting_time "
    "appointment_time appointment_start booking_start scheduled_for scheduled_event.start_time event.start_time meeting.start_time "
    "meeting.startTime meeting.start booking.start_time booking.startTime booking.start appointment.start_time appointment.startTime "
    "appointment.start time.start start_date_time"
)
SENDER_NAME, TO_NAME = paths("from_name reply.from_name"), paths("to_name")
"""The name next to the person's address, if `from_email` and `to_email` are both present on a reply."""
OURS = paths(
    "email_account sender_email sender_email.email campaign_email mailbox.email sender.email user.email updated_by owner.email "
    "org.email email_account.email mailbox mailbox_email account_email inbox_email sending_account eaccount account owner_email "
    "host_email assignee_email sender_mailbox organizer.email inbox.email"
)
"""Never the lead's address, even if the same address occurs elsewhere."""

TIME = paths(
    "event_timestamp timestamp event.date eventTime webhookInfo.eventTime occurred_at bounce.timestamp complaint.timestamp "
    "delivery.timestamp deliveryDelay.timestamp open.timestamp click.timestamp hook.fired_datetime "
    "event_message.0.event_data.0.details.0.time"
)
"""Paths of the event's own time, and of no other time."""
ITS_TIME = {
    "email_sent": paths("time_sent emailSentAt sent_at sent_on sent_date"),
    "email_opened": paths("time_opened emailOpenedAt opened_at opened_on attributes.openedAt"),
    "email_clicked": paths("time_clicked emailClickedAt clicked_at clicked_on attributes.clickedAt"),
    "email_replied": paths("time_replied emailRepliedAt replied_at replied_on reply_date replied_date attributes.repliedAt"),
    "email_bounced": paths("time_bounced emailBouncedAt bounced_at bounced_on bounce_date attributes.bouncedAt"),
    "email_unsubscribed": paths("time_unsubscribed unsubscribed_at unsubscribed_on"),
}
"""Paths of the event time that depend on the event type."""
INSIDE = ("message", "reply", "reply_message", "mail", "email", "payload", "event")
"""Objects of the event itself; a time in them is the event's."""
INSIDE_TIME = (
    "timestamp",
    "occurred_at",
    "received_at",
    "sent_at",
    "submittedAt",
    "submitted_at",
    "time",
    "date",
    "created_at",
    "createdAt",
)
CREATED_AT = paths("created_at")
"""The creation time, for a record that also has a change time: not the event's time."""
CHANGED = paths("updated_at")
OTHER_TIME = paths(
    "date created_at time_sent time_opened time_clicked time_replied time_bounced time_unsubscribed emailSentAt emailOpenedAt "
    "emailClickedAt emailRepliedAt emailBouncedAt sent_at opened_at clicked_at received_at date_received replied_at bounced_at "
    "unsubscribed_at reply_message.time reply.date_received reply.received_at attributes.repliedAt attributes.deliveredAt "
    "attributes.openedAt attributes.clickedAt attributes.bouncedAt fired_at ts_epoch ts time DeliveredAt ChangedAt event_time "
    "event_at happened_at action_time date_time time_stamp event_date eventTimestamp event.timestamp event.created_at "
    "event.createdAt message.timestamp datetime created at"
)
"""Never the event's time: creation of the webhook, import or last contact of the lead, first open, local times."""

CAMPAIGN_NAME = paths(
    "campaign_name campaign.name messenger.campaign_instance dataFields.campaignName sequenceName sequence.name "
    "sequence.sequenceName cadence.name cadence_name campaign sequence"
)
CAMPAIGN_ID = paths("campaign_id campaign.id camp_id sequence.id sequence_id mj_campaign_id")

LINKEDIN = (
    "linkedin_url", "linkedinUrl", "linkedInUrl", "linkedIn", "linkedin", "linkedin_profile", "profile_url", "profileUrl",
    "linkedInProfileUrl", "linkedin_profile_url", "linkedinProfileUrl", "prospectLinkedinUrl", "prospect_linkedin_url",
    "leadLinkedinUrl", "lead_linkedin_url", "lead_profile_url", "linkedin_person_url", "person_linkedin_url", "profile_link", "lead",
)  # fmt: skip
FIRST_NAME = ("first_name", "firstName", "leadFirstName", "lead_first_name", "firstname", "given_name", "forename")
LAST_NAME = ("last_name", "lastName", "leadLastName", "lead_last_name", "lastname", "family_name", "surname")
FULL_NAME = ("to_name", "toName", "full_name", "fullName", "lead_name", "leadName", "prospectName", "prospect_name")
MAIL = paths("message_id message-id messageid msgid email_id")
MESSAGE = MAIL + paths("event_id")
PROFILE = paths("headline position job_title member_distance connected_at_iso organization organization_1 company_name company")
"""Members of a person's profile on LinkedIn."""
LABEL = paths(
    "lead_category.new_name new_category new_status new_stage new_label lead_category category lead_status status label labels stage "
    "latestOutcome outcome interest_status lead.status lead.category lead.label lead.stage prospect.status contact.status"
)
BOUNCE = paths(
    "bounce_type bounce.type bounce.bounceType bounce bounce_details.type bounce_details.reason severity failure_type type kind "
    "smtp_code status_code status code reason bounce_reason bounce_category response "
    "response.message response_code bounce_code bounce_message "
    "diagnostic_code description msg"
)
AUTOMATED = paths(
    "automated_reply reply.automated_reply is_auto_reply auto_reply reply.is_auto_reply reply.isAutoReply is_automated "
    "reply.is_automated is_ooo is_out_of_office"
)
REPLY_LABEL = paths(
    "reply_category reply.category reply_type reply.type classification reply.classification ai_classification ai_category "
    "reply.ai_classification category lead_category.new_name"
)
"""Paths of a reply's classification."""
CHANNEL = paths("channel channel_type campaign.channel campaign.campaign_type account_type platform medium message_type")
"""Paths of the message's channel."""
DIRECTION = paths("direction message.direction")
FROM_US = paths("is_sender from_me is_outbound")
STEP_NUMBER, LINK = paths(STEPS), paths(LINKS)
STEP = paths("sequence_stage.type sequence_step.type step.type step_type")
