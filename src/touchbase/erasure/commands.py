"""Commands and queries of erasure and export."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.deliveries.delivery import Delivery
from touchbase.history.identity_links import Ref
from touchbase.sql.operation import Command, Query

RECORDS_FIRST = -1
"""`swept_to` of an erasure taken over from another store: records are searched before the inbox."""


@dataclass(slots=True)
class Erasure:
    """One erasure: what it has removed so far, by kind, and how far the inbox has been searched."""

    client: int
    id: int
    asked_us: Micros
    done_us: Micros | None
    swept_to: int
    """Id of the last delivery that was searched."""
    sweep_until: int
    """Id of the newest delivery when the erasure began; later ones are checked when they are applied."""
    removed: dict[str, int]
    searched_us: Micros | None = None
    """When the search was complete; `done_us` follows when the store's files have been cleaned."""
    waits_for: str = ""
    """What the search waited for at its last step, which changed nothing; not stored."""


@dataclass(slots=True)
class ErasePerson(Command[Erasure]):
    """Remove a contact and all data about it, and store its identities as keyed hashes (suppression).

    The contacts are `contact_id` (`NotFound`), or those with one of the identities `refs`; the hash of an identity without a
    contact is stored as well. The bodies of deliveries with its events are removed; deliveries that only mention it are left to the
    search that follows (`sweep_erasure`).
    """

    client: int
    at: Micros
    contact_id: int | None = None
    refs: list[Ref] = field(default_factory=list)
    search: bool = True
    """Whether to search the inbox afterwards; False within a search that is already running."""


@dataclass(slots=True)
class Person:
    """One person's contacts, identities, and number of rows in each table."""

    contacts: list[int]
    refs: set[Ref]
    counts: dict[str, int]


@dataclass(slots=True)
class FindPerson(Query[Person]):
    """Find the person that `ErasePerson` would erase; empty when there is none."""

    client: int
    contact_id: int | None = None
    refs: list[Ref] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StoredTexts:
    """The texts of one row of a table: its key without the client, and the values by column."""

    key: tuple[int | str, ...]
    values: dict[str, str | bytes | None]


@dataclass(slots=True)
class ErasedKey:
    """One erased identity as stored: a keyed hash."""

    digest: bytes
    erasure: int
    derived: bool
    """Whether it is an object id that only occurred together with an erased identity."""
    erased_us: Micros


@dataclass(slots=True)
class ErasedPage:
    """A page of erased keys by digest, and the secret of their hashes; `last` is None on the last page."""

    secret: bytes | None
    keys: list[ErasedKey]
    last: bytes | None


@dataclass(slots=True)
class AddErasures(Command[int]):
    """Add erased keys of another store, hashed with this secret; return how many are new.

    All keys of one erasure come in one command, because they are lifted together; `erasure` is the other store's number. Opens an
    erasure that searches for them: records first, then the inbox. `Conflict` when this store has erased people with a secret of
    its own.
    """

    client: int
    secret: bytes
    keys: list[ErasedKey]
    at: Micros


@dataclass(slots=True)
class BodyPage:
    """A page of deliveries with bodies, by id; `last` is the last id searched, None on the last page."""

    deliveries: list[Delivery]
    last: int | None


@dataclass(frozen=True, slots=True)
class Source:
    """One tool that sent events about the person: their number, and the times of the first and the last."""

    channel: str
    tool: str
    events: int
    first_us: Micros
    last_us: Micros


@dataclass(slots=True)
class LinkPage:
    """A page of identity links, in order, with the contact of each (None: not yet known); `last` is None on the last page."""

    links: list[tuple[Ref, int | None]]
    last: Ref | None


@dataclass(slots=True)
class ReadLinks(Query[LinkPage]):
    """Read the identity links of one client above `after`, without those of companies; or those of one contact.

    With `deleted` the identities of contacts in the bin.
    """

    client: int
    limit: int
    after: Ref = ("", "", "")
    contact: int | None = None
    deleted: bool = False
