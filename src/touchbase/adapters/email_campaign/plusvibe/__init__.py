"""PlusVibe (formerly Pipl.ai): webhooks.

One reply may be sent as ALL_EMAIL_REPLIES, FIRST_EMAIL_REPLIES and ALL_POSITIVE_REPLIES. `webhook_id` is probably the
subscription's id, so it is not a dedupe key. LEAD_MARKED_AS may be followed by any label of a team. A machine's answer
has the same event names as a person's; the label distinguishes them. Without a lead under another key, the lead is the
reply's author or the email's recipient.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import paths, pick
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import personal_address
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.status_labels import status_of
from touchbase.history.events import Event

_MARKED, _MARKED_BESIDE = "lead_marked_as_", "lead_marked_as"
_WRITER, _WRITTEN_TO = paths("from_email"), paths("to_email")
_SIDES = {"email_replied": _WRITER, "email_auto_replied": _WRITER, "email_sent": _WRITTEN_TO, "manual_email_sent": _WRITTEN_TO}
"""The lead's side of an email, by event."""


class PlusVibe(TableAdapter):
    """Reads PlusVibe's webhooks."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; the text after LEAD_MARKED_AS is the label."""
        if normalize_event_name(name).startswith(_MARKED):
            return Meaning("lead_status_changed", status=_status(name[len(_MARKED) :]))
        if normalize_event_name(name) == _MARKED_BESIDE:
            return Meaning("lead_status_changed", status=self.find(item, "label", _status))
        return super().meaning(name, item)

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return the event of one webhook; without a lead under another key, the lead is the email's other side."""
        event = super().read(item, webhook)
        if event.email is None and (side := _SIDES.get(event.event)):
            event.email = pick(item, side, personal_address)
        return event


def _status(label: object) -> str | None:
    """Return a label's display text; labels are sent as keys."""
    is_key = isinstance(label, str) and ("_" in label or label.isupper())
    return status_of(str(label).replace("_", " ").capitalize() if is_key else label)


ADAPTER = PlusVibe(
    tool="plusvibe",
    stops_on_bounce=True,
    shapes=(
        DetectionRule("webhook_event camp_id", 95),
        DetectionRule("webhook_event lead_email", 90),
        DetectionRule("webhook_event webhook_id", 85),
        DetectionRule("webhook_event workspace_id", 80, named=True),
        DetectionRule("webhook_event email", 80),
    ),
    plain_names=(
        "email_sent all_email_replies first_email_replies all_positive_replies bounced_email meeting_booked meeting_completed "
        "wrong_person closed"
    ),
    names={
        "unibox_email_sent": m.MANUAL,
        "lead": m.status("custom:Lead"),
        "out_of_office": m.status("out_of_office"),
        "lead_marked_as": m.STATUS_IN_BODY,
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
    sent=MessagePaths(
        subject="subject", text="text_body body", mailbox="sender_email email_account_name from_email", message_id="message_id"
    ),
    received=MessagePaths(
        subject="subject", text="text_body body", mailbox="sender_email email_account_name to_email", category="label sentiment"
    ),
)
