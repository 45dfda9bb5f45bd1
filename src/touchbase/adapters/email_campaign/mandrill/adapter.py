"""Mandrill (Mailchimp Transactional): its webhooks in our words.

One form field, `mandrill_events`, holds a JSON list. `_id` is the message's, not the event's, and `msg.ts`
is when the mail was sent, not when the event happened.
"""

from __future__ import annotations

from touchbase.adapters.email_campaign.mandrill.proof import MANDRILL
from touchbase.adapters.interface import Call
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import Shape, Table, each
from touchbase.adapters.kit.extract import objects
from touchbase.adapters.kit.parse import unquoted
from touchbase.history.events import Event


class Mandrill(Table):
    """Reads Mandrill's calls."""

    def recognise(self, call: Call) -> int:
        """By the form's field, else by the shape of the events in it."""
        return 95 if _field(call.data) is not None else super().recognise(call)

    def translate(self, call: Call) -> list[Event]:
        """One event per item of the field, or of the list where a relay has taken it out."""
        inside = _field(call.data)
        return each(call.data if inside is None else inside, lambda item: self.read(item, call))


def _field(data: object) -> object:
    """What the form's field holds, also where a relay hands it on as the text that it was."""
    return next((unquoted(body["mandrill_events"]) for body in objects(data) if "mandrill_events" in body), None)


ADAPTER = Mandrill(
    tool="mandrill",
    proofs=(MANDRILL,),
    shapes=(
        Shape("mandrill_events", 95),
        Shape("msg.email event ts", 92),
        Shape("msg event _id", 88),
        Shape("reject.email action type", 85),
        Shape("entry.email action type", 85),
        Shape("event", 85, header="x-mandrill-signature", named=True),
    ),
    names={
        "send": m.SENT,
        "delivered": m.DELIVERED,
        "deferral": m.DEFERRED,
        "open": m.OPENED,
        "click": m.CLICKED,
        "hard_bounce": m.HARD_BOUNCED,
        "soft_bounce": m.SOFT_BOUNCED,
        "reject": m.SEND_FAILED,
        "unsub": m.UNSUBSCRIBED,
        "spam": m.COMPLAINED,
        "inbound": m.CAME_IN,
        "sync": m.OTHER,
    },
    nameless={"reject": "sync", "entry": "sync"},  # a change of the denylist, and of the safelist
    name="event",
    email="msg.email reject.email entry.email",
    time="ts",
    campaign="msg.metadata.campaign msg.metadata.campaign_id",
    message="_id msg._id",
)
