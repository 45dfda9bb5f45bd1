"""Commands and queries of erasure and export."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.deliveries.delivery import Delivery
from touchbase.history.identity_links import Ref

RECORDS_FIRST = -1
"""`swept_to` of an erasure taken over from another store: records are searched before the inbox."""


@dataclass(slots=True)
class Erasure:
    """One erasure: number of removed rows by kind, and how far the inbox has been searched."""

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
    """The work that the search waited for at its last step, which changed nothing; not stored."""


@dataclass(slots=True)
class Person:
    """One person's contacts, identities, and number of rows in each table."""

    contacts: list[int]
    refs: set[Ref]
    counts: dict[str, int]


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
class BodyPage:
    """A page of deliveries with bodies, by id; `last` is the last id searched, None on the last page."""

    deliveries: list[Delivery]
    last: int | None


@dataclass(frozen=True, slots=True)
class PersonSource:
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
