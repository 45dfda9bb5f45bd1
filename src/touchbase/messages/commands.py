"""Commands that change messages, and queries that read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from touchbase.common.timestamps import Micros
from touchbase.history.events import NO_AUTHOR, Author
from touchbase.history.identity_links import Ref
from touchbase.messages.models import Message
from touchbase.sql.operation import Command, Query

EventKey = tuple[str, Micros]
"""The key and the time of an event in a history."""
CREATED, UNCHANGED, DELETED, OTHER_TIME, NO_CONTACT, ERASED = (
    "created", "unchanged", "deleted", "other_time", "no_contact", "erased",
)  # fmt: skip


@dataclass(slots=True)
class CreateMessage(Command[Message]):
    """Store a message of a contact, whose `contact_id` it names; `NotFound` without that contact.

    If the contact has a message of the same message id and direction, the result is that message, with what it left out.
    """

    client: int
    message: Message
    """Its `id` is set when it is stored."""
    by: Author = NO_AUTHOR


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
class DeleteMessage(Command[Message]):
    """Remove a message, also for later repeats of it; the result is the message as it was. `NotFound`."""

    client: int
    id: int


@dataclass(slots=True)
class SetInterested(Command[Message]):
    """Store whether the sender of a message is interested. `NotFound`."""

    client: int
    id: int
    interested: bool | None
    at_us: Micros
    custom: dict[str, str] = field(default_factory=dict)
    """Custom fields that are set too."""


@dataclass(slots=True)
class AddCustomField(Command[Message]):
    """Add a custom field to a message. `NotFound`; `Conflict` if it has a field of this name; `Invalid` if it has too many."""

    client: int
    id: int
    name: str
    value: str
    at_us: Micros


@dataclass(slots=True)
class RemoveCustomField(Command[Message]):
    """Remove a custom field from a message. `NotFound`, also without a field of this name."""

    client: int
    id: int
    name: str
    at_us: Micros


@dataclass(slots=True)
class PruneMessages(Command[int]):
    """Remove subject, text and HTML of messages that were received before a time; return how many, up to `limit`."""

    client: int
    before_us: Micros
    limit: int


@dataclass(slots=True)
class GetMessages(Query[dict[int, Message]]):
    """Messages by the id of one of their copies, of contacts that exist."""

    client: int
    ids: list[int]


@dataclass(slots=True)
class MessagesOfContact(Query[list[Message]]):
    """The messages of one contact, also of one in the bin, oldest first, behind the time and id `after`; for a person's export.

    With `page_bytes` as many as have so many bytes, at least one, as a `Cut` if there are more.
    """

    client: int
    contact_id: int
    after: tuple[Micros, int] | None = None
    page_bytes: int = 0


@dataclass(slots=True)
class MessagesOfEvents(Query[dict[EventKey, int]]):
    """The ids of the messages that events of histories brought, by the event's key and time; events without one are left out."""

    client: int
    events: list[EventKey]


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
