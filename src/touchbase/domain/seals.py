"""Secrets that lie sealed in the store: looking whether they can be opened, and sealing them with another master key."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.domain.commands import Command
from touchbase.domain.queries import Query


@dataclass(slots=True)
class Seals:
    """The state of every secret in the store."""

    by_key: dict[str, int] = field(default_factory=dict)
    """Sealed secrets by the id of their master key."""
    clear: int = 0
    """Secrets that are not sealed."""
    lost: list[str] = field(default_factory=list)
    """Where the secrets are that cannot be opened with the keys at hand, and why; keys whose canary does not open."""


@dataclass(slots=True)
class CheckSeals(Query[Seals]):
    """Try to open every sealed secret, and count them."""


@dataclass(slots=True)
class SealAgain(Command[int]):
    """Seal up to `limit` secrets that are in clear, or sealed with another than the present master key; answers how many were."""

    limit: int


@dataclass(slots=True)
class RetireKeys(Command[list[str]]):
    """Forget every master key but the present one, sealing again what is left; answers the ids of those forgotten."""


@dataclass(slots=True)
class ReplaceLost(Command[list[str]]):
    """Put a random secret in the place of each one that no key at hand opens, and forget the keys that are lost; answers the places.

    Calls that had to prove the lost secret are refused until a new one is set.
    """
