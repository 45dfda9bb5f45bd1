"""Secrets that lie sealed in the store: looking whether they can be opened, and sealing them with another encryption key."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.sql.command import Command, Query

Place = tuple[object, ...]
"""Where a secret stands: its table, its column and the key of its row, which begins with the client's number."""


@dataclass(frozen=True, slots=True)
class LostSecret:
    """A secret, or the mark of an encryption key, that cannot be opened with the keys at hand."""

    place: Place
    why: str
    """What is said of it: `is sealed with the encryption key ..., which is not at hand`."""


@dataclass(slots=True)
class EncryptionState:
    """The state of every secret in the store."""

    by_key: dict[str, int] = field(default_factory=dict)
    """Sealed secrets by the id of their encryption key."""
    clear: int = 0
    """Secrets that are not sealed."""
    lost: list[LostSecret] = field(default_factory=list)
    """The first hundred."""


@dataclass(slots=True)
class CheckEncryption(Query[EncryptionState]):
    """Try to open every sealed secret, and count them."""


@dataclass(slots=True)
class Reencrypt(Command[int]):
    """Seal up to `limit` secrets that are in clear, or sealed with another than the present encryption key; answers how many were."""

    limit: int


@dataclass(slots=True)
class RetireKeys(Command[list[str]]):
    """Forget every encryption key but the present one, sealing again what is left; answers the ids of those forgotten."""


@dataclass(slots=True)
class ReplaceLost(Command[list[Place]]):
    """Put a random secret in the place of each one that no key at hand opens, and forget the keys that are lost; answers the places.

    Calls that had to prove the lost secret are refused until a new one is set.
    """
