"""Klaviyo: webhooks of the Webhooks API, up to 1,000 events in one.

An event's name is its topic, `event:klaviyo.opened_email`. The person is the profile in `included`; where only the profile's id is
sent, the event waits for a webhook with both.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter
from touchbase.adapters.kit.signatures import hmac_timed

_PROFILES = " ".join(f"payload.included.{place}.attributes" for place in range(3)).split()


class Klaviyo(TableAdapter):
    """Reads Klaviyo's webhooks."""

    def named(self, item: Item, webhook: ParsedWebhook) -> str | None:
        """Return the topic without its namespace."""
        name = super().named(item, webhook)
        return None if name is None else name.rpartition(".")[2]


ADAPTER = Klaviyo(
    tool="klaviyo",
    signature_schemes=(hmac_timed("klaviyo-signature", "BODYTIME", time_header="klaviyo-timestamp"),),
    shapes=(
        DetectionRule("data.0.topic meta.klaviyo_webhook_id", 95),
        DetectionRule("data.0.topic data.0.payload", 90),
        DetectionRule("topic payload external_id", 90, starts="event:klaviyo."),
    ),
    plain_names=(
        "opened_email clicked_email bounced_email marked_email_as_spam unsubscribed_from_email_marketing "
        "subscribed_to_email_marketing updated_email_preferences"
    ),
    names={
        "received_email": m.SENT,
        "dropped_email": m.OTHER,
        "manually_suppressed_from_email_marketing": m.UNSUBSCRIBED,
        "manually_unsuppressed_from_email_marketing": m.RESUBSCRIBED,
    },
    other_names=m.OTHER,
    lists="data",
    name="topic",
    email=f"payload.data.attributes.profile.email {' '.join(f'{profile}.email' for profile in _PROFILES)}",
    time="payload.data.attributes.datetime payload.data.attributes.timestamp",
    first_name=f"payload.data.attributes.profile.first_name {' '.join(f'{profile}.first_name' for profile in _PROFILES)}",
    last_name=f"payload.data.attributes.profile.last_name {' '.join(f'{profile}.last_name' for profile in _PROFILES)}",
    campaign="payload.data.attributes.event_properties.$message",
    link="payload.data.attributes.event_properties.URL",
    key="external_id",
    object_type="profile",
    object_id="payload.data.relationships.profile.data.id",
    usual_messages=False,
)
