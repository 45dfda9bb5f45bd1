"""Mailshake: its webhook calls in our words.

A call is a pointer: `resource_url`, which only the account's owner can read. Neither the event nor the
person is in it, so it is kept and counted, and nothing more. A relay may read it and send on what stands
there: `object` says what that is, and of a reply its `type` whether it is one.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import Item, Shape, Table, plain
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import text

_KINDS = {
    "reply": {
        "bounce": m.BOUNCED,
        "out_of_office": m.AUTO_REPLIED,
        "unsubscribe": m.UNSUBSCRIBED,
        "delay_notification": m.DEFERRED,
    },
    "sent_message": {"one_off": m.MANUAL},
}
"""What a record is whose `type` says more than its `object`."""


class Mailshake(Table):
    """Reads Mailshake's calls, and its records."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """By the table, and by the record's type where that says more."""
        kinds = _KINDS.get(plain(name), {})
        return kinds.get(plain(text(item.get("type")) or "")) or super().meaning(name, item)


ADAPTER = Mailshake(
    tool="mailshake",
    shapes=(
        Shape("resource_url", 95, starts="https://api.mailshake.com"),
        Shape("resource_url", 60),
        Shape("object recipient.emailAddress campaign", 85, named=True),
        Shape("object recipient.object campaign.object", 85, named=True),
    ),
    names={
        "sent_message": m.SENT,
        "open": m.OPENED,
        "click": m.CLICKED,
        "reply": m.REPLIED,
        "lead": m.LABELLED,
    },
    name="event object",
    email="recipient.emailAddress",
    time="actionDate lastStatusChangeDate openedDate created",
    linkedin="recipient.fields.linkedInUrl",
    first_name="recipient.first",
    last_name="recipient.last",
    full_name="recipient.fullName",
    campaign="campaign.title campaign.id",
    message="externalRawMessageID externalID parent.id",
    key="resource_url",
    label="status",
)
