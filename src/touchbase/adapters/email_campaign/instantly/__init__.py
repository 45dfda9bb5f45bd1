"""Instantly: webhooks.

A webhook is one flat event. A team's lead label is sent as the event name, as the team has written it, so a name in no
system spelling is a status. A lead's imported columns are next to the system's keys. Relays also post a lead in the
API's format.
"""

from __future__ import annotations

import re

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.status_labels import status_of

_SYSTEM_NAME = re.compile(
    r"(email|link|lead|reply|auto|campaign|account|supersearch|webhook|website|workspace|subsequence|test)([._][a-z0-9]+)+", re.IGNORECASE
)
"""Prefixes of system events: an unknown one is no label."""


_STOPPED = {"-1": "email_bounced", "-2": "lead_unsubscribed"}
"""By the status of a lead in the API's format, the event that stopped it."""


class Instantly(TableAdapter):
    """Reads Instantly's webhooks."""

    def named(self, item: Item, webhook: ParsedWebhook) -> str | None:
        """Return the event's name; a lead in the API's format is named by its status."""
        name = super().named(item, webhook)
        return _STOPPED.get(text(item.get("status")) or "", name) if name == "lead_record" else name

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning of a system event from the table or its words; any other name is a team's label."""
        listed = self.listed(name)
        if listed is not None:
            return listed
        return m.meaning_of(name) if _SYSTEM_NAME.fullmatch(name) else Meaning("lead_status_changed", status=status_of(name))

    def _sure(self, item: Item, webhook: ParsedWebhook) -> int:
        """Return the confidence by the shapes; a workspace that is an object, not an id, is not Instantly's."""
        if isinstance(item.get("workspace"), dict):
            item = {name: value for name, value in item.items() if name != "workspace"}
        return super()._sure(item, webhook)


ADAPTER = Instantly(
    tool="instantly",
    stops_on_bounce=True,
    shapes=(
        DetectionRule("unibox_url event_type", 95),
        DetectionRule("event_type lead_email email_account", 85, named=True, spelt=str.islower),
        DetectionRule("event_type workspace campaign_id", 85),
        DetectionRule("event_type workspace", 80, named=True, spelt=str.islower),
        DetectionRule("event_type lead_email", 75, named=True, spelt=str.islower),
        DetectionRule("event_type lead_email email_account", 60),
        DetectionRule("upload_method timestamp_created email", 80),
    ),
    plain_names=(
        "email_sent email_opened link_clicked email_link_clicked reply_received email_replied auto_reply_received email_bounced "
        "lead_unsubscribed spam_complaint lead_interested lead_not_interested lead_neutral lead_meeting_booked lead_meeting_completed "
        "lead_no_show lead_out_of_office lead_wrong_person lead_closed lead_won lead_skipped custom_label_any_positive "
        "campaign_completed campaign_completed_for_lead_without_reply account_error"
    ),
    names={
        "lead_lost": m.status("custom:Lost"),
        # Any custom label of that kind, as configured for the webhook; which one is not sent.
        "custom_label_any_negative": m.status("not_interested"),
        "supersearch_enrichment_completed": m.OTHER,
        "lead_record": m.SAVED,
    },
    nameless={"upload_method": "lead_record"},
    name="event_type",
    email="lead_email email",
    time="timestamp timestamp_updated timestamp_created",
    linkedin="linkedin_url linkedinUrl linkedIn linkedin linkedin_profile",
    first_name="firstName first_name lead_first_name",
    last_name="lastName last_name lead_last_name",
    campaign="campaign_name campaign_id campaign",
    message="email_id",
    bounce="bounce_type bounce_reason",
    sent=MessagePaths(subject="email_subject", text="email_text", html="email_html", mailbox="email_account", message_id="email_id"),
    received=MessagePaths(
        subject="reply_subject",
        text="reply_text",
        html="reply_html",
        preview="reply_text_snippet",
        mailbox="email_account",
        thread_url="unibox_url",
        reply_ref={"email_id": "email_id", "mailbox": "email_account", "to": "lead_email email"},
    ),
    usual_messages=False,
)
