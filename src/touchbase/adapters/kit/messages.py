"""The message of an event: subject, text, HTML, mailbox, thread and category of a sent mail or LinkedIn message, or of a reply.

A body often has two messages, the reply and the mail that it answers, so each direction has its own paths. The event
decides on the direction. Texts stay as they came, with the quoted mail if the tool sends it.

Mail of a machine: an automatic answer or a delivery report, as its sender and headers say (RFC 3834, RFC 3464).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import islice
from urllib.parse import urlsplit

from touchbase.adapters.kit.body_paths import Path, at, paths, pick
from touchbase.adapters.kit.extract import address, storable_text, text
from touchbase.common.field_limits import MESSAGE_TEXT
from touchbase.history.events import Event, MessageContent

_SENT_EVENTS = frozenset({"email_sent", "manual_email_sent", "linkedin_sent"})
_RECEIVED_EVENTS = frozenset({"email_replied", "email_auto_replied", "linkedin_replied"})
_HTML = re.compile(
    r"<(?:!doctype|html|body|div|p|table|span)(?=[\s>/])|</(?:p|div|span|table|body|b|i|a|ul|ol|li|em|strong)\s*>|<br\s*/?>", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class MessagePaths:
    """Paths of a message's members in the bodies of one tool, for one direction."""

    subject: str = ""
    text: str = ""
    """Of several, the one with only the message takes precedence over one that quotes others. HTML under such a key counts as HTML."""
    html: str = ""
    preview: str = ""
    """A shortened text: used only if there is neither text nor HTML."""
    mailbox: str = ""
    thread_id: str = ""
    message_id: str = ""
    """Of ids that name exactly this message: copies with equal ids are one message, so any other id would hide messages."""
    mail_id: str = ""
    """Of ids that count as the message's own only if they are a mail's Message-ID: for tools whose ids are not known."""
    category: str = ""
    thread_url: str = ""
    """Of the https URL at which the tool shows the conversation of a reply."""
    reply_ref: Mapping[str, str] = field(default_factory=dict)
    """By its name, each id that the tool's API needs to answer a reply; `to` is the address that the answer goes to."""

    def before(self, usual: MessagePaths) -> MessagePaths:
        """Return these paths, and after them the usual ones."""
        joined = {name: f"{getattr(self, name)} {getattr(usual, name)}" for name in _PATHS}
        return MessagePaths(**joined, reply_ref=self.reply_ref)

    @property
    def members(self) -> list[str]:
        """The names of the message's members that have paths; a preview is a text."""
        named = {"text" if name == "preview" else name for name in (*_PATHS, "reply_ref") if getattr(self, name)}
        return [field.name for field in fields(MessageContent) if field.name in named]


_PATHS = tuple(field.name for field in fields(MessagePaths) if field.name != "reply_ref")
MOST_REF = 2_000
"""Characters of a reference or URL; a longer one is left out."""

