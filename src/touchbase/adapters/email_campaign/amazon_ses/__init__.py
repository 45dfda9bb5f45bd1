"""Amazon SES: notifications and event publishing, by SNS, EventBridge or a relay.

Reference: docs.aws.amazon.com/ses, contents of notifications and of event data. One event for each recipient that the webhook
is about. Opens and clicks do not say which of several recipients it was, so these are not used.
"""

from __future__ import annotations

from touchbase.adapters.email_campaign.amazon_ses.signature import SNS
from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import at, paths
from touchbase.adapters.kit.crm_values import as_list
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, batch, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import dig, flag, objects
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.parse import unquoted

_RECIPIENTS = paths("bounce.bouncedRecipients complaint.complainedRecipients delivery.recipients deliveryDelay.delayedRecipients")
_BOUNCES = {"permanent": m.HARD_BOUNCED, "transient": m.SOFT_BOUNCED}


class AmazonSes(TableAdapter):
    """Reads events of Amazon SES."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.detection_keys |= {"TopicArn", "detail"}

    def recognise(self, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the members of the event, also within envelopes in a list."""
        return max((self._sure(body, webhook) for body in objects([_opened(body) for body in batch(webhook.data)])), default=0)

    def items(self, data: object) -> object:
        """Return one item for each recipient, who is in `to`."""
        return [item for body in batch(data) for item in _by_recipient(_opened(body))]

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; bounces, complaints and subscriptions have a further type in their body."""
        event = normalize_event_name(name)
        if event == "bounce":
            return _BOUNCES.get(str(dig(item, "bounce", "bounceType")).lower(), m.BOUNCED)
        if event == "complaint" and dig(item, "complaint", "complaintFeedbackType") == "not-spam":
            return m.OTHER
        if event == "subscription" and flag(dig(item, "subscription", "newTopicPreferences", "unsubscribeAll")):
            return m.UNSUBSCRIBED
        meaning = super().meaning(name, item)
        return m.OTHER if meaning in (m.OPENED, m.CLICKED) and item.get("to") is None else meaning


def _opened(body: object) -> object:
    """Return the event in an envelope of SNS or EventBridge; any other body as it is."""
    inner = unquoted(dig(body, "Message")) if dig(body, "TopicArn") else dig(body, "detail")
    return inner if isinstance(inner, dict) else body


def _by_recipient(body: object) -> list[object]:
    if not isinstance(body, dict):
        return [body]
    recipients = [recipient for path in _RECIPIENTS for recipient in as_list(at(body, path))]
    if not recipients:
        recipients = as_list(dig(body, "mail", "destination"))
        if len(recipients) > 1 and body.get("eventType") in ("Open", "Click"):
            recipients = [None]
    return [{**body, "to": dig(recipient, "emailAddress") or recipient} for recipient in recipients or [None]]


ADAPTER = AmazonSes(
    tool="amazon_ses",
    signature_schemes=(SNS,),
    shapes=(
        DetectionRule("eventType mail.destination", 95),
        DetectionRule("notificationType mail.destination", 95),
        DetectionRule("notificationType mail", 90, named=True),
        DetectionRule("eventType mail.messageId", 90),
        DetectionRule("notificationType message", 80, starts="AmazonSnsSubscription"),
    ),
    plain_names="send delivery open click bounce complaint reject rendering_failure",
    names={"deliverydelay": m.DEFERRED, "subscription": m.OTHER, "received": m.INBOUND_EMAIL},
    other_names=m.OTHER,
    name="eventType notificationType",
    email="to",
    time=(
        "bounce.timestamp complaint.timestamp delivery.timestamp deliveryDelay.timestamp open.timestamp click.timestamp "
        "subscription.timestamp mail.timestamp"
    ),
    campaign="mail.tags.campaign.0",
    link="click.link",
    message="mail.messageId",
    sent=MessagePaths(
        subject="mail.commonHeaders.subject", mailbox="mail.source", message_id="mail.commonHeaders.messageId mail.messageId"
    ),
    usual_messages=False,
)
