"""Kit (ConvertKit): webhooks.

A body is the subscriber alone, without an event's name or time: the name is in the address, `?event=subscriber_unsubscribe`. Without
one the subscriber's state decides. `created_at` is the day of the sign-up and not the event's time.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.crm_values import query_parameter
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter
from touchbase.adapters.kit.extract import dig, text


class Kit(TableAdapter):
    """Reads Kit's webhooks."""

    def named(self, item: Item, webhook: ParsedWebhook) -> str | None:
        """Return the name in the address, else the subscriber's state."""
        name = query_parameter(webhook.request.query, "event")
        return name.removeprefix("subscriber.") if name else text(dig(item, "subscriber", "state"))


ADAPTER = Kit(
    tool="kit",
    shapes=(DetectionRule("subscriber.email_address subscriber.state", 92),),
    plain_names=(
        "subscriber_unsubscribe subscriber_bounce subscriber_complain link_click tag_add tag_remove purchase_create bounced complained"
    ),
    names={
        "subscriber_activate": m.RESUBSCRIBED,
        "form_subscribe": m.SAVED,
        "course_subscribe": m.OTHER,
        "course_complete": m.OTHER,
        "product_purchase": m.OTHER,
        "active": m.SAVED,
        "inactive": m.SAVED,
        "cancelled": m.UNSUBSCRIBED,
    },
    name="",
    email="subscriber.email_address",
    time="",
    first_name="subscriber.first_name",
    last_name="subscriber.fields.last_name",
    usual_messages=False,
)
