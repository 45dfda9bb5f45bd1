"""Outreach: webhooks about mailings.

A webhook identifies the prospect by id only, never by address; a `prospect` event with an address identifies the
person, and the events parked for the id are then applied. There is no sent event: delivered counts as sent. The time is
that of the resource; `meta.deliveredAt` is the webhook's time and only used if there is no other. Integrators also
document version 2 without `meta`, with name and time at the top level.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import at
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import flag, text
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.adapters.kit.status_labels import label_of
from touchbase.history.events import Event


class OutreachCampaigns(TableAdapter):
    """Reads Outreach's webhooks."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; a prospect's stage is its status, and other resources are not about a person."""
        event_name = normalize_event_name(name)
        if event_name in ("prospect_updated", "prospect_created"):
            if _is_opted_out(at(item, ("data", "attributes"))):
                return m.UNSUBSCRIBED
            return m.STATUS_IN_BODY if self.find(item, "label", label_of) else m.SAVED
        return self.listed(name) or m.OTHER

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return the event of one webhook; the prospect is the record itself or its related one."""
        event = super().read(item, webhook)
        if at(item, ("data", "type")) == "prospect":
            event.object_type, event.object_id = "prospect", text(at(item, ("data", "id")))
        return event


def _is_opted_out(prospect: object) -> bool:
    """Return whether a prospect has opted out of email or of everything; opt-outs of calls and text messages do not count."""
    if not isinstance(prospect, dict):
        return False
    return bool(flag(prospect.get("optedOut")) or flag(prospect.get("emailOptedOut")) or prospect.get("emailsOptStatus") == "opted_out")


ADAPTER = OutreachCampaigns(
    tool="outreach",
    stops_on_bounce=True,
    signature_schemes=(hmac_body("outreach-webhook-signature"),),
    shapes=(
        DetectionRule("meta.eventName data.type", 95),
        DetectionRule("meta.eventName data.attributes", 95),
        DetectionRule("payloadVersion type data.type", 85),
        DetectionRule("meta.eventName", 90, header="outreach-webhook-cleanup-token"),
        DetectionRule("data", 85, header="outreach-webhook-cleanup-token"),
        DetectionRule("data", 85, header="outreach-webhook-signature"),
    ),
    plain_names="mailing_opened mailing_clicked mailing_replied mailing_bounced mailing_unsubscribed sequencestate_finished",
    names={"mailing_delivered": m.DELIVERED_AS_SENT},
    name="meta.eventName type",
    email="data.attributes.emails.0 data.attributes.emails.0.email data.attributes.email",
    time="data.attributes.updatedAt meta.deliveredAt createdAt",
    times={
        "email_delivered": "data.attributes.deliveredAt",
        "email_opened": "data.attributes.openedAt",
        "email_clicked": "data.attributes.clickedAt",
        "email_replied": "data.attributes.repliedAt",
        "email_bounced": "data.attributes.bouncedAt",
        "email_unsubscribed": "data.attributes.unsubscribedAt data.attributes.optedOutAt data.attributes.emailsOptedAt",
        "campaign_completed": "data.attributes.finishedAt data.attributes.stateChangedAt",
    },
    linkedin="data.attributes.linkedInUrl",
    first_name="data.attributes.firstName",
    last_name="data.attributes.lastName",
    campaign="data.relationships.sequence.data.id data.relationships.sequence.id",
    message="data.id",
    label="data.attributes.stage data.attributes.stageName",
    bounce="data.attributes.bounceType data.attributes.errorReason",
    object_type="prospect",
    object_id="data.relationships.prospect.data.id data.relationships.prospect.id",
    sent=MessagePaths(
        subject="data.attributes.subject",
        text="data.attributes.bodyText",
        html="data.attributes.bodyHtml",
        mailbox="data.attributes.mailboxAddress",
        message_id="data.id",
    ),
    # A reply's mailing is the mail that it answers: its texts are not the reply's.
    received=MessagePaths(subject="data.attributes.subject", mailbox="data.attributes.mailboxAddress"),
    usual_messages=False,
)