_MAILBOX = (
    "email_account email_account.email sender_email sender_email.email sender.email sender.email_address mailbox mailbox.email "
    "mailbox_email account_email sending_account campaign_email inbox_email inbox.email eaccount from_account sendUserEmail "
    "data.email_account data.sender_email data.sender_email.email data.sender.email data.mailbox data.mailbox.email"
)
_THREAD = (
    "thread_id threadId email_thread_id stats_thread_id conversation_id conversationId thread.id reply.thread_id reply_message.thread_id "
    "data.thread_id data.threadId data.conversation_id data.conversationId data.thread.id data.reply.thread_id"
)
USUAL_SENT = MessagePaths(
    subject=(
        "email_subject sent_message.subject scheduled_email.email_subject email.subject email_message.subject subject Subject "
        "data.email_subject data.email.subject data.subject"
    ),
    text=(
        "email_text sent_message.text email_text_body email_message.text text_body textBody body_text body_plain plainTextBody text "
        "email_body message_text messageText message.text message.body body data.email_text data.text_body data.body_text data.text "
        "data.messageText data.message_text data.message.text data.message.body data.email_body data.body"
    ),
    html=(
        "email_html sent_message.html email_html_body email_message.html html_body htmlBody body_html html data.email_html data.html_body "
        "data.body_html data.html"
    ),
    mailbox=_MAILBOX,
    thread_id=_THREAD,
    mail_id=(
        "sent_message.message_id scheduled_email.raw_message_id email_message.message_id email.message_id message_id message-id messageId "
        "Message-Id data.scheduled_email.raw_message_id data.email.message_id data.message_id data.messageId"
    ),
)
USUAL_RECEIVED = MessagePaths(
    subject=(
        "reply_subject reply_message.subject reply.subject reply.email_subject reply_email_subject email_message.subject email_subject "
        "subject Subject data.reply_subject data.reply.subject data.reply.email_subject data.email_subject data.subject"
    ),
    text=(
        "reply_text reply_message.text reply.text reply.text_body reply_text_body replyText reply_plain_text stripped_text "
        "stripped-text StrippedTextReply email_message.text reply_message.body reply.body reply_body reply_content text_body textBody "
        "body_text body_plain plainTextBody text message_text messageText message.text message.body body data.reply_text data.reply.text "
        "data.reply.text_body data.reply.body data.reply_message.text data.reply_message.body data.text_body data.body_text data.text "
        "data.messageText data.message_text data.message.text data.message.body data.body"
    ),
    html=(
        "reply_html reply_message.html reply.html reply.html_body reply_html_body email_message.html html_body htmlBody body_html html "
        "data.reply_html data.reply.html data.reply.html_body data.html_body data.body_html data.html"
    ),
    preview=(
        "reply_text_snippet reply_preview replyPreview preview_text snippet email_message.snippet preview data.replyPreview data.preview"
    ),
    mailbox=_MAILBOX,
    thread_id=_THREAD,
    # Not `message_id`: on a reply it is often that of the mail that was answered.
    mail_id=(
        "reply_message.message_id reply.message_id reply.raw_message_id reply_message_id reply_raw_message_id replyMessageId "
        "data.reply_message.message_id data.reply.message_id data.reply.raw_message_id data.reply_message_id data.replyMessageId"
    ),
    category=(
        "reply_category reply.category reply_fields.category lead_category.new_name classification reply.classification sentiment "
        "reply.sentiment data.reply_category data.reply.category data.classification data.sentiment"
    ),
    thread_url=(
        "thread_url threadUrl conversation_url conversationUrl inbox_url inboxUrl unibox_url message_url reply_url data.thread_url "
        "data.conversation_url data.inbox_url data.reply_url"
    ),
)
_FROM = paths(
    "from_email from_email_address fromEmail from from.email from.address data.from_email data.from data.from.email data.from.address"
)
_TO = paths(
    "to_email toEmail to.0 to.0.email to.0.address to to.email to.address data.to_email data.to.0 data.to.0.email data.to.0.address data.to"
)


def is_message(event: Event) -> bool:
    """Return whether an event is a sent message or a reply; a delivery report that counts as the sent mail is one too."""
    return event.event in _SENT_EVENTS or event.event in _RECEIVED_EVENTS or event.counts_as_sent


class MessageReader:
    """Reads the messages of one tool's events."""

    def __init__(self, sent: MessagePaths, received: MessagePaths) -> None:
        self._sent, self._received = _compiled(sent), _compiled(received)
        self._reference = {name: paths(written) for name, written in received.reply_ref.items()}

    def read(self, event: Event, item: object) -> MessageContent | None:
        """Return the message of an event that has one; None if the body has no member of it."""
        places = self._received if event.event in _RECEIVED_EVENTS else self._sent
        plain, html = _bodies(item, places)
        content = MessageContent(
            subject=pick(item, places["subject"], text),
            text=plain,
            html=html,
            mailbox=_mailbox(event, item, places["mailbox"]),
            thread_id=pick(item, places["thread_id"], text),
            category=pick(item, places["category"], text),
        )
        if content == _NOTHING:
            return None
        if places is self._received:
            content.reply_ref, content.thread_url = self._reply_ref(item), pick(item, places["thread_url"], _url)
        # A mail written by hand is sent within a conversation, and its body may name the campaign's mail there.
        if event.event != "manual_email_sent":
            content.message_id = pick(item, places["message_id"], text) or pick(item, places["mail_id"], _mail_id)
        return content

    def _reply_ref(self, item: object) -> str | None:
        """Return the ids of an answer that the body has; an id is a text or a number."""
        values = {name: value for name, places in self._reference.items() if (value := pick(item, places, text)) is not None}
        reference = _COMPACT.encode(values) if values else ""
        return reference if 0 < len(reference) <= MOST_REF else None


