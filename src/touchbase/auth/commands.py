"""The life of an API key beyond its making: the first one of a store, its successor, its end, and when it was used."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.auth.api_key import ApiKey
from touchbase.common.timestamps import Micros
from touchbase.sql.command import Command, Query


@dataclass(slots=True)
class StoreKey(Command[None]):
    """Keep an API key: its id, the SHA-256 of its text, its scopes and its client (None: any).

    `NotFound` when there is no such client, or it is being deleted.
    """

    key_id: str
    digest: bytes
    scopes: list[str]
    client: int | None
    name: str
    at: Micros
    env: str = "live"
    expires_us: Micros | None = None


@dataclass(slots=True)
class StoreFirstKey(Command[bool]):
    """Keep this key if the store has none; answers whether it was kept. Of several at once one is kept."""

    key: StoreKey


@dataclass(slots=True)
class RotateKey(Command[ApiKey]):
    """Keep a successor with all that the key may do; the key itself ends at `keep_until_us`, or sooner if it would have.

    At most two are live at once: where the key is itself a successor, the one before it ends now. `NotFound`, and
    `WrongState` when the key is not active or has a successor already.
    """

    key_id: str
    successor_id: str
    digest: bytes
    at: Micros
    keep_until_us: Micros
    expires_us: Micros | None
    """When the successor ends."""


@dataclass(slots=True)
class RevokeKey(Command[ApiKey]):
    """End a key now; one that is revoked already stays as it is. `NotFound`."""

    key_id: str
    at: Micros


@dataclass(slots=True)
class NoteKeyUses(Command[None]):
    """When keys were used last; an earlier time than the kept one changes nothing."""

    uses: dict[str, Micros]


@dataclass(slots=True)
class ListKeys(Query[list[ApiKey]]):
    """Keys, newest first; `before` is the (created_us, key_id) of the last key of the page before."""

    limit: int
    at: Micros
    """The time at which `state` is looked at."""
    client: int | None = None
    state: str | None = None
    before: tuple[Micros, str] | None = None


@dataclass(slots=True)
class FindKey(Query[ApiKey | None]):
    """The kept API key of this id."""

    key_id: str


@dataclass(slots=True)
class AnyKey(Query[bool]):
    """Whether any API key is kept."""
