"""lemlist: webhooks.

A webhook has one activity. "State groups" (contacted, hooked, attracted, warmed) are sent in addition to the specific
activity and mix channels. A LinkedIn activity must not count as an email, so a group counts as an email only if there
is an address and no sign of LinkedIn.
"""

from __future__ import annotations

import re

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import at, paths, pick
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import address, text
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.signatures_body import body_field

_GROUPS_ON_LINKEDIN = {
    "contacted": m.LINKEDIN_SENT,
    "hooked": m.LINKEDIN_OTHER,
    "attracted": m.LINKEDIN_OTHER,
    "warmed": m.LINKEDIN_REPLIED,
}
_ORIGIN = paths("metaData.type emailTemplateName")
_OTHER_CHANNELS = ("whatsapp", "sms", "aircall", "api", "manual", "call")
_INTEREST = re.compile(r"[a-z]*?(not)?interested")


class Lemlist(TableAdapter):
    """Reads lemlist's activities."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table, with the channel of a state group and the spelling variants of interest."""
        event_name = normalize_event_name(name)
        if event_name in _GROUPS_ON_LINKEDIN and (elsewhere := self._elsewhere(event_name, item)):
            return elsewhere
        if interest := _INTEREST.fullmatch(event_name):
            return m.status("not_interested" if interest[1] else "interested")
        return super().meaning(name, item)

    def _elsewhere(self, group: str, item: Item) -> Meaning | None:
        """Return the meaning of a group that does not come from an email."""
        # A template's name may be custom: only LinkedIn's own template names are evidence.
        if (text(at(item, ("metaData", "type"))) or "").lower().startswith(_OTHER_CHANNELS):
            return m.OTHER
        origin = (pick(item, _ORIGIN, text) or "").lower()
        is_linkedin = origin.startswith("linkedin") or self.find(item, "email", address) is None
        return _GROUPS_ON_LINKEDIN[group] if is_linkedin else None


ADAPTER = Lemlist(
    tool="lemlist",
    stops_on_bounce=True,
    signature_schemes=(body_field("secret"),),
    shapes=(
        DetectionRule("_id type", 95, starts="act_"),
        DetectionRule("_id type leadId campaignId", 80),
        DetectionRule("sendUserId type leadId", 80),
        DetectionRule("leadEmail type campaignId", 75, named=True),
        DetectionRule("leadEmail type secret", 75, named=True),
        DetectionRule("leadEmail _id type", 75, named=True),
        DetectionRule("campaignId leadId type", 75, named=True),
        DetectionRule("campaignId type createdAt", 72, named=True, starts="cam_"),
        DetectionRule("type data", 70, starts="enrichmentDone"),
    ),
    plain_names="emailsbounced paused skipped",
    names={
        "emailssent": m.SENT,
        "contacted": m.SENT,
        "emailsopened": m.OPENED,
        "hooked": m.OPENED,
        "emailsclicked": m.CLICKED,
        "attracted": m.CLICKED,
        "emailsreplied": m.REPLIED,
        "warmed": m.REPLIED,
        "emailsfailed": m.SEND_FAILED,
        "emailssendfailed": m.SEND_FAILED,
        "emailsunsubscribed": m.UNSUBSCRIBED,
        "apiunsubscribed": m.UNSUBSCRIBED,
        "manualunsubscribed": m.UNSUBSCRIBED,
        "mailinblackdetected": m.AUTO_REPLIED,
        "emailsexternalsent": m.MANUAL,
        "emailsexternalreceived": m.OTHER,
        "opportunitiesdone": m.status("meeting_booked"),
        "campaigncomplete": m.COMPLETED,
        "linkedinsent": m.LINKEDIN_SENT,
        "linkedinreplied": m.LINKEDIN_REPLIED,
        "linkedininvitedone": m.LINKEDIN_INVITED,
        "linkedininviteaccepted": m.LINKEDIN_ACCEPTED,
        "customdomainerrors": m.ACCOUNT,
        "connectionissue": m.ACCOUNT,
        "sendlimitreached": m.ACCOUNT,
        "lemwarmpaused": m.ACCOUNT,
        "deliverabilityalerttriggered": m.ACCOUNT,
        "resumed": m.OTHER,
        "stopped": m.OTHER,
        "annotated": m.OTHER,
        "snoozed": m.OTHER,
        "emailsdone": m.OTHER,
        "emailsskipped": m.OTHER,
        "linkedininmailsent": m.LINKEDIN_SENT,
        "linkedinvoicenotedone": m.LINKEDIN_SENT,
        "linkedinvoicenotereplied": m.LINKEDIN_REPLIED,
        "inmailsent": m.LINKEDIN_SENT,
        "inmailreplied": m.LINKEDIN_REPLIED,
    },
    beginnings={
        "linkedin": m.LINKEDIN_OTHER,
        "inmail": m.LINKEDIN_OTHER,
        "enrichment": m.OTHER,
        **dict.fromkeys(("signal", "aivariable", "condition"), m.OTHER),
        **dict.fromkeys(_OTHER_CHANNELS, m.OTHER),
    },
    name="type",
    email="leadEmail email lead.email recipient",
    time="createdAt",
    linkedin="linkedinUrl linkedInUrl leadLinkedinUrl lead.linkedinUrl lead.linkedinUrlSalesNav linkedinUrlSalesNav",
    first_name="leadFirstName firstName",
    last_name="leadLastName lastName",
    campaign="campaignName name campaignId",
    message="messageId emailId",
    key="_id",
    bounce="errorMessage reason",
    object_type="lead",
    object_id="leadId",
    sent=MessagePaths(mailbox="sendUserEmail", message_id="messageId emailId"),
    received=MessagePaths(
        subject="subject",
        text="text message messagePreview",
        mailbox="sendUserEmail",
        reply_ref={
            "contact_id": "contactId",
            "lead_id": "leadId lead._id",
            "user_id": "sendUserId",
            "mailbox": "sendUserEmail",
            "mailbox_id": "sendUserMailboxId",
            "to": "leadEmail email lead.email",
        },
    ),
    usual_messages=False,
)
