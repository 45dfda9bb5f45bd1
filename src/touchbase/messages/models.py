"""Messages: sent and received mails and LinkedIn messages of contacts.

A *copy* is what one event or one request says of a message. Copies of one contact with the same copy key and direction are one
message: the earliest copy counts, and what it leaves out comes from the next ones, so the order of arrival changes nothing.
A copy key comes from an id that names exactly one message: the id of a conversation, or of the mail that a reply answers, would
hide one message behind another. A sent message that a request stored, such as an answer, gets a key with the tool's webhook about it.

The label of a reply is the author's intent, by the category that a campaign tool gives to it. Categories are those that the tools
document or show in their bodies (docs/reference/tools.md); a word that is not listed is no label.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from touchbase.common.html_text import text_of_html
from touchbase.common.timestamps import DAY, SECOND, Micros
from touchbase.history.events import Event

SENT, RECEIVED = "sent", "received"
DIRECTIONS = (SENT, RECEIVED)
EMAIL, LINKEDIN = "email", "linkedin"
CHANNELS = (EMAIL, LINKEDIN)
LONGEST_KEY = 250
"""Characters of a copy key, which an index must hold; a longer one is hashed."""
API = "api"
"""The tool of a message that a request makes without naming one."""
MADE_EVENTS = {SENT: "message.sent", RECEIVED: "message.received"}
"""The event in the contact's history of a message that a request made; it changes neither status nor dates."""
MOST_CUSTOM_FIELDS = 100
"""Of one message."""
MOST_SUBJECT = 1_000
"""Characters of a subject."""
HANDLED_AGE: Micros = 14 * DAY
"""Age from which a message that comes in begins as handled."""
NEAR: Micros = 3600 * SECOND
"""Time between a request and the webhook about the same sent message: a tool may queue it, and has a clock of its own."""
NEAR_WITHOUT_TEXT: Micros = 120 * SECOND
"""The same for a webhook that has no text."""
MOST_COMPARED = 20
"""Stored messages that a webhook's is compared with, the nearest in time, and webhooks of one transaction whose HTML is read for it."""
COMPARED_HTML = 4 * 1024
"""Characters of HTML that are read for it."""
INLINE_HTML = 16 * 1024
"""Characters of HTML up to which its text is made on the event loop, in at most 10 ms."""
_RECEIVED_EVENTS = frozenset({"email_replied", "email_auto_replied", "linkedin_replied"})


@dataclass(slots=True)
class Message:
    """A message, or one copy of it."""

    id: int
    direction: str
    channel: str
    occurred_us: Micros
    event_key: str
    """With the time, it identifies the event in the contact's history that brought the message."""
    delivery_id: int | None
    """None: a request made it."""
    received_us: Micros
    tool: str
    mailbox: str | None = None
    """The client's own address or account: it sent the message or received it."""
    subject: str | None = None
    text: str | None = None
    html: str | None = None
    campaign_id: str | None = None
    campaign_name: str | None = None
    step: str | None = None
    message_id: str | None = None
    """The message's id: never its conversation's, or the answered mail's."""
    thread_id: str | None = None
    category: str | None = None
    """The tool's own label of a reply."""
    interested: bool | None = None
    custom: dict[str, str] = field(default_factory=dict)
    updated_us: Micros = 0
    """The last request that changed it; 0: when it was received."""
    automatic: bool = False
    """Whether a machine wrote it."""
    label: str | None = None
    """The author's intent, by category."""
    reply_ref: str | None = None
    """As JSON, the ids by which the tool's API answers it; None: it cannot."""
    thread_url: str | None = None
    """Where the tool shows its conversation."""
    copy_key: str | None = None
    """Key that all copies of a message share; None: no other copy can be recognised."""
    contact_id: int = 0
    contact_email: str | None = None
    place: int = 0
    """The id of its earliest copy, for the order of pages."""

    @property
    def has_body(self) -> bool:
        """Whether it has a subject or a text."""
        return self.subject is not None or self.text is not None or self.html is not None

    def __post_init__(self) -> None:
        self.copy_key = self.copy_key or self._copy_key()

    def _copy_key(self) -> str | None:
        # The Message-ID of a mail (RFC 5322) is the same in all tools; any other id says something only within its tool.
        if self.message_id is None:
            return None
        bare = self.message_id.strip().removeprefix("<").removesuffix(">")
        bare_key = bare if "@" in bare else f"{self.tool} {bare}"
        return bare_key if len(bare_key) <= LONGEST_KEY else blake2b(bare_key.encode(), digest_size=16).hexdigest()


