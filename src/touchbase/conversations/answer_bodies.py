"""Bodies of answers to replies."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from touchbase.common.timestamps import to_text, to_text_or_none
from touchbase.conversations.answers import LONGEST_TEXT, QUEUED, STATES, UNDO_US, WAYS, Answer, ReplyCapability
from touchbase.http.schemas import RecordId, Time, example, named_enum

_STATE = named_enum("AnswerState", "How far an answer is.", STATES)
_HOW = named_enum("ReplyWay", "How a conversation is answered.", WAYS)


class ReplyCapabilityOut(Struct):
    """How a conversation is answered: by the tool's API, by a link into the tool, or by neither."""

    how: Annotated[
        str,
        Meta(
            extra_json_schema=_HOW,
            description="`api`: send an answer; `link`: open `url` and answer there; `none`: answer from the mailbox. `advice` says more.",
        ),
    ]
    tool: str | None
    message_id: Annotated[int | None, Meta(description="The message that an answer is to; null: the contact never wrote.")]
    channel: str | None
    mailbox: Annotated[str | None, Meta(description="The client's own address or account that the answer comes from.")]
    recipient: Annotated[str | None, Meta(description="The address that the answer goes to; null: the tool knows it.")]
    url: Annotated[str | None, Meta(description="Where the tool shows the conversation.")]
    reason: Annotated[str | None, Meta(description="Why the tool's API cannot answer; null: it can.")]
    advice: Annotated[str | None, Meta(description="What to do about it.")]


class AnswerOut(Struct):
    """An answer to a reply."""

    id: Annotated[int | None, Meta(description="null: a dry run queued nothing.")]
    message_id: Annotated[RecordId, Meta(description="The message that it answers.")]
    state: Annotated[
        str,
        Meta(
            extra_json_schema=_STATE,
            description="`queued`: it can be taken back until `send_at`; `sending`; `sent`: it is the message `sent_message_id`; `failed`: "
            "the tool has not sent it; `unknown`: no response came, so look into the tool before you send it again.",
        ),
    ]
    tool: str
    text: Annotated[str, Meta(description="Empty once it is sent: the message has it.")]
    close: Annotated[bool, Meta(description="Whether it handles the replies that came before it.")]
    created_at: Time
    send_at: Annotated[Time | None, Meta(description="Of a queued one: when it is sent.")]
    reason: Annotated[str | None, Meta(description="Why it failed or is unknown, and what to do.")]
    sent_message_id: Annotated[int | None, Meta(description="The message that it became.")]


class NewAnswer(Struct, forbid_unknown_fields=True):
    """An answer to a received message."""

    message_id: Annotated[RecordId, Meta(description="As `reply_capability` of the conversation names it.")]
    text: Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT, description="Plain text.")]
    close: Annotated[bool, Meta(description="Handle the replies that came before it; they are open again if it is not sent.")] = False
    confirm_blocked: Annotated[bool, Meta(description="Send it although the contact must not be contacted.")] = False


example(NewAnswer, {"message_id": 12, "text": "Thursday at ten suits me.", "close": True})
example(
    AnswerOut,
    {
        "id": 3, "message_id": 12, "state": "queued", "tool": "smartlead", "text": "Thursday at ten suits me.", "close": True,
        "created_at": "2026-11-20T09:40:00Z", "send_at": "2026-11-20T09:40:10Z", "reason": None, "sent_message_id": None,
    },
)  # fmt: skip
CAPABILITY = {
    "how": "api", "tool": "smartlead", "message_id": 12, "channel": "email", "mailbox": "sam@agency.example",
    "recipient": "jane.doe@example.com", "url": "https://app.smartlead.ai/app/master-inbox", "reason": None, "advice": None,
}  # fmt: skip
example(ReplyCapabilityOut, CAPABILITY)
UNDO_SECONDS = UNDO_US // 1_000_000


def answer_out(answer: Answer) -> AnswerOut:
    """Return an answer as responses show it."""
    send_at = to_text_or_none(answer.due_us if answer.state == QUEUED else None)
    return AnswerOut(
        answer.id or None, answer.message_id, answer.state, answer.tool, answer.text, answer.closes, to_text(answer.created_us), send_at,
        answer.reason or None, answer.sent_message_id,
    )  # fmt: skip


def capability_out(capability: ReplyCapability) -> ReplyCapabilityOut:
    """Return a capability as responses show it."""
    return ReplyCapabilityOut(**{name: getattr(capability, name) for name in ReplyCapabilityOut.__struct_fields__})
