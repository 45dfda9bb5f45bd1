"""Commands and queries that link contacts to companies by the domains of their e-mail addresses.

A command creates at most `new` companies. If its contacts need more, it changes nothing and says how many: the caller sends
it again. So no ids are reserved for companies that are not created.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Linked:
    """What linking some contacts changed."""

    contacts: int = 0
    """Contacts whose company changed."""
    companies: int = 0
    """Companies that were created."""
    wanted: int = 0
    """Companies that must be created first; then nothing was changed."""


NOTHING = Linked()


@dataclass(frozen=True, slots=True)
class Followed:
    """Progress along a client's log of events."""

    linked: Linked = NOTHING
    more: bool = False
    """Whether work is left."""
    start: bool = False
    """The present contacts are to be linked first: `start_linking`."""


@dataclass(frozen=True, slots=True)
class LinkedPage:
    """Progress along a client's contacts."""

    linked: Linked = NOTHING
    scanned: int = 0
    last: int | None = None
    """The last contact of the page; None after the last page."""
    stopped: bool = False
    """The setting has been changed since the job was created."""
