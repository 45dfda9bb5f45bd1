"""Commands that change messages, and queries that read them."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.messages.models import Message
from touchbase.sql.operation import Query

EventKey = tuple[str, Micros]
"""The key and the time of an event in a history."""


@dataclass(slots=True)
class ListMessages(Query[list[Message]]):
    """Messages of contacts that exist, newest first. Members that are None filter nothing."""

    client: int
    limit: int
    after: tuple[Micros, int] | None = None
    """Time and id of the earliest copy of the last message of the previous page."""
    contact_id: int | None = None
    contact_key: str | None = None
    """The contact's e-mail address in normal form."""
    direction: str | None = None
    channel: str | None = None
    campaign_id: str | None = None
    subject: str | None = None
    tool: str | None = None
    interested: bool | None = None
    mailbox: str | None = None
    since_us: Micros | None = None
    until_us: Micros | None = None
    skip: int = 0
    """Messages that are left out before the first one; each is read, so use `after` for long lists."""
    page_bytes: int = 0
    """Bytes after which the list ends, as a `Cut`; 0: no limit."""
