"""Smartlead: webhooks.

Two generations of keys are in use, and an older form with `event` and a nested `lead`; the first bodies have no event
name, and the key of their time identifies it. `from_email` is the client's mailbox and `to_email` the lead's side also
on a reply, which a colleague may have written: the campaign's contact is `sl_lead_email`. Events of an account or a
whole campaign have another envelope, `type` and `data`; an address in it is a sender's. A bounce may have the lead only
in its description, and no time but its message's; a category that a relay has left out is in the description too.
"""

from __future__ import annotations

import re

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import paths, pick
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import address, flag, text
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.adapters.kit.signatures_body import body_field
from touchbase.adapters.kit.status_labels import status_of
from touchbase.history.events import Event

_BY_TIME = {
    "time_replied": "EMAIL_REPLY",
    "time_clicked": "EMAIL_LINK_CLICK",
    "time_opened": "EMAIL_OPEN",
    "time_sent": "EMAIL_SENT",
}
"""The event of an unnamed body, by the key of its time; the later one takes precedence."""
_ITS_OWN = frozenset(
    {"EMAIL_OPEN", "EMAIL_LINK_CLICK", "EMAIL_REPLY", "EMAIL_BOUNCE", "FIRST_EMAIL_SENT", "LEAD_CATEGORY_UPDATED", "UNTRACKED_REPLIES"}
)
"""Event names that no other tool spells like this."""
_BOUNCED_LEAD = re.compile(r"\bto ([^\s@]+@[^\s@]+) (?:got )?bounced\b", re.IGNORECASE)
"""The lead in a bounce's description."""
_CATEGORY = re.compile(r"\bcategory updated to (.+)", re.IGNORECASE)
"""The category in its change's description, at the end of the last line."""
_STANDARD = {
    "1": "interested",
    "2": "custom:Meeting Request",
    "3": "not_interested",
    "4": "do_not_contact",
    "5": "custom:Information Request",
    "6": "out_of_office",
    "7": "wrong_person",
    "8": "custom:Uncategorizable by AI",
    "9": "custom:Sender Originated Bounce",
}
"""The default categories of every account, by id."""
_NUMBER = paths("lead_category.new_id lead_category_id lead_category category")
_LEAD, _NAMED = paths("sl_lead_email leadCorrespondence.targetLeadEmail"), paths("to_email")


class Smartlead(TableAdapter):
    """Reads Smartlead's webhooks."""

    def named(self, item: Item, webhook: ParsedWebhook) -> str | None:
        """Return the event's name; without one, the name that the key of its time implies."""
        return super().named(item, webhook) or next((name for key, name in _BY_TIME.items() if item.get(key)), None)

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return the event of one webhook; the description of a bounce or category fills in missing values."""
        event = super().read(item, webhook)
        description = text(item.get("description")) or ""
        if event.event == "email_bounced" and event.email is None and (match := _BOUNCED_LEAD.search(description)):
            event.email = address(match[1])
        if (
            normalize_event_name(event.source_event or "") == "lead_category_updated"
            and event.status is None
            and event.original_status is None
        ):
            match = _CATEGORY.search(description.rstrip().rpartition("\n")[2])
            event.status = (status_of(match[1]) if match else None) or _STANDARD.get(pick(item, _NUMBER, text) or "")
            event.event = "lead_status_changed" if event.status else "other"
        return event

    def _kind(self, meaning: Meaning, item: Item) -> str:
        """Return the bounce kind; a bounce that the client's own mailbox caused is soft."""
        return "soft" if flag(item.get("is_sender_originated_bounce")) else super()._kind(meaning, item)

    def _names(self, item: Item) -> tuple[str | None, str | None]:
        """Return the lead's name; `to_name` belongs to `to_email`, which may be a colleague's."""
        lead, named = pick(item, _LEAD, address), pick(item, _NAMED, address)
        if lead is not None and named is not None and lead != named:
            return self.find(item, "first_name", text), self.find(item, "last_name", text)
        return super()._names(item)


