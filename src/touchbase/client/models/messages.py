"""Types of messages. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import NotRequired, TypedDict

from touchbase.client.models.shared import MessageChannel, MessageDirection, MessageOut



class Interest(TypedDict):
    """Whether the author of a message is interested."""

    interested: NotRequired[bool | None]


class MessagePage(TypedDict):
    """A page of messages, newest first; `next_cursor` is null on the last one."""

    data: list[MessageOut]
    next_cursor: str | None


class NewMessage(TypedDict):
    """A message of a contact."""

    direction: MessageDirection
    contact_id: NotRequired[int | None]
    contact_email: NotRequired[str | None]
    channel: NotRequired[MessageChannel]
    occurred_at: NotRequired[str | None]
    tool: NotRequired[str | None]
    mailbox: NotRequired[str | None]
    subject: NotRequired[str | None]
    text: NotRequired[str | None]
    html: NotRequired[str | None]
    campaign_id: NotRequired[str | None]
    campaign_name: NotRequired[str | None]
    step: NotRequired[str | None]
    message_id: NotRequired[str | None]
    thread_id: NotRequired[str | None]
    category: NotRequired[str | None]
    interested: NotRequired[bool | None]
    custom_fields: NotRequired[dict[str, str]]
