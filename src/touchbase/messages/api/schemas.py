"""Bodies of messages."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from touchbase.common import field_limits as limits
from touchbase.common.field_limits import clean, why_not_storable
from touchbase.common.html_text import text_of_html
from touchbase.common.timestamps import Micros, to_text
from touchbase.errors import Fault, Invalid
from touchbase.http.query_parameters import parse_time
from touchbase.http.schemas import EXAMPLES, MaybeTime, PageOf, RecordId, Time, example, named_enum
from touchbase.messages.models import API, CHANNELS, DIRECTIONS, INLINE_HTML, MOST_CUSTOM_FIELDS, Message
from touchbase.sandbox.pool import Sandbox
from touchbase.sandbox.task import Task, TaskStopped

_DIRECTION = named_enum("MessageDirection", "Whether the client sent a message or received it.", DIRECTIONS)
_CHANNEL = named_enum("MessageChannel", "What a message was sent by.", CHANNELS)
_SOURCE = named_enum("MessageSource", "What made a message: a received webhook, or a request.", ("webhook", "api"))
Text = Annotated[str, Meta(max_length=limits.MESSAGE_TEXT)]
Short = Annotated[str, Meta(max_length=limits.NAME)]
Long = Annotated[str, Meta(max_length=1_000)]
Value = Annotated[str, Meta(max_length=limits.VALUE)]


class MessageOut(Struct):
    """A mail or LinkedIn message, sent or received."""

    id: RecordId
    contact_id: RecordId
    contact_email: str | None
    direction: Annotated[str, Meta(extra_json_schema=_DIRECTION)]
    channel: Annotated[str, Meta(extra_json_schema=_CHANNEL)]
    occurred_at: Time
    tool: str
    mailbox: Annotated[str | None, Meta(description="The client's own address or account that sent or received it.")]
    subject: str | None
    text: Annotated[str | None, Meta(description="The plain text, or the text of the HTML.")]
    html: Annotated[str | None, Meta(description="The HTML as its author wrote it: sanitise it before you show it.")]
    campaign_id: str | None
    campaign_name: str | None
    step: Annotated[str | None, Meta(description="The step of the campaign's sequence.")]
    message_id: Annotated[str | None, Meta(description="The mail's Message-ID, or the tool's id of exactly this message.")]
    thread_id: str | None
    category: Annotated[str | None, Meta(description="The tool's label of a reply, in its own words.")]
    interested: Annotated[bool | None, Meta(description="null: not known.")]
    custom_fields: dict[str, str]
    source: Annotated[str, Meta(extra_json_schema=_SOURCE)]
    delivery_id: Annotated[int | None, Meta(description="The webhook that brought it; null: a request made it.")]
    thread_url: Annotated[str | None, Meta(description="Where the tool shows the conversation of a reply.")]


example(
    MessageOut,
    {
        "id": 12, "contact_id": 1, "contact_email": "jane.doe@example.com", "direction": "received", "channel": "email",
        "occurred_at": "2026-11-20T09:30:00Z", "tool": "smartlead", "mailbox": "sam@agency.example", "subject": "Re: A question",
        "text": "Yes, tell me more.", "html": "<p>Yes, tell me more.</p>", "campaign_id": "77", "campaign_name": "Autumn", "step": "2",
        "message_id": "<a1@mail.example.com>", "thread_id": None, "category": "Interested", "interested": True, "custom_fields": {},
        "source": "webhook", "delivery_id": 4711, "thread_url": "https://app.smartlead.ai/app/master-inbox",
    },
)  # fmt: skip


class MessagePage(PageOf[MessageOut]):
    """A page of messages, newest first; `next_cursor` is null on the last one."""


class TeamMessage(MessageOut):
    """A message with its client."""

    client_id: Annotated[str, Meta(description="The client whose message it is.")]


example(TeamMessage, {**EXAMPLES["MessageOut"], "client_id": "acme"})


class TeamMessagePage(PageOf[TeamMessage]):
    """A page of messages of several clients, newest first; `next_cursor` is null on the last one."""


class NewMessage(Struct, forbid_unknown_fields=True):
    """A message of a contact."""

    direction: Literal["sent", "received"]
    contact_id: RecordId | None = None
    contact_email: Annotated[Annotated[str, Meta(max_length=limits.EMAIL)] | None, Meta(description="In place of `contact_id`.")] = None
    channel: Literal["email", "linkedin"] = "email"
    occurred_at: Annotated[MaybeTime, Meta(description="Left out: now.")] = None
    tool: Annotated[Short | None, Meta(description="Left out: `api`.")] = None
    mailbox: Short | None = None
    subject: Long | None = None
    text: Annotated[Text | None, Meta(description="Left out: made of `html`.")] = None
    html: Text | None = None
    campaign_id: Short | None = None
    campaign_name: Short | None = None
    step: Short | None = None
    message_id: Annotated[
        Long | None,
        Meta(
            description="The mail's Message-ID, or the tool's id of exactly this message: not that of a conversation, or of the mail that "
            "a reply answers. Messages with the same one are one message."
        ),
    ] = None
    thread_id: Long | None = None
    category: Short | None = None
    interested: bool | None = None
    custom_fields: Annotated[dict[Short, Value], Meta(max_length=MOST_CUSTOM_FIELDS)] = {}


example(
    NewMessage,
    {
        "direction": "received", "contact_email": "jane.doe@example.com", "occurred_at": "2026-11-20T09:30:00Z",
        "mailbox": "sam@agency.example", "subject": "Re: A question", "text": "Yes, tell me more.", "message_id": "<a1@mail.example.com>",
    },
)  # fmt: skip


class Interest(Struct, forbid_unknown_fields=True):
    """Whether the author of a message is interested."""

    interested: Annotated[bool | None, Meta(description="null: not known.")] = True


example(Interest, {"interested": True})
_TEXTS = ("tool", "mailbox", "subject", "text", "html", "campaign_id", "campaign_name", "step", "message_id", "thread_id", "category")
_BODY = ("subject", "text", "html")
TEXT_OF_HTML: Task[[str], str | None] = Task("touchbase.common.html_text:text_of_html", 2.0)


def new_message(body: NewMessage, contact_id: int, key: str, now: Micros, *, with_body: bool) -> Message:
    """Return the message that a request describes; raise `Invalid`. Without `with_body` it has no subject and no text."""
    faults: list[Fault] = []
    texts: dict[str, Any] = {name: _clean(getattr(body, name), f"/{name}", faults) for name in _TEXTS}
    custom = {name: _clean(value, f"/custom_fields/{name}", faults) for name, value in body.custom_fields.items()}
    for name in body.custom_fields:
        _clean(name, f"/custom_fields/{name}", faults)
    at = parse_time(body.occurred_at, "/occurred_at", faults)
    if at is not None and at > now:
        faults.append(Fault("/occurred_at", "time", "lies in the future: leave it out, or send the time of the message"))
    if faults:
        raise Invalid(faults)
    if not with_body:
        texts |= dict.fromkeys(_BODY)
    tool = texts.pop("tool") or API
    return Message(
        id=0, direction=body.direction, channel=body.channel, occurred_us=now if at is None else at, event_key=key, delivery_id=None,
        received_us=now, tool=tool, interested=body.interested, contact_id=contact_id,
        custom={name: value for name, value in custom.items() if value is not None}, **texts,
    )  # fmt: skip


async def with_text(message: Message, sandbox: Sandbox) -> Message:
    """Return the message with the text of its HTML, if it has no text."""
    if message.html is None or message.text is not None:
        return message
    if len(message.html) <= INLINE_HTML:
        return replace(message, text=text_of_html(message.html))
    with suppress(TaskStopped):
        return replace(message, text=await sandbox.call(TEXT_OF_HTML, message.html))
    return message


def _clean(text: str | None, pointer: str, faults: list[Fault]) -> str | None:
    if text is None:
        return None
    if (why := why_not_storable(text)) is not None:
        faults.append(Fault(pointer, "unusable_text", why))
        return None
    return clean(text)


def message_out(message: Message, contact_email: str | None = None) -> MessageOut:
    """Return a message as responses show it."""
    source = "api" if message.delivery_id is None else "webhook"
    return MessageOut(
        message.id, message.contact_id, message.contact_email or contact_email, message.direction, message.channel,
        to_text(message.occurred_us), message.tool, message.mailbox, message.subject, message.text, message.html, message.campaign_id,
        message.campaign_name, message.step, message.message_id, message.thread_id, message.category, message.interested, message.custom,
        source, message.delivery_id, message.thread_url,
    )  # fmt: skip
