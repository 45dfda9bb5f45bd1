"""Commands that change messages, and queries that read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from touchbase.common.timestamps import Micros
from touchbase.history.identity_links import Ref
from touchbase.messages.models import Message
from touchbase.sql.operation import Command, Query

EventKey = tuple[str, Micros]
"""The key and the time of an event in a history."""
CREATED, UNCHANGED, DELETED, OTHER_TIME, NO_CONTACT, ERASED = (
    "created", "unchanged", "deleted", "other_time", "no_contact", "erased",
)  # fmt: skip


class NewCopy(NamedTuple):
    """A message of another system, which its event key identifies."""

    message: Message
    """Its `contact_id` is 0 if no contact was found."""
    people: list[Ref]
    """Identities of the contact, to see whether the person was erased."""
    is_dated: bool = True
    """Whether its time is its own; else another time does not tell it from the stored one."""


class ImportedMessage(NamedTuple):
    """What became of a message: a word, and its id unless it was not stored."""

    word: str
    id: int = 0


@dataclass(slots=True)
class ImportMessages(Command[list[ImportedMessage]]):
    """Store the messages whose event key no message has; the results are in their order. Stored messages stay as they are."""

    client: int
    copies: list[NewCopy]
    dry_run: bool = False


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