_FILLED = (
    "mailbox", "subject", "text", "html", "campaign_id", "campaign_name", "step", "message_id", "thread_id", "category", "interested",
    "reply_ref", "thread_url",
)  # fmt: skip
"""Members that a copy may leave out."""


def united(copies: Iterable[Message]) -> Message:
    """Return the message of these copies. Its id is the lowest one, which no later copy changes."""
    ordered = sorted(copies, key=lambda copy: (copy.occurred_us, copy.event_key, copy.id))
    filled: dict[str, Any] = {
        name: next((value for copy in ordered if (value := getattr(copy, name)) is not None), None) for name in _FILLED
    }
    custom: dict[str, str] = {}
    for copy in ordered:
        custom = copy.custom | custom
    updated = max(copy.updated_us for copy in ordered)
    return replace(ordered[0], place=ordered[0].id, id=min(copy.id for copy in ordered), custom=custom, updated_us=updated, **filled)


def tells_of(message: Message, text: str | None, stored: Message) -> bool:
    """Return whether a webhook tells of the sent message of the same contact and tool that a request stored.

    `text`: The webhook's text, perhaps from its HTML. Tools repeat the text, often with the quoted mail below it.
    One that repeats none tells of it at once.
    """
    if (message.channel, message.direction) != (stored.channel, stored.direction) or (
        message.thread_id and stored.thread_id and message.thread_id != stored.thread_id
    ):
        return False
    if message.copy_key and stored.copy_key:
        return False  # the ids say that they are two, or that they are one already
    apart = abs(message.occurred_us - stored.occurred_us)
    if text is None:
        return apart <= NEAR_WITHOUT_TEXT
    return apart <= NEAR and _begins_with(text, stored.text or "")


def compared_text(html: str) -> str:
    """Return the text at the beginning of some HTML, in at most 3 ms."""
    return text_of_html(html[:COMPARED_HTML]) or ""


def _begins_with(text: str, beginning: str) -> bool:
    """Return whether a text consists of the words of another, but for lines below them."""
    words, read = beginning.split(), list[str]()
    for line in text.splitlines():
        read += line.split()
        if len(read) >= len(words):
            break
    return bool(words) and read == words


MOST_WORDS = 100


def are_same_text(one: str, other: str) -> bool:
    """Return whether two texts are one, but for lines below one of them; of long ones the first words decide."""
    first, second = (text.split(maxsplit=MOST_WORDS)[:MOST_WORDS] for text in (one, other))
    if len(first) == len(second) == MOST_WORDS:
        return first == second
    return _begins_with(one, other) or _begins_with(other, one)


def direction_of(event: Event) -> str:
    """Return the direction of an event's message."""
    return RECEIVED if event.event in _RECEIVED_EVENTS else SENT


def channel_of(event: Event) -> str:
    """Return the channel of an event's message."""
    return LINKEDIN if event.event.startswith("linkedin") else EMAIL


EventKey = tuple[str, Micros]
"""The key and the time of an event in a history."""


LABELS = (
    "interested", "meeting", "question", "referral", "later", "not_interested", "wrong_person", "unsubscribe", "out_of_office", "other",
)  # fmt: skip
OUT_OF_OFFICE = "out_of_office"
_CATEGORIES = {
    "interested": "interested positive lead_interested willing_to_meet more_info warm",
    "meeting": "meeting meeting_request meeting_booked meeting_requested meeting_completed call_booked demo_booked booked",
    "question": "question information_request info_request asking_question has_question needs_info",
    "referral": "referral referred forwarded referred_to_colleague",
    "later": "later not_now maybe_later follow_up_later timing bad_timing contact_later maybe",
    "not_interested": "not_interested negative lead_not_interested no rejected lost do_not_want",
    "wrong_person": "wrong_person wrong_contact not_the_right_person lead_wrong_person left_company no_longer_works",
    "unsubscribe": "unsubscribe unsubscribed do_not_contact dnc remove opt_out stop",
    "out_of_office": "out_of_office ooo auto_reply autoreply automatic_reply auto_replied lead_out_of_office vacation autoresponder",
    "other": "other neutral lead_neutral",
}
_LABEL_OF = {category: label for label, categories in _CATEGORIES.items() for category in categories.split()}
_SEPARATORS = re.compile(r"[^a-z0-9]+")


def label_of(category: str | None) -> str | None:
    """Return the label of a tool's category, whatever its case and separators; None for an unknown one."""
    if category is None:
        return None
    return _LABEL_OF.get(_SEPARATORS.sub("_", category.casefold()).strip("_"))
