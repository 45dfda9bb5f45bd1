"""Brevo: webhooks.

Event names differ from those in the webhook's configuration. Of the times only `ts_epoch` is certainly UTC; the zone of
`ts` and `ts_event` is unclear and `date` is in the account's zone, so they are used in that order, `date` last. A
contact's block of further emails may only be sent as a change of the contact, whose address is then in `content`. An
automation step has no event name and time; its trigger is only known for a click, by the link.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import at
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import flag, text
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.history.events import Event

_CONTACTS = frozenset({"contact_updated", "contact_deleted", "list_addition"})
_BLACKLISTED = ("content", 0, "emailBlacklist")
_LINK = ("params", "clicked_link")


class Brevo(TableAdapter):
    """Reads Brevo's webhooks."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; a contact's change may mean a blocklisting, and an automation's link a click."""
        if normalize_event_name(name) == "contact_updated" and flag(at(item, _BLACKLISTED)):
            return m.UNSUBSCRIBED
        if normalize_event_name(name) == "automation" and text(at(item, _LINK)):
            return m.CLICKED
        return super().meaning(name, item)

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return one event; a marketing campaign's name has a blank in its key."""
        event = super().read(item, webhook)
        event.campaign = text(item.get("campaign name")) or event.campaign
        return event


ADAPTER = Brevo(
    tool="brevo",
    shapes=(
        DetectionRule("ts_epoch event email", 92),
        DetectionRule("X-Mailin-custom event", 95),
        DetectionRule("s_epoch event email", 92),
        DetectionRule("ts_event event email", 85),
        DetectionRule("message-id event email", 80, named=True),
        DetectionRule("camp_id event email", 80, named=True),
        DetectionRule("event email ts", 85, spelt=_CONTACTS.__contains__),
        DetectionRule("event content ts", 85, spelt=_CONTACTS.__contains__),
        DetectionRule("msg_status messageId ts_event", 85),
        DetectionRule("items.0.Uuid items.0.MessageId", 85),
        DetectionRule("workflow_id step_id contact_id", 85),
    ),
    plain_names=(
        "request delivered deferred opened unique_opened proxy_open unique_proxy_open click hard_bounce soft_bounce invalid_email "
        "blocked unsubscribe unsubscribed spam complaint contact_deleted sms"
    ),
    names={
        "loaded_by_proxy": m.OPENED,
        "error": m.SEND_FAILED,
        "contact_updated": m.OTHER,
        "list_addition": m.OTHER,
        "unique_coupon_sent": m.OTHER,
        "inboundemailprocessed": m.OTHER,
        "automation": m.OTHER,
    },
    # Events of other channels, by their configuration names, and an automation step, which has no name.
    nameless={"msg_status": "sms", "items": "inboundEmailProcessed", "workflow_id": "automation"},
    name="event",
    email="email content.0.email",
    time="ts_epoch s_epoch ts_event ts date_event date",
    # Custom fields are named in the account's language.
    first_name="attributes.FIRSTNAME attributes.VORNAME attributes.PRENOM attributes.NOMBRE attributes.NOME",
    last_name="attributes.LASTNAME attributes.NACHNAME attributes.NOM attributes.APELLIDOS attributes.SOBRENOME attributes.COGNOME",
    campaign="campaign_name camp_id params.campaign_id",
    message="message-id",
    bounce="reason",
    sent=MessagePaths(subject="subject", mailbox="sender_email", message_id="message-id"),
)
