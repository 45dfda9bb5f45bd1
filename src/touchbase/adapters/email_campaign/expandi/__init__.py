"""Expandi: webhooks.

The event's name says what happened, never a text: each webhook repeats the conversation in `messenger`. The hook that
Expandi labels "Connection request accepted" sends `campaign_new_contact`, and the contact is saved then. `campaign_email_*`
are mails, whatever the namespace of the name.
"""

from __future__ import annotations

from typing import TypeGuard

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, batch
from touchbase.adapters.kit.extract import dig
from touchbase.adapters.kit.messages import MessagePaths

_IS_SAVED = "touchbase.saved"


class Expandi(TableAdapter):
    """Reads Expandi's webhooks."""

    def items(self, data: object) -> object:
        """Return the items; a new contact is an accepted request and a saved person."""
        return [item for body in batch(data) for item in ([body, {**body, _IS_SAVED: True}] if _is_new(body) else [body])]

    def named(self, item: Item, webhook: ParsedWebhook) -> str | None:
        """Return the event's name without its namespace, which is LinkedIn for mails too."""
        name = "contact_saved" if item.get(_IS_SAVED) is True else super().named(item, webhook)
        return None if name is None else name.rpartition(".")[2]


def _is_new(body: object) -> TypeGuard[Item]:
    return isinstance(body, dict) and str(dig(body, "hook", "event")).endswith(".campaign_new_contact")


ADAPTER = Expandi(
    tool="expandi",
    shapes=(
        DetectionRule("hook.li_account hook.event", 95),
        DetectionRule("hook.event contact messenger", 92),
        DetectionRule("hook.event hook.fired_datetime", 92),
    ),
    plain_names=(
        "campaign_invite_sent connection_request_sent campaign_email_sent campaign_email_opened campaign_email_clicked "
        "campaign_email_bounced campaign_email_replied campaign_profile_visited campaign_finished nothing_scheduled contact_saved"
    ),
    names={
        "campaign_replied": m.LINKEDIN_REPLIED,
        "campaign_first_reply": m.LINKEDIN_REPLIED,
        "contact_replied": m.LINKEDIN_REPLIED,
        "campaign_message_sent": m.LINKEDIN_SENT,
        "message_sent": m.LINKEDIN_SENT,
        "campaign_connected": m.LINKEDIN_ACCEPTED,
        "campaign_new_contact": m.LINKEDIN_ACCEPTED,
        "campaign_post_liked": m.LINKEDIN_OTHER,
        "campaign_follow_sent": m.LINKEDIN_OTHER,
        "campaign_company_follow_sent": m.LINKEDIN_OTHER,
        "campaign_endorsement_sent": m.LINKEDIN_OTHER,
        "campaign_contact_tagged": m.LINKEDIN_OTHER,
        "campaign_contact_revoked": m.LINKEDIN_OTHER,
        "campaign_contact_disconnected": m.LINKEDIN_OTHER,
    },
    name="hook.event",
    email="contact.email",
    time="hook.fired_datetime",
    linkedin="contact.profile_link",
    first_name="contact.first_name",
    last_name="contact.last_name",
    campaign="messenger.campaign_instance",
    sent=MessagePaths(text="messenger.last_sent_message", mailbox="hook.li_account_name"),
    received=MessagePaths(text="messenger.last_received_message", mailbox="hook.li_account_name"),
    usual_messages=False,
)
