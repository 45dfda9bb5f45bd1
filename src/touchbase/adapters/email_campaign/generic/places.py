"""Where unknown tools keep things: keys in the order in which they prove right at the tools we know."""

from __future__ import annotations

from touchbase.adapters.kit.table import paths

NAME = paths(
    "event_type eventType event event.type webhook_event webhookInfo.type meta.eventName RecordType method type event-data.event action "
    "event_name eventName event.name activity_type activityType webhook_type webhookType topic trigger metric Event EventType Type"
)

PEOPLE = (
    "lead", "leadProfile", "sequence_lead", "prospect", "contact", "contact_fields", "outreach_target", "recipient", "receiver",
    "person", "subscriber", "contactIdentity", "object", "profileInfo", "invitee",
)  # fmt: skip
"""Objects that stand for the person; what a person has is looked for at the top and then in these."""

LEAD = paths(
    "sl_lead_email lead_email leadEmail prospectEmail contact_email targetLeadEmail leadCorrespondence.targetLeadEmail prospect_email "
    "contactEmail contact_email_address subscriber_email person_email personEmail"
)
ADDRESS = ("email", "email_address", "emailAddress", "enriched_email", "Email")
NOTICE_TO = paths("to_email toEmail to.0 to.0.email to.0.address to.email to.address to To")
"""Where the notice of a mail server went, which is to us."""
RECIPIENT = paths("recipient Recipient rcpt_to to_email toEmail email_to rcpt recipient_email recipientEmail")
TO = paths(
    "to.0 to.0.email to.0.address to.email to.address to To event_data.to recipients.0.email recipients.0 mail.destination.0 object.to"
)
PLAIN = paths("email Email emailAddress email_address")
SENDER = paths(
    "from from.email from.address from.0 from.0.email from.0.address from_email from_email_address fromEmail "
    "reply.from_email_address reply.from_email reply.from reply.from.address"
)
OURS = paths(
    "email_account sender_email sender_email.email campaign_email mailbox.email sender.email user.email updated_by owner.email org.email "
    "email_account.email emailAccount senderEmail mailbox mailbox_email account_email inbox_email sending_account eaccount"
)
"""Never the lead's, wherever else the same address stands."""

TIME = paths(
    "event_timestamp timestamp event.date eventTime webhookInfo.eventTime occurred_at occurredAt date createdAt created_at time_sent "
    "time_opened time_clicked time_replied time_bounced time_unsubscribed emailSentAt emailOpenedAt emailClickedAt emailRepliedAt "
    "emailBouncedAt sent_at sentAt opened_at openedAt clicked_at clickedAt received_at receivedAt date_received repliedAt replied_at "
    "bounced_at bouncedAt unsubscribed_at unsubscribedAt reply_message.time reply.date_received reply.received_at "
    "attributes.repliedAt attributes.deliveredAt attributes.openedAt attributes.clickedAt attributes.bouncedAt fired_at ts_epoch ts time "
    "DeliveredAt ReceivedAt BouncedAt ChangedAt event_time event_at happened_at action_time date_time eventTimestamp event.timestamp "
    "event.created_at event.createdAt message.timestamp CreatedAt Timestamp datetime created"
)
"""Never: when the webhook was made, when the lead was imported or last contacted, when the first open was, local times."""

CAMPAIGN_NAME = paths("campaign_name campaignName campaign.name sequenceName sequence.name sequence.sequenceName")
CAMPAIGN_ID = paths("campaign_id campaignId campaign.id camp_id sequence.id sequence_id sequenceId mj_campaign_id")

LINKEDIN = (
    "linkedin_url", "linkedinUrl", "linkedInUrl", "linkedIn", "linkedin", "linkedin_profile", "profile_url", "profileUrl",
    "linkedInProfileUrl", "linkedin_profile_url", "linkedinProfileUrl", "LinkedIn", "prospectLinkedinUrl", "prospect_linkedin_url",
    "leadLinkedinUrl", "lead_linkedin_url", "lead_profile_url", "linkedin_person_url", "lead",
)  # fmt: skip
FIRST_NAME = ("first_name", "firstName", "FirstName", "leadFirstName", "lead_first_name")
LAST_NAME = ("last_name", "lastName", "LastName", "leadLastName", "lead_last_name")
FULL_NAME = ("to_name", "toName", "full_name", "fullName", "lead_name", "leadName", "prospectName", "prospect_name")
MESSAGE = paths("message_id messageId message-id MessageID email_id emailId event_id eventId")
LABEL = paths(
    "lead_category.new_name new_category newCategory new_status newStatus new_stage newStage new_label newLabel "
    "lead_category category lead_status leadStatus status label labels stage "
    "latestOutcome outcome interest_status lead.status lead.category lead.label lead.stage prospect.status contact.status"
)
BOUNCE = paths(
    "bounce_type bounceType bounce.type bounce_details.type bounce_details.reason severity Type type kind smtp_code status_code status "
    "code reason bounce_reason description msg"
)
AUTOMATED = paths(
    "automated_reply reply.automated_reply is_auto_reply isAutoReply auto_reply reply.is_auto_reply reply.isAutoReply is_automated "
    "isAutomated reply.is_automated is_ooo is_out_of_office"
)
REPLY_LABEL = paths(
    "reply_category replyCategory reply.category reply_type replyType reply.type classification reply.classification category "
    "lead_category.new_name"
)
"""What a reply is taken for, where it says so itself."""
CHANNEL = paths("channel channelType channel_type campaign.channel campaign.campaign_type")
"""Through what a message went, where that is said."""
STEP = paths("sequence_stage.type sequence_step.type step.type step_type")
