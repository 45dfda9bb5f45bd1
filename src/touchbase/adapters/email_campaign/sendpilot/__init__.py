"""SendPilot: webhooks.

All events are on LinkedIn, so a received message is a LinkedIn reply. There is no address: the profile identifies the
person. `eventId` is the event's id. The unit of a signature's time is not documented, nor whether retries are signed again.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, TableAdapter
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.signatures import hmac_timed
from touchbase.common.timestamps import SECOND, Micros

RETRIED: Micros = 2 * 3600 * SECOND
"""Maximum age of a signature: 5 seconds to an hour between retries, plus transmission."""

ADAPTER = TableAdapter(
    tool="sendpilot",
    shapes=(
        DetectionRule("eventType eventId workspaceId", 92),
        DetectionRule("eventType data.linkedinUrl", 88),
        DetectionRule("eventType data.leadId data.senderId", 88),
    ),
    plain_names=(
        "connection_sent connection_request_sent connection_accepted connection_request_accepted lead_status_changed lead_tag_updated "
        "campaign_started campaign_paused campaign_resumed campaign_finished campaign_completed"
    ),
    names={
        "message_received": m.LINKEDIN_REPLIED,
        "reply_received": m.LINKEDIN_REPLIED,
        "message_sent": m.LINKEDIN_SENT,
        "lead_updated": m.STATUS_IN_BODY,
    },
    beginnings={"lead_database_": m.OTHER, "lead_extractor_": m.OTHER},
    name="eventType",
    email="data.email data.lead.email",
    time="timestamp",
    linkedin="data.linkedinUrl data.lead.linkedinUrl",
    first_name="data.firstName data.lead.firstName",
    last_name="data.lastName data.lead.lastName",
    campaign="data.campaignName data.campaignId",
    message="data.messageId",
    key="eventId",
    label="data.newStatus data.status",
    object_type="lead",
    object_id="data.leadId",
    signature_schemes=(hmac_timed("webhook-signature", "TIME.BODY", part="s", window=RETRIED, shown="2 hours, for retries"),),
    sent=MessagePaths(mailbox="data.senderId", message_id="data.messageId"),
    received=MessagePaths(preview="data.replyPreview", mailbox="data.senderId", message_id="data.messageId"),
)