_NOTHING = MessageContent()
_COMPACT = json.JSONEncoder(separators=(",", ":"))


def _compiled(written: MessagePaths) -> dict[str, tuple[Path, ...]]:
    return {name: tuple(dict.fromkeys(paths(getattr(written, name)))) for name in _PATHS}


def _bodies(item: object, places: dict[str, tuple[Path, ...]]) -> tuple[str | None, str | None]:
    """Return the text and the HTML; a value under a text's key is HTML if it looks like it."""
    html = pick(item, places["html"], _body)
    for which in ("text", "preview"):
        for path in places[which]:
            value = at(item, path)
            body = None if value is None else _body(value)
            if body is not None and _HTML.search(body) is None:
                return body, html
            html = html or body
        if html is not None:
            break
    return None, html


def _url(value: object) -> str | None:
    """Return an https URL without a user, which a person may open; None for any other text."""
    string = text(value)
    if string is None or len(string) > MOST_REF or not string.isascii() or not string.isprintable() or " " in string:
        return None
    try:
        parts = urlsplit(string)
        return string if parts.scheme == "https" and parts.hostname and "@" not in parts.netloc and "\\" not in string else None
    except ValueError:
        return None


def _mail_id(value: object) -> str | None:
    string = text(value)
    return string if string is not None and "@" in string else None


def _body(value: object) -> str | None:
    return storable_text(value, MESSAGE_TEXT) if isinstance(value, str) else None


def _mailbox(event: Event, item: object, places: tuple[Path, ...]) -> str | None:
    """Return the client's own address or LinkedIn account, never the lead's.

    The usual keys of the two ends have no fixed meaning on a reply, so one of them counts only if the other is the lead's.
    """
    is_mail = event.event.startswith(("email", "manual"))

    def ours(value: object) -> str | None:
        email = address(value) or (None if is_mail else text(value))
        return None if email in (event.email, event.linkedin_url) else email

    named = pick(item, places, ours)
    if named is not None or event.email is None:
        return named
    writer, receiver = pick(item, _FROM, address), pick(item, _TO, address)
    if (writer == event.email) == (receiver == event.email):
        return None
    return receiver if writer == event.email else writer


DAEMONS = ("mailer-daemon@", "mailerdaemon@", "postmaster@")
"""Beginnings of the addresses that reports of mail servers come from."""
SENDER = paths(
    "from from.email from.address from.0 from.0.email from.0.address from_email from_email_address reply.from_email_address "
    "reply.from_email reply.from reply.from.address mail.source"
)
"""Paths of the address that a mail came from."""
_HEADERS = paths("headers mail.headers message.headers reply.headers email.headers data.headers data.reply.headers")
_MOST_HEADERS = 200
_PRESENT = frozenset({"x-autoreply", "x-autorespond", "x-auto-response-suppress-reply", "x-autogenerated"})
_PRECEDENCES = frozenset({"auto_reply", "auto-reply", "bulk", "junk"})


def is_machine_mail(item: dict[str, object]) -> bool:
    """Return whether the body says, outside of the mail's text, that a machine wrote the mail."""
    sender = pick(item, SENDER, address)
    return (sender is not None and sender.startswith(DAEMONS)) or any(map(_is_of_machine, _headers(item)))


def _headers(item: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the mail's headers: of an object, of a list of `name` and `value`, or of pairs."""
    for path in _HEADERS:
        headers = at(item, path)
        if isinstance(headers, dict):
            pairs: Iterator[tuple[object, object]] = iter(headers.items())
        elif isinstance(headers, list):
            pairs = (
                (header.get("name") or header.get("key"), header.get("value")) if isinstance(header, dict) else (header[0], header[1])
                for header in headers
                if isinstance(header, dict) or (isinstance(header, list) and len(header) == 2)
            )
        else:
            continue
        for name, value in islice(pairs, _MOST_HEADERS):
            if (named := text(name)) is not None and (header := text(value[0] if isinstance(value, list) and value else value)) is not None:
                yield named.lower().rstrip(":"), header.strip().lower()


def _is_of_machine(header: tuple[str, str]) -> bool:
    name, value = header
    if name == "auto-submitted":
        return not value.startswith("no")
    if name == "precedence":
        return value in _PRECEDENCES
    if name == "content-type":
        return value.startswith("multipart/report")
    return name in _PRESENT and value not in ("no", "false", "0")
