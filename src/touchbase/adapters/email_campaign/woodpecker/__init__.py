"""Woodpecker: webhooks.

A webhook is a list of up to a hundred events of one kind. A colleague may have replied (`secondary_replied`); the
contact is always `prospect`. Outside a campaign, ids and names are empty texts.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, TableAdapter
from touchbase.adapters.kit.messages import MessagePaths

ADAPTER = TableAdapter(
    tool="woodpecker",
    stops_on_bounce=True,
    shapes=(
        DetectionRule("firm_id method", 95),
        DetectionRule("method prospect.email", 90),
        DetectionRule("method prospect", 70, named=True),
    ),
    plain_names=(
        "campaign_sent email_opened link_clicked prospect_replied secondary_replied prospect_autoreplied prospect_bounced "
        "prospect_invalid prospect_opt_out prospect_interested prospect_not_interested prospect_maybe_later prospect_blacklisted "
        "campaign_completed linkedin_automation_connection_request_accepted linkedin_automation_account_connected "
        "linkedin_automation_account_disconnected campaign_paused_by_bounce_shield prospect_saved task_created task_done task_ignored"
    ),
    names={
        "prospect_non_responsive": m.status("custom:Non-responsive"),
        "prospect_li_cr_sent": m.LINKEDIN_INVITED,
        "prospect_li_cr_accepted": m.LINKEDIN_ACCEPTED,
        "prospect_li_dm_sent": m.LINKEDIN_SENT,
        "prospect_li_dm_replied": m.LINKEDIN_REPLIED,
        "followup_after_autoreply": m.OTHER,
    },
    beginnings={"task_": m.OTHER, "prospect_li_": m.LINKEDIN_OTHER},
    name="method",
    email="prospect.email",
    time="timestamp",
    times={"email_sent": "timestamp email.sent", "email_replied": "timestamp email.date", "email_auto_replied": "timestamp email.date"},
    linkedin="prospect.linkedin_url",
    first_name="prospect.first_name",
    last_name="prospect.last_name",
    campaign="prospect.campaign_name prospect.campaign_id campaign.campaign_name campaign.campaign_id",
    message="email.message_id email.id",
    bounce="email.bounce_type email.message email.reason",
    sent=MessagePaths(
        subject="email.subject", text="email.message", mailbox="email.email_from prospect.campaign_email", message_id="email.message_id"
    ),
    received=MessagePaths(
        subject="email.subject",
        text="email.message",
        mailbox="prospect.campaign_email",
        category="prospect.interest_level.level prospect.interested",
    ),
)
