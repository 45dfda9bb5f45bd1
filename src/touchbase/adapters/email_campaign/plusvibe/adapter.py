"""PlusVibe, once Pipl.ai: its webhook calls in our words.

One reply can arrive as ALL_EMAIL_REPLIES, FIRST_EMAIL_REPLIES and ALL_POSITIVE_REPLIES. `webhook_id` looks
like the subscription's id, so nothing is recognised by it. Any label of a team may follow LEAD_MARKED_AS.
A machine's answer comes under the same names as a person's; the label beside it tells them apart. Where no
other key has the lead, it is the one that has written a reply, or that a mail of ours went to.
"""

from __future__ import annotations

from touchbase.adapters.interface import Call
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import Item, Shape, Table, paths, pick, plain
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import person
from touchbase.adapters.kit.status_labels import status_of
from touchbase.history.events import Event

_MARKED, _MARKED_BESIDE = "lead_marked_as_", "lead_marked_as"
_WRITER, _WRITTEN_TO = paths("from_email"), paths("to_email")
_SIDES = {"email_replied": _WRITER, "email_auto_replied": _WRITER, "email_sent": _WRITTEN_TO, "manual_email_sent": _WRITTEN_TO}
"""Which side of a mail is the lead."""


class PlusVibe(Table):
    """Reads PlusVibe's calls."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """By the table; what follows LEAD_MARKED_AS is the label."""
        if plain(name).startswith(_MARKED):
            return Meaning("lead_status_changed", status=_status(name[len(_MARKED) :]))
        if plain(name) == _MARKED_BESIDE:
            return Meaning("lead_status_changed", status=self.find(item, "label", _status))
        return super().meaning(name, item)

    def read(self, item: Item, call: Call) -> Event:
        """One call; where no other key has the lead, a mail's other side is it."""
        event = super().read(item, call)
        if event.email is None and (side := _SIDES.get(event.event)):
            event.email = pick(item, side, person)
        return event


def _status(label: object) -> str | None:
    """A label, which comes as a key, as people see it."""
    is_key = isinstance(label, str) and ("_" in label or label.isupper())
    return status_of(str(label).replace("_", " ").capitalize() if is_key else label)


ADAPTER = PlusVibe(
    tool="plusvibe",
    shapes=(
        Shape("webhook_event camp_id", 95),
        Shape("webhook_event lead_email", 90),
        Shape("webhook_event webhook_id", 85),
        Shape("webhook_event workspace_id", 80, named=True),
        Shape("webhook_event email", 80),
    ),
    names={
        "email_sent": m.SENT,
        "unibox_email_sent": m.MANUAL,
        "all_email_replies": m.REPLIED,
        "first_email_replies": m.REPLIED,
        "all_positive_replies": m.REPLIED,
        "bounced_email": m.BOUNCED,
        "meeting_booked": m.status("meeting_booked"),
        "meeting_completed": m.status("meeting_completed"),
        "lead": m.status("custom:Lead"),
        "out_of_office": m.status("out_of_office"),
        "wrong_person": m.status("wrong_person"),
        "closed": m.status("closed"),
        "lead_marked_as": m.LABELLED,
        "system_alert": m.ACCOUNT,
        "webhook_disabled": m.ACCOUNT,
    },
    name="webhook_event",
    email="lead_email email",
    time="date",
    times={"email_replied": "date replied_date", "email_auto_replied": "date replied_date"},
    linkedin="linkedin_person_url linkedin_url",
    first_name="first_name lead_first_name",
    last_name="last_name lead_last_name",
    campaign="campaign_name camp_id campaign_id",
    message="message_id email_id",
    label="label",
    reply_label="label",
    bounce="bounce_type msg bounce_message",
)
