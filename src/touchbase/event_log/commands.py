"""Queries that read the log, and the command that trims it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from touchbase.event_log.models import LoggedEvent
from touchbase.sql.operation import Query


@dataclass(frozen=True, slots=True)
class Page:
    """Events of a client after a sequence, in order."""

    events: list[LoggedEvent]
    last: int
    """The sequence up to which the log was read: it may be later than the last event, if `types` leaves some out."""
    newest: int
    """The newest sequence of the client; 0 before its first event."""
    oldest: int
    """The oldest sequence that is stored; after the newest one if none is."""

    @property
    def has_more(self) -> bool:
        """Whether later events exist."""
        return self.last < self.newest


@dataclass(frozen=True, slots=True)
class ListLoggedEvents(Query[Page]):
    """The client's events after a sequence, oldest first; None: after the newest one, of which the page then says the sequence."""

    client: int
    after_sequence: int | None
    limit: int
    types: list[str] | None = None
    """None: all types."""
    page_bytes: int = 0
    """Bytes after which the page ends; 0: no limit."""


LOOKED_AT = 10_000
"""Events of the end of the log among which samples are looked for: a rare type must not make a request read all of it."""


@dataclass(frozen=True, slots=True)
class FindNewEvents(Query[dict[int, int]]):
    """Of these clients, the ones with events after the given sequences: client -> its newest sequence."""

    since: Mapping[int, int]
    """Client -> sequence."""


@dataclass(frozen=True, slots=True)
class Subjects:
    """What events about no record are about, as it is now."""

    suppressions: dict[int, tuple[str, str | None]]
    """Id -> kind and address; None for the address of an erased person."""
    deliveries: dict[int, tuple[str, str | None]]
    """Id -> state and error."""
