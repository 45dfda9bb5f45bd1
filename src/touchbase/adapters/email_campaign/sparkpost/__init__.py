"""SparkPost: event webhooks.

A list of objects, each with one event two levels down, under `msys` and its kind. A bounce's class is a number; some
classes are no bounces but automatic replies or unsubscribes.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, batch, events_of, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import objects, text
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.history.events import Event

_CLASSES = {
    **dict.fromkeys(("10", "30"), m.HARD_BOUNCED),
    **dict.fromkeys(("20", "21", "22", "23", "24", "25", "26", "40", "50", "51", "52", "53", "54", "70"), m.SOFT_BOUNCED),
    **dict.fromkeys(("60", "100"), m.AUTO_REPLIED),
    "80": m.OTHER,
    "90": m.UNSUBSCRIBED,
}


class SparkPost(TableAdapter):
    """Reads SparkPost's webhooks."""

    def recognise(self, webhook: ParsedWebhook) -> int:
        """Return the confidence: by `msys`, which no other tool uses."""
        return 95 if any("msys" in body for body in objects(webhook.data)) else 0

    def translate(self, webhook: ParsedWebhook) -> list[Event]:
        """Return one event per item; the empty item of a test request has none."""
        return events_of([event for item in batch(webhook.data) for event in _inside(item)], lambda item: self.event_of(item, webhook))

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table, and for bounces by their class."""
        if normalize_event_name(name) in ("bounce", "out_of_band"):
            return _CLASSES.get(text(item.get("bounce_class")) or "", m.BOUNCED)
        return super().meaning(name, item)


def _inside(item: object) -> list[object]:
    kinds = item.get("msys") if isinstance(item, dict) else item
    return list(kinds.values()) if isinstance(kinds, dict) else [item]


ADAPTER = SparkPost(
    tool="sparkpost",
    shapes=(DetectionRule("msys", 95),),
    plain_names=(
        "delivery delay open initial_open amp_open amp_initial_open click amp_click list_unsubscribe link_unsubscribe spam_complaint "
        "policy_rejection"
    ),
    names={"injection": m.SENT, "success": m.OTHER, "error": m.OTHER},
    # The last three are about inbound emails, A/B tests, and text messages.
    beginnings={"generation_": m.SEND_FAILED, "relay_": m.INBOUND_EMAIL, "ab_test_": m.OTHER, "sms_": m.OTHER},
    # A forwarded inbound email, and a bounce with few fields left.
    nameless={"content": "relay_message", "bounce_class": "bounce"},
    name="type",
    email="rcpt_to raw_rcpt_to",
    time="timestamp",
    campaign="campaign_id",
    message="message_id transmission_id",
    key="event_id",
    bounce="error_code raw_reason reason",
    sent=MessagePaths(subject="subject", mailbox="friendly_from msg_from", message_id="message_id"),
)
