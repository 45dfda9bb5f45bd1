"""HeyReach: webhooks.

All events are on LinkedIn; an address is often missing, and the profile is the only identifier of a person. Integrators
also document camel case keys; HeyReach's own tags are said to come like that, flattened. Some deliveries have no event
name and time: then the newest message determines both. The meaning of `correlation_id` is uncertain, so it is not used
as a dedupe key.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import at
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, batch
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import flag
from touchbase.adapters.kit.ignored_names import reason_to_ignore
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.times import parse_time
from touchbase.history.events import Event


class HeyReach(TableAdapter):
    """Reads HeyReach's webhooks."""

    def named(self, item: Item, webhook: ParsedWebhook) -> str | None:
        """Return the event's name; without one, the name that the newest message implies."""
        name = super().named(item, webhook)
        if name is None and (newest := _newest(item)):
            return "message_reply_received" if flag(newest.get("is_reply")) else "message_sent"
        return name

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; every other event is on LinkedIn too."""
        listed = self.listed(name)
        if listed is not None:
            return listed
        guessed = m.meaning_of(f"linkedin {name}")
        if guessed is m.LINKEDIN_OTHER:
            return m.OTHER if reason_to_ignore(name) else m.UNKNOWN
        return guessed

    def message_item(self, item: Item) -> Item:
        """Return the item with the newest message of each direction."""
        return {**item, "newest_sent": _newest(item, is_reply=False), "newest_reply": _newest(item, is_reply=True)}

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return the event of one webhook, with the newest message's time if it has none."""
        event = super().read(item, webhook)
        if event.occurred_us is None and (newest := _newest(item)):
            event.occurred_us = parse_time(newest.get("creation_time"))
        return event


def _newest(item: Item, *, is_reply: bool | None = None) -> Item | None:
    """Return the newest message; of one direction only, if a message says that it is of the other."""
    messages = [message for message in batch(item.get("recent_messages")) if isinstance(message, dict)]
    if is_reply is not None:
        messages = [message for message in messages if flag(message.get("is_reply")) in (is_reply, None)]
    return max(messages, key=_written, default=None)


def _written(message: Item) -> int:
    # Among messages without a time the last one is the newest.
    return parse_time(at(message, ("creation_time",))) or 0


ADAPTER = HeyReach(
    tool="heyreach",
    shapes=(
        DetectionRule("correlation_id recent_messages", 95),
        DetectionRule("correlation_id connection_message", 95),
        DetectionRule("correlation_id lead.profile_url", 92),
        DetectionRule("recent_messages lead", 90),
        DetectionRule("connection_message lead", 90),
        DetectionRule("lead.profile_url event_type", 80),
        DetectionRule("leadProfile eventType", 85),
        DetectionRule("lead.profileUrl eventType", 78, named=True),
        DetectionRule("lead.linkedInUrl eventType", 78, named=True),
        DetectionRule("lead.linkedinUrl event_type", 70, named=True),
        DetectionRule("lead.linkedin_url event_type", 70, named=True),
        DetectionRule("lead_profile_url event_type", 75, named=True),
        DetectionRule("leadProfileUrl eventType", 75, named=True),
        DetectionRule("eventType lead", 70, named=True, spelt=str.isupper),
        DetectionRule("conversation_id sender lead.profile_url", 80),
    ),
    plain_names=(
        "connection_request_sent connection_request_accepted connection_request_withdrawn inmail_sent message_reply_received "
        "every_message_reply_received inmail_reply_received campaign_completed lead_finished_sequence_without_replying "
        "lead_auto_tagged_interested lead_auto_tagged_positive lead_auto_tagged_not_interested"
    ),
    names={
        "message_sent": m.LINKEDIN_SENT,
        "follow_sent": m.LINKEDIN_OTHER,
        "liked_post": m.LINKEDIN_OTHER,
        "viewed_profile": m.LINKEDIN_OTHER,
        "lead_tag_updated": m.STATUS_IN_BODY,
        "lead_auto_tagged_generic": m.OTHER,
    },
    name="event_type eventType",
    email=(
        "lead.email_address lead.enriched_email lead.custom_email leadProfile.emailAddress lead.emailAddress lead_email_address"
        " leadEmailAddress"
    ),
    time="timestamp",
    linkedin=(
        "lead.profile_url leadProfile.linkedInUrl leadProfile.profileUrl lead.profileUrl lead.linkedInUrl lead_profile_url leadProfileUrl"
        " lead.linkedinUrl lead.linkedin_url"
    ),
    first_name="lead.first_name leadProfile.firstName lead.firstName lead_first_name leadFirstName",
    last_name="lead.last_name leadProfile.lastName lead.lastName lead_last_name leadLastName",
    full_name="lead.full_name lead.fullName",
    campaign="campaign.name campaignName campaign_name campaign.id campaignId campaign_id",
    message="conversation_id",
    key="loaded_key",
    label="tag tag_name tagName new_tag tags lead.tag lead.tags leadTags lead_tags",
    sent=MessagePaths(
        text="newest_sent.message message.text",
        mailbox="sender.email_address sender.emailAddress sender.profile_url sender.id linkedInAccountId",
        thread_id="conversation_id conversationId",
        message_id="message.id",
    ),
    received=MessagePaths(
        text="newest_reply.message message.text",
        mailbox="sender.email_address sender.emailAddress sender.profile_url sender.id linkedInAccountId",
        thread_id="conversation_id conversationId",
        message_id="message.id",
        reply_ref={"conversation_id": "conversation_id conversationId", "account_id": "sender.id linkedInAccountId"},
    ),
)
