"""Amplemarket: webhooks.

There is no event name: a reply has a flag, any other post belongs to a sequence's stage. On a reply `from` is the lead
and `to` the user. LinkedIn and phone activities have an object of their own, `linkedin` or `call`, whatever the
sequence's stage. Only labels for machine answers make a reply automatic. A workflow posts an email with its labels:
that is a reply and a status. If a reply names the right person, `lead` is already that person, and the original
recipient is in `additional_info`.
"""

from __future__ import annotations

from dataclasses import replace

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import at, paths, pick
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, batch, events_of
from touchbase.adapters.kit.extract import address, flag, personal_address, text
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.status_labels import status_of, words
from touchbase.history.events import Event

_STAGE = paths("sequence_stage.type sequence_step.type")
_WRITER = paths("from email_message.from")
_USER = paths("user.email")
_WRITTEN_TO = "additional_info.third_party_"
_FORMER, _FORMER_FIRST, _FORMER_LAST = (paths(_WRITTEN_TO + part) for part in ("email", "first_name", "last_name"))
_TAGS = {"sent": "email sent", "opened": "email opened", "clicked": "email clicked", "replied": "reply", "bounced": "email bounced"}
_REPLIED = frozenset({"email_replied", "email_auto_replied"})


class Amplemarket(TableAdapter):
    """Reads Amplemarket's posts."""

    def named(self, item: Item, webhook: ParsedWebhook) -> str | None:
        """Return the event name implied by the flag, the email's tags or the stage."""
        stage = words(pick(item, _STAGE, text) or "")
        if _is_reply(item):
            if any(status_of(tag) == "out_of_office" for tag in _tags(item)):
                return "automatic reply"
            elsewhere = stage.startswith("linkedin") or isinstance(item.get("linkedin"), dict)
            return "linkedin reply" if elsewhere and pick(item, _WRITER, address) is None else "reply"
        tagged = next((_TAGS[tag_words] for tag in _tags(item) if (tag_words := words(tag)) in _TAGS), None)
        if tagged is not None:
            return tagged
        return "email sent" if "email" in stage or (not stage and _is_own_mail(item)) else stage or None

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return the event of one post; without an address elsewhere, the lead is the reply's author or the email's only recipient."""
        event = _about_the_former(super().read(item, webhook), item)
        if event.email is None and event.event in _REPLIED:
            event.email = pick(item, _WRITER, personal_address)
        if event.email is None and event.event == "email_sent":
            to = item.get("to")
            event.email = address(to[0]) if isinstance(to, list) and len(to) == 1 else None
        return event

    def message_item(self, item: Item) -> Item:
        """Return the item with the label of a workflow's email."""
        return {**item, "label": next(iter(_labels(item)), None)}

    def translate(self, webhook: ParsedWebhook) -> list[Event]:
        """Return one event per post; the label of a workflow's reply is a second event."""
        return [event for item in batch(webhook.data) for event in self._events(item, webhook)]

    def _events(self, item: object, webhook: ParsedWebhook) -> list[Event]:
        events = events_of([item], lambda post: self.event_of(post, webhook))
        status = _labelled(item) if isinstance(item, dict) else None
        if status is None:
            return events
        changed = replace(events[0], event="lead_status_changed", status=status, message=None)
        return [*events, changed] if events[0].event == "email_replied" else [changed]


def _is_reply(item: Item) -> bool:
    """Return whether an item is a reply: by the flag, else by labels on an email that is not from the user."""
    if flag(item.get("is_reply")):
        return True
    return bool(_labels(item)) and pick(item, _WRITER, address) not in (None, pick(item, _USER, address))


def _is_own_mail(item: Item) -> bool:
    """Return whether an item without a stage type (an older format) is the user's email: it has an author and is no reply."""
    elsewhere = isinstance(item.get("linkedin"), dict) or isinstance(item.get("call"), dict)
    return flag(item.get("is_reply")) is False and not elsewhere and address(item.get("from")) is not None


def _labels(item: Item) -> list[str]:
    """Return the labels of a workflow's email; none for a post with the flag, which only lists them."""
    if flag(item.get("is_reply")):
        return []
    tags = at(item, ("email_message", "tag"))
    return [tag for tag in (tags if isinstance(tags, list) else [tags]) if isinstance(tag, str) and words(tag) not in _TAGS]


def _labelled(item: Item) -> str | None:
    """Return the first label as a status; None if a label says that a machine has answered."""
    # Labels are keys: with blanks they match their display text.
    statuses = [status_of(label.replace("_", " ").capitalize() if "_" in label else label) for label in _labels(item)]
    return None if "out_of_office" in statuses else next(filter(None, statuses), None)


def _about_the_former(event: Event, item: Item) -> Event:
    """Return the event for the original recipient, if the lead is the person that they have named."""
    former = pick(item, _FORMER, address)
    if former is None or _labelled(item) != "wrong_person":
        return event
    first_name, last_name = pick(item, _FORMER_FIRST, text), pick(item, _FORMER_LAST, text)
    return replace(event, email=former, linkedin_url=None, first_name=first_name, last_name=last_name)


def _tags(item: Item) -> list[str]:
    message = item.get("email_message")
    labels: list[str] = []
    for tags in (item.get("labels"), message.get("tag") if isinstance(message, dict) else None):
        labels += [tag for tag in (tags if isinstance(tags, list) else [tags]) if isinstance(tag, str)]
    return labels


ADAPTER = Amplemarket(
    tool="amplemarket",
    stops_on_bounce=True,
    shapes=(
        DetectionRule("sequence_lead sequence", 90),
        DetectionRule("is_reply dynamic_fields", 92),
        DetectionRule("is_reply sequence", 88),
        DetectionRule("sequence_stage dynamic_fields", 90),
        DetectionRule("sequence_stage lead", 80),
        DetectionRule("email_message dynamic_fields", 88),
        DetectionRule("email_message.tag lead", 88),
        DetectionRule("email_message sequence", 80),
        DetectionRule("dynamic_fields sequence", 78),
    ),
    plain_names="reply automatic_reply linkedin_reply email_sent",
    names={
        "linkedin_message": m.LINKEDIN_SENT,
        "linkedin_voice_message": m.LINKEDIN_SENT,
        "linkedin_video_message": m.LINKEDIN_SENT,
        "phone_call": m.OTHER,
    },
    name="event",
    email="sequence_lead.email lead.email dynamic_fields.email",
    time="date email_message.date linkedin.date call.date",
    linkedin="lead.linkedin_url sequence_lead.linkedin_url linkedin_url dynamic_fields.linkedin_url",
    first_name="lead.first_name dynamic_fields.first_name",
    last_name="lead.last_name dynamic_fields.last_name",
    full_name="lead.name dynamic_fields.name",
    campaign="sequence.name sequence.id reply_sequence.name reply_sequence.id",
    message="email_message.id id",
    key="",
    sent=MessagePaths(
        subject="subject email_message.subject",
        text="body email_message.body linkedin.description",
        mailbox="user.email",
        message_id="email_message.id id",
    ),
    received=MessagePaths(
        subject="subject email_message.subject",
        text="body email_message.last_message email_message.body linkedin.description",
        preview="email_message.snippet",
        mailbox="user.email to.0 to email_message.to",
        category="label labels.0",
        message_id="email_message.id id",
    ),
)