ADAPTER = Smartlead(
    tool="smartlead",
    stops_on_bounce=True,
    signature_schemes=(body_field("secret_key"), hmac_body("x-smartlead-signature", prefix="sha256=")),
    shapes=(
        DetectionRule("sl_email_lead_map_id", 95),
        DetectionRule("sl_lead_email", 95),
        DetectionRule("stats_id event_type", 95),
        DetectionRule("stats_id reply_message to_email", 90),
        DetectionRule("event_type secret_key metadata.webhook_created_at", 90),
        DetectionRule("event_type", 90, header="x-smartlead-signature"),
        DetectionRule("type data meta.level links.app", 88),
        DetectionRule("event_type sender_detail recipient_detail", 88),
        DetectionRule("event_type campaign_status secret_key", 82, named=True),
        DetectionRule("event_type to_email from_email", 80, named=True),
        DetectionRule("event_type lead_category", 85),
        DetectionRule("event_type lead_email", 78, named=True, spelt=str.isupper),
        DetectionRule("event sequence_number lead.email", 80, named=True),
        DetectionRule("event lead.email campaign_id email_account_id", 80, named=True),
        DetectionRule("event lead.email campaign_id", 70, named=True, spelt=str.isupper),
        DetectionRule("event_type to_email campaign_id", 72, named=True, spelt=str.isupper),
        DetectionRule("event_type lead.email", 70, named=True, spelt=str.isupper),
        DetectionRule("event_type", 60, spelt=_ITS_OWN.__contains__),
        *(DetectionRule(f"{time} to_email from_email campaign_id", 80) for time in _BY_TIME),
    ),
    plain_names=(
        "email_sent first_email_sent email_open email_opened email_link_click email_link_clicked email_clicked link_clicked "
        "email_reply email_replied email_bounce email_bounced lead_unsubscribed email_unsubscribed lead_category_updated "
        "campaign_completed email_account_disconnected linkedin_disconnected"
    ),
    names={
        "campaign_status_changed": m.COMPLETED,
        "campaign_status_change": m.COMPLETED,
        "untracked_replies": m.OTHER,
        "manual_step_reached": m.OTHER,
    },
    beginnings={"campaign_": m.OTHER},
    name="event_type event type",
    nameless={"reply_message": "EMAIL_REPLY"},
    email="sl_lead_email lead_email lead.email leadCorrespondence.targetLeadEmail lead_data.email to_email to sender_detail",
    time="event_timestamp timestamp reply_message.time reply.received_at created_at",
    times={
        "email_sent": "event_timestamp time_sent timestamp sent_message.time",
        "email_opened": "event_timestamp time_opened",
        "email_clicked": "event_timestamp time_clicked",
        "email_replied": "event_timestamp time_replied",
        "email_bounced": "event_timestamp time_bounced timestamp bounce_message.time",
        "email_unsubscribed": "event_timestamp time_unsubscribed",
        "lead_status_changed": "event_timestamp category_updated_at",
    },
    linkedin="linkedin_profile lead.linkedin_profile lead_data.linkedin_profile lead_data.linkedin_url",
    first_name="first_name lead.first_name lead_data.first_name",
    last_name="last_name lead.last_name lead_data.last_name",
    full_name="to_name lead_name",
    campaign="campaign_name campaign_id",
    message="reply_message.message_id message_id sent_message.message_id email.message_id stats_id",
    label="lead_category category new_category category_name lead_category_name lead_data.category",
    reply_label="reply_category lead_category.new_name category",
    bounce=(
        "bounce_type bounce.type smtp_code bounce_reason bounce.reason metadata.diagnostic_code bounce_message.text"
        " bounce_reply_email_preview"
    ),
    sent=MessagePaths(
        subject="custom_subject sent_message.subject subject email.subject",
        text="sent_message.text sent_message_body custom_email_message",
        html="sent_message.html",
        mailbox="from_email",
        thread_id="stats_thread_id",
        message_id="sent_message.message_id message_id",
    ),
    received=MessagePaths(
        subject="reply_message.subject reply.subject subject",
        text="reply_message.text reply.body reply_body",
        html="reply_message.html",
        preview="preview_text",
        mailbox="from_email",
        thread_id="stats_thread_id",
        category="lead_category.new_name reply_category category",
        message_id="reply_message.message_id",
        thread_url="ui_master_inbox_link app_url",
        reply_ref={
            "stats_id": "stats_id",
            "campaign_id": "campaign_id",
            "message_id": "reply_message.message_id",
            "time": "reply_message.time time_replied event_timestamp",
            "to": "leadCorrespondence.replyReceivedFrom to_email sl_lead_email",
        },
    ),
)
