"""Requests of `messages`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Paged, Request, Time

if TYPE_CHECKING:
    from touchbase.client.models.messages import Interest, MessagePage, NewMessage
    from touchbase.client.models.shared import MessageChannel, MessageDirection, MessageOut


def list_messages(
    *, limit: int | None = None, cursor: str | None = None, contact_id: int | None = None, contact_email: str | None = None,
    direction: MessageDirection | None = None, channel: MessageChannel | None = None, campaign_id: str | None = None,
    subject: str | None = None, tool: str | None = None, interested: bool | None = None, mailbox: str | None = None,
    since: Time | None = None, until: Time | None = None,
) -> Paged[MessagePage, MessageOut]:
    """List messages, newest first."""
    return Paged(
        "list_messages", "GET", "/public/v2/messages", query={"limit": limit, "cursor": cursor, "contact_id": contact_id,
        "contact_email": contact_email, "direction": direction, "channel": channel, "campaign_id": campaign_id, "subject": subject,
        "tool": tool, "interested": interested, "mailbox": mailbox, "since": since, "until": until}, of_client=True,
    )


def get_message(id: int) -> Request[MessageOut]:
    """Get one message."""
    return Request("get_message", "GET", "/public/v2/messages/{id}", in_path={"id": id}, of_client=True)


def create_message(body: NewMessage, *, idempotency_key: str | None = None) -> Request[MessageOut]:
    """Store one message of a contact."""
    return Request(
        "create_message", "POST", "/public/v2/messages", headers={"Idempotency-Key": idempotency_key}, body=body, of_client=True,
        takes_key=True,
    )


def delete_message(id: int) -> Request[None]:
    """Delete one message."""
    return Request("delete_message", "DELETE", "/public/v2/messages/{id}", in_path={"id": id}, of_client=True)


def set_message_interested(id: int, body: Interest, *, idempotency_key: str | None = None) -> Request[MessageOut]:
    """Mark the author of one message as interested or not."""
    return Request(
        "set_message_interested", "POST", "/public/v2/messages/{id}/set-interested", in_path={"id": id},
        headers={"Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )
