"""Erasing a person, and keeping bodies no longer than needed: what is asked of a store, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.history.identity_links import Ref
from touchbase.inbox.delivery import Delivery
from touchbase.sql.command import Command, Query

RECORDS_FIRST = -1
"""`swept_to` of an erasure that came with a list of keys: records are looked through before the inbox."""


@dataclass(slots=True)
class Erasure:
    """One erasure: what it removed so far, by place, and how far the inbox has been searched."""

    client: int
    id: int
    asked_us: Micros
    done_us: Micros | None
    swept_to: int
    """The last delivery that was looked at."""
    sweep_until: int
    """The last one that was there when it was asked for; what came later is checked as it is applied."""
    removed: dict[str, int]


@dataclass(slots=True)
class ErasePerson(Command[Erasure]):
    """Remove a contact and all that is kept about it, and remember its identities as keyed hashes.

    The contact is `contact_id` (`NotFound`), or whoever the refs lead to; refs that lead to nobody are
    remembered all the same. The bodies of deliveries that told of it are dropped, those of others that
    only mention it are for the search that follows (`SweepErasure`).
    """

    client: int
    at: Micros
    contact_id: int | None = None
    refs: list[Ref] = field(default_factory=list)
    search: bool = True
    """Whether the inbox is to be searched afterwards; a search that is under way already will do."""


@dataclass(slots=True)
class Person:
    """One person as they are kept: contacts, identities, and how many rows each place holds of them."""

    contacts: list[int]
    refs: set[Ref]
    counts: dict[str, int]


@dataclass(slots=True)
class FindPerson(Query[Person]):
    """Whom `ErasePerson` would erase; nobody is an empty answer."""

    client: int
    contact_id: int | None = None
    refs: list[Ref] = field(default_factory=list)


@dataclass(slots=True)
class SweepErasure(Command[int]):
    """Drop the bodies of these deliveries and note how far the search has come; answers how many bodies went.

    A delivery that waits to be applied is left alone: what it says is checked when it is. `applied` counts those that the search
    had applied: their bodies are gone.
    """

    client: int
    id: int
    clear: list[int]
    swept_to: int
    done: bool
    at: Micros
    applied: int = 0


@dataclass(slots=True)
class LiftErasure(Command[int]):
    """Forget the erasures that these identities belong to, so that they may come back; answers how many keys went."""

    client: int
    refs: list[Ref]


@dataclass(slots=True)
class ErasedKey:
    """One erased identity as it is kept."""

    digest: bytes
    erasure: int
    derived: bool
    """It was only seen together with an erased identity: an object id."""
    erased_us: Micros


@dataclass(slots=True)
class ErasedPage:
    """Erased keys in order of digest, and the secret that they are made with; `last` is None when these were all."""

    secret: bytes | None
    keys: list[ErasedKey]
    last: bytes | None


@dataclass(slots=True)
class ListErasures(Query[ErasedPage]):
    """The erased keys of one client, for a restored backup to be told of (`AddErasures`)."""

    client: int
    limit: int
    after: bytes = b""


@dataclass(slots=True)
class AddErasures(Command[int]):
    """Remember keys of a store that knew more, made with this secret; answers how many were news.

    Keys of one erasure come in one command, as they are lifted together. What `erasure` says is the other store's number.
    Opens an erasure that looks for what they name: records first, then the inbox. `Conflict` when this
    store has erased somebody under a secret of its own.
    """

    client: int
    secret: bytes
    keys: list[ErasedKey]
    at: Micros


@dataclass(slots=True)
class EraseWaiting(Command[int]):
    """Remove what waits under these objects, of which erased people were seen; answers how many events went."""

    client: int
    refs: list[Ref]
    at: Micros


@dataclass(slots=True)
class FindErased(Query[set[Ref]]):
    """Which of these identities were erased; with `derived` also those that were only seen together with one."""

    client: int
    refs: list[Ref]
    derived: bool = False


@dataclass(slots=True)
class OpenErasures(Query[list[Erasure]]):
    """Erasures of all clients whose search is not at its end."""


@dataclass(slots=True)
class GetErasure(Query[Erasure | None]):
    """One erasure."""

    client: int
    id: int


@dataclass(slots=True)
class BodyPage:
    """Deliveries with their bodies, in order of id; `last` is the last id that was looked at, None when these were all."""

    deliveries: list[Delivery]
    last: int | None


@dataclass(slots=True)
class ReadBodies(Query[BodyPage]):
    """Deliveries of one client that have a body, above the id `after`; as many as fit into a few megabytes.

    With `contact` only those that caused an event of this contact; with `waiting` those that wait to be applied.
    """

    client: int
    after: int
    limit: int
    until: int | None = None
    contact: int | None = None
    waiting: bool = False


@dataclass(slots=True)
class LinkPage:
    """Links that lead to contacts or to nobody yet, in order, and the contact of each; `last` is None when these were all."""

    links: list[tuple[Ref, int | None]]
    last: Ref | None


@dataclass(slots=True)
class ReadLinks(Query[LinkPage]):
    """Links of one client above `after`, but for those to companies; or those of one contact."""

    client: int
    limit: int
    after: Ref = ("", "", "")
    contact: int | None = None
