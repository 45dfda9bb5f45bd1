"""Amplemarket: its webhook calls in our words.

No event name: a reply has a flag, any other post belongs to a sequence's stage. On a reply `from` is the
lead and `to` is us. Only labels that a machine gives an answer make an automatic reply of it.
"""

from __future__ import annotations

from touchbase.adapters.kit import meaning as m
from touchbase.adapters.kit.labels import status_of, words
from touchbase.adapters.kit.reading import address, text
from touchbase.adapters.kit.table import Item, Shape, Table, paths, pick
from touchbase.domain.events import Event
from touchbase.domain.ports import Call

_STAGE = paths("sequence_stage.type sequence_step.type")
_WRITER = paths("from")
_TAGS = {"sent": "email sent", "opened": "email opened", "clicked": "email clicked", "replied": "reply", "bounced": "email bounced"}


class Amplemarket(Table):
    """Reads Amplemarket's posts."""

    def named(self, item: Item, call: Call) -> str | None:
        """The name that the flag, the mail's tags or the stage stand for."""
        if item.get("is_reply") is True:
            return "automatic reply" if any(status_of(tag) == "out_of_office" for tag in _tags(item)) else "reply"
        tagged = next((_TAGS[known] for tag in _tags(item) if (known := words(tag)) in _TAGS), None)
        if tagged is not None:
            return tagged
        stage = words(pick(item, _STAGE, text) or "")
        return "email sent" if "email" in stage else stage or None

    def read(self, item: Item, call: Call) -> Event:
        """One post; on a reply the writer is the lead where no other key has an address."""
        event = super().read(item, call)
        if event.email is None and item.get("is_reply") is True:
            event.email = pick(item, _WRITER, address)
        return event


def _tags(item: Item) -> list[str]:
    message = item.get("email_message")
    found: list[str] = []
    for tags in (item.get("labels"), message.get("tag") if isinstance(message, dict) else None):
        found += [tag for tag in (tags if isinstance(tags, list) else [tags]) if isinstance(tag, str)]
    return found


ADAPTER = Amplemarket(
    tool="amplemarket",
    shapes=(
        Shape("sequence_lead sequence", 90),
        Shape("is_reply dynamic_fields", 92),
        Shape("is_reply sequence", 88),
        Shape("sequence_stage dynamic_fields", 90),
        Shape("sequence_stage lead", 80),
        Shape("email_message dynamic_fields", 88),
    ),
    names={"reply": m.REPLIED, "automatic_reply": m.AUTO_REPLIED, "email_sent": m.SENT},
    name="event",
    email="sequence_lead.email lead.email dynamic_fields.email",
    time="date email_message.date",
    linkedin="lead.linkedin_url sequence_lead.linkedin_url dynamic_fields.linkedin_url",
    first_name="lead.first_name dynamic_fields.first_name",
    last_name="lead.last_name dynamic_fields.last_name",
    full_name="lead.name dynamic_fields.name",
    campaign="sequence.name sequence.id",
    message="email_message.id id",
    key="",
)
