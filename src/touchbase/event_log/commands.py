"""Queries that read the log, and the command that trims it."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.event_log.models import LoggedEvent


@dataclass(frozen=True, slots=True)
class LoggedPage:
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


LOOKED_AT = 10_000
"""Events of the end of the log among which samples are looked for: a rare type must not make a request read all of it."""


@dataclass(frozen=True, slots=True)
class Subjects:
    """What events about no record are about, as it is now."""

    suppressions: dict[int, tuple[str, str | None]]
    """Id -> kind and address; None for the address of an erased person."""
    deliveries: dict[int, tuple[str, str | None]]
    """Id -> state and error."""
